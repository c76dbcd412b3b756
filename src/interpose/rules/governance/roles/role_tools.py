"""Whether a tool is in a list of a rulebook: by exact name, group or glob, never by a part of its name.

Lists are read in two ways, and each is the strict one where it is used:

- `own_names`: what the tool is called, by its host and by us (`Bash` is `exec`, `@github/merge` is
  `mcp__github__merge`, and `github_merge` as OpenCode writes it). What *lets a tool in* goes by these alone: `read`
  lets in no `mcp__files__read_file`, whoever wants that lists it.
- `work_names`: these, and what the call would do under another name (`mcp__x__run_command` does the work of `exec`).
  What *keeps a tool out* goes by these: who may not `exec` may not do it through somebody else's shell either.

So a glob lets in a foreign tool that does the work of `exec`, `write` and the like only where that one is let in, too;
an exact name always does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol

from interpose.core.tools import KNOWN_TOOL_NAMES, TOOL_GROUPS, mcp_name, normalize_tool_name
from interpose.core.types import EffectKind, ToolCall
from interpose.effects.late_patterns import late
from interpose.reading.calls import Reading, reading_of
from interpose.rules.governance.files.file_model import Patterns
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.roles.name_patterns import LONGEST, fits, is_glob

GROUP = "group:"

_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_ONLY_LOOK = frozenset({
    "read", "glob", "grep", "list", "memory_search", "memory_get", "agents_list", "sessions_list", "sessions_history",
    "session_status", "skill", "todo", "image",
})  # fmt: skip
"""Known tools whose work a glob may let in under any name."""
_BY_EFFECT: dict[EffectKind, str] = {"fs.write": "write", "fs.delete": "delete"}
_RUNNERS = frozenset({
    "bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "python", "python3", "node", "deno", "bun", "ruby",
    "perl", "php", "lua", "R",
})  # fmt: skip
_WORK = object()
_LOOKS_LIKE_CODE = "(\n=;|"
_UNWRITTEN = late(r"[^\w-]")
"""What OpenCode writes as an underscore in the names of servers and their tools."""


class CarriedScript(Protocol):
    """A program text that a call carries (reading/)."""

    @property
    def text(self) -> str: ...
    @property
    def counts(self) -> str: ...
    @property
    def sure(self) -> bool: ...


def members(groups: dict[str, Patterns], patterns: Iterable[str]) -> Iterator[str]:
    """The names and globs of a list, with its groups opened. `groups` are those of the file."""
    for pattern in patterns:
        named = pattern.strip().lower()
        if named in TOOL_GROUPS:
            yield from TOOL_GROUPS[named]
        elif (own := groups.get(pattern.strip().removeprefix(GROUP))) is not None:
            yield from own
        else:
            yield canonical_pattern(pattern)


def canonical_pattern(pattern: str) -> str:
    """A name or glob of a list as names are compared: `Bash` is `exec`, `@github/*` is `mcp__github__*`."""
    plain = pattern.strip().lower()
    if not is_glob(plain):
        plain = normalize_tool_name(plain)
    return _as_mcp(plain) or plain


class ToolList:
    """A list of tools, compiled: its groups are opened, and what is exact is told apart from globs."""

    __slots__ = ("exact", "flat", "globs")

    def __init__(self, book: Rulebook, patterns: Iterable[str]) -> None:
        listed = tuple(dict.fromkeys(members(book.tools, patterns)))
        self.exact = frozenset(pattern for pattern in listed if not is_glob(pattern))
        self.globs = tuple(pattern for pattern in listed if is_glob(pattern))
        self.flat = tuple(_flat(pattern) for pattern in listed if pattern.startswith("mcp_"))

    def __bool__(self) -> bool:
        return bool(self.exact or self.globs)

    def has(self, name: str) -> bool:
        """Whether a name is in it."""
        return name in self.exact or any(fits(glob, name) for glob in self.globs)

    def has_flat(self, name: str) -> bool:
        """The same where a host writes one underscore for two, or leaves the prefix out: where the server's name ends
        is not known there.

        INVARIANT: only for what keeps out. Two tools of two servers can have one such name.
        """
        if not self.flat or name in _KNOWN:
            return False
        flat = _flat(name if name.startswith("mcp_") else f"mcp_{name}")
        return any(fits(pattern, flat) for pattern in self.flat)

    def lets_in(self, call: ToolCall, home: str) -> bool:
        """Whether it lets a call in: by exact name, or by a glob that lets in the work that it does, too."""
        names = own_names(call)
        if not self.exact.isdisjoint(names):
            return True
        if not any(fits(glob, name) for glob in self.globs for name in names):
            return False
        return all(map(self.has, work_of(call, home) - _ONLY_LOOK))

    def keeps_out(self, call: ToolCall, home: str) -> str:
        """The name under which it has a call, by what it is called or by what it would do; empty if it has not."""
        if not self:
            return ""
        for name in own_names(call):
            if self.has(name) or self.has_flat(name):
                return name
        return next((name for name in sorted(work_of(call, home)) if self.has(name)), "")


def tool_list(book: Rulebook, patterns: Patterns) -> ToolList:
    """A list of a rulebook, compiled. `patterns` is one that the file has."""
    return book.compiled(("tools", patterns), lambda: ToolList(book, patterns))


def tool_fits(book: Rulebook, patterns: Patterns, tool: ToolCall | str) -> bool:
    """Whether a tool is in a list, by what it is called. For what lets something in: see above."""
    return any(map(tool_list(book, patterns).has, own_names(tool)))


def own_names(tool: ToolCall | str) -> tuple[str, ...]:
    """What a tool is called: our name for it first."""
    name, original = (tool, "") if isinstance(tool, str) else (tool.name, tool.original_name)
    return (_remembered_names if len(name) + len(original) <= LONGEST else _own_names)(name, original)


def _own_names(*said: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in said:
        if name:
            canonical = normalize_tool_name(name)
            found[_as_mcp(canonical) or canonical] = None
            found[canonical] = None
            found[name.strip().lower()] = None
            if joined := _joined(canonical):
                found[joined] = None
    return tuple(found)


_remembered_names = lru_cache(maxsize=1024)(_own_names)


def work_of(call: ToolCall, home: str) -> frozenset[str]:
    """The known tools whose work the call of another tool does: by its name, its paths, the programs it carries."""
    if call.name == "exec":
        return frozenset()
    reading = reading_of(call, home)
    return reading.remember(_WORK, lambda: _work_of(reading))


def _work_of(reading: Reading) -> frozenset[str]:
    call = reading.call
    found = {reading.seen.name} & _KNOWN - {call.name}
    if call.name != "sql" and reading.carried is not None and any(map(_is_program, reading.carried.scripts)):
        found.add("exec")  # also what a schedule or another machine is given
    if call.name not in _KNOWN:
        found |= {_BY_EFFECT[effect.kind] for effect in reading.effects if effect.kind in _BY_EFFECT}
        if found & {"edit", "apply_patch", "move", "copy"}:
            found.discard("write")  # each of them writes, and is the better word for it
        if "move" in found:
            found.discard("delete")
    return frozenset(found)


def _is_program(script: CarriedScript) -> bool:
    """Whether a text that a call carries is a program of the agent's choice, and not the words of one tool."""
    if script.counts == "all":
        return True
    first, _, rest = script.text.partition(" ")
    return first in _RUNNERS and (script.sure or any(sign in rest for sign in _LOOKS_LIKE_CODE))


def _as_mcp(plain: str) -> str:
    found = mcp_name(plain)
    return f"mcp__{found.server}__{found.tool}" if found is not None and found.server and found.tool else ""


def _joined(plain: str) -> str:
    """A tool of an MCP server as OpenCode writes it; empty if it is none, or would have the name of a known tool."""
    found = mcp_name(plain)
    if found is None or not found.server or not found.tool:
        return ""
    joined = _UNWRITTEN.sub("_", f"{found.server}_{found.tool}")
    return "" if normalize_tool_name(joined) in _KNOWN else joined


def _flat(name: str) -> str:
    return "_".join(part for part in name[:LONGEST].split("_") if part)
