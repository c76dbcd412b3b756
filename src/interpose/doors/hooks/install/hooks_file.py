"""Our hooks in a host's JSON file: whether they are there, the text with them, and the text without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from interpose.doors.hooks.install.json_editing import (
    Edit,
    Style,
    appended,
    document,
    edited,
    is_blank,
    removed,
    style_of,
)
from interpose.doors.hooks.install.jsonc import BOM, Member, Value, error_at, parse
from interpose.effects.agents.agent import HostSetup

Path = tuple[str, ...]
IsOurs = Callable[[str], bool]
"""Whether a hook's command line is one that we wrote."""

FORMAT = "version"
"""The key that names the format of a file: another value than ours is a file that we don't understand."""


class Made(Struct, frozen=True, kw_only=True):
    """What was made to hold our hooks, and goes with them.

    `insides` is what containers that were empty had between their brackets.
    """

    keys: tuple[Path, ...] = ()
    insides: tuple[tuple[Path, str], ...] = ()
    everything: bool = False
    """There was nothing before, or nobody remembers."""
    blank: str | None = None
    """The whole text, if it had no value at all."""

    def made(self, path: Path) -> bool:
        """Whether this was made by us, by itself or with what holds it."""
        return self.everything or any(path[:length] in self.keys for length in range(1, len(path) + 1))


EVERYTHING = Made(everything=True)


def together(parts: Sequence[Made]) -> Made:
    """What several installs made in one file."""
    return Made(
        keys=tuple(dict.fromkeys(key for part in parts for key in part.keys)),
        insides=tuple(dict.fromkeys(inside for part in parts for inside in part.insides)),
        everything=any(part.everything for part in parts),
        blank=next((part.blank for part in parts if part.blank is not None), None),
    )


class HooksFile:
    """One text. Raises JsoncError if it can't be understood, or has something else where hooks must be."""

    def __init__(self, text: str, setup: HostSetup) -> None:
        self._text, self._setup = text, setup
        self._blank = not text.removeprefix(BOM).strip()
        self._root = parse("{}" if self._blank else text)
        self._hooks = self._found_hooks()

    def _found_hooks(self) -> Value | None:
        _expect(self._text, self._root, "object", "the top")
        key = self._setup.key
        if not key:
            return self._root
        found = self._root.member(key)
        if found is None:
            return None
        _expect(self._text, found.value, "object", repr(key))
        return found.value

    def commands(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Every hook in it: event, command line, and all that is said of it."""
        for event in self._events():
            for entry in event.value.members:
                for hook in _hooks_in(entry.value):
                    data = hook.value.data
                    if isinstance(data, dict) and isinstance(data.get("command"), str):
                        yield event.name, data["command"], data

    def has_others_line(self, ours: IsOurs) -> bool:
        """Whether somebody else's program has the place of the one that shows questions."""
        return self._line is not None and not _is_our_hook(self._line.value, ours)

    def has_our_line(self, ours: IsOurs) -> bool:
        """Whether our program has that place."""
        return self._line is not None and _is_our_hook(self._line.value, ours)

    def has(self, wanted: dict[str, Any], ours: IsOurs) -> bool:
        """Whether exactly these hooks are there, and no others of ours."""
        if self._hooks is None or self._missing_top(wanted):
            return False
        line = None if self.has_others_line(ours) else self._line
        if line is not None and line.value.data != wanted.get(self._setup.line):
            return False
        events = self._wanted_events(wanted)
        for event in self._events():
            kept = [entry.value.data for entry in event.value.members if _is_ours(entry.value, ours) is not False]
            if kept != events.get(event.name, []):
                return False
        return all(self._hooks.member(name) is not None for name in events)

    def with_hooks(self, wanted: dict[str, Any]) -> tuple[str, Made]:
        """The text with these hooks at the end of their lists, and what had to be made for that."""
        if self._blank:
            mark = BOM if self._text.startswith(BOM) else ""
            everything = tuple((name,) for name in wanted)
            return mark + document(wanted), Made(keys=everything, everything=True, blank=self._text)
        style = style_of(self._text, self._root)
        top = self._missing_top(wanted)
        keys: list[Path] = [(name,) for name, _ in top]
        insides: list[tuple[Path, str]] = []
        edits: list[Edit] = []
        events = self._wanted_events(wanted)
        place: Path = (self._setup.key,) if self._setup.key else ()
        if self._hooks is None:
            top.append((self._setup.key, events))
            keys.append(place)
        else:
            new = [(name, entries) for name, entries in events.items() if self._hooks.member(name) is None]
            keys += [(*place, name) for name, _ in new]
            self._append(self._hooks, place, top + new if not place else new, style, edits, insides)
            for event in self._events():
                added = [("", entry) for entry in events.get(event.name, ())]
                self._append(event.value, (*place, event.name), added, style, edits, insides)
        if place:
            self._append(self._root, (), top, style, edits, insides)
        return edited(self._text, edits), Made(keys=tuple(keys), insides=tuple(insides))

    def without_hooks(self, ours: IsOurs, made: Made) -> str:
        """The text without our hooks, and without what was made for them if nothing else is in it."""
        if self._hooks is None:
            return self._text
        place: Path = (self._setup.key,) if self._setup.key else ()
        edits: list[Edit] = []
        gone: list[Member] = []
        for event in self._events():
            if self._take_out(event.value, (*place, event.name), ours, made, edits):
                gone.append(event)
        if not place:
            gone += self._top_of_ours(made, ours)
            edits += self._emptied(self._root, (), gone, made)
        elif made.made(place) and gone and is_blank(self._text, self._hooks, gone):
            holder = self._root.member(self._setup.key)
            top = [*self._top_of_ours(made, ours), *([holder] if holder else [])]
            edits = self._emptied(self._root, (), top, made)
        else:
            edits += self._emptied(self._hooks, place, gone, made)
            top = self._our_line(ours) if made.made(place) else self._top_of_ours(made, ours)
            edits += self._emptied(self._root, (), top, made)
        text = edited(self._text, edits)
        return made.blank if made.blank is not None and is_empty(text) else text

    def _take_out(self, entries: Value, path: Path, ours: IsOurs, made: Made, edits: list[Edit]) -> bool:
        """Whether the whole list goes; if not, the edits are noted."""
        gone: list[Member] = []
        for entry in entries.members:
            match _is_ours(entry.value, ours):
                case True:
                    gone.append(entry)
                case None:
                    inner = entry.value.member("hooks")
                    if inner is not None:
                        mixed = [hook for hook in inner.value.members if _is_our_hook(hook.value, ours)]
                        edits += removed(self._text, inner.value, mixed)
                case False:
                    pass
        if gone and made.made(path) and is_blank(self._text, entries, gone):
            return True
        edits += self._emptied(entries, path, gone, made)
        return False

    def _emptied(self, container: Value, path: Path, gone: list[Member], made: Made) -> list[Edit]:
        if not gone:
            return []
        inside = dict(made.insides).get(path)
        if inside is not None and is_blank(self._text, container, gone):
            return [Edit(container.start + 1, container.end - 1, inside)]
        return removed(self._text, container, gone)

    def _top_of_ours(self, made: Made, ours: IsOurs) -> list[Member]:
        key, top, line = self._setup.key, self._setup.top, self._setup.line
        names = {name for name in top if made.made((name,))}
        if key:  # another host that shares the file may have needed something else there
            names |= {path[0] for path in made.keys if len(path) == 1 and path[0] != key}
        members = [member for member in self._root.members if member.name in names - {line}]
        return [*members, *self._our_line(ours)]

    def _our_line(self, ours: IsOurs) -> list[Member]:
        """INVARIANT: what a user put in the place of our line, be it after us, stays."""
        return [self._line] if self._line is not None and self.has_our_line(ours) else []

    @property
    def _line(self) -> Member | None:
        return self._root.member(self._setup.line) if self._setup.line else None

    def _append(
        self,
        container: Value,
        path: Path,
        members: list[tuple[str, Any]],
        style: Style,
        edits: list[Edit],
        insides: list[tuple[Path, str]],
    ) -> None:
        inside = self._text[container.start + 1 : container.end - 1]
        if members and not container.members and not inside.strip(" \t"):
            insides.append((path, inside))
        edits += appended(self._text, container, members, style)

    def _missing_top(self, wanted: dict[str, Any]) -> list[tuple[str, Any]]:
        names = (*self._setup.top, *((self._setup.line,) if self._setup.line in wanted else ()))
        return [(name, wanted[name]) for name in names if self._top(name, wanted[name])]

    def _top(self, name: str, value: Any) -> bool:
        """Whether this has to be added at the top."""
        found = self._root.member(name)
        if found is not None and name == FORMAT and found.value.data != value:
            shown = f"{name!r} is {found.value.data!r}, and only {value!r} is understood"
            raise error_at(self._text, found.start, shown)
        return found is None

    def _wanted_events(self, wanted: dict[str, Any]) -> dict[str, Any]:
        events = wanted[self._setup.key] if self._setup.key else wanted
        return {name: entries for name, entries in events.items() if name not in self._setup.top}

    def _events(self) -> Iterator[Member]:
        """The lists of hooks by event. Where events lie at the top, other things may lie beside them."""
        names = {event.name for event in self._setup.events}
        for member in self._hooks.members if self._hooks is not None else ():
            if member.name in names:
                _expect(self._text, member.value, "array", repr(member.name))
            if member.value.kind == "array":
                yield member


def is_empty(text: str) -> bool:
    """Whether a text holds nothing: no value, or an object without members and comments."""
    return "".join(text.removeprefix(BOM).split()) in ("", "{}")


def _expect(text: str, value: Value, kind: str, what: str) -> None:
    if value.kind != kind:
        named = "an object" if kind == "object" else "a list"
        raise error_at(text, value.start, f"{what} must be {named}")


def _hooks_in(entry: Value) -> tuple[Member, ...]:
    """The hooks of an entry: those of its group, or itself."""
    group = entry.member("hooks")
    if group is not None and group.value.kind == "array":
        return group.value.members
    return (Member("", entry.start, entry.start, False, entry),)


def _is_ours(entry: Value, ours: IsOurs) -> bool | None:
    """Whether an entry is ours; None if only some of its hooks are."""
    found = {_is_our_hook(hook.value, ours) for hook in _hooks_in(entry)}
    return None if len(found) > 1 else found == {True}


def _is_our_hook(hook: Value, ours: IsOurs) -> bool:
    command = hook.data.get("command") if isinstance(hook.data, dict) else None
    return isinstance(command, str) and ours(command)
