"""Reading a policy for mistakes: rules that are dead, shadowed, contradictory, said twice, or covered by no example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.core.tools import KNOWN_TOOL_NAMES, TOOL_GROUPS, mcp_name
from interpose.rules.cel.ast import Const, Node
from interpose.rules.cel.checker import check
from interpose.rules.policy.compiled import compile_rule, names_tool
from interpose.rules.policy.load import RuleText
from interpose.rules.policy.parsing import parse
from interpose.rules.policy.rules import WEIGHT, PolicyProblem, Rule
from interpose.rules.policy.variables import VARIABLES
from interpose.rules.policy_trials.implication import Implication, Known, canonical, possible

Kind = Literal["broken", "dead", "shadowed", "contradictory", "duplicate", "uncovered"]

_TYPES = {name: shape.type for name, shape in VARIABLES.items()}
_DECIDING = ("deny", "ask")


class Remark(Struct, frozen=True):
    """One thing that is wrong with a rule. `other` is the rule that it collides with, if any."""

    kind: Kind
    rule: str
    file: str
    line: int
    message: str
    other: str = ""


class _Read(Struct, frozen=True):
    """A rule and its canonical condition."""

    rule: Rule
    when: Node


def lint(texts: Iterable[RuleText]) -> list[Remark]:
    """Everything that is wrong with the rules of these files, in the order of the files."""
    remarks: list[Remark] = []
    read: list[_Read] = []
    for text in texts:
        try:
            rules = parse(text.text, text.file, text.level, text.pack).rules
        except PolicyError as error:
            remarks += map(_broken, error.problems)
            continue
        for rule in rules:
            try:
                compile_rule(rule)
            except PolicyError as error:
                remarks += map(_broken, error.problems)
                continue
            read.append(_Read(rule, _condition(rule)))
    for each in read:
        remarks += _alone(each)
    remarks += _together(read)
    return remarks


def _broken(problem: PolicyProblem) -> Remark:
    return Remark("broken", problem.rule, problem.file, problem.line, problem.message)


def _remark(kind: Kind, rule: Rule, field: str, message: str, other: str = "") -> Remark:
    return Remark(kind, rule.id, rule.source.file, rule.line_of(field), message, other)


def _condition(rule: Rule) -> Node:
    """What an imported rule reads is not ours to reason about: it is only equal to itself."""
    if rule.dialect != "interpose":
        return Const(f"{rule.dialect}:{rule.when}")
    return canonical(check(rule.when, _TYPES).syntax.root) if rule.when else Const(True)


def _alone(read: _Read) -> Iterator[Remark]:
    rule = read.rule
    if not rule.enabled:
        yield _remark("dead", rule, "enabled", "it is switched off")
    for tool in rule.on.tools:
        if not _known_tool(tool):
            yield _remark("dead", rule, "on", f"no tool is called {tool!r}: it never applies there")
    tools = frozenset(_tools(rule))
    known: Known = {("tool",): tools} if tools else {}
    if rule.dialect == "interpose" and possible(read.when, known) is None:
        yield _remark("dead", rule, "when", "its condition contradicts itself or what it is on: it can never match")
    if rule.prompt:
        return
    if not any(example.matches for example in rule.examples):
        yield _remark("uncovered", rule, "examples", "no example matches it")
    elif all(example.matches for example in rule.examples):
        yield _remark("uncovered", rule, "examples", "no example shows what it leaves alone")


def _known_tool(name: str) -> bool:
    plain = not any(mark in name for mark in "*?[")
    if not plain:
        return name.startswith("mcp") or any(names_tool((name,), tool) for tool in KNOWN_TOOL_NAMES)
    return name in KNOWN_TOOL_NAMES or name in TOOL_GROUPS or mcp_name(name) is not None


def _tools(rule: Rule) -> tuple[str, ...]:
    """The tools that a rule names, if they can be counted."""
    if any(mark in name for name in rule.on.tools for mark in "*?["):
        return ()
    return tuple(tool for name in rule.on.tools for tool in TOOL_GROUPS.get(name, (name,)))


def _together(read: Sequence[_Read]) -> Iterator[Remark]:
    active = [each for each in read if each.rule.enabled]
    implication = Implication()
    by_id = {each.rule.id: each.rule for each in active}
    for index, each in enumerate(active):
        yield from _answers(each.rule, by_id)
        for place, other in enumerate(active):
            if index == place or each.rule.source == other.rule.source:
                continue
            remark = _pair(each, other, implication, later=index > place)
            if remark is not None:
                yield remark
                break


def _pair(each: _Read, other: _Read, implication: Implication, *, later: bool) -> Remark | None:
    """What another rule means for a rule. Of two that say the same, the later one is named."""
    rule, wide = each.rule, other.rule
    where = f"{wide.id} ({wide.source.file}:{wide.source.line})"
    if rule.prompt or wide.prompt or rule.id == wide.id or _of_two_packs(rule, wide) or not _covers(wide, rule):
        return None
    if not implication.holds(each.when, other.when):
        return None
    same = _covers(rule, wide) and implication.holds(other.when, each.when)
    if same and (rule.action, rule.mode, rule.rewrite, rule.redact) == (
        wide.action, wide.mode, wide.rewrite, wide.redact,
    ):  # fmt: skip
        return _remark("duplicate", rule, "id", f"says the same as {where}", wide.id) if later else None
    if rule.action == "transform" and wide.action == "transform" and _paths(rule) & _paths(wide) and later:
        return _remark("contradictory", rule, "rewrite", f"rewrites the same argument as {where}", wide.id)
    if wide.mode == "watch" or rule.mode == "watch" or wide.action not in _DECIDING or rule.action == "log":
        return None
    if WEIGHT[wide.action] <= WEIGHT[rule.action]:
        return None
    if rule.action == "allow" and wide.action != "deny":
        return None  # answering a question is what an `allow` rule is for
    if same:
        why = f"matches the same calls as {where}, which says {wide.action} where this one says {rule.action}"
        return _remark("contradictory", rule, "action", why, wide.id)
    why = f"wherever it matches, {where} says {wide.action}, which is stronger than {rule.action}"
    return _remark("shadowed", rule, "when", why, wide.id)


def _of_two_packs(rule: Rule, other: Rule) -> bool:
    """Each pack stands alone, so packs say some things again on purpose."""
    return bool(rule.source.pack and other.source.pack) and rule.source.pack != other.source.pack


def _covers(wide: Rule, narrow: Rule) -> bool:
    """Whether one rule is about every tool and point that the other is about."""
    if not set(narrow.on.points) <= set(wide.on.points):
        return False
    if not wide.on.tools or set(narrow.on.tools) <= set(wide.on.tools):
        return bool(narrow.on.tools) or not wide.on.tools
    tools = _tools(narrow)
    return bool(tools) and all(names_tool(wide.on.tools, tool) for tool in tools)


def _paths(rule: Rule) -> set[str]:
    return {path for path, _ in rule.rewrite}


def _answers(rule: Rule, by_id: dict[str, Rule]) -> Iterator[Remark]:
    """An `allow` rule that answers what never asks."""
    if rule.answers is None:
        return
    for name in rule.answers.rules:
        answered = by_id.get(name)
        if answered is not None and answered.action != "ask" and answered.on_error != "ask":
            why = f"answers {name}, which says {answered.action} and never asks"
            yield _remark("contradictory", rule, "answers", why, name)
