"""How an explanation is shown to a person: aligned, and without anything that could steer the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from interpose.doors.cli.explaining.explain_call import Explanation, InterceptorAnswer
from interpose.doors.cli.explaining.verdict_text import COLOURS, Ink, columns, cut, visible
from interpose.doors.cli.shared.terminal import hanging
from interpose.rules.policy_trials.rule_accounts import Account

_SPEAKING = ("deny", "ask", "rewrite", "note", "answer", "failed", "not-asked")
_CODES = {**COLOURS, "failed": "31", "rewrite": "36", "note": "36", "answer": "32"}
_WORD, _WIDTH, _ITEMS = 9, 110, 20


def explanation_text(told: Explanation, ink: Ink) -> str:
    """The whole explanation, ready to print."""
    return "\n".join(
        [
            *_head(told, ink),
            *_guards(told.guards, ink),
            *_seen(told.rules, ink),
            *_rules(told, ink),
            *_refused(told.refused, ink),
            *_instead(told, ink),
        ]
    )


def _head(told: Explanation, ink: Ink) -> Iterator[str]:
    colour = COLOURS.get(told.outcome, "36")
    by = (
        f"  {told.rule}  {ink(f'({told.severity})', '2')}  {ink(f'by {told.interceptor}', '2')}"
        if told.interceptor
        else ""
    )
    yield ink(told.outcome.upper(), f"1;{colour}") + by
    yield from (hanging("  ", line) for line in visible_lines(told.reason))
    if told.approver:
        yield f"  answered by {visible(told.approver)}: it would run"
    yield ""
    yield f"  {_subject(told)}"


def visible_lines(text: str) -> list[str]:
    """The lines of a text, each made visible."""
    return [visible(line) for line in text.splitlines()]


def _subject(told: Explanation) -> str:
    call = told.call
    command = call.arguments.get("command")
    if call.name == "exec" and isinstance(command, str):
        return cut(visible(command), _WIDTH)
    return cut(visible(f"{call.name}  " + "  ".join(f"{key}={value}" for key, value in call.arguments.items())), _WIDTH)


def _guards(guards: Sequence[InterceptorAnswer], ink: Ink) -> Iterator[str]:
    if not guards:
        return
    yield from ("", ink("Guards", "1"))
    names = max(columns(heard.interceptor) for heard in guards)
    for heard in guards:
        line = f"  {_word(heard.said, ink)}{heard.interceptor:{names}}"
        if heard.rule or heard.reason:
            line = hanging(f"{line}  {heard.rule}  ", visible(heard.reason))
        yield line.rstrip()
        if heard.skipped:
            yield " " * (2 + _WORD) + ink(f"not asked, since {heard.skipped} had refused", "2")


def _seen(rules: Sequence[Account], ink: Ink) -> Iterator[str]:
    """What the rules read, once for all of them: every element on a line of its own."""
    values = {name: value for account in rules for name, value in account.saw}
    if not values:
        return
    yield from ("", ink("What the rules saw", "1"))
    names = max(map(len, values))
    for name, value in sorted(values.items()):
        items = value if isinstance(value, list | tuple) else [value]
        for item in items[:_ITEMS] or ["none"]:
            yield f"  {name:{names}}  {cut(visible(_shown(name, item)), _WIDTH)}".rstrip()
        if len(items) > _ITEMS:
            yield f"  {'':{names}}  and {len(items) - _ITEMS} more"


def _refused(refused: Sequence[str], ink: Ink) -> Iterator[str]:
    if refused:
        yield from ("", ink("Refused: a lower level can't loosen", "1"))
        yield from (hanging("  ", visible(why)) for why in refused)


def _rules(told: Explanation, ink: Ink) -> Iterator[str]:
    yield from ("", ink(f"Rules of policy {told.revision}", "1"))
    if told.skipped:
        yield ink(f"  not asked, since {told.skipped} had refused; this is what they would have said:", "2")
    listed = [account for account in told.rules if account.said not in ("elsewhere", "off")]
    if listed:
        names = max(len(account.rule.id) for account in listed)
        for account in sorted(listed, key=lambda account: account.said not in _SPEAKING):
            yield from _rule(account, names, ink)
    away = [f"{account.rule.id} ({account.why})" for account in told.rules if account.said in ("elsewhere", "off")]
    yield from (f"  {_word('', ink)}{ink(visible(text), '2')}" for text in away)
    if not told.rules:
        yield "  none"


def _rule(account: Account, names: int, ink: Ink) -> Iterator[str]:
    rule = account.rule
    margin = " " * (2 + _WORD)
    watching = " (only watching)" if rule.mode == "watch" else ""
    if account.said not in _SPEAKING:
        told = visible(account.why) if account.why else f"saw {', '.join(name for name, _ in account.saw) or 'nothing'}"
        yield f"  {_word('-', ink)}{rule.id:{names}}  {ink(told, '2')}"
        return
    said = rule.text if account.said not in ("failed", "not-asked") else account.why
    yield hanging(f"  {_word(account.said, ink)}{rule.id:{names}}  ", f"{visible(said)}{watching}")
    yield margin + ink(visible(f"{rule.source.file}:{rule.source.line}, {rule.source.level}, {rule.severity}"), "2")
    causes = account.causes or account.saw
    yield from (
        f"{margin}because of {cut(visible(f'{name}: {_shown(name, value)}'), _WIDTH)}" for name, value in causes
    )


def _shown(name: str, value: Any) -> str:
    """A value in few words: what it is, and what is set of it."""
    match name, value:
        case "effects", {"kind": kind, "resource": resource, "certainty": certainty}:
            flags = [key for key, on in value.items() if on is True]
            return " ".join(part for part in (kind, resource, certainty, *flags) if part)
        case "command", {"name": program, "args": args}:
            return " ".join((program, *args))
        case _, list() | tuple():
            return ", ".join(_shown(name, item) for item in value) or "none"
        case _, dict():
            return "  ".join(f"{key}={item}" for key, item in value.items() if item not in ("", [], ()))
        case _:
            return str(value)


def _instead(told: Explanation, ink: Ink) -> Iterator[str]:
    if told.outcome not in ("deny", "ask"):
        return
    yield from ("", ink("Allowed instead", "1"))
    widths = [columns(visible(change.command)) for change in told.changes]
    for change, width in zip(told.changes, widths, strict=True):
        yield f"  {visible(change.command)}{' ' * (max(widths) - width)}  {ink(visible(change.how), '2')}"
    yield from (hanging("  ", visible(text)) for text in told.advice)
    if not told.changes and not told.advice:
        yield "  no smaller form of this call is allowed"


def _word(word: str, ink: Ink) -> str:
    padded = f"{word:{_WORD - 1}} "
    return ink(padded, _CODES[word]) if word in _CODES else padded
