"""How one judgement is shown to a person: the verdict, the command with its effects underlined, and a safer way."""

from __future__ import annotations

import os
import sys
import unicodedata

from interpose.guards.command_safety_guard import Judgement, Ruling
from interpose.types import Effect

COLOURS = {"allow": "32", "ask": "33", "deny": "31"}
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


def colours_wanted() -> bool:
    """Whether stdout is a terminal whose owner did not ask for plain text."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def explain(command: str, judgement: Judgement, ink: Ink) -> str:
    """The whole explanation, ready to print."""
    colour = COLOURS[judgement.decision]
    head = ink(judgement.decision.upper(), f"1;{colour}")
    if judgement.rule:
        head += f"  {judgement.rule}  {ink(f'({judgement.severity})', '2')}"
    parts = [head]
    if judgement.reason:
        parts.append(f"  {judgement.reason}")
    objections = {id(ruling.effect): ruling for ruling in judgement.rulings}
    if judgement.effects:
        parts += ["", *_effects(command, judgement.effects, objections, ink)]
    else:
        parts += ["", f"  {visible(command)}", "  no effects"]
    if judgement.instead:
        parts += ["", f"{ink('Safer', '1')}  {visible(judgement.instead)}"]
    return "\n".join(parts)


def _effects(command: str, effects: tuple[Effect, ...], objections: dict[int, Ruling], ink: Ink) -> list[str]:
    by_span: dict[tuple[int, int], list[Effect]] = {}
    for effect in effects:
        by_span.setdefault(effect.span, []).append(effect)
    kinds = max(len(effect.kind) for effect in effects)
    certainties = max(len(effect.certainty) for effect in effects)
    resources = min(_RESOURCE_WIDTH, max(columns(_resource(effect)) for effect in effects))
    out: list[str] = []
    for span, group in sorted(by_span.items()):
        shown, marks = _underlined(command, span)
        objected = [objections[id(effect)] for effect in group if id(effect) in objections]
        colour = COLOURS["deny" if any(r.decision == "deny" for r in objected) else "ask" if objected else "allow"]
        out += [f"  {shown}", f"  {ink(marks, colour)}"]
        for effect in group:
            ruling = objections.get(id(effect))
            out.append(_line(effect, ruling, (kinds, certainties, resources), ink))
    return out


def _resource(effect: Effect) -> str:
    return visible(effect.resource) or "-"


def _line(effect: Effect, ruling: Ruling | None, widths: tuple[int, int, int], ink: Ink) -> str:
    kinds, certainties, resources = widths
    word = ruling.decision if ruling else "allow"
    parts = [
        ink(f"{word:5}", COLOURS[word]),
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
