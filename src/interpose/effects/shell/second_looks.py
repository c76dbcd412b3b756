"""Texts that may be code or may be prose, and files that this text wrote before: looked at once more.

Words that were never meant for a shell read like commands here and there (`make it so`, `find the best way`). What they
seem to do is no reason for a question, unless it is a catastrophe. So only such effects stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase, translate
from functools import cache
from typing import TYPE_CHECKING

from interpose.effects.invocation import MOVED, UNKNOWN, Stream, Word
from interpose.effects.paths import fires
from interpose.effects.values import Effect, EffectKind

if TYPE_CHECKING:
    from interpose.effects.shell.lowering import CommandLowering
    from interpose.effects.shell.walk import Walker

_NAMES = 8
"""Names of files that are one step, to see whether they fit."""
_DEEPEST = 64
"""So many directories above a path are looked at."""
_FROM_ELSEWHERE = frozenset({"remote", "cloned"})
"""Taints that a directory gives to all that lies in it."""
_NEEDED: dict[EffectKind, frozenset[str]] = {
    "fs.delete": frozenset({"recursive", "shredded"}),
    "fs.permission": frozenset({"recursive"}),
    "net.upload": frozenset({"secret"}),
    "net.listen": frozenset({"shell"}),
    "process.exec": frozenset({"wide"}),
    "process.kill": frozenset({"wide"}),
    "system": frozenset({"wide"}),
    "data.destroy": frozenset({"wide"}),
    "infra.destroy": frozenset({"wide"}),
    "guard.tamper": frozenset({"wide", "ours"}),
    "privilege": frozenset({"grants"}),
}
"""Effects that count only with one of these details."""
_ALWAYS: frozenset[EffectKind] = frozenset({"code.remote"})
_BEYOND = ("too-deep", "too-large", "too-complex")


def is_grave(effect: Effect, cwd: str = UNKNOWN) -> bool:
    """Whether an effect matters although its text may not be a command line.

    A build deletes what it made: what lies below the directory that it runs in, or where only it can say.
    """
    if effect.kind == "fs.delete" and (UNKNOWN in effect.resource or effect.resource.startswith(f"{cwd}/")):
        return False
    if effect.kind in _ALWAYS:
        return True
    if effect.kind == "opaque":
        return is_beyond(effect)
    needed = _NEEDED.get(effect.kind)
    return needed is not None and not needed.isdisjoint(effect.details)


def is_beyond(effect: Effect) -> bool:
    """Whether this says that the text was not read to its end. INVARIANT: that is never taken for prose."""
    return effect.kind == "opaque" and effect.details.get("rule") in _BEYOND


def is_unwanted(effect: Effect) -> bool:
    """Whether nobody wants this from a command that runs by itself."""
    details = effect.details
    match effect.kind:
        case "code.remote" | "guard.tamper":
            return True
        case "net.upload":
            return "local" not in details and not details.keys().isdisjoint(("secret", "file", "env", "input", "raw"))
        case "net.listen":
            return "shell" in details or "public" in details
        case "persistence":
            return details.get("strength", "key") == "key" and "recoverable" not in details
        case "secret.read":
            return details.get("strength") != "faint"
        case _:
            return is_grave(effect)


def written_as(walker: Walker, names: tuple[str, ...]) -> tuple[Stream, ...]:
    """What this text wrote into files of these names (patterns; with a slash: for the whole path)."""
    files = walker.state.files
    if not files:
        return ()
    if names == ("*",):
        return tuple(files.values())
    walker.budget.spend(1 + len(files) // _NAMES)
    fits = _fitting(names)
    return tuple(content for path, content in files.items() if fits(path))


@cache
def _fitting(names: tuple[str, ...]) -> Callable[[str], re.Match[str] | None]:
    """Patterns of names, or of whole paths. They come from our tables, so there are few of them."""
    return re.compile("|".join(translate(name if "/" in name else f"*/{name}") for name in names)).match


def namesakes(walker: Walker, where: str) -> list[Stream]:
    """What this text wrote into files that a path may mean whose directory is not known, or that is a pattern."""
    name = where.rpartition("/")[2]
    if UNKNOWN in name or not (UNKNOWN in where or any(mark in where for mark in "*?[")):
        return []
    files = walker.state.files
    walker.budget.spend(len(files))
    whole = UNKNOWN not in where
    return [
        content
        for path, content in files.items()
        if (fnmatchcase(path, where) if whole else path.rpartition("/")[2] == name)
    ]


def on_search_path(walker: Walker, name: str, *, changed: bool) -> list[Stream]:
    """Programs that this text wrote and that are found under their name: in a `bin`, or where PATH was `changed`."""
    files = walker.state.files
    walker.budget.spend(len(files))
    return [
        content
        for path, content in files.items()
        if path.rpartition("/")[2] == name and (changed or path.rpartition("/")[0].endswith("bin"))
    ]


def content_of(walker: Walker, where: str) -> Stream | None:
    """What this text wrote to a path, or what it brought the whole directory from."""
    files = walker.state.files
    found = files.get(where)
    for _ in range(_DEEPEST):
        if not files or found is not None or len(where) < 2:
            break
        where = where.rpartition("/")[0]
        above = files.get(where)
        if above is not None and not above.taints.isdisjoint(_FROM_ELSEWHERE):
            return Stream(None, above.taints)
    return found


def origins_of(walker: Walker, where: str) -> list[str]:
    """Where the files lay that this text moved to a path, or below it."""
    files = walker.state.files
    if not files:
        return []
    walker.budget.spend(len(files) // 4)
    where = where.rstrip("*").rstrip("/")
    return [
        taint[len(MOVED) :]
        for path, content in files.items()
        if path == where or path.startswith(f"{where}/")
        for taint in content.taints
        if taint.startswith(MOVED)
    ]


def at_doubtful(low: CommandLowering, code: Word | Stream | str, via: str, language: str, *, certain: bool) -> None:
    """Run what may be code, and keep only what is grave."""
    text = code if isinstance(code, str) else code.text or ""
    suspected = low.walker.suspected
    if text in suspected:
        return  # it starts the program that is suspected of loading it: that says nothing new
    suspected.add(text)
    effects = low.walker.effects
    first, printed = len(effects), low.nested
    low.walker.doubt += not certain
    low.shell(code, via=via) if language in ("bash", "sh") else low.code(language, code, via=via)
    low.walker.doubt -= not certain
    effects[first:] = [effect for effect in effects[first:] if is_grave(effect, low.cwd)]
    suspected.discard(text)
    if low.nested is not None and low.nested is not printed:
        # INVARIANT: nobody knows what a program prints because of what it may run: `rm -rf $(tool)` is not `rm -rf`.
        low.nested = Stream(None, low.nested.taints)


def at_planted(low: CommandLowering, where: str, text: str, at: Word | None) -> None:
    """State it if a text fires by itself where it is written, as the guard of file tools would say."""
    reason = fires(where, text, "", lambda: "", lambda command, *kinds: _objection(low, command, *kinds))
    if reason:
        low.emit("persistence", where, at=at, rule="planted", reason=reason)


def _objection(low: CommandLowering, command: str, kinds: Collection[EffectKind] | None = None) -> str:
    """Why a command that nobody starts would be wrong. It does not run now: nothing of it stays."""
    walker = low.walker
    first, outer, nested = len(walker.effects), walker.state, low.nested
    walker.state = outer.copy()
    low.shell(command, via="planted")
    found = walker.effects[first:]
    walker.effects[first:] = [effect for effect in found if is_beyond(effect)]
    walker.state, low.nested = outer, nested
    unwanted = (effect for effect in found if is_unwanted(effect) and (kinds is None or effect.kind in kinds))
    return next((f"{effect.kind} {effect.resource}".strip() for effect in unwanted), "")
