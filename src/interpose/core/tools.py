"""Which arguments of a call are its command, its paths, its urls, its content: every agent spells them differently.

What tools are called is in tool_names.py, and can be imported from here too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from interpose.core.tool_names import (
    BATCH_TOOLS,
    GATEWAY,
    KNOWN_TOOL_NAMES,
    TOOL_ALIASES,
    TOOL_GROUPS,
    WRAPPER_TOOLS,
    McpName,
    is_known,
    mcp_name,
    namespace_of,
    normalize_tool_name,
    plain_name,
    shell_names,
    tool_behind,
)
from interpose.core.tool_names import plain_key as _plain_key
from interpose.core.tool_words import file_tool, words_of
from interpose.core.types import FrozenDict, FrozenList, ToolCall, thaw

if TYPE_CHECKING:
    from interpose.effects.patches import Patched

__all__ = [
    "BATCH_TOOLS",
    "GATEWAY",
    "KNOWN_TOOL_NAMES",
    "TOOL_ALIASES",
    "TOOL_GROUPS",
    "WRAPPER_TOOLS",
    "McpName",
    "command_of",
    "command_without_words",
    "content_arguments",
    "content_of",
    "cwds_of",
    "environment_of",
    "filters_of",
    "is_destination",
    "is_known",
    "is_powershell",
    "mcp_name",
    "namespace_of",
    "normalize_tool_name",
    "only_views",
    "patched_of",
    "path_arguments",
    "path_text",
    "paths_of",
    "plain_arguments",
    "plain_name",
    "replaced_of",
    "seen_as",
    "shell_names",
    "spellings",
    "tool_behind",
    "typed_of",
    "urls_of",
]

# Names of arguments, without case, underscores and hyphens: `file_path`, `filePath` and `FilePath` are one. An agent
# that could choose a spelling which nobody looks at could choose what is judged.
_COMMAND = ("command", "cmd", "script", "commands", "commandline", "shellcommand", "bashcommand")
_WORDS = frozenset({"args", "argv", "arguments"})
_ENVIRONMENT = frozenset({"env", "environment", "envvars", "environmentvariables"})
_TYPED = frozenset({"stdin", "input", "chars", "data", "text", "keys"})
_CWD = (
    "cwd", "workdir", "dirpath", "directory", "workingdirectory", "workingdir", "currentdirectory", "currentdir",
    "chdir",
)  # fmt: skip
_PATH = frozenset({
    "path", "filepath", "notebookpath", "absolutepath", "targetfile", "targetnotebook", "filename", "file", "dirpath",
    "directory", "directorypath", "basedir", "searchpath", "searchdirectory", "targetdirectory", "targetpath", "paths",
    "files", "filepaths", "relativepath", "relativeworkspacepath", "source", "destination", "sourcepath",
    "destinationpath", "oldpath", "newpath", "imagepaths", "uri", "fileuri", "fileurl",
})  # fmt: skip
_MOVED_FROM = frozenset({"src", "from", "srcpath", "frompath", "sourcefile", "oldname", "oldfile"})
_MOVED_TO = frozenset({
    "dst", "dest", "to", "target", "destination", "dstpath", "destpath", "topath", "destinationpath", "targetpath",
    "targetdirectory", "targetfile", "newpath", "newname", "newfile", "destinationfile", "relativedestination",
})  # fmt: skip
_MOVES = frozenset({"move", "copy"})
_PATH_HOLDERS = frozenset({"operations", "edits", "replacements", "changes", "files", "paths"})
"""Arguments that are lists of objects with paths of their own."""
_URL = frozenset({"url", "uri", "urls"})
_PATCH = frozenset({"input", "patch", "patchtext", "diff", "command"})
_CONTENT = frozenset({
    "content", "contents", "filetext", "newstring", "newstr", "newsource", "replacement", "text", "code", "codeedit",
    "inserttext", "newtext", "codecontent",
})  # fmt: skip
_REPLACED = frozenset({"oldstring", "oldstr", "oldtext", "search"})
_SPELLED = {
    "command": _WORDS.union(_COMMAND),
    "path": _PATH | _PATH_HOLDERS,
    "url": _URL,
    "content": _CONTENT | _PATH_HOLDERS,
    "replaced": _REPLACED,
}
_FILTER = frozenset({"glob", "include", "includes", "includepattern", "filepattern", "includepatterns"})


def seen_as(call: ToolCall) -> ToolCall:
    """The call as guards look at it: an MCP server's `read_file` as `read`, a fetch of `file:` addresses too.

    The call keeps its own name everywhere else: it says who runs it.
    """
    if call.name == "web_fetch":
        files = [url for url in urls_of(call) if url.strip().lower().startswith("file:")]
        return replace(call, name="read", arguments=FrozenDict({"paths": FrozenList(files)})) if files else call
    known = "" if is_known(call.name) else tool_behind(call.name) or _file_tool_behind(call)
    return replace(call, name=known) if known else call


def _file_tool_behind(call: ToolCall) -> str:
    """The file tool that a foreign name describes in its own words, if the call names a path: `append_to_file`."""
    name = call.original_name or call.name
    border = len(namespace_of(name))
    known = file_tool(words_of(name[border:])) or file_tool((*words_of(name[border:]), *words_of(name[:border])))
    named = known and any(
        isinstance(path, str) and path.strip() for _, path in path_arguments(replace(call, name=known))
    )
    return known if named else ""


def is_powershell(call: ToolCall) -> bool:
    """Whether the tool runs its command with PowerShell. Its name says so: no argument of the agent's counts."""
    name = call.original_name or call.name
    return name[len(namespace_of(name)) :].strip().lower() in ("powershell", "pwsh")


def command_of(call: ToolCall) -> str | None:
    """The shell command of a call, or None if it has none.

    A list is one command given as words. Several command arguments are all returned, one a line: which of them
    the tool would run is not ours to guess.
    """
    arguments = call.arguments
    if len(arguments) == 1 and type(command := arguments.get("command")) is str:
        return command
    found: list[tuple[int, str]] = []
    words = ""
    for key, value in arguments.items():
        plain = _plain_key(key)
        if plain in _COMMAND and (text := _command(plain, value)) is not None:
            found.append((_COMMAND.index(plain), text))
        elif plain in _WORDS:
            words = _words(value)
    if not found:
        return None
    found.sort()
    return "\n".join(f"{text} {words}" if words else text for _, text in found)


def command_without_words(call: ToolCall) -> str | None:
    """The command of a call as it stands without the words that its arguments put behind it; None if there are none.

    A tool that takes no such words runs it like that: `{"command": "rm -rf x", "args": "--help"}`.
    """
    if len(call.arguments) == 1:
        return None
    kept = {key: value for key, value in call.arguments.items() if _plain_key(key) not in _WORDS}
    if len(kept) == len(call.arguments):
        return None
    return command_of(replace(call, arguments=FrozenDict(kept)))


def _command(key: str, value: object) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, list | tuple) or not value:
        return None
    if key == "commands":
        texts = [_command("command", item) for item in value]
        return None if None in texts else "\n".join(text for text in texts if text is not None)
    words = [word for word in map(path_text, value) if isinstance(word, str)]
    if len(words) != len(value):
        return None
    if len(words) == 1:
        return words[0]
    from shlex import join

    return join(words)


def _words(value: object) -> str:
    """The words that a tool puts behind its command."""
    if isinstance(value, list | tuple):
        from shlex import join

        return join(word if isinstance(word, str) else str(word) for word in value)
    return value if isinstance(value, str) else ""


def typed_of(call: ToolCall) -> str:
    """What a call gives to a program on its standard input."""
    return "\n".join(
        text for key, value in call.arguments.items() if _plain_key(key) in _TYPED for text in _texts(value)
    )


def environment_of(call: ToolCall) -> tuple[str, ...]:
    """The variables that a call sets for its command, each as `NAME=value`."""
    found: list[str] = []
    for key, value in call.arguments.items():
        if _plain_key(key) not in _ENVIRONMENT:
            continue
        if isinstance(value, dict):
            found += [f"{name}={text}" for name, text in value.items()]
        elif isinstance(value, list | tuple):
            found += [f"{item.get('name')}={item.get('value')}" for item in value if isinstance(item, dict)]
            found += [item for item in value if isinstance(item, str) and "=" in item]
    return tuple(found)


def cwds_of(call: ToolCall) -> tuple[str, ...]:
    """The directories that the call itself asks to start in. Which of several the tool takes is not ours to guess."""
    arguments = call.arguments
    if len(arguments) == 1 and "command" in arguments:
        return ()
    given = (path_text(value) for key, value in arguments.items() if _plain_key(key) in _CWD)
    named = [value for value in given if isinstance(value, str) and value]
    return tuple(dict.fromkeys(named))


def paths_of(call: ToolCall) -> tuple[str, ...]:
    """The paths that a file tool's arguments name, those inside a patch or a list of edits included."""
    named = [file.path for file in patched_of(call)]
    named += [value for _, value in path_arguments(call) if isinstance(value, str)]
    return tuple(dict.fromkeys(named))


_VIEWING = frozenset({"command", "path", "file_path", "view_range"})


def only_views(call: ToolCall) -> bool:
    """Whether a call of an editing tool only looks: `str_replace_based_edit_tool` says in `command` what it does.

    INVARIANT: `command: view` beside an edit's own arguments is no view. A tool that has no modes would ignore it.
    """
    return call.name == "edit" and call.arguments.get("command") == "view" and call.arguments.keys() <= _VIEWING


def patched_of(call: ToolCall) -> tuple[Patched, ...]:
    """The files that the patch of a call touches; none if the call carries no patch."""
    if call.name != "apply_patch":
        return ()
    texts = [text for key, text in call.arguments.items() if _plain_key(key) in _PATCH and isinstance(text, str)]
    from interpose.effects.patches import patched  # few calls have a patch

    return tuple(file for text in texts for file in patched(text))


def path_arguments(call: ToolCall) -> Iterator[tuple[str, object]]:
    """Every argument that should be a path, by its name: also those that are no text."""
    names = _PATH | _MOVED_FROM | _MOVED_TO if call.name in _MOVES else _PATH
    for key, value in call.arguments.items():
        plain = _plain_key(key)
        if plain in names:
            yield from _path_values(key, value, names)
        elif plain in _PATH_HOLDERS and isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, dict):
                    yield from _path_values(key, item, names)


def is_destination(argument: str) -> bool:
    """Whether an argument of `path_arguments` says where a move or a copy ends."""
    return _plain_key(argument.rpartition(".")[2]) in _MOVED_TO


def _path_values(key: str, value: object, names: frozenset[str]) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for inner, item in value.items():
            if _plain_key(inner) in names:
                items = item if isinstance(item, list | tuple) else [item]
                yield from ((f"{key}.{inner}", path_text(text)) for text in items)
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict):
                yield from _path_values(key, item, names)
            else:
                yield key, path_text(item)
    else:
        yield key, path_text(value)


def path_text(value: object) -> object:
    """A `pathlib.Path`, or anything else that says it is a path, as text; any other value as it is."""
    kind = type(value)
    if kind is str or not hasattr(kind, "__fspath__"):
        return value
    try:
        text = os.fspath(value)  # type: ignore[call-overload]  # its type has __fspath__
    except Exception:  # noqa: BLE001 - of a class that only says so: it stays what nobody can read
        return value
    return os.fsdecode(text) if isinstance(text, bytes) else text


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, str))


def urls_of(call: ToolCall) -> tuple[str, ...]:
    """The urls that a web tool's arguments name."""
    named = [url for key, value in call.arguments.items() if _plain_key(key) in _URL for url in _texts(value)]
    prompt = call.arguments.get("prompt")
    if isinstance(prompt, str):
        named.extend(word for word in prompt.split() if word.startswith(("http://", "https://")))
    return tuple(dict.fromkeys(named))


def content_of(call: ToolCall) -> str:
    """The text that a file tool would write, that of every edit in a list included."""
    return "\n".join(_named_texts(call.arguments, _CONTENT))


def _named_texts(arguments: Mapping[str, Any], names: frozenset[str]) -> Iterator[str]:
    """The texts among the arguments that have one of these names, those in a list of edits included."""
    for key, value in arguments.items():
        plain = _plain_key(key)
        if plain in names and isinstance(value, str):
            yield value
        elif plain in _PATH_HOLDERS and isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, dict):
                    yield from (text for k, text in item.items() if isinstance(text, str) and _plain_key(k) in names)


def spellings(call: ToolCall, name: str) -> tuple[str, ...]:
    """The arguments in which a call says its `command`, `path`, `url`, `content`, or the text that is `replaced` by it,
    whatever the agent calls them."""
    known = _SPELLED[name]
    return tuple(key for key in call.arguments if _plain_key(key) in known)


def content_arguments(call: ToolCall) -> tuple[str, ...]:
    """The arguments that say what a file tool writes and what it takes out, where each of them is one text."""
    named = _CONTENT | _REPLACED
    return tuple(key for key, value in call.arguments.items() if _plain_key(key) in named and isinstance(value, str))


def replaced_of(call: ToolCall) -> str:
    """The text that a file tool would take out."""
    return "\n".join(_named_texts(call.arguments, _REPLACED))


def filters_of(call: ToolCall) -> tuple[str, ...]:
    """The patterns that choose which files a search reads."""
    chosen = [text for key, value in call.arguments.items() if _plain_key(key) in _FILTER for text in _texts(value)]
    return tuple(text for text in chosen if text[:1] != "!")


def plain_arguments(call: ToolCall) -> dict[str, Any]:
    """The call's arguments as ordinary dicts and lists that may be changed."""
    thawed: dict[str, Any] = thaw(call.arguments)
    return thawed
