"""What every rule of a policy has to say about one call: also those that stay silent, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from interpose.core.types import HookPoint, ToolCall
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.policy.compiled import CompiledRule, Policy, applies
from interpose.rules.policy.evaluate import Opinion, fires, opinion
from interpose.rules.policy.rules import Rule
from interpose.rules.policy.variables import Variables

Said = Literal["deny", "ask", "rewrite", "note", "answer", "silent", "failed", "not-asked", "elsewhere", "off"]
"""`answer`: would answer questions; `not-asked`: only a judge can say; `elsewhere`: about other tools, or results."""

_SAID: dict[str, Said] = {
    "deny": "deny", "ask": "ask", "transform": "rewrite", "redact": "rewrite", "log": "note", "allow": "answer",
}  # fmt: skip
_LISTS = ("effects", "command", "paths", "hosts")
_MOST_CAUSES = 500
"""Elements of a list that are shown to a rule alone."""


class Account(Struct, frozen=True):
    """One rule, what it saw of the call, and what it said."""

    rule: Rule
    said: Said
    saw: tuple[tuple[str, Any], ...] = ()
    """The variables that its condition reads, and their values."""
    causes: tuple[tuple[str, Any], ...] = ()
    """Of these lists, the elements that alone make it fire."""
    why: str = ""


def accounts(policy: Policy, call: ToolCall) -> list[Account]:
    """The account of every rule, in the order of the policy. Never raises."""
    variables = Variables(call)
    return [_account(compiled, variables) for compiled in policy.rules]


def _account(compiled: CompiledRule, variables: Variables) -> Account:
    rule = compiled.rule
    if not rule.enabled:
        return Account(rule, "off", why="it is switched off")
    if not applies(rule, HookPoint.TOOL_BEFORE, variables.call.name, variables.known_tool):
        before = HookPoint.TOOL_BEFORE in rule.on.points
        return Account(rule, "elsewhere", why=f"is about {', '.join(rule.on.tools)}" if before else "is about results")
    heard = opinion(compiled, variables)
    saw = tuple(_saw(compiled, variables))
    match heard.saw:
        case "silent":
            return Account(rule, "silent", saw)
        case "missing":
            return Account(rule, "silent", saw, why=heard.error)
        case "failed":
            return Account(rule, "failed", saw, why=f"{heard.error}; on_error says {rule.on_error}")
        case "fired" if rule.prompt:
            return Account(rule, "not-asked", saw, why="only a judge can say")
        case "fired":
            return Account(rule, _SAID[rule.action], saw, tuple(_causes(heard, variables)))


def _saw(compiled: CompiledRule, variables: Variables) -> Iterator[tuple[str, Any]]:
    if compiled.when is None or compiled.rule.dialect != "interpose":
        return
    for name in sorted(compiled.when.variables - {"now"}):
        yield name, variables[name]


def _causes(heard: Opinion, variables: Variables) -> Iterator[tuple[str, Any]]:
    """Each list is shown to the rule one element at a time, with everything else as it was."""
    when = heard.compiled.when
    if when is None or heard.rule.dialect != "interpose":
        return
    for name in _LISTS:
        if name not in when.variables or len(variables[name]) < 1:
            continue
        for element in variables[name][:_MOST_CAUSES]:
            alone = Variables(variables.call)
            alone.update({other: variables[other] for other in _LISTS})
            alone[name] = [element]
            try:
                if fires(heard.compiled, alone):
                    yield name, element
            except EvaluationError:
                continue
