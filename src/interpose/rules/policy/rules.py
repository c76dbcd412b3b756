"""The values of a policy: rules, where they come from, and what is wrong with one that does not load."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct

from interpose.core.answers import Approvers
from interpose.core.types import EMPTY, FrozenDict, HookPoint, Mode, OnError, Severity

Action = Literal["deny", "ask", "allow", "redact", "transform", "log"]

WEIGHT: dict[Action, int] = {"deny": 5, "ask": 4, "transform": 3, "redact": 3, "log": 1, "allow": 0}
"""How strict an action is. What is rewritten still happens, so a rewrite is weaker than a question."""


class Level(StrEnum):
    """Who wrote a rule. The organisation's word counts more than the user's, and the user's more than the project's."""

    ORGANISATION = "organisation"
    USER = "user"
    PROJECT = "project"

    @property
    def rank(self) -> int:
        """Higher counts more."""
        return _RANKS[self]


_RANKS = {Level.ORGANISATION: 3, Level.USER: 2, Level.PROJECT: 1}


class PolicyProblem(Struct, frozen=True):
    """Why a file or a rule was refused: where, and what was expected there."""

    file: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        rule = f"rule {self.rule!r}: " if self.rule else ""
        return f"{self.file}:{self.line}: {rule}{self.message}"


class Source(Struct, frozen=True):
    """Where a rule stands."""

    file: str
    line: int
    level: Level
    pack: str = ""
    """The pack that the rule came with, if any."""


class RuleTarget(Struct, frozen=True):
    """What a rule applies to. No tools means every tool."""

    points: tuple[HookPoint, ...] = (HookPoint.TOOL_BEFORE,)
    tools: tuple[str, ...] = ()


class RuleRedaction(Struct, frozen=True):
    """What is taken out of a text. An empty pattern takes all of it."""

    pattern: str = ""
    replacement: str = "[REDACTED]"


class AnswerScope(Struct, frozen=True):
    """For which calls a standing answer holds: globs, one of each named list must match. None named: every call."""

    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    principals: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()


class StandingRule(Struct, frozen=True):
    """Which questions an `allow` rule answers: those of these rules, in this scope."""

    rules: tuple[str, ...]
    scope: AnswerScope


class Example(Struct, frozen=True):
    """A call, and whether its rule must fire on it."""

    tool: str
    args: FrozenDict
    matches: bool
    line: int = 0
    result: Any = None
    is_error: bool = False
    cwd: str = ""
    agent: str = ""
    role: str = ""
    principal: str = ""
    session: str = ""


Dialect = Literal["interpose", "imported-call", "imported-command", "imported-result"]
"""Which variables a rule's expression may use: ours, or those of an imported rule."""


class Rule(Struct, frozen=True, kw_only=True):
    """One rule as it was written, checked in form and nothing else."""

    id: str
    source: Source
    description: str = ""
    when: str = ""
    """A CEL expression. Empty means: whenever the rule applies."""
    prompt: str = ""
    """What a judge is asked. A rule with a prompt is an AI rule; its `when`, if any, says when the judge is asked."""
    judge: FrozenDict = EMPTY
    """Settings of the judge for this rule alone."""
    on: RuleTarget = RuleTarget()
    action: Action = "deny"
    message: str = ""
    severity: Severity = "error"
    mode: Mode = "enforce"
    on_error: OnError = "deny"
    enabled: bool = True
    tags: tuple[str, ...] = ()
    instead: str = ""
    rewrite: tuple[tuple[str, str], ...] = ()
    """Argument path and the CEL expression of its new value."""
    redact: RuleRedaction | None = None
    answers: StandingRule | None = None
    approvers: Approvers | None = None
    """Who must agree to what the rule asks; None: anybody who may answer."""
    examples: tuple[Example, ...] = ()
    dialect: Dialect = "interpose"
    lines: tuple[tuple[str, int], ...] = ()
    """The lines of the rule's own fields, for messages about them."""

    def line_of(self, field: str) -> int:
        """The line on which a field stands."""
        return dict(self.lines).get(field, self.source.line)

    def problem(self, field: str, message: str) -> PolicyProblem:
        """What is wrong with one of its fields."""
        return PolicyProblem(self.source.file, self.line_of(field), self.id, f"{field}: {message}")

    @property
    def text(self) -> str:
        """What people are told when the rule fires."""
        return self.message or self.description or f"Rule {self.id} applies."


class RuleFile(Struct, frozen=True):
    """What one file says."""

    file: str
    level: Level
    rules: tuple[Rule, ...]
    packs: tuple[tuple[str, int], ...] = ()
    """Names of packs that are switched on, with their lines."""
    disable: tuple[tuple[str, int], ...] = ()
    """Ids of rules that are switched off, with their lines."""
    judge: FrozenDict = EMPTY
    """Settings of the judge for all AI rules."""
    judge_line: int = 1


POLICY = "policy"
JUDGE = "policy:judge"
"""The ids under which a policy and its AI rules are registered."""
