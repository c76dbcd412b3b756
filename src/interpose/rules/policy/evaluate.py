"""One decision: which rules fire on a call, and what they say together.

Deny wins over ask, ask over a rewrite, whatever the order of the rules. A rule that fails says what its `on_error`
says, and touches no other rule. A watching rule says what it would have done, and decides nothing.
"""

from __future__ import annotations

from time import thread_time
from typing import Any, Literal

from msgspec import Struct

from interpose.core.tools import spellings
from interpose.core.types import HookPoint, ToolCall, ToolOutcome
from interpose.reading.calls import reading_of
from interpose.rules.cel.expression import Expression
from interpose.rules.cel.runtime_values import EvaluationError, MissingKeyError, plain
from interpose.rules.policy.compiled import CompiledRule, Policy
from interpose.rules.policy.rules import Level, Rule
from interpose.rules.policy.variables import ALWAYS, Variables

PROJECT_SECONDS = 0.25
_FEW = 1000

Saw = Literal["fired", "silent", "failed", "missing"]


class Opinion(Struct, frozen=True):
    """What one rule says about one call."""

    compiled: CompiledRule
    saw: Saw
    error: str = ""

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.compiled.rule


def fires(compiled: CompiledRule, variables: Variables) -> bool:
    """Whether the condition of a rule holds. Raises EvaluationError."""
    when = compiled.when
    if when is None:
        return True
    match compiled.rule.dialect:
        case "interpose":
            return when.holds(variables)
        case "imported-command":
            return _any_command(when, variables)
        case "imported-call" | "imported-result":
            from interpose.rules.policy.imported_variables import ImportedVariables  # most policies have no such rule

            return when.holds(ImportedVariables(variables))


def _any_command(when: Expression, variables: Variables) -> bool:
    """As its documents say, but for every command that the text would run, not for its first word alone."""
    from interpose.rules.policy.imported_variables import ImportedVariables

    failed: EvaluationError | None = None
    for ran in variables["command"]:
        try:
            if when.holds(ImportedVariables(variables, ran)):
                return True
        except EvaluationError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return False


def opinion(compiled: CompiledRule, variables: Variables) -> Opinion:
    """What a rule says. Never raises."""
    try:
        return Opinion(compiled, "fired" if fires(compiled, variables) else "silent")
    except MissingKeyError as error:
        if compiled.rule.dialect == "interpose":
            return Opinion(compiled, "failed", str(error))
        return Opinion(compiled, "missing", str(error))
    except EvaluationError as error:
        return Opinion(compiled, "failed", str(error))


class _Patience:
    """The time that all rules of projects have for one call. Agents write them, and others wait meanwhile."""

    def __init__(self) -> None:
        self._left = PROJECT_SECONDS

    def opinion(self, compiled: CompiledRule, variables: Variables) -> Opinion:
        """What a rule says; that it failed, if those before it have used up the time."""
        if self._left <= 0:
            return Opinion(compiled, "failed", f"the rules of the project took more than {PROJECT_SECONDS} seconds")
        start = thread_time()
        said = opinion(compiled, variables)
        self._left -= thread_time() - start
        return said


def opinions(policy: Policy, point: HookPoint, payload: ToolCall | ToolOutcome) -> list[Opinion]:
    """What the CEL rules that apply say, the silent ones left out. Rules of the judge are not asked here."""
    _, variables = subject(payload)
    found: list[Opinion] = []
    patience = _Patience()
    for compiled in _candidates(policy, point, variables):
        rule = compiled.rule
        if rule.prompt or rule.action == "allow":
            continue
        ask = patience.opinion if rule.source.level is Level.PROJECT else opinion
        said = ask(compiled, variables)
        if said.saw != "silent":
            found.append(said)
    return found


def _candidates(policy: Policy, point: HookPoint, variables: Variables) -> tuple[CompiledRule, ...]:
    """The rules that may fire. Where that can't be told, all that apply: to fail is for each rule by itself."""
    call, known = variables.call, variables.known_tool
    try:
        effects = reading_of(call, variables.home).effects
        if len(effects) > _FEW:
            return policy.select(point, call.name, known)  # rules have a limit of turns, and fail past it
        kinds = frozenset([effect.kind for effect in effects])
        rules = frozenset([effect.details.get("rule", "") for effect in effects])
        return policy.candidates(point, call.name, kinds, rules, known)
    except Exception:  # noqa: BLE001 - arguments of an embedding program's own classes may raise anything
        return policy.select(point, call.name, known)


def subject(payload: ToolCall | ToolOutcome) -> tuple[ToolCall, Variables]:
    """The call in a payload, and the variables that rules see of it."""
    if isinstance(payload, ToolOutcome):
        return payload.call, Variables(payload.call, payload)
    return payload, Variables(payload)


def rewritten(compiled: CompiledRule, variables: Variables) -> dict[str, Any]:
    """The arguments as a `transform` rule wants them. Raises EvaluationError."""
    arguments: dict[str, Any] = dict(variables.call.arguments)
    for path, expression in compiled.rewrites:
        _put(arguments, _spelled(variables, path), plain(expression.value(variables)))
    return arguments


def _spelled(variables: Variables, path: tuple[str, ...]) -> tuple[str, ...]:
    """The path in the agent's own words: its tool reads no others, and would run what it was given."""
    if len(path) > 1 or path[0] not in ALWAYS.get(variables.known_tool, ()):
        return path
    given = spellings(variables.call, path[0])
    if len(given) > 1:
        raise EvaluationError(f"{path[0]} is said by several arguments, and can't be rewritten: {', '.join(given)}")
    return given or path


def _put(arguments: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    holder = arguments
    for name in path[:-1]:
        inner = holder.get(name, {})
        if not isinstance(inner, dict):
            raise EvaluationError(f"{'.'.join(path)} is no path in the arguments: {name!r} is no map")
        holder[name] = holder = dict(inner)
    holder[path[-1]] = value
