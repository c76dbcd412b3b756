"""`POST /api/v1/policy/playground`: rules tried out on one call. Nothing of it is kept, recorded or sent anywhere."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec import json as fast

from interpose.composition.playground import MAX_TEXT, Played, play
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.errors import InvalidCallError, text_of
from interpose.core.types import Context, Finding, Outcome, ToolCall, ToolOutcome, Verdict, thaw
from interpose.doors.http.incoming import body_of, require_json
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.rules.policy.file_format import CallForm
from interpose.rules.policy.rules import Level, PolicyProblem
from interpose.rules.policy_trials.rule_accounts import Account, Said

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interpose.composition.service.service import Service
    from interpose.engine.engine import Engine

PATH = "/api/v1/policy/playground"
MAX_BODY = 64 * 1024
MOST_WAITING = 8
"""Texts that wait to be tried out. There is one thread for all: who types must not slow decisions down."""
MOST_SHOWN = 200
"""Rules and findings of an answer, at most."""
LONGEST_VALUE = 2_000

_workers = FairWorkers("playground", 1)


class PlaygroundBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule file as somebody would write it, the call that it is tried out on, and whose rules they would be."""

    rules: Annotated[str, Meta(max_length=MAX_TEXT)]
    call: CallForm
    level: Level = Level.USER


class PlayedVerdict(Struct, frozen=True, kw_only=True):
    """A verdict. `payload` are the arguments, or the result, that would go on if they are others."""

    decision: Outcome
    reason: str
    rule: str
    interceptor: str
    approver: str
    findings: tuple[Finding, ...]
    payload: Any | UnsetType = UNSET


class SeenValue(Struct, frozen=True):
    """A variable and what it held, as JSON; cut where it is long."""

    variable: str
    value: str


class PlayedRule(Struct, frozen=True, kw_only=True):
    """What one rule said and why: the variables that it read, and the elements that alone make it fire.

    `said` has these words besides those of decisions: `answer` (it answers questions), `note`, `silent`, `failed`,
    `not-asked` (only a judge can say), `elsewhere` (about other tools, or about results), `off`.
    """

    id: str
    line: int
    pack: str
    mode: str
    severity: str
    said: Said
    text: str
    why: str
    saw: tuple[SeenValue, ...]
    because: tuple[SeenValue, ...]


class PlayedExample(Struct, frozen=True, kw_only=True):
    """An example of a rule, and whether it holds."""

    rule: str
    line: int
    name: str
    status: Literal["passed", "failed", "skipped"]
    message: str


class PlaygroundAnswer(Struct, frozen=True, kw_only=True):
    """What came of it. With `problems` nothing else is known: they say what is wrong with the text, and where.

    `alone` is what the rules say by themselves, `guarded` what they say together with the guards of this server,
    `after` what they say about the result of the call, if it has one. Of packs, the rules that had something to say.
    `late` means that the rules took more time than they have here.
    """

    problems: tuple[PolicyProblem, ...]
    refused: tuple[PolicyProblem, ...]
    tool: str
    alone: PlayedVerdict | None
    guarded: PlayedVerdict | None
    after: PlayedVerdict | None
    rules: tuple[PlayedRule, ...]
    examples: tuple[PlayedExample, ...]
    revision: str
    late: bool
    duration_ms: int


class Playground:
    """Tries texts out, one after another."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting = 0

    async def answer(self, request: Request) -> PlaygroundAnswer:
        """What came of a request."""
        require_json(request, 415)
        if len(request.body) > MAX_BODY:
            raise Refusal(413, "too_large", f"the body is longer than {MAX_BODY} bytes")
        return await self.played(request.caller.name, body_of(request, PlaygroundBody))

    async def played(self, who: str, body: PlaygroundBody) -> PlaygroundAnswer:
        """What came of it. `who` waits behind their own texts alone."""
        if self._waiting >= MOST_WAITING:
            raise Refusal(503, "busy", "others try rules out, too: try again in a moment")
        self._waiting += 1
        try:
            return await asyncio.wrap_future(_workers.submit(who, lambda: played(self._service, body)))
        finally:
            self._waiting -= 1


def played(service: Service, body: PlaygroundBody) -> PlaygroundAnswer:
    """What came of a text and a call. Raises Refusal."""
    start = perf_counter()
    form = body.call
    context = Context(
        cwd=form.cwd, agent_id=form.agent, role=form.role, principal=form.principal, session_id=form.session,
        source="playground",
    )  # fmt: skip
    everywhere = service.policies.anywhere()
    try:
        call = ToolCall(form.tool, form.args, "playground", context)
        result = None if form.result is None else ToolOutcome(call, form.result, is_error=form.is_error)
        done = play(
            body.rules, call, result=result, level=body.level, guards=_guards(everywhere),
            shell_tools=service.config.intercept.shell_tool_names,
        )  # fmt: skip
    except (InvalidCallError, ValueError, RecursionError) as error:
        raise Refusal(400, "invalid_request", f"call: {text_of(error)}") from None
    return _answer(done, round((perf_counter() - start) * 1000))


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may ask."""
    playground = Playground(service)

    async def answer(request: Request) -> Response:
        return json_response(await playground.answer(request))

    return (
        Route(
            "POST", PATH, answer, "auditor", "Try rules out on a call; nothing of it is kept",
            body=PlaygroundBody, answer=PlaygroundAnswer,
            codes=(
                (400, "invalid_request"), (413, "too_large"), (415, "invalid_content_type"), (503, "busy"),
            ),
        ),
    )  # fmt: skip


def _guards(engine: Engine) -> Iterable[Any]:
    """The built-in guards as they are configured. INVARIANT: nobody else is asked: plugins may keep what they see, and
    remote interceptors are somewhere else."""
    entries = engine.interceptors.snapshot().entries
    return [entry for entry in entries if entry.kind == "guard" and entry.id.startswith("builtin:")]


def _answer(done: Played, milliseconds: int) -> PlaygroundAnswer:
    spoke = [one for one in done.accounts if not one.rule.source.pack or one.said not in ("silent", "elsewhere", "off")]
    return PlaygroundAnswer(
        problems=done.problems[:MOST_SHOWN],
        refused=done.refused[:MOST_SHOWN],
        tool=done.call.name,
        alone=_verdict(done.alone, "arguments"),
        guarded=_verdict(done.guarded, "arguments"),
        after=_verdict(done.after, "result"),
        rules=tuple(map(_rule, spoke[:MOST_SHOWN])),
        examples=tuple(
            PlayedExample(rule=one.rule, line=one.line, name=one.name, status=one.status, message=one.message)
            for one in done.trials
        ),
        revision=done.revision,
        late=done.late,
        duration_ms=milliseconds,
    )


def _verdict(verdict: Verdict[Any] | None, goes_on: str) -> PlayedVerdict | None:
    if verdict is None:
        return None
    decider = verdict.decided_by
    return PlayedVerdict(
        decision=verdict.outcome, reason=verdict.reason, rule=verdict.rule,
        interceptor=decider.interceptor if decider is not None else "", approver=verdict.approver,
        findings=verdict.findings[:MOST_SHOWN],
        payload=thaw(getattr(verdict.payload, goes_on)) if verdict.rewritten else UNSET,
    )  # fmt: skip


def _rule(account: Account) -> PlayedRule:
    rule = account.rule
    return PlayedRule(
        id=rule.id, line=rule.source.line, pack=rule.source.pack, mode=rule.mode, severity=rule.severity,
        said=account.said, text=rule.text, why=account.why,
        saw=tuple(SeenValue(name, _shown(value)) for name, value in account.saw),
        because=tuple(SeenValue(name, _shown(value)) for name, value in account.causes[:MOST_SHOWN]),
    )  # fmt: skip


def _shown(value: Any) -> str:
    try:
        text = fast.encode(value, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError):  # what JSON has no word for
        text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
