"""`builtin:file-security`: some directories are not written to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from interpose.core.tools import seen_as
from interpose.core.types import Allow, Deny, ToolCall
from interpose.effects.paths import FileSystem, Lookup
from interpose.reading.calls import home_directory
from interpose.rules.guards.directories import directories, is_below, spellings_of
from interpose.rules.guards.file_accesses import BadPath, Touch, touches_of

WRITERS = frozenset({"write", "edit", "apply_patch", "delete", "move", "copy"})

_ALLOW = Allow()
_RULE = "file-security"


class FileSecurity(Struct, frozen=True):
    """Refuses tools that write, edit, delete, move or copy on the blocked paths and all that lies below them.

    Paths are looked up first and compared without regard to case: `..`, links, other spellings and other cases of a
    blocked path are blocked too. Limits: commands are not looked at (see the path sandbox and the command guard); a
    link that is made after the check is followed by the tool; a hard link is recognised in well-known places only.
    """

    id: ClassVar[str] = "builtin:file-security"
    priority: ClassVar[int] = 91
    guard: ClassVar[bool] = True

    blocked_paths: tuple[str, ...]
    home: str = ""
    lookup: Lookup = FileSystem()

    def __post_init__(self) -> None:
        blocked = directories(self.blocked_paths, "FileSecurity requires at least one blocked path")
        force_setattr(self, "blocked_paths", blocked)
        force_setattr(self, "home", self.home or home_directory())

    @staticmethod
    def canonical(blocked_paths: Iterable[str | os.PathLike[str]]) -> FileSecurity:
        """With the real paths of `blocked_paths`, all of which must exist now."""
        real = []
        for path in directories(blocked_paths, "FileSecurity requires at least one blocked path"):
            try:
                real.append(os.path.realpath(path, strict=True))
            except (OSError, ValueError) as error:
                raise ValueError(f"FileSecurity cannot find the blocked path {path!r}: {error}") from None
        return FileSecurity(tuple(real))

    def intercept(self, call: ToolCall) -> Allow | Deny:
        """Refuses what would write below a blocked path, and what cannot be checked."""
        seen = seen_as(call)
        if seen.name not in WRITERS:
            return _ALLOW
        touches = touches_of(seen)
        if isinstance(touches, BadPath):
            return Deny(
                f"Tool '{call.original_name}' missing required 'path' parameter - cannot validate security policy",
                _RULE,
            )
        blocked = self._blocked(call)
        for touch in touches:
            if touch.kind == "read":
                continue
            for spellings in spellings_of(call, touch.text, self.home, self.lookup):
                if any(_hits(touch, path.casefold(), place) for path in spellings.paths for place in blocked):
                    return Deny(f"Writing to '{touch.text}' is blocked by security policy", _RULE, part=touch.text)
                if spellings.trouble is not None:
                    return Deny(f"Cannot validate path '{touch.text}': {spellings.trouble.reason}", _RULE)
        return _ALLOW

    def _blocked(self, call: ToolCall) -> set[str]:
        """Every spelling of the blocked paths as they lie now: one of them may have become a link."""
        return {
            path.casefold()
            for place in self.blocked_paths
            for spellings in spellings_of(call, place, self.home, self.lookup)
            for path in (place, *spellings.paths)
        }


def _hits(touch: Touch, path: str, place: str) -> bool:
    """Whether a change of `path` changes what lies in `place`. Taking a directory away takes all that is in it."""
    return is_below(path, place) or (touch.kind == "delete" and is_below(place, path))
