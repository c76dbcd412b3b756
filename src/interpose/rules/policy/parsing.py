"""The form of a rule file, held strictly: unknown keys, wrong types and missing parts are errors with their line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from interpose.core.answers import Approvers
from interpose.core.errors import PolicyError
from interpose.core.formats.yaml_text import Document, Path, YamlError, read_yaml
from interpose.core.tools import TOOL_GROUPS, normalize_tool_name
from interpose.core.types import FrozenDict, HookPoint, OnError, freeze
from interpose.rules.policy import imported_rules
from interpose.rules.policy.file_format import CallForm, FileForm, FormError, Point, RuleForm, ScopeForm, located
from interpose.rules.policy.rules import (
    Action,
    AnswerScope,
    Example,
    Level,
    PolicyProblem,
    Rule,
    RuleFile,
    RuleRedaction,
    RuleTarget,
    Source,
    StandingRule,
)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of rule files, for editors."""
    schema = msgspec.json.schema(FileForm)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interpose policy"} | schema


def parse(text: str, file: str, level: Level, pack: str = "") -> RuleFile:
    """The rules of one file. Raises PolicyError with all that is wrong in their form."""
    try:
        document = read_yaml(text)
    except YamlError as error:
        raise PolicyError((PolicyProblem(file, error.line, "", str(error)),)) from None
    reading = _Reading(document, file, level, pack)
    if imported_rules.is_imported(document.data):
        rules = reading.each_rule(imported_rules.ImportedForm, imported_rules.rules_of)
        reading.raise_problems()
        return RuleFile(file, level, rules)
    data = dict(document.data) if isinstance(document.data, dict) else document.data
    listed = data.pop("rules", []) if isinstance(data, dict) else []
    form = reading.convert(data, FileForm, ())
    if not isinstance(listed, list):
        reading.note(("rules",), "", "expected a list of rules")
    rules = reading.each_rule(RuleForm, _rules_of)
    reading.raise_problems()
    return RuleFile(
        file, level, rules,
        packs=tuple((name, document.line_at(("packs", n))) for n, name in enumerate(form.packs)),
        disable=tuple((name, document.line_at(("disable", n))) for n, name in enumerate(form.disable)),
        judge=freeze(form.judge), judge_line=document.line_at(("judge",)),
    )  # fmt: skip


class _Reading:
    """One file on its way to rules: collects every problem instead of stopping at the first."""

    def __init__(self, document: Document, file: str, level: Level, pack: str) -> None:
        self.document, self.file, self.level, self.pack = document, file, level, pack
        self.problems: list[PolicyProblem] = []

    def note(self, path: Path, rule: str, message: str) -> None:
        self.problems.append(PolicyProblem(self.file, self.document.line_at(path), rule, message))

    def raise_problems(self) -> None:
        if self.problems:
            raise PolicyError(tuple(self.problems))

    def convert(self, data: Any, form: Any, at: Path) -> Any:
        """`data` in its form, or None and a problem."""
        try:
            return msgspec.convert(data, form, strict=True)
        except (msgspec.ValidationError, RecursionError) as error:
            rule = data.get("id", data.get("name", "")) if isinstance(data, dict) else ""
            where, message = located(str(error), form)
            self.note((*at, *where), rule if isinstance(rule, str) else "", message)
            return None

    def _line(self, at: Path, *path: str | int) -> int:
        return self.document.line_at((*at, *path))

    def each_rule(self, form: Any, build: Any) -> tuple[Rule, ...]:
        data = self.document.data
        listed = data.get("rules", []) if isinstance(data, dict) else []
        found: list[Rule] = []
        for index, item in enumerate(listed if isinstance(listed, list) else []):
            at: Path = ("rules", index)
            decoded = self.convert(item, form, at)
            if decoded is None:
                continue
            source = Source(self.file, self.document.line_at(at), self.level, self.pack)
            lines = tuple((key, self.document.line_at((*at, key))) for key in item)
            try:
                found.extend(build(decoded, source, lines, partial(self._line, at)))
            except FormError as error:
                self.note((*at, *error.path), decoded.id, str(error))
        return tuple(found)


def _rules_of(
    form: RuleForm, source: Source, lines: tuple[tuple[str, int], ...], line_at: Callable[..., int]
) -> list[Rule]:
    _require_parts(form)
    on = _target(form)
    return [
        Rule(
            id=form.id, source=source, description=form.description, when=form.when or "", prompt=form.prompt or "",
            judge=freeze(form.judge), on=on, action=form.action, message=form.message, severity=form.severity,
            mode=form.mode, on_error=form.on_error or _ON_ERROR.get(form.action, "deny"),
            enabled=form.enabled, tags=tuple(form.tags), instead=form.instead,
            rewrite=tuple(form.rewrite.items()), redact=_redaction(form), answers=_answers(form),
            approvers=_approvers(form), examples=_examples(form, line_at), lines=lines,
        )
    ]  # fmt: skip


_ON_ERROR: dict[Action, OnError] = {"log": "allow"}
"""What a failure means where the rule does not say: deny, unless the rule could not have stopped anything."""

_BELONGS: dict[str, tuple[Action, ...]] = {"rewrite": ("transform",), "redact": ("redact",), "answers": ("allow",)}
"""Keys that only mean something with one action, and are needed there."""


def _require_parts(form: RuleForm) -> None:
    if form.when is None and form.prompt is None:
        raise FormError("expected `when` (a CEL expression) or `prompt` (a question for the judge)")
    for key, actions in _BELONGS.items():
        there = bool(getattr(form, key))
        if there and form.action not in actions:
            raise FormError(f"`{key}` belongs to the action {actions[0]!r}, this rule's action is {form.action!r}", key)
        if not there and form.action in actions and not (key == "redact" and form.prompt):
            raise FormError(f"the action {form.action!r} needs `{key}`", "action")
    if form.redact and (form.redact.pattern is None) == (form.prompt is None):
        what = "needs a `pattern`" if form.prompt is None else "has no `pattern`, the judge says what is taken out"
        raise FormError(f"`redact` {what}", "redact")
    for path in form.rewrite:
        if not all(path.split(".")):
            raise FormError(f"{path!r} is no argument path, expected names with dots between them", "rewrite", path)
    if form.judge and form.prompt is None:
        raise FormError("`judge` belongs to rules with a `prompt`", "judge")


def _target(form: RuleForm) -> RuleTarget:
    default: Point = "tool.after" if form.action == "redact" else "tool.before"
    given = form.on.point or default
    points = tuple(dict.fromkeys(HookPoint(point) for point in ([given] if isinstance(given, str) else given)))
    if not points:
        raise FormError("expected at least one hook point", "on", "point")
    if form.action in ("transform", "allow") and points != (HookPoint.TOOL_BEFORE,):
        raise FormError(f"the action {form.action!r} is for tool.before only", "on", "point")
    return RuleTarget(points, tuple(_tool(name, index) for index, name in enumerate(form.on.tools or ())))


def _tool(name: str, index: int) -> str:
    plain = name.strip().lower()
    if plain.startswith("group:") and plain not in TOOL_GROUPS:
        raise FormError(f"unknown group {name!r}, expected one of {', '.join(TOOL_GROUPS)}", "on", "tools", index)
    return plain if any(mark in plain for mark in "*?[") else normalize_tool_name(plain)


def _redaction(form: RuleForm) -> RuleRedaction | None:
    return RuleRedaction(form.redact.pattern or "", form.redact.replacement) if form.redact else None


def _answers(form: RuleForm) -> StandingRule | None:
    if form.answers is None:
        return None
    scope = form.answers.scope
    if scope == "everywhere":
        return StandingRule(tuple(form.answers.rules), AnswerScope())
    if scope == ScopeForm():
        raise FormError("expected at least one of tools, agents, roles, principals, sessions, directories, or the "
            "word everywhere", "answers", "scope")  # fmt: skip
    lists = {name: tuple(getattr(scope, name)) for name in ScopeForm.__struct_fields__}
    return StandingRule(tuple(form.answers.rules), AnswerScope(**lists))


_SECONDS = {"s": 1, "m": 60, "h": 3600}
_LONGEST = 24 * 3600


def _approvers(form: RuleForm) -> Approvers | None:
    """Who must agree. A rule that asks nobody has nobody who must."""
    given = form.approvers
    if given is None:
        return None
    if form.action != "ask":
        raise FormError(f"`approvers` belongs to the action 'ask', this rule's action is {form.action!r}", "approvers")
    if given.escalate is None:
        return Approvers(given.role, given.count)
    after = int(given.escalate.after[:-1]) * _SECONDS[given.escalate.after[-1]]
    if not 0 < after <= _LONGEST:
        raise FormError("expected a time up to 24h", "approvers", "escalate", "after")
    return Approvers(given.role, given.count, float(after), given.escalate.to)


def _examples(form: RuleForm, line_at: Callable[..., int]) -> tuple[Example, ...]:
    both = (("match", form.examples.match), ("no_match", form.examples.no_match))
    return tuple(
        example_of(item, key == "match", line_at("examples", key, index))
        for key, items in both
        for index, item in enumerate(items)
    )


def example_of(item: str | CallForm, matches: bool, line: int) -> Example:
    """A call as it stands in an example or a case; a text is a command."""
    if isinstance(item, str):
        return Example("exec", FrozenDict(command=item), matches, line)
    return Example(
        normalize_tool_name(item.tool), freeze(item.args), matches, line, freeze(item.result), item.is_error,
        item.cwd, item.agent, item.role, item.principal, item.session,
    )  # fmt: skip
