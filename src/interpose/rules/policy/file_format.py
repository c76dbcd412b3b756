"""The form of a rule file, as types that the decoder holds it to, and its errors in words."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

from interpose.core.answers import ApproverRole
from interpose.core.formats.yaml_text import Path
from interpose.core.types import Mode, OnError, Severity
from interpose.rules.policy.rules import Action

# The end: `$` alone would take the end of a line behind the id, too.
RuleId = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$(?!\n)", description="lower-case words with dashes")
]
NonEmptyText = Annotated[str, Meta(min_length=1)]
Point = Literal["tool.before", "tool.after"]


class OnForm(Struct, frozen=True, forbid_unknown_fields=True):
    """Where and for which tools a rule applies."""

    point: Point | list[Point] | None = None
    tools: Annotated[list[NonEmptyText], Meta(min_length=1)] | None = None


class RedactForm(Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken out of the texts. Without a pattern, what the judge quotes."""

    pattern: NonEmptyText | None = None
    replacement: str = "[REDACTED]"


class ScopeForm(Struct, frozen=True, forbid_unknown_fields=True):
    """For which calls an answer holds; every list that is there must match."""

    tools: list[NonEmptyText] = []
    agents: list[NonEmptyText] = []
    roles: list[NonEmptyText] = []
    principals: list[NonEmptyText] = []
    sessions: list[NonEmptyText] = []
    directories: list[NonEmptyText] = []


class AnswersForm(Struct, frozen=True, forbid_unknown_fields=True):
    """Which rules' questions an `allow` rule answers."""

    rules: Annotated[list[NonEmptyText], Meta(min_length=1)]
    scope: ScopeForm | Literal["everywhere"]


class EscalateForm(Struct, frozen=True, forbid_unknown_fields=True):
    """To whom a question goes besides, after a time without an answer."""

    after: Annotated[str, Meta(pattern=r"^[0-9]{1,5}[smh]$(?!\n)", description="so long: 90s, 10m, 2h")]
    to: ApproverRole


class ApproversForm(Struct, frozen=True, forbid_unknown_fields=True):
    """Who must agree to what an `ask` rule asks: so many people of a role, and none of them is the one who asked."""

    role: ApproverRole = "approver"
    count: Annotated[int, Meta(ge=1, le=10)] = 1
    escalate: EscalateForm | None = None


class CallForm(Struct, frozen=True, forbid_unknown_fields=True):
    """A call in an example."""

    tool: NonEmptyText
    args: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    is_error: bool = False
    cwd: str = ""
    agent: str = ""
    role: str = ""
    principal: str = ""
    session: str = ""


class ExamplesForm(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls on which the rule must fire, and calls on which it must not. A text is a command."""

    match: list[str | CallForm] = []
    no_match: list[str | CallForm] = []


class RuleForm(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule."""

    id: RuleId
    action: Action
    description: str = ""
    on: OnForm = OnForm()
    when: NonEmptyText | None = None
    prompt: NonEmptyText | None = None
    judge: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    severity: Severity = "error"
    mode: Mode = "enforce"
    on_error: OnError | None = None
    enabled: bool = True
    tags: list[NonEmptyText] = []
    instead: str = ""
    rewrite: dict[str, NonEmptyText] = field(default_factory=dict)
    redact: RedactForm | None = None
    answers: AnswersForm | None = None
    approvers: ApproversForm | None = None
    examples: ExamplesForm = ExamplesForm()


class FileForm(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule file."""

    version: Literal[1]
    rules: list[RuleForm] = []
    packs: list[NonEmptyText] = []
    disable: list[NonEmptyText] = []
    judge: dict[str, Any] = field(default_factory=dict)


class FormError(ValueError):
    """A rule whose parts do not go together. `path` is the part."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path: Path = path


_AT = re.compile(r"^(.*?) - at `([$~].*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


def located(text: str, form: type[Struct]) -> tuple[Path, str]:
    """The place that a decoding error speaks of, and the error in our words."""
    found = _AT.match(text)
    message, at = (found[1], found[2]) if found else (text, "")
    path: Path = tuple(name if name else int(index) for name, index in _STEP.findall(at.lstrip("$~")))
    named = ".".join(str(step) for step in path if isinstance(step, str))
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message, re.DOTALL)
    if unknown:
        path = (*path, unknown[1])
    message = _plainly(message, named, form)
    return path, f"{named}: {message}" if named else message


def _plainly(message: str, named: str, form: type[Struct]) -> str:
    found = re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", message, re.DOTALL)
    if found and found[1] == "missing required":
        return f"the key {found[2]!r} is missing"
    if found:
        known = _KEYS.get(named, form.__struct_fields__ if not named else ())
        return f"unknown key {found[2]!r}" + (f", expected one of {', '.join(known)}" if known else "")
    if message.startswith("Invalid enum value"):
        words = _ENUMS.get(named, ())
        return f"{message[:1].lower()}{message[1:]}" + (f", expected one of {', '.join(words)}" if words else "")
    return message[:1].lower() + message[1:]


_ENUMS: dict[str, tuple[str, ...]] = {
    "action": get_args(Action), "severity": get_args(Severity), "mode": get_args(Mode), "on_error": get_args(OnError),
    "on.point": get_args(Point), "approvers.role": get_args(ApproverRole),
    "approvers.escalate.to": get_args(ApproverRole), "version": ("1",),
    "answers.scope": ("everywhere", "or a map of lists"),
}  # fmt: skip
_KEYS: dict[str, tuple[str, ...]] = {
    "on": OnForm.__struct_fields__, "redact": RedactForm.__struct_fields__,
    "answers": AnswersForm.__struct_fields__, "answers.scope": ScopeForm.__struct_fields__,
    "approvers": ApproversForm.__struct_fields__, "approvers.escalate": EscalateForm.__struct_fields__,
    "examples": ExamplesForm.__struct_fields__, "examples.match": CallForm.__struct_fields__,
    "examples.no_match": CallForm.__struct_fields__,
}  # fmt: skip
