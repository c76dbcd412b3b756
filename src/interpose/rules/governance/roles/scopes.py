"""Which files a role may write: everything that a call would write or delete is compared with the role's scopes.

What counts as writing: `write`, `edit`, `apply_patch` (each file of it), `delete`, `move` (both ends), `copy` (where it
ends), foreign tools that do the same, and all that a command would write, delete or change the mode of.

- A file outside of the scopes is denied, whatever way leads there: `..`, `~`, links, another case, another spelling.
- A file of which only the beginning is known (`src/$NAME`) is a question, if its directory lies inside. Where nothing
  is known (`> $FILE`) it is denied: the agent can say the name. Code that nobody can read (`eval "$X"`) is a question.
- A set of files (`rm -rf src`, `sed -i ... *.py`) must lie inside as a whole. Of what is only deleted or edited, the
  files that are there count; of what is unpacked or copied somewhere, all that could come.
- Temporary files and devices that keep nothing (`/dev/null`) are everybody's, unless a scope has them.
- What a program that is started writes by itself is not seen. Who must not start any has `commands` for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.formats.plain_text import one_line
from interpose.effects.paths import FileSystem, Lookup, Place, place_of
from interpose.rules.governance.commands.written_files import Written, could_write, written_by
from interpose.rules.governance.files.scope_files import Files, ScopesOfSpot, Spot
from interpose.rules.governance.roles.agent_words import files_told, subject_of
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.roles.roles import instead_of
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling

if TYPE_CHECKING:
    from interpose.core.types import ToolCall
    from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat

SCOPE_RULE = f"{RULE_PREFIX}scope"

_FILES = FileSystem()
_SHOWN = 200
_VERBS = {"fs.delete": "delete", "fs.permission": "change the mode of", "vcs.discard": "undo changes of"}
_EVERYBODYS = frozenset({Place.IN_TEMP, Place.DEVICE_SAFE})


class Refused(Struct, frozen=True):
    """A file that may not be written, or of which nobody can say whether it may."""

    written: Written
    why: str
    is_question: bool = False


def scope_rulings(
    seat: Seat, call: ToolCall, home: str, *, project: str = "", lookup: Lookup = _FILES
) -> tuple[Ruling, ...]:
    """What a role's scopes, and the ceilings above it, say about what a call would write.

    `project` is the directory that globs are relative to; left out, it is found from where the call would run.
    """
    role = seat.role
    if role is None:
        return ()
    limits = scope_limits(seat.book, role)
    if not limits or not could_write(call, home):
        return ()
    files = Files(call, home, project, lookup)
    looked = tuple(LookedAt(seat.book, one, files) for one in written_by(call, home, files))
    host = host_of(call.context.source)
    found = (_ruling(seat, role, looked, files, scopes, place, host) for scopes, place in limits)
    return tuple(ruling for ruling in found if ruling is not None)


ScopeLimit = tuple[tuple[str, ...], str]
"""The scopes that may be written, and where that is said."""


def scope_limits(book: Rulebook, role: Role) -> tuple[ScopeLimit, ...]:
    """What a role and the ceilings above it say about files, as the role is in a rulebook."""
    kept, limits = book.compiled(("write", role.name), lambda: (role, _limits(role)))
    return limits if kept is role else _limits(role)


def _limits(role: Role) -> tuple[ScopeLimit, ...]:
    own = () if role.write is None else ((role.write, role.place("write")),)
    ceilings = zip(role.ceilings, role.ceiling_places, strict=True)
    return (*own, *((one.write, f"{place}.write") for one, place in ceilings if one.write is not None))


class LookedAt:
    """A file that would be written, the places where it could lie, and their scopes: the same for every limit."""

    def __init__(self, book: Rulebook, written: Written, files: Files) -> None:
        self.written, self._book, self._files = written, book, files
        self._spots = () if written.unknown else tuple(
            (spot, ScopesOfSpot(book, spot, files)) for spot in files.spots(written)
        )  # fmt: skip

    def judged(self, scopes: tuple[str, ...]) -> Refused | None:
        """Why it may not be written where only these scopes may; None if it may."""
        written = self.written
        if written.unknown:
            return Refused(written, written.unknown, written.is_question)
        is_question = False
        for spot, found in self._spots:
            if spot.trouble:
                return Refused(written, f"nobody can say where that leads: {spot.trouble}")
            is_question = is_question or spot.is_partly_known
            if any(map(found.surely_in, scopes)):
                continue
            if not _is_everybodys(self._book, spot, self._files, found):
                return Refused(written, _lies(self._book, spot, self._files, found))
        return Refused(written, "only the beginning of its name is known", is_question=True) if is_question else None


def _ruling(
    seat: Seat,
    role: Role,
    looked: tuple[LookedAt, ...],
    files: Files,
    scopes: tuple[str, ...],
    place: str,
    host: str,
) -> Ruling | None:
    refused = [found for one in looked if (found := one.judged(scopes)) is not None]
    if not refused:
        return None
    worst = next((one for one in refused if not one.is_question), refused[0])
    more = len({one.written.named for one in refused}) - 1
    others = f" and {more} more" if more else ""
    verb = _VERBS.get(worst.written.kind, "write")
    what = one_line(files.shown(worst.written.named)[:_SHOWN])
    return Ruling(
        said="ask" if worst.is_question else "deny", rule=SCOPE_RULE,
        reason=f"{subject_of(seat)} {'asks before it may' if worst.is_question else 'may not'} {verb} {what}{others}",
        instead=role.instead or worst.written.instead or _instead(seat, role, scopes, host),
        evidence=f"{place} is {', '.join(scopes) or 'empty'}; {worst.why}", watch=seat.mode == "watch",
    )  # fmt: skip


def _instead(seat: Seat, role: Role, scopes: tuple[str, ...], host: str) -> str:
    if not scopes:
        return instead_of(seat, role, host)
    return f"Write only {'; '.join(files_told(seat.book, scopes))}"


def _is_everybodys(book: Rulebook, spot: Spot, files: Files, found: ScopesOfSpot) -> bool:
    if files.is_below(spot.parts):
        return False
    inside = f"{spot.path.rstrip('/')}/x" if spot.is_partly_known else spot.path
    if place_of(inside, cwd=files.cwd, home=files.home, workspace=files.root) not in _EVERYBODYS:
        return False
    return not any(map(found.could_be_in, book.scopes))


def _lies(book: Rulebook, spot: Spot, files: Files, found: ScopesOfSpot) -> str:
    """Where a file lies that lies outside, in words."""
    shown = one_line(files.shown(spot.path)[:_SHOWN])
    at = [*filter(found.surely_in, book.scopes)]
    if at:
        return f"{shown} lies in {' and '.join(at)}"
    near = [*filter(found.could_be_in, book.scopes)]
    return f"{shown} may touch {' and '.join(near)}" if near else f"{shown} lies in no scope"
