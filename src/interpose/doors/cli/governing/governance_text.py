"""A role, and what is said about it, as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpose.core.types import Outcome
from interpose.doors.cli.explaining.verdict_text import COLOURS, Ink, visible
from interpose.doors.cli.shared.terminal import bold, hanging
from interpose.rules.governance.files.rulebook import Role, Rulebook
from interpose.rules.governance.rulings import Ruling


def role_page(book: Rulebook, role: Role) -> str:
    """All that a role may do."""
    above = f"  below {', '.join(role.parents)}" if role.parents else ""
    watched = "  watch" if role.mode == "watch" and book.mode != "watch" else ""
    lines = [f"{bold(visible(role.name))}{visible(above)}{watched}"]
    lines += [hanging(f"  {label:<14}", visible(text)) for label, text in _lines(role) if text]
    return "\n".join(lines)


def _lines(role: Role) -> Iterator[tuple[str, str]]:
    yield "", role.description
    tools = role.tools
    yield "allow", _listed(tools.allow) if tools.allow is not None else "every tool that is not denied"
    yield "deny", _listed(tools.deny)
    yield "ask", _listed(tools.ask)
    yield "note", _listed(tools.note)
    yield "write", "any file" if role.write is None else _listed(role.write) or "no file"
    yield "commands", "any command" if role.commands is None else _listed(role.commands) or "no command"
    if role.first_tools is not None:
        yield "first", f"one of {_listed(role.first_tools.any_of)} ({role.first_tools.mode})"
    if role.delegates is not None:
        yield "delegates to", _listed(role.delegates.to) or "nobody"
    for ceiling, place in zip(role.ceilings, role.ceiling_places, strict=True):
        said = [f"never {_listed(ceiling.deny)}"] if ceiling.deny else []
        said += [f"writes only {_listed(ceiling.write) or 'nothing'}"] if ceiling.write is not None else []
        said += [f"runs only {_listed(ceiling.commands) or 'nothing'}"] if ceiling.commands is not None else []
        yield "ceiling", f"{'; '.join(said) or 'nothing'} ({place})"
    yield "instead", role.instead


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def rulings_page(subject: str, decision: Outcome, rulings: Iterable[Ruling], ink: Ink) -> str:
    """The word, and what every rule says: what is blocked, what to do instead, and what it rests on."""
    parts = [f"{ink(decision.upper(), f'1;{COLOURS[decision]}')}  {visible(subject)}"]
    for ruling in rulings:
        watched = " (only watched)" if ruling.watch else ""
        parts.append(hanging(f"  {ruling.said}  {ruling.rule}{watched}  ", visible(ruling.reason)))
        if ruling.instead:
            parts.append(hanging("    instead  ", visible(ruling.instead)))
        if ruling.evidence:
            parts.append(hanging("    because  ", visible(ruling.evidence)))
    return "\n".join(parts)
