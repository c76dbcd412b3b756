"""Tools that nobody knows, by what they carry: programs, the words of their names, what they send, files they name."""

from __future__ import annotations

from msgspec import Struct

from interpose.core.tool_descriptions import description_of
from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.core.types import Effect, FrozenDict, ToolCall
from interpose.reading.unknown_tools.arguments import MOST_VALUES, leaves_of
from interpose.reading.unknown_tools.deeds import deeds, lies_elsewhere, reads_only
from interpose.reading.unknown_tools.named_files import MOST_FILES, NamedFile, named_files
from interpose.reading.unknown_tools.programs import MOST_SCRIPTS, Script, scripts
from interpose.reading.unknown_tools.sending import sent_secrets, taken_from_page
from interpose.reading.unknown_tools.tool_names import ToolWords, tool_words

__all__ = ["Carried", "NamedFile", "Script", "carried_by", "is_understood"]

_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_RUNS = frozenset({"sql", "browser", "canvas", "cron", "gateway", "nodes"})
"""Known tools that may carry a program."""
_OPENS = frozenset({"image"})
"""Known tools that open a file, besides those that the guard of paths knows."""
_SENDS = frozenset({"message", "web_fetch", "web_search", "browser"})
"""Known tools that send what they are given to others."""


class Carried(Struct, frozen=True):
    """What a call carries."""

    scripts: tuple[Script, ...] = ()
    effects: tuple[Effect, ...] = ()
    files: tuple[NamedFile, ...] = ()


_NOTHING = Carried()
_MORE = Effect(
    "opaque",
    "",
    "unknown",
    details=FrozenDict({"rule": "too-many-values", "reason": "The call carries more values than are looked at"}),
)
"""INVARIANT: what was not looked at is not taken for harmless."""


def carried_by(call: ToolCall, *, as_file_tool: bool = False) -> Carried:
    """What a call carries, as far as its names, its arguments and its server's description tell.

    `as_file_tool`: its name and its paths say what it does to files, so that no verb of its name says more.
    """
    known = call.name in _KNOWN
    if known and call.name not in _RUNS | _SENDS | _OPENS:
        return _NOTHING
    name = call.original_name or call.name
    tool = ToolWords((), ("sql", "query")) if call.name == "sql" else tool_words(name)
    said = description_of(name, call.name)
    schema = {key: text.lower() for key, text in said.arguments}
    leaves = leaves_of(call.arguments, schema)
    # INVARIANT: a path beside what a tool really takes must not make a file tool of it.
    as_file_tool = as_file_tool and not any(leaf.name.is_id for leaf in leaves) and not lies_elsewhere(tool)
    effects: tuple[Effect, ...] = ()
    if not known and not as_file_tool:
        effects = deeds(tool, name, leaves, hinted=said.destructive)
    effects += sent_secrets(tool, name, leaves, outward=said.open_world or call.name in _SENDS)
    effects += taken_from_page(name, leaves)
    talks = call.name in ("message", "web_search", *_OPENS)
    programs = () if talks else scripts(tool, call.arguments, leaves, schema)
    files = () if (talks and call.name not in _OPENS) or as_file_tool else named_files(tool, leaves)
    if len(leaves) > MOST_VALUES or len(programs) > MOST_SCRIPTS or len(files) > MOST_FILES:
        effects += (_MORE,)
    return Carried(programs, effects, files)


def is_understood(call: ToolCall, carried: Carried) -> bool:
    """Whether anybody can say what such a call does: by its name, or by what it carries."""
    tool = tool_words(call.original_name or call.name)
    looks = any(script.counts != "fatal" for script in carried.scripts)
    return bool(looks or carried.effects or carried.files or reads_only(tool))
