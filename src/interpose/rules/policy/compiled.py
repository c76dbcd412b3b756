"""A policy: its rules compiled, indexed by where they apply, and named by one revision. Immutable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.core.tools import TOOL_GROUPS
from interpose.core.types import EMPTY, FrozenDict, HookPoint
from interpose.rules.cel.checker import ExpressionError, check
from interpose.rules.cel.expression import Check, Expression, condition, late_condition, value_of
from interpose.rules.cel.read_checks import Facts
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.cel.text_functions import pattern, wildcard
from interpose.rules.cel.variable_shapes import Shape
from interpose.rules.policy.effect_needs import Needs, needs_of
from interpose.rules.policy.rules import PolicyProblem, Rule, RuleRedaction
from interpose.rules.policy.startup_memory import Memory, key_of
from interpose.rules.policy.variables import ALWAYS, VARIABLES

_MAX_SELECTIONS = 512
_MAX_TRIED = 2000
_CandidateKey = tuple[HookPoint, str, str, frozenset[str], frozenset[str]]


class CompiledRule(Struct, frozen=True):
    """A rule, ready to be evaluated."""

    rule: Rule
    when: Expression | None
    rewrites: tuple[tuple[tuple[str, ...], Expression], ...] = ()
    replace: Callable[[str], str] | None = None
    """Takes out of a text what the rule redacts."""
    needs: Needs = None
    """What its condition needs of a call's effects to be true."""


class Policy:
    """All rules of a compiled set. A call is judged by one policy from its beginning to its end."""

    def __init__(
        self, rules: tuple[CompiledRule, ...], refused: tuple[PolicyProblem, ...] = (), judge: FrozenDict = EMPTY
    ) -> None:
        self.rules = rules
        self.refused = refused
        """What files asked for and may not: the attempts of a lower level to loosen."""
        self.judge = judge
        """Shared settings of the judge."""
        self.revision = _revision(rules, refused, judge)
        self._selections: dict[tuple[HookPoint, str, str], tuple[CompiledRule, ...]] = {}
        self._candidates: dict[_CandidateKey, tuple[CompiledRule, ...]] = {}

    def select(self, point: HookPoint, tool: str, known_tool: str = "") -> tuple[CompiledRule, ...]:
        """The rules that apply to a tool at a hook point: enabled ones, in order. `known_tool`: see `applies`."""
        key = (point, tool, known_tool)
        found = self._selections.get(key)
        if found is None:
            if len(self._selections) >= _MAX_SELECTIONS:
                self._selections.clear()  # agents choose names: the memory must not grow with them
            found = self._selections[key] = tuple(
                compiled
                for compiled in self.rules
                if compiled.rule.enabled and applies(compiled.rule, point, tool, known_tool)
            )
        return found

    def candidates(
        self, point: HookPoint, tool: str, kinds: frozenset[str], rules: frozenset[str], known_tool: str = ""
    ) -> tuple[CompiledRule, ...]:
        """Those of `select` that may fire on a call whose effects are of these kinds and have these rules."""
        key = (point, tool, known_tool, kinds, rules)
        found = self._candidates.get(key)
        if found is None:
            if len(self._candidates) >= _MAX_SELECTIONS:
                self._candidates.clear()  # as above
            found = self._candidates[key] = tuple(
                compiled for compiled in self.select(point, tool, known_tool) if _may_fire(compiled, kinds, rules)
            )
        return found


def _may_fire(compiled: CompiledRule, kinds: frozenset[str], rules: frozenset[str]) -> bool:
    return compiled.needs is None or any(need.met(kinds, rules) for need in compiled.needs)


def compile_rules(
    rules: Iterable[Rule],
    refused: tuple[PolicyProblem, ...] = (),
    judge: FrozenDict = EMPTY,
    memory: Memory | None = None,
) -> Policy:
    """The policy of these rules. Raises PolicyError with every problem of every rule."""
    problems: list[PolicyProblem] = []
    compiled: list[CompiledRule] = []
    for rule in rules:
        try:
            compiled.append(_tried_once(rule) if memory is None else _remembered(rule, memory))
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    return Policy(tuple(compiled), refused, judge)


_tried: dict[bytes, CompiledRule] = {}
"""Rules that were compiled in this process and whose examples hold. Each project has an engine with the same packs."""


def _tried_once(rule: Rule) -> CompiledRule:
    key = key_of(rule)
    known = _tried.get(key)
    if known is None:
        known = _tried_rule(rule, check)
        if len(_tried) >= _MAX_TRIED:
            _tried.clear()  # files that change again and again must not fill the memory
        _tried[key] = known
    return known


def _tried_rule(rule: Rule, check: Check) -> CompiledRule:
    """One rule, compiled, whose examples hold. Raises PolicyError."""
    from interpose.rules.policy.examples import failing_examples

    ready = compile_rule(rule, check)
    if failing := tuple(failing_examples(ready)):
        raise PolicyError(failing)
    return ready


def _remembered(rule: Rule, memory: Memory) -> CompiledRule:
    """The same with what is known from before."""
    if (later := _later(rule, memory)) is not None:
        return later
    if memory.holds(rule):
        return compile_rule(rule, memory.check)
    ready = _tried_rule(rule, memory.check)
    memory.held(rule, frozenset() if ready.when is None else ready.when.variables, ready.needs)
    return ready


def _later(rule: Rule, memory: Memory) -> CompiledRule | None:
    """A rule of which it is known that it can be compiled and that its examples hold, compiled when it is asked.

    INVARIANT: exactly this rule was compiled before, by this version.
    """
    known = memory.held_rule(rule)
    if known is None or not rule.when or rule.rewrite or rule.redact:
        return None
    shapes, always, lenient = _environment(rule)
    make = partial(condition, rule.when, shapes, always, lenient=lenient, check=memory.check)
    return CompiledRule(rule, late_condition(rule.when, known.variables, make), needs=known.needs)


def compile_rule(rule: Rule, check: Check = check) -> CompiledRule:
    """One rule, checked and compiled. Raises PolicyError."""
    problems: list[PolicyProblem] = []
    shapes, always, lenient = _environment(rule)

    def attempt(field: str, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except ExpressionError as error:
            problems.append(
                rule.problem(field, f"{error} (line {error.line}, column {error.column} of the expression)")
            )
        except EvaluationError as error:
            problems.append(rule.problem(field, str(error)))
        return None

    when = (
        attempt("when", lambda: condition(rule.when, shapes, always, lenient=lenient, check=check))
        if rule.when
        else None
    )
    rewrites = tuple(
        (tuple(path.split(".")), attempt("rewrite", partial(value_of, text, shapes, always, check=check)))
        for path, text in rule.rewrite
    )
    replace = attempt("redact", partial(_replacing, rule.redact)) if rule.redact else None
    if problems:
        raise PolicyError(tuple(problems))
    return CompiledRule(rule, when, rewrites, replace, _needs(rule, when))


def _needs(rule: Rule, when: Expression | None) -> Needs:
    """Imported rules have other variables: nothing is known of what they need."""
    return needs_of(when.root) if when is not None and when.root is not None and rule.dialect == "interpose" else None


def _environment(rule: Rule) -> tuple[Mapping[str, Shape], Facts, bool]:
    """The variables of a rule, what it may take for granted, and whether a missing key is no mistake."""
    if rule.dialect != "interpose":
        from interpose.rules.policy.imported_variables import SHAPES  # most policies have no such rule

        return SHAPES, frozenset(), True
    shapes = dict(VARIABLES)
    if HookPoint.TOOL_AFTER not in rule.on.points:
        del shapes["result"]
    granted = [_granted(tool) for tool in rule.on.tools]
    always = frozenset.intersection(*granted) if granted else frozenset[str]()
    return shapes, frozenset(("args", name) for name in always), False


def _granted(tool: str) -> frozenset[str]:
    """The arguments that every tool behind a name, a group or a glob has."""
    names = TOOL_GROUPS.get(tool, (tool,))
    return frozenset.intersection(*(ALWAYS.get(name, frozenset()) for name in names))


def _replacing(redaction: RuleRedaction) -> Callable[[str], str]:
    if not redaction.pattern:
        return lambda text: redaction.replacement if text else text
    if pattern(redaction.pattern).search(b"") is not None:
        raise EvaluationError(f"{redaction.pattern!r} matches where nothing is: expected a pattern of something")
    compiled, literal = pattern(redaction.pattern), redaction.replacement.encode("utf-8", "surrogatepass")

    def replace(text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        # A function as replacement: `\\1` in a replacement is text, not a reference.
        found = compiled.sub(lambda _match: literal, data)
        return text if found == data else _text(found)

    return replace


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # a pattern of single bytes (`\\C`) cut a character in two
        return data.decode("utf-8", "replace")


def applies(rule: Rule, point: HookPoint, tool: str, known_tool: str = "") -> bool:
    """Whether a rule is about a tool at a hook point. `known_tool` is the known tool that the call is read as: `exec`
    for `mcp__x__bash`.

    INVARIANT: a rule that tightens also goes by that name, or a server's shell would escape every rule about `exec`.
    A rule that answers questions goes by the tool's own name alone.
    """
    if point not in rule.on.points:
        return False
    if not rule.on.tools or names_tool(rule.on.tools, tool):
        return True
    return bool(known_tool) and rule.action != "allow" and names_tool(rule.on.tools, known_tool)


def names_tool(listed: Sequence[str], tool: str) -> bool:
    """Whether a list of names, groups and globs has a tool."""
    return any(_names(entry, tool) for entry in listed)


@lru_cache(maxsize=4096)
def _names(entry: str, tool: str) -> bool:
    if entry.startswith("group:"):
        return tool in TOOL_GROUPS.get(entry, ())
    return entry == tool or wildcard(tool, entry)


def _revision(rules: Sequence[CompiledRule], refused: Sequence[PolicyProblem], judge: FrozenDict) -> str:
    """A name for exactly this set: the same rules in the same order have the same one."""
    said = msgspec.json.encode(([compiled.rule for compiled in rules], refused, judge), order="deterministic")
    return hashlib.sha256(said).hexdigest()[:16]
