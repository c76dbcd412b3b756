"""Rules in the format of Maybe Don't: `name`, `mcp_expression`, `cli_expression`, `mode: audit_only`, ...

One imported rule can become two of ours: its expression on calls and its expression on commands. They load unchanged,
but by our error rules: a key that is not there means that the rule does not match, and is noted; any other error in a
deny rule denies; no error touches another rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from interpose.core.types import HookPoint, Mode
from interpose.rules.policy.file_format import FormError, NonEmptyText
from interpose.rules.policy.rules import Action, Dialect, Rule, RuleRedaction, RuleTarget, Source

_RESPONSE = re.compile(r"\bresponse\b")
_BEFORE, _AFTER = RuleTarget((HookPoint.TOOL_BEFORE,)), RuleTarget((HookPoint.TOOL_AFTER,))
_COMMANDS = RuleTarget((HookPoint.TOOL_BEFORE,), ("exec",))


class ImportedForm(Struct, frozen=True, forbid_unknown_fields=True):
    """One rule of that format."""

    name: NonEmptyText
    description: str = ""
    enabled: bool = True
    mcp_expression: str = ""
    cli_expression: str = ""
    expression: str = ""
    prompt: str = ""
    action: Literal["allow", "deny", "redact"] = "deny"
    message: str = ""
    mode: Literal["enforce", "audit_only"] = "enforce"
    redaction_pattern: str | None = None
    redaction_replacement: str = ""

    @property
    def id(self) -> str:
        """What our rules call it."""
        return self.name


def is_imported(data: Any) -> bool:
    """Whether a file is in that format: rules with names, and no version."""
    if not isinstance(data, dict) or "version" in data:
        return False
    rules = data.get("rules")
    return isinstance(rules, list) and any(isinstance(rule, dict) and "name" in rule for rule in rules)


def rules_of(
    form: ImportedForm, source: Source, lines: tuple[tuple[str, int], ...], _line_at: Callable[..., int]
) -> list[Rule]:
    """The rule in our words: one for calls, one for commands, or one for results."""
    if not form.name.isprintable():
        raise FormError("name: expected characters that can be seen, as it is shown to people", "name")
    parts: list[tuple[str, Dialect, RuleTarget]] = []
    if form.mcp_expression:
        parts.append((form.mcp_expression, "imported-call", _BEFORE))
    if form.cli_expression:
        parts.append((form.cli_expression, "imported-command", _COMMANDS))
    if form.expression:
        on_results = form.action == "redact" or _RESPONSE.search(form.expression) is not None
        parts.append((form.expression, *(("imported-result", _AFTER) if on_results else ("imported-call", _BEFORE))))
    if not parts and not form.prompt:
        raise FormError("expected `mcp_expression`, `cli_expression`, `expression` or `prompt`")
    if not parts:
        # Requests and responses are told apart by the file that a judge's rule stands in.
        on_results = form.action == "redact" or "response" in source.file.rpartition("/")[2]
        parts.append(("", "imported-result" if on_results else "imported-call", _AFTER if on_results else _BEFORE))
    return [_rule(form, source, lines, *part) for part in parts]


def _rule(
    form: ImportedForm, source: Source, lines: tuple[tuple[str, int], ...], when: str, dialect: Dialect, on: RuleTarget
) -> Rule:
    # There, `allow` rules only count: they lift nothing.
    action: Action = "log" if form.action == "allow" else form.action
    mode: Mode = "watch" if form.mode == "audit_only" else "enforce"
    redact = RuleRedaction(form.redaction_pattern or "", form.redaction_replacement or "[REDACTED]")
    return Rule(
        id=form.name, source=source, description=form.description, when=when, prompt=form.prompt, on=on, action=action,
        message=form.message, mode=mode, enabled=form.enabled, redact=redact if action == "redact" else None,
        dialect=dialect, lines=lines,
    )  # fmt: skip
