"""The narrowest sensible widenings of a call, worked out from what it would do.

INVARIANT: nothing is offered for a call of which anything is not proven, or that does something which is agreed to one
by one (`kind_values.NEVER`). Every kind that is offered has the call itself.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.tools import content_arguments, spellings
from interpose.core.types import Effect, FrozenDict, ToolCall
from interpose.people.widenings.counted_places import is_local, only_names
from interpose.people.widenings.covering import origin_of, outside, place_of, told_of
from interpose.people.widenings.kind_values import NEVER, CallKind, EffectBound, Hole, Matching, fills
from interpose.reading.calls import Reading, home_directory, reading_of

MOST = 6
"""Kinds that are offered for one call. More would not be read."""
LONGEST_TEXT = 4000
"""Letters of an argument in which a place is looked for."""
_SHOWN = 80
_FILE_TOOLS = frozenset({"write", "edit", "delete", "read"})
_UNREAD = frozenset({"description", "timeout", "explanation"})
"""Arguments of a shell that say what it is for and how long it may take, and not what runs."""
_CHANGING = frozenset({"fs.write", "fs.delete", "fs.permission"})
_WHOLE = ("recursive", "extracted")
_DEEDS = {"fs.write": "write", "fs.delete": "delete", "fs.permission": "change the permissions of"}
_COUNTED: dict[Hole, tuple[re.Pattern[str], str]] = {
    "number": (re.compile(r"(?<![^\s#/:_\"'-])[0-9]{1,20}(?![^\s;)\"'])"), "number"),
    "hex": (re.compile(r"(?<![^\s/:\"'])(?=[0-9]{0,64}[a-f])(?=[a-f]{0,64}[0-9])[0-9a-f]{7,64}(?![^\s;)\"'])"), "id"),
}
"""Numbers and ids that stand alone, and what they are called."""


class _Place(Struct, frozen=True):
    """Where a call may vary: an argument, and what stands around the place in it."""

    argument: str
    before: str
    behind: str
    hole: Hole
    number: bool = False


def offered(call: ToolCall) -> tuple[CallKind, ...]:
    """What a call could be widened to, the narrowest first. Each has an id of its own: `W1`, `W2`."""
    reading = reading_of(call, home_directory())
    if reading.analysis.problems or any(one.kind in NEVER or one.certainty != "proven" for one in reading.effects):
        return ()
    found: list[CallKind] = []
    for kind in _kinds(call, reading):
        # INVARIANT: what is offered is what is granted: a kind that does not have the call itself is a mistake of ours.
        if not outside(kind, call) and all(replace(kind, text="") != replace(known, text="") for known in found):
            found.append(kind)
    return tuple(replace(kind, id=f"W{number}") for number, kind in enumerate(found[:MOST], 1))


def _kinds(call: ToolCall, reading: Reading) -> Iterator[CallKind]:
    command = call.arguments.get("command")
    if call.name == "exec":
        if isinstance(command, str) and len(command) <= LONGEST_TEXT:
            shell = _Shell(call, reading, command)
            yield from (*shell.numbers(), *shell.branches(), *shell.hosts(), *shell.directories())
    elif call.name in _FILE_TOOLS:
        yield from _files(call, reading)
    elif call.name == "web_fetch":
        yield from _addresses(call, reading)
    else:
        yield from _numbered(call, reading)


class _Shell:
    """A command, and the places in it that could be others."""

    def __init__(self, call: ToolCall, reading: Reading, command: str) -> None:
        self._call, self._effects, self._command = call, reading.effects, command
        self._understood = reading.understood

    def numbers(self) -> Iterator[CallKind]:
        """The same command with another number, or another id."""
        for hole, (pattern, word) in _COUNTED.items():
            for found in [*pattern.finditer(self._command)][-2:]:
                start, end = found.span()
                bound = self._counted(start, end, found[0], hole)
                if not self._command[:start].split(" ")[-1].startswith("-") and self._varies(start, end, bound):
                    text = f"the same command with another {word} in the place of {found[0]}"
                    yield self._kind(text, start, end, hole, bound)

    def _varies(self, start: int, end: int, bound: Callable[[Effect], EffectBound]) -> bool:
        around = [effect for effect in self._effects if effect.span[0] <= start and end <= effect.span[1]]
        named = any(bound(effect).matching == "like" for effect in around)
        return only_names(self._command, start, around or self._effects, named=named)

    def _counted(self, start: int, end: int, text: str, hole: Hole) -> Callable[[Effect], EffectBound]:
        def bound(effect: Effect) -> EffectBound:
            inside = effect.span[0] <= start and end <= effect.span[1]
            return _in_resource(effect, text, hole) if inside else _bound(effect)

        return bound

    def branches(self) -> Iterator[CallKind]:
        """Other branches with the same beginning, at the same remote."""
        publishing = [effect for effect in self._effects if effect.kind == "vcs.publish"]
        if len(publishing) != 1:
            return
        (effect,) = publishing
        remote, _, branch = effect.resource.partition(" ")
        beginning, border, last = branch.rpartition("/")
        at = self._command.rfind(branch, *effect.span) if branch else -1
        if not border or not remote or at < 0 or not fills("path", last):
            return
        deletes = effect.details.get("deletes") is True
        forced = ", forced" if effect.details.get("forced") is True and not deletes else ""
        deed = "delete at" if deletes else "publish to"
        text = f"the same command for other branches: {deed} {_shown(remote)}, {_shown(beginning)}/*{forced}"
        start = at + len(beginning) + 1
        yield self._kind(text, start, at + len(branch), "path", lambda one: (
            _bound(one, "ref", remote, f"{beginning}/") if one is effect else _bound(one)
        ))  # fmt: skip

    def hosts(self) -> Iterator[CallKind]:
        """Other files of the same host."""
        fetched = [effect for effect in self._effects if effect.kind == "net.download"]
        spans = {effect.span for effect in fetched}
        # INVARIANT: only what is fetched has other addresses. What is sent or changed there is agreed to one by one.
        if len(spans) != 1 or any(effect.kind == "net.upload" for effect in self._effects):
            return
        (start, end) = spans.pop()
        origin, written = origin_of(fetched[0].resource), self._command[start:end]
        if not origin or not written.startswith(f"{origin}/") or not fills("address", written[len(origin) + 1 :]):
            return
        beside = [one for one in self._effects if self._is_beside(one, (start, end))]
        kept = f", kept by their own names in {_shown(posixpath.dirname(beside[0].resource))}" if beside else ""
        text = f"the same command for other files of {_shown(origin)}{kept}"
        yield self._kind(text, start + len(origin) + 1, end, "address", lambda one: (
            _bound(one, "host", origin) if one.kind == "net.download" else self._beside(one, (start, end))
        ))  # fmt: skip

    def _beside(self, effect: Effect, span: tuple[int, int]) -> EffectBound:
        """A file that is named after the address lies where the first one lies."""
        if not self._is_beside(effect, span):
            return _bound(effect)
        return _lying(effect, posixpath.dirname(effect.resource), "in")

    def _is_beside(self, effect: Effect, span: tuple[int, int]) -> bool:
        folder = posixpath.dirname(effect.resource)
        named_after = effect.span == span and effect.kind == "fs.write" and is_local((effect,))
        return named_after and _is_inside(folder, self._call.context.cwd)

    def directories(self) -> Iterator[CallKind]:
        """Other files of the same directory, and of those below it."""
        touched = [effect for effect in self._effects if effect.kind in _CHANGING]
        spans = {effect.span for effect in touched}
        if len(spans) != 1 or not is_local(touched) or any(one.kind == "net.download" for one in self._effects):
            return
        (start, end) = spans.pop()
        folders = {posixpath.dirname(effect.resource) for effect in touched}
        written = self._command[start:end]
        name = written.rpartition("/")[2]
        if len(folders) != 1 or not fills("name", name):
            return
        folder, start = folders.pop(), end - len(name)
        for matching, text in _ways(folder, touched, self._call.context.cwd):
            hole: Hole = "name" if matching == "in" else "path"
            yield self._kind(f"the same command to {text}", start, end, hole, lambda one, way=matching: (  # type: ignore[misc]
                _lying(one, folder, way) if one.kind in _CHANGING else _bound(one)
            ))  # fmt: skip

    def _kind(self, text: str, start: int, end: int, hole: Hole, bound: Callable[[Effect], EffectBound]) -> CallKind:
        place = _Place("command", self._command[:start], self._command[end:], hole)
        free = tuple(name for name in self._call.arguments if name in _UNREAD)
        return _kind(self._call, text, place, tuple(map(bound, self._effects)), free, understood=self._understood)


def _files(call: ToolCall, reading: Reading) -> Iterator[CallKind]:
    """A file tool on other files of the same directory, whatever it writes there."""
    names, effects = spellings(call, "path"), reading.effects
    path = call.arguments.get(names[0]) if len(names) == 1 else None
    if not isinstance(path, str) or not effects or any(effect.resource != path for effect in effects):
        return
    cwd, last = call.context.cwd, path.rpartition("/")[2]
    folder = posixpath.dirname(place_of(path, cwd))
    if not folder or not fills("name", last) or not all(effect.kind in _CHANGING for effect in effects):
        return
    free = content_arguments(call)
    whatever = ", whatever is written" if free else ""
    # A tool that deletes what a path names may delete a directory, whatever it is called.
    for matching, text in _ways(folder, effects, cwd, whole=call.name == "delete"):
        place = _Place(names[0], path[: len(path) - len(last)], "", "name" if matching == "in" else "path")
        bounds = tuple(_lying(effect, folder, matching) for effect in effects)
        yield _kind(call, f"{text}{whatever}", place, bounds, free)


def _addresses(call: ToolCall, reading: Reading) -> Iterator[CallKind]:
    """Other pages of the same host."""
    names = spellings(call, "url")
    address = call.arguments.get(names[0]) if len(names) == 1 else None
    origin = origin_of(address) if isinstance(address, str) else ""
    if not isinstance(address, str) or not origin or not address.startswith(f"{origin}/"):
        return
    bounds = tuple(_bound(effect, "host", origin) for effect in reading.effects if effect.kind == "net.download")
    place = _Place(names[0], f"{origin}/", "", "address")
    free = tuple(name for name in ("prompt",) if _names_no_address(call.arguments.get(name)))
    yield _kind(call, f"fetch other pages of {_shown(origin)}", place, bounds, free)


def _names_no_address(text: object) -> bool:
    return isinstance(text, str) and "://" not in text


def _numbered(call: ToolCall, reading: Reading) -> Iterator[CallKind]:
    """The same tool with another number in one argument."""
    for name, value in call.arguments.items():
        if type(value) is not str and not (type(value) is int and value >= 0):
            continue
        text = str(value)
        hole = next((one for one, (pattern, _) in _COUNTED.items() if pattern.fullmatch(text)), None)
        if hole is None:
            continue
        place = _Place(name, "", "", hole, number=type(value) is int)
        bounds = tuple(_in_resource(effect, text, hole) for effect in reading.effects)
        word = _COUNTED[hole][1]
        shown = f"{_shown(call.original_name or call.name)} with any {word} as `{_shown(name)}`, and all else the same"
        yield _kind(call, shown, place, bounds, (), understood=reading.understood)


def _in_resource(effect: Effect, text: str, hole: Hole) -> EffectBound:
    """The bound of an effect on what the number or id names, where it stands alone and once in the resource.

    Of a file only the name counts: the same digits may stand in a directory, which stays as it is.
    """
    is_file = effect.kind.startswith("fs.")
    folder, border, name = effect.resource.rpartition("/") if is_file else ("", "", effect.resource)
    before, one, behind = name.partition(text)
    alone = not before[-1:].isalnum() and not behind[:1].isalnum() and text not in behind
    if not one or not alone or _is_program(effect, before):
        return _bound(effect)
    before = f"{folder}{border}{before}"
    like = replace(_bound(effect, "like", before, behind), hole=hole)
    if not is_file:
        return like
    if not before.startswith("/") or not is_local((effect,)):
        return _bound(effect)
    return replace(like, lay=os.path.realpath(posixpath.dirname(effect.resource)))


def _is_program(effect: Effect, before: str) -> bool:
    """Whether the number is part of what runs, not of the words that it is given: another one is another program."""
    return effect.kind == "process.exec" and (effect.details.get("script") is True or " " not in before)


def _is_inside(folder: str, cwd: str) -> bool:
    """Whether a directory is one of those in which the agent works, and none that is hidden there."""
    below = folder.removeprefix(f"{cwd}/")
    inside = folder == cwd or (f"{cwd}/{below}" == folder and fills("path", below))
    return inside and cwd not in ("", "/", home_directory())


def _ways(folder: str, effects: Iterable[Effect], cwd: str, *, whole: bool = False) -> Iterator[tuple[Matching, str]]:
    """How a directory may be widened: only inside of where the agent works, and never into what is hidden there.

    `whole` says that what is named may be a directory with all that is in it.
    """
    if not _is_inside(folder, cwd):
        return
    effects = tuple(effects)
    deeds = " and ".join(dict.fromkeys(_DEEDS[effect.kind] for effect in effects))
    whole = whole or any(effect.details.get(mark) is True for effect in effects for mark in _WHOLE)
    if whole and folder == cwd:
        return  # one by one: `rm -rf build` is no reason for `rm -rf src`
    what = "files and directories" if whole else "files"
    yield "in", f"{deeds} other {what} directly in {_shown(folder)}"
    if folder != cwd:
        yield "below", f"{deeds} {what} in {_shown(folder)} and below"


def _kind(
    call: ToolCall,
    text: str,
    place: _Place,
    effects: tuple[EffectBound, ...],
    free: tuple[str, ...],
    *,
    understood: bool = True,
) -> CallKind:
    fixed = {name: value for name, value in call.arguments.items() if name != place.argument and name not in free}
    return CallKind(
        id="", text=text, tool=call.name, said=call.original_name, argument=place.argument, hole=place.hole,
        before=place.before, behind=place.behind, number=place.number, free=free, fixed=FrozenDict(fixed),
        effects=tuple(dict.fromkeys(effects)), understood=understood,
    )  # fmt: skip


def _bound(effect: Effect, matching: Matching = "is", resource: str | None = None, rest: str = "") -> EffectBound:
    held = effect.resource if resource is None else resource
    return EffectBound(effect.kind, matching, held, rest, FrozenDict(told_of(effect)), effect.via)


def _lying(effect: Effect, folder: str, matching: Matching) -> EffectBound:
    return _bound(effect, matching, folder, os.path.realpath(folder))


def _shown(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= _SHOWN else f"{plain[:_SHOWN]}…"
