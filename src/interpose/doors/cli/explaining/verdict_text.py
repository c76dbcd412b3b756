"""How one judgement is shown to a person: the verdict, the command with its effects underlined, and a safer way."""

from __future__ import annotations

import unicodedata
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.types import Effect, Outcome, Severity
from interpose.doors.cli.shared.terminal import hanging

COLOURS = {"allow": "32", "rewrite": "36", "ask": "33", "deny": "31"}
_WIDTH = 96
_RESOURCE_WIDTH = 40
_LEAD = 16
"""How much of the command is shown before a span that would not fit otherwise."""


class Ink:
    """Colours, or none."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on else text


class JudgedCall(Struct, frozen=True):
    """What was said to a call, and what it would do."""

    decision: Outcome
    rule: str = ""
    severity: Severity = "info"
    reason: str = ""
    effects: tuple[Effect, ...] = ()
    instead: str = ""
    interceptor: str = ""
    """Who decided."""
    part: str = ""
    """The text that it objects to."""
    arguments: dict[str, Any] | None = None
    """The arguments that would run, if they are others."""


def explain(command: str, judged: JudgedCall, ink: Ink) -> str:
    """The whole explanation, ready to print."""
    head = ink(judged.decision.upper(), f"1;{COLOURS[judged.decision]}")
    if judged.rule:
        head += f"  {judged.rule}  {ink(f'({judged.severity})', '2')}"
    parts = [head]
    if judged.reason:
        parts += [hanging("  ", visible(line)) for line in judged.reason.split("\n")]
    if judged.effects:
        parts += ["", *_effects(command, judged, ink)]
    else:
        parts += ["", f"  {visible(command)}", "  no effects"]
    if judged.arguments is not None:
        shown = msgspec.json.encode(judged.arguments).decode()
        parts += ["", f"{ink('Runs as', '1')}  {visible(shown)}"]
    if judged.instead:
        parts += ["", hanging(f"{ink('Safer', '1')}  ", visible(judged.instead))]
    return "\n".join(parts)


def _effects(command: str, judged: JudgedCall, ink: Ink) -> list[str]:
    effects = judged.effects
    by_span: dict[tuple[int, int], list[Effect]] = {}
    for effect in effects:
        by_span.setdefault(effect.span, []).append(effect)
    widths = (
        max(len(effect.kind) for effect in effects),
        max(len(effect.certainty) for effect in effects),
        min(_RESOURCE_WIDTH, max(columns(_resource(effect)) for effect in effects)),
    )
    out: list[str] = []
    for span, group in sorted(by_span.items()):
        shown, marks = _underlined(command, span)
        objected = bool(judged.part) and command[span[0] : span[1]].startswith(judged.part)
        colour = COLOURS[judged.decision if objected else "allow"]
        out += [f"  {shown}", f"  {ink(marks, colour)}"]
        out += [_line(effect, widths, ink) for effect in group]
    return out


def _resource(effect: Effect) -> str:
    return visible(effect.resource) or "-"


def _line(effect: Effect, widths: tuple[int, int, int], ink: Ink) -> str:
    kinds, certainties, resources = widths
    parts = [
        f"{effect.kind:{kinds}}",
        f"{effect.certainty:{certainties}}",
        _resource(effect) + " " * (resources - columns(_resource(effect))),
    ]
    notes = [name if value is True else f"{name}={value}" for name, value in effect.details.items() if _is_note(name)]
    if notes:
        parts.append(ink(visible(" ".join(notes)), "2"))
    if effect.via:
        parts.append(ink(visible("through " + " > ".join(effect.via)), "2"))
    return ("    " + "  ".join(parts)).rstrip()


def _is_note(name: str) -> bool:
    return name not in ("rule", "reason", "instead", "strength")


def _underlined(command: str, span: tuple[int, int]) -> tuple[str, str]:
    """The line of the command that holds the span, and a line of marks under it."""
    start = min(max(span[0], 0), len(command))
    end = min(max(span[1], start), len(command))
    line_start = command.rfind("\n", 0, start) + 1
    line_end = command.find("\n", start)
    line_end = len(command) if line_end < 0 else line_end
    end = min(end, line_end)
    before, marked, after = command[line_start:start], command[start:end], command[end:line_end]
    head = visible(before)
    if columns(head) + columns(visible(marked)) > _WIDTH and len(before) > _LEAD:
        head = "…" + visible(before[-_LEAD:])
    body = cut(visible(marked), _WIDTH)
    tail = cut(visible(after), max(0, _WIDTH - columns(head) - columns(body)))
    return head + body + tail, " " * columns(head) + "^" * max(1, columns(body))


def cut(text: str, width: int) -> str:
    """A text that takes no more than `width` columns, or nearly so where letters are wide."""
    return text if columns(text) <= width else text[: max(0, width - 1)] + "…"


def visible(text: str) -> str:
    """Text that cannot steer a terminal or hide part of itself: control and direction characters are spelled out."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        char
        if char.isprintable() and unicodedata.category(char) not in ("Cf", "Cc", "Co", "Cs")
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def visible_lines(text: str) -> str:
    """Text of several lines, each of them visible."""
    return "\n".join(map(visible, text.split("\n")))


def columns(text: str) -> int:
    """How many terminal columns a visible text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
