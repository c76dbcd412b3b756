"""Questions as people see them, and as the store keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET, MsgspecError, Struct, structs, to_builtins
from msgspec import json as fast

from interpose.core.answers import Approvers
from interpose.core.types import Certainty, EffectKind, Finding, HookPoint, PermissionRequest, ToolCall, thaw
from interpose.effects.late_patterns import late
from interpose.people.approvals.binding import Bound, Subject
from interpose.people.approvals.scopes import Scope
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.people.widenings.kind_values import CallKind
from interpose.reading.secrets import Redactor
from interpose.record.store.protocols import Approval

State = Literal["waiting", "approved", "denied", "expired", "invalid"]
"""`invalid`: the store says that somebody said yes, and no server of ours wrote that down."""

SHOWN_LIMIT = 64 * 1024
WORDS_LIMIT = 8 * 1024
"""Letters of arguments, and of each reason, that a question shows. Its digest covers all of them."""

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH = 8
_MISREAD = str.maketrans({"i": "1", "l": "1", "o": "0", "-": "", " ": ""})
_QUOTING = ("reason", "part", "instead", "detail", "summary")
"""Texts of a finding that may repeat what a call holds."""
_HALF = late("[\ud800-\udfff]")
_MOST_EFFECTS = 50


class Answer(Struct, frozen=True, kw_only=True):
    """What a person said. `scope` belongs to a yes, `comment` is why; `word` is for the agent.

    `arguments` are those that the person wrote in the place of the call's own, `kind` is the widening that was chosen.
    """

    approved: bool
    by: str
    at: datetime
    scope: Scope | None = None
    comment: str = ""
    word: str = ""
    arguments: dict[str, Any] | None = None
    kind: str = ""


class ShownEffect(Struct, frozen=True):
    """What a call would do, and the same in words."""

    kind: EffectKind
    resource: str
    certainty: Certainty
    text: str


class WouldHaveLet(Struct, frozen=True, kw_only=True):
    """What a widening would have let through of what was asked about before. `of` calls were looked at."""

    count: int
    of: int
    examples: tuple[str, ...] = ()


class Widening(Struct, frozen=True, kw_only=True):
    """A kind of call that may be granted. `would_have_let_through` is there where somebody looks at one question."""

    id: str
    text: str
    would_have_let_through: WouldHaveLet | None = None


class Deferral(Struct, frozen=True, kw_only=True):
    """Somebody wants to answer later. `comment` is for the agent."""

    by: str
    at: datetime
    comment: str = ""


class Question(Struct, frozen=True, kw_only=True):
    """A question to a person, without its secrets. `arguments` are those that would really be used.

    `instead` is a safer way, if somebody knows one. Arguments that are too long to be shown are a text that was cut.
    `said` is the agent's own name for the tool, `original_arguments` are those that came in if they are others.
    `hears` says whether a word with a yes reaches the agent, `rewrites` whether a call that was edited runs by itself:
    else the agent is shown it. `approvers` are those who must agree, where it is not enough that anybody does.
    """

    id: str
    state: State = "waiting"
    asked: datetime
    expires: datetime
    message: str
    point: HookPoint
    tool: str
    said: str = ""
    arguments: Any
    original_arguments: Any = None
    effects: tuple[ShownEffect, ...] = ()
    session: str = ""
    agent: str = ""
    role: str = ""
    principal: str = ""
    claimed: str = ""
    cwd: str = ""
    source: str = ""
    instead: str = ""
    findings: tuple[Finding, ...] = ()
    widenings: tuple[Widening, ...] = ()
    approvers: tuple[Approvers, ...] = ()
    hears: bool = False
    rewrites: bool = False
    deferred: Deferral | None = None
    answer: Answer | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """Who asks."""
        return tuple(dict.fromkeys(found.rule or found.interceptor for found in self.findings))


class Kept(Struct, frozen=True):
    """A question as the store has it.

    `asked` is who asks, `kinds` are its widenings, and `kind_bound` what a grant for one of them is bound to.
    """

    question: Question
    bound: Bound
    asked: tuple[str, ...] = ()
    kinds: tuple[CallKind, ...] = ()
    kind_bound: Bound = Bound("", "")


class Asking(Struct, frozen=True, kw_only=True):
    """What is known of a call when it is asked about, besides the call itself."""

    effects: tuple[ShownEffect, ...] = ()
    kinds: tuple[CallKind, ...] = ()
    hears: bool = False
    rewrites: bool = False


NOTHING_KNOWN = Asking()

_sealed = fast.Decoder(Sealed).decode
_kept = fast.Decoder(Kept).decode
_answer = fast.Decoder(Answer).decode
_question = fast.Decoder(Question).decode


def question_id(seed: str) -> str:
    """Eight letters and digits that are easy to say and hard to misread. The same seed has the same id."""
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=5).digest())
    return "".join(_LETTERS[number >> (5 * place) & 31] for place in range(_ID_LENGTH))


def spoken_id(text: str) -> str:
    """The id that somebody meant: capitals, dashes and letters that look like digits are forgiven."""
    return text.strip().lower().translate(_MISREAD)


def moment(time_ns: int) -> datetime:
    """A point in time. What lies beyond the calendar is its end."""
    return datetime.fromtimestamp(min(time_ns / 1e9, _LAST), UTC)


_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def written(
    id: str,
    request: PermissionRequest,
    subject: Subject,
    *,
    redactor: Redactor,
    asked_ns: int,
    expires_ns: int,
    known: Asking = NOTHING_KNOWN,
) -> Question:
    """A question as it is shown: without secrets, and cut where nobody would read on."""

    def hidden(text: str) -> str:
        shown = redactor.redact(text).text
        return shown if len(shown) <= WORDS_LIMIT else shown[:WORDS_LIMIT] + "…"

    context = subject.context
    original = request.original.arguments if isinstance(request.original, ToolCall) else None
    fields = {
        "id": id,
        "asked": moment(asked_ns).isoformat(),
        "expires": moment(expires_ns).isoformat(),
        "message": hidden(request.message),
        "point": subject.point,
        "tool": subject.tool,
        "said": subject.said,
        "arguments": _shown(subject.content, redactor),
        "original_arguments": None if original is None else _shown(original, redactor),
        "effects": [
            to_builtins(one) | {"resource": hidden(one.resource), "text": hidden(one.text)}
            for one in known.effects[:_MOST_EFFECTS]
        ],
        "session": context.session_id,
        "agent": context.agent_id,
        "role": context.role,
        "principal": context.principal,
        "claimed": context.claimed,
        "cwd": context.cwd,
        "source": context.source,
        "instead": hidden(next((found.instead for found in request.findings if found.instead), "")),
        "findings": [
            to_builtins(found) | {name: hidden(getattr(found, name)) for name in _QUOTING} for found in request.findings
        ],
        "widenings": [{"id": kind.id, "text": kind.text} for kind in known.kinds],
        "approvers": to_builtins(approvers_of(request.findings)),
        "hears": known.hears,
        "rewrites": known.rewrites,
    }
    # Half a character has no UTF-8: it is spelled out, so that a person sees that something is there.
    whole = _HALF.sub(lambda half: f"\\\\u{ord(half[0]):04x}", json.dumps(fields, ensure_ascii=False))
    return _question(whole)


def _shown(content: object, redactor: Redactor) -> object:
    arguments, _ = redactor.redact_value(thaw(content))
    text = json.dumps(arguments)
    return arguments if len(text) <= SHOWN_LIMIT else text[:SHOWN_LIMIT] + "…"


def approvers_of(findings: Sequence[Finding]) -> tuple[Approvers, ...]:
    """Who must agree to all that is asked."""
    return tuple(dict.fromkeys(found.approvers for found in findings if found.approvers is not UNSET))


def row_of(kept: Kept, seal: Seal, *, asked_ns: int, expires_ns: int) -> Approval:
    """A question on its way into the store. The seal says that what is shown is what was asked about."""
    question = kept.question
    sealed = seal.sealed("question", fast.encode(kept), question.id, asked_ns, expires_ns)
    return Approval(
        id=question.id, session=question.session, created_ns=asked_ns, expires_ns=expires_ns, body=fast.encode(sealed)
    )


def kept_of(row: Approval, verifier: Verifier) -> Kept | None:
    """What the store has; None if somebody else put it there, or changed it."""
    try:
        sealed = _sealed(row.body)
        if not verifier.accepts("question", sealed, row.id, row.created_ns, row.expires_ns):
            return None
        return _kept(sealed.content)
    except MsgspecError:
        return None


def seen(row: Approval, now_ns: int, verifier: Verifier) -> Question | None:
    """A question as it stands now."""
    kept = kept_of(row, verifier)
    if kept is None:
        return None
    answer = answer_of(row, verifier)
    state: State = "waiting" if row.expires_ns > now_ns else "expired"
    if row.answer:
        state = "invalid" if answer is None else "approved" if answer.approved else "denied"
    return structs.replace(kept.question, state=state, answer=answer)


def answer_of(row: Approval, verifier: Verifier) -> Answer | None:
    """The answer to a question. One that no server of ours wrote is none, and was no yes."""
    try:
        sealed = _sealed(row.answer) if row.answer else None
        if sealed is None or not verifier.accepts("answer", sealed, row.id, _digest(row.body)):
            return None
        return _answer(sealed.content)
    except MsgspecError:
        return None


def answer_text(answer: Answer, row: Approval, seal: Seal) -> str:
    """An answer on its way into the store, bound to the whole question that it answers."""
    return fast.encode(seal.sealed("answer", fast.encode(answer), row.id, _digest(row.body))).decode()


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
