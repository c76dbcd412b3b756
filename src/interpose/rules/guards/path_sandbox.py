"""`builtin:path-sandbox`: file tools stay in some directories."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from interpose.core.late import late_logger
from interpose.core.tools import path_arguments, seen_as
from interpose.core.types import Allow, Deny, ToolCall
from interpose.effects.paths import FileSystem, Lookup, Place, Spellings, place_of
from interpose.reading.calls import home_directory, reading_of
from interpose.rules.guards.directories import directories, is_below, spellings_of
from interpose.rules.guards.file_accesses import KINDS, BadPath, touches_of

_ALLOW = Allow()
_RULE = "path-sandbox"
_HERE = "."
_EXPANDED = "~$%\\"

_log = late_logger("interpose.guards")


class PathSandbox(Struct, frozen=True):
    """Refuses file tools (those that read, change, delete, move, copy, search and list) on paths outside the roots.

    Where a path really leads counts: `..`, links and other spellings are followed, for paths that do not exist yet as
    well. Limits: commands are ignored unless `include_commands` is set, and then only judged by what their text says
    that they would touch; a link that is swapped after the check is followed by the tool.
    """

    id: ClassVar[str] = "builtin:path-sandbox"
    priority: ClassVar[int] = 90
    guard: ClassVar[bool] = True

    allowed_paths: tuple[str, ...]
    include_commands: bool = False
    home: str = ""
    lookup: Lookup = FileSystem()
    roots: tuple[str, ...] = ()
    """Where the allowed paths lead. Found once: a root that is replaced by a link later does not move the sandbox."""

    def __post_init__(self) -> None:
        allowed = directories(self.allowed_paths, "PathSandbox requires at least one allowed path")
        force_setattr(self, "allowed_paths", allowed)
        force_setattr(self, "home", self.home or home_directory())
        force_setattr(self, "roots", tuple(_existing(allowed)))

    def intercept(self, call: ToolCall) -> Allow | Deny:
        """Refuses what would leave the sandbox, and what cannot be checked."""
        seen = seen_as(call)
        if seen.name == "exec":
            return self._judge_command(seen) if self.include_commands else _ALLOW
        if seen.name not in KINDS and seen.name not in ("list", "glob"):
            return _ALLOW
        texts = _texts_of(seen)
        if texts is None:
            return Deny(
                f"Tool '{call.original_name}' missing required 'path' parameter - cannot validate sandbox", _RULE
            )
        for text in texts:
            if refused := self._judge(call, text):
                return refused
        return _ALLOW

    def _judge(self, call: ToolCall, text: str) -> Deny | None:
        for spellings in spellings_of(call, text, self.home, self.lookup):
            if spellings.trouble is not None:
                return Deny(f"Cannot validate path '{text}': {spellings.trouble.reason}", _RULE, part=text)
            if not self._holds(spellings):
                roots = ", ".join(self.roots)
                return Deny(f"Path '{text}' is outside the allowed sandbox. Allowed paths: [{roots}]", _RULE, part=text)
        return None

    def _holds(self, spellings: Spellings) -> bool:
        """Whether every spelling leads into the sandbox. The way there may lead through links elsewhere."""
        for path in spellings.paths:
            real = os.path.realpath(path) if path[:1] == "/" else path
            if not any(is_below(real, root) for root in self.roots):
                return False
        return True

    def _judge_command(self, call: ToolCall) -> Allow | Deny:
        for effect in reading_of(call, self.home).effects:
            if effect.kind == "opaque":
                return Deny("Cannot validate path of a command that cannot be understood", _RULE)
            if not effect.kind.startswith("fs.") or _is_harmless_device(effect.resource):
                continue
            if effect.resource[:1] != "/":
                return Deny("Cannot validate path that is only known when the command runs", _RULE)
            if refused := self._judge(call, effect.resource):
                return refused
        return _ALLOW


def _existing(allowed: Iterable[str]) -> Iterator[str]:
    for path in allowed:
        try:
            yield os.path.realpath(path, strict=True)
        except (OSError, ValueError) as error:
            _log.warning("PathSandbox: allowed path %r is skipped: %s", path, error)


def _texts_of(call: ToolCall) -> tuple[str, ...] | None:
    """Every path that the call names; None if it names none, or something that is no path."""
    named = [value for _, value in path_arguments(call) if value is not None]
    if any(not isinstance(value, str) or not value.strip() for value in named):
        return None
    if call.name in KINDS:
        touches = touches_of(call)
        if isinstance(touches, BadPath) or (call.name == "grep" and not named):
            return None
        return tuple(touch.text for touch in touches)
    texts = [value for value in named if isinstance(value, str)]
    if call.name == "list":
        return tuple(texts) or None
    return tuple(_globbed(texts or [_HERE], call.arguments.get("pattern")))


def _globbed(bases: list[str], pattern: object) -> Iterator[str]:
    """Where a glob looks: a pattern can lead out of its directory (`../*`) or start elsewhere (`/etc/*`)."""
    yield from bases
    if isinstance(pattern, str) and pattern:
        yield from (posixpath.join(base, pattern) for base in bases)
        if pattern[0] in _EXPANDED:
            yield pattern


def _is_harmless_device(path: str) -> bool:
    return path.startswith("/dev/") and place_of(path, cwd="/", home="", workspace="") is Place.DEVICE_SAFE
