"""What a call would do, worked out when somebody asks and only once: for guards, policies and the ledger alike.

A `Reading` is kept with its call, and calls that are the same share one (reading_cache.py). It looks at the text alone,
so what it says holds as long as the process.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import MsgspecError
from msgspec.json import Encoder
from msgspec.structs import replace

from interpose.core.tool_descriptions import description_of
from interpose.core.tools import (
    KNOWN_TOOL_NAMES,
    command_of,
    command_without_words,
    cwds_of,
    environment_of,
    is_destination,
    is_powershell,
    patched_of,
    path_arguments,
    paths_of,
    seen_as,
    typed_of,
    urls_of,
)
from interpose.core.types import Certainty, Context, Effect, EffectKind, FrozenDict, FrozenList, ToolCall
from interpose.effects.paths import Lexical, held, order_of, ours_of
from interpose.effects.shell import Analysis, Budget, Ran, analyse
from interpose.reading.calls.reading_cache import ReadingCache
from interpose.reading.calls.sandboxes import sandbox_left_by

if TYPE_CHECKING:
    from interpose.reading.unknown_tools import Carried, Script

DEFAULT_CWD = "/workspace/project"
"""Where a command is judged when nobody said where it would run."""

T = TypeVar("T")
Part = TypeVar("Part", Effect, Ran)

_NOTHING = Analysis(())
_LEXICAL = Lexical()
_ALONE_BYTES, _EFFECT_BYTES = 2048, 512
_MOST_REMEMBERED = 64
"""Answers that are kept with one reading: a rule that was loaded anew asks anew."""
_FILE_TOOLS: dict[str, EffectKind] = {
    "read": "fs.read", "grep": "fs.read", "list": "fs.read", "glob": "fs.read",
    "write": "fs.write", "edit": "fs.write", "apply_patch": "fs.write", "delete": "fs.delete",
}  # fmt: skip
_MOVED = FrozenDict({"moved": True})
_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_CARRY_NOTHING = _KNOWN - {
    "sql", "browser", "canvas", "cron", "gateway", "nodes", "message", "web_fetch", "web_search",
    "image",
}  # fmt: skip
"""Known tools whose arguments are known, too."""
_UNKNOWN: Any = object()
_KEPT = "reading"
_encode = Encoder().encode


def home_directory() -> str:
    """The home of the user that we run as."""
    return os.environ.get("HOME", "/root")


class Reading:
    """What one call would do, seen from a home directory.

    INVARIANT: all of it depends on the call's names, arguments, directory and PATH, on the home, on what is ours
    on this machine (`paths.held`) and on what was said of the tool (`tool_descriptions`), and on nothing else.
    """

    __slots__ = (
        "_analyses",
        "_analysis",
        "_budget",
        "_carried",
        "_effects",
        "_key",
        "_remembered",
        "_script",
        "_seen",
        "call",
        "home",
    )

    def __init__(self, call: ToolCall, home: str, key: Hashable | None = None) -> None:
        self.call, self.home, self._key = call, home, key
        self._seen: ToolCall = _UNKNOWN
        self._script: tuple[str, int] | None = _UNKNOWN
        self._analysis: Analysis = _UNKNOWN
        self._carried: Carried | None = _UNKNOWN
        self._effects: tuple[Effect, ...] = _UNKNOWN
        self._analyses: dict[tuple[str, str], Analysis] = {}
        self._budget = Budget()
        self._remembered: dict[Hashable, Any] = {}

    @property
    def seen(self) -> ToolCall:
        """The call as guards look at it: an MCP server's shell as `exec`, its `read_file` as `read`."""
        if self._seen is _UNKNOWN:
            self._seen = self.call if self.call.name == "exec" else seen_as(self.call)
        return self._seen

    @property
    def script(self) -> tuple[str, int] | None:
        """The command with all that the arguments put around it, and where in that text the command starts.

        Variables and standard input decide what a command does: `git log` with a pager of the agent's choice, `bash`
        with a script. So does the shell of the tool. None if the call has no command.
        """
        if self._script is _UNKNOWN:
            self._script = _script_of(self.seen) if self.seen.name == "exec" else None
        return self._script

    @property
    def analysis(self) -> Analysis:
        """The analysis of the command that an `exec` call would run; an empty one for other tools."""
        if self._analysis is _UNKNOWN:
            self._analysis = self._analysed()
        return self._analysis

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The effects of a command, of a file tool, of fetching, and of what a tool carries that nobody knows."""
        if self._effects is _UNKNOWN:
            known = self.analysis.effects if self.seen.name == "exec" else self._effects_of_tool()
            carried = () if self.carried is None else tuple(self._effects_carried(self.carried))
            if (left := sandbox_left_by(self.call)) is not None:
                carried = (left, *carried)
            self._effects = tuple(dict.fromkeys((*known, *carried))) if carried else known
        return self._effects

    def _effects_of_tool(self) -> tuple[Effect, ...]:
        effects = tuple(_effects_of(self.seen))
        return (*effects, *_tampering(effects, self.call.context.cwd or DEFAULT_CWD, self.home))

    @property
    def carried(self) -> Carried | None:
        """What the call of a tool that nobody knows carries, or the command of a shell without the words beside it."""
        if self._carried is _UNKNOWN:
            if self.call.name == "exec":
                self._carried = self._without_words()
            else:
                self._carried = None if self.call.name in _CARRY_NOTHING else self._read_carried()
        return self._carried

    def _without_words(self) -> Carried | None:
        """INVARIANT: words beside a command are also left away. Many shells take none, and `--help` would excuse it."""
        bare = command_without_words(self.call)
        if bare is None:
            return None
        from interpose.reading.unknown_tools import Carried, Script

        # A program alone is what those mean who give its words apart: only a catastrophe counts there.
        text = f"pwsh -Command {_quoted(bare)}" if is_powershell(self.call) else bare
        return Carried((Script(text, "all" if len(bare.split()) > 1 else "fatal", sure=len(bare.split()) > 1),))

    def _read_carried(self) -> Carried:
        from interpose.reading.unknown_tools import carried_by  # few calls need it, and hooks are in a hurry

        seen = self.seen
        touches = seen.name in _FILE_TOOLS or seen.name in ("move", "copy")
        return carried_by(self.call, as_file_tool=touches and bool(paths_of(seen)))

    @property
    def understood(self) -> bool:
        """Whether anybody can say what the call would do: its tool is known, or it carries what can be read."""
        if self.carried is None or self.seen.name in _KNOWN:
            return True
        from interpose.reading.unknown_tools import is_understood

        return is_understood(self.call, self.carried)

    def _effects_carried(self, carried: Carried) -> Iterable[Effect]:
        yield from carried.effects
        for script in carried.scripts:
            if script.counts != "fatal":
                for start in self.starts(self.call.context.cwd or DEFAULT_CWD):
                    yield from self.effects_of_script(script, start)
        for file in carried.files:
            yield Effect("fs.read" if file.kind == "read" else "fs.write", file.path, "possible")

    def effects_of_script(self, script: Script, start: str) -> tuple[Effect, ...]:
        """The effects of a program text that the call carries, as far as they count and as sure as they are."""
        effects = self._analysed_in(script.text, start).effects
        if script.counts != "all":
            effects = tuple(effect for effect in effects if _is_clear(effect))
        if script.sure:
            return effects
        return tuple(replace(effect, certainty="possible") for effect in effects)

    def starts(self, cwd: str) -> tuple[str, ...]:
        """Every directory in which the call could start: each that its arguments name, read in every way (`$HOME`)."""
        return starts_of(self.call, cwd, self.home)

    def effects_in(self, text: str, start: str) -> tuple[Effect, ...]:
        """The effects of the call's own script, or of a text out of it, started in a directory."""
        return self._analysed_in(text, start).effects

    def analysis_in(self, text: str, start: str) -> Analysis:
        """The whole analysis of the same. All that is analysed of one call shares its budget of steps."""
        return self._analysed_in(text, start)

    def remember(self, what: Hashable, work_out: Callable[[], T]) -> T:
        """What was worked out about this call before. `what` must name all that it depends on besides the call."""
        known = self._remembered.get(what, _UNKNOWN)
        if known is _UNKNOWN:
            known = work_out()
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[what] = known
        return cast("T", known)

    def _analysed(self) -> Analysis:
        if self.script is None:
            return _NOTHING
        text, offset = self.script
        found = [self._analysed_in(text, start) for start in self.starts(self.call.context.cwd or DEFAULT_CWD)]
        if len(found) == 1 and not offset:
            return found[0]
        effects = dict.fromkeys(effect for analysis in found for effect in analysis.effects)
        commands = tuple(_moved(ran, offset) for ran in found[0].commands)
        return Analysis(tuple(_moved(effect, offset) for effect in effects), found[0].problems, commands)

    def _analysed_in(self, text: str, start: str) -> Analysis:
        found = self._analyses.get((text, start))
        if found is None:
            found = self._analyses[text, start] = analyse(
                text, cwd=start, home=self.home, budget=self._budget, search_path=self.call.context.search_path
            )
            if self._key is not None:
                parts = sum(len(one.effects) + len(one.commands) for one in tuple(self._analyses.values()))
                _READINGS.put(self._key, self, _ALONE_BYTES + 3 * len(text) + _EFFECT_BYTES * parts)
        return found


_READINGS: ReadingCache[Reading] = ReadingCache()


def reading_of(call: ToolCall, home: str) -> Reading:
    """The reading of a call."""
    kept: Reading | None = call.__dict__.get(_KEPT)
    if kept is not None and kept.home == home:
        return kept
    key = _key(call, home)
    found = None if key is None else _READINGS.get(key)
    if found is None:
        found = Reading(_alone(call), home, key)
        if key is not None:
            _READINGS.put(key, found, _ALONE_BYTES + 3 * _length(call.arguments))
    call.__dict__[_KEPT] = found
    return found


def _alone(call: ToolCall) -> ToolCall:
    """The call without what its reading must not depend on: who made it, when, in which run."""
    return ToolCall(call.name, call.arguments, "", _where(call.context), original_name=call.original_name)


def _where(context: Context) -> Context:
    return Context(cwd=context.cwd, search_path=context.search_path)


def _key(call: ToolCall, home: str) -> Hashable | None:
    """INVARIANT: calls with the same key are the same call. None where that can't be said for sure."""
    arguments = call.arguments
    about = (
        call.name, call.original_name, _where(call.context), home, held(),
        None if call.name == "exec" else description_of(call.name, call.original_name),
    )  # fmt: skip
    if all(type(key) is str and type(value) is str for key, value in arguments.items()):
        return (*about, *arguments.items())
    try:
        return (*about, _encode(arguments)) if _is_json(arguments) else None
    except (MsgspecError, UnicodeEncodeError, RecursionError):
        return None


def _is_json(value: object) -> bool:
    """Whether a value is nothing but JSON: what is not may be written like something else."""
    kind = type(value)
    if kind is FrozenDict:
        return all(type(key) is str and _is_json(item) for key, item in cast("FrozenDict", value).items())
    if kind is FrozenList:
        return all(map(_is_json, cast("FrozenList", value)))
    if kind is float:
        return value == value and value not in (float("inf"), float("-inf"))
    return kind is str or kind is int or kind is bool or value is None


def _length(value: object) -> int:
    kind = type(value)
    if kind is str:
        return len(cast("str", value))
    if kind is FrozenDict:
        return sum(len(key) + _length(item) for key, item in cast("FrozenDict", value).items())
    if kind is FrozenList:
        return sum(map(_length, cast("FrozenList", value)))
    return 8


def starts_of(call: ToolCall, cwd: str, home: str) -> tuple[str, ...]:
    """Every directory in which a call could start, in any reading of what its arguments say."""
    moved = cwds_of(call)
    if not moved:
        return (cwd,)
    found = [path for text in moved for path in _LEXICAL.spellings(text, cwd=cwd, home=home).paths]
    return tuple(dict.fromkeys(found)) or (start_of(call, cwd),)


def start_of(call: ToolCall, cwd: str) -> str:
    """Where the command of a call starts: in `cwd` unless its arguments say otherwise."""
    moved = cwds_of(call)
    return posixpath.join(cwd, moved[0]) if moved else cwd


def _is_clear(effect: Effect) -> bool:
    """Whether an effect means something in a text that need not be shell text: what is not understood does not.

    INVARIANT: what was not read to its end is another matter. It is not taken for harmless, whoever carries it.
    """
    rule = effect.details.get("rule")
    return rule != "unknown-tool-destroys" and (
        effect.kind != "opaque" or rule in ("too-large", "too-complex", "too-deep", "sql-load", "sql-shell")
    )


def _script_of(call: ToolCall) -> tuple[str, int] | None:
    command = command_of(call)
    if command is None:
        return None
    if is_powershell(call):
        command = f"pwsh -Command {_quoted(command)}"
    if len(call.arguments) == 1:
        return command, 0
    before = "".join(f"export {_quoted(variable)}\n" for variable in environment_of(call))
    if typed := typed_of(call):
        return f"{before}{{ {command}\n}} <<< {_quoted(typed)}", len(before) + 2
    return before + command, len(before)


def _moved(part: Part, offset: int) -> Part:
    """The part with its span counted from where the command starts."""
    return replace(part, span=(max(0, part.span[0] - offset), max(0, part.span[1] - offset)))


def _effects_of(call: ToolCall) -> Iterable[Effect]:
    if call.name == "web_fetch":
        return (Effect("net.download", url) for url in urls_of(call))
    if call.name in ("move", "copy"):
        return _moving_effects(call)
    kind = _FILE_TOOLS.get(call.name)
    return _file_effects(call, kind) if kind else ()


def _tampering(effects: tuple[Effect, ...], cwd: str, home: str) -> Iterable[Effect]:
    """What these effects touch that is ours, as a command's analysis would say it."""
    for effect in effects:
        if effect.kind == "net.download":
            order = order_of(effect.resource)
            if order is not None:
                certainty: Certainty = "proven" if order.certain else "possible"
                details = FrozenDict({"rule": "guard-orders", "reason": order.reason, "ours": True})
                yield Effect("guard.tamper", effect.resource, certainty, details=details)
            continue
        for path in _LEXICAL.spellings(effect.resource, cwd=cwd, home=home).paths:
            mark = ours_of(path)
            if mark is not None and (mark.private or effect.kind != "fs.read"):
                details = FrozenDict({"reason": mark.reason, "ours": True} if mark.ours else {"reason": mark.reason})
                yield Effect("guard.tamper", path, details=details)
                break


def _moving_effects(call: ToolCall) -> Iterable[Effect]:
    for argument, path in path_arguments(call):
        if not isinstance(path, str):
            continue
        if is_destination(argument):
            yield Effect("fs.write", path)
        else:
            yield Effect("fs.read", path)
            if call.name == "move":
                yield Effect("fs.delete", path, details=_MOVED)


def _file_effects(call: ToolCall, kind: EffectKind) -> Iterable[Effect]:
    yield from (Effect("fs.delete", file.path) for file in patched_of(call) if file.kind == "delete")
    yield from (Effect(kind, path) for path in paths_of(call))


def _quoted(text: str) -> str:
    from shlex import quote  # few calls need it

    return quote(text)
