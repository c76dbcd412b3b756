"""What tools are called, and which of their arguments is the command, the path or the url.

Every agent has its own names for the same few tools. Interceptors see one canonical name: `Bash`,
`run_shell_command` and `execute_bash` are all `exec`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from interpose.errors import InvalidCallError
from interpose.patches import Patched, patched
from interpose.types import FrozenDict, ToolCall, freeze, thaw

TOOL_GROUPS: Mapping[str, tuple[str, ...]] = {
    "group:fs": ("read", "write", "edit", "apply_patch"),
    "group:search": ("glob", "grep", "list"),
    "group:runtime": ("exec", "process"),
    "group:memory": ("memory_search", "memory_get"),
    "group:web": ("web_search", "web_fetch"),
    "group:sessions": ("sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"),
    "group:agents": ("agents_list", "task", "skill", "todo"),
    "group:ui": ("browser", "canvas"),
    "group:automation": ("cron", "gateway"),
    "group:messaging": ("message",),
    "group:nodes": ("nodes",),
    "group:media": ("image", "tts"),
    "group:data": ("sql",),
}

KNOWN_TOOL_NAMES: tuple[str, ...] = tuple(name for names in TOOL_GROUPS.values() for name in names)

TOOL_ALIASES: Mapping[str, str] = {
    alias: name
    for name, aliases in {
        "exec": "bash shell powershell run_shell_command execute_bash execute_command execute run_command exec_command "
        "run_terminal_cmd run_in_terminal terminal local_shell shell_command monitor",
        "process": "read_bash stop_bash write_bash write_stdin bashoutput killshell killbash taskoutput taskstop",
        "read": "view read_file file_read fs_read readfile cat_file open_file notebookread read_many_files view_file "
        "read_text_file read_multiple_files",
        "write": "create write_file file_write fs_write writefile create_file write_to_file",
        "edit": "replace file_edit edit_file str_replace str_replace_editor str_replace_based_edit_tool multiedit "
        "multi_edit notebookedit notebook_edit replace_in_file editfiles insert_edit_into_file replace_string_in_file "
        "multi_replace_string_in_file search_replace edit_notebook",
        "apply_patch": "apply-patch applypatch apply_diff",
        "glob": "file_glob find_files file_search",
        "grep": "grep_search search_file_content search_files file_grep codebase_search rg",
        "list": "ls list_directory list_dir list_files",
        "web_fetch": "webfetch fetch fetch_url url_fetch",
        "web_search": "websearch google_web_search search_web",
        "task": "agent invoke_agent spawn_agent subagent dispatch_agent",
        "skill": "activate_skill",
        "todo": "todowrite todoread todo_write todo_read write_todos update_plan",
        "message": "sendmessage send_message",
        "cron": "croncreate crondelete cronlist automations",
        "image": "view_image",
        "sql": "run_sql execute_sql query_database",
    }.items()
    for alias in aliases.split()
}

WRAPPER_TOOLS: Mapping[str, tuple[str, str, str]] = {
    "tool_call": ("name", "arguments", ""),
    "call_tool": ("name", "arguments", ""),
    "dispatch_action": ("name", "arguments", ""),
    "use_mcp_tool": ("tool_name", "arguments", "server_name"),
}
"""Tools whose arguments are another call: the argument with its name, with its arguments, with its MCP server.

Only a wrapper of MCP tools has a server: elsewhere that argument is ignored, or `tool_call(name="bash",
server_name="x")` would pass for a tool that no guard of `exec` looks at.
"""

_COMMAND = ("command", "cmd", "script", "commands")
_PATH = frozenset({
    "path", "filepath", "notebookpath", "absolutepath", "targetfile", "targetnotebook", "filename", "file", "dirpath",
    "directory", "directorypath", "basedir", "searchpath", "searchdirectory", "targetdirectory", "targetpath", "paths",
    "files", "filepaths", "relativepath", "relativeworkspacepath", "source", "destination", "sourcepath",
    "destinationpath", "oldpath", "newpath", "imagepaths",
})  # fmt: skip
"""Names of arguments that are paths, without case and underscores: `file_path`, `filePath` and `FilePath` are one."""
_PATH_HOLDERS = frozenset({"operations", "edits", "replacements", "changes", "files", "paths"})
"""Arguments that are lists of objects with paths of their own."""
_URL = ("url", "uri", "urls")
_PATCH = ("input", "patch", "patchText", "patch_text", "diff", "command")
_CWD = ("cwd", "workdir", "dir_path", "directory", "working_directory")
_CONTENT = frozenset({
    "content", "contents", "filetext", "newstring", "newstr", "newsource", "replacement", "text", "code", "codeedit",
    "inserttext", "newtext", "codecontent",
})  # fmt: skip
_REPLACED = frozenset({"oldstring", "oldstr", "oldtext", "search"})
_FILTER = frozenset({"glob", "include", "includes", "includepattern", "filepattern", "includepatterns"})

_MAX_WRAPPERS = 8


class McpName(Struct, frozen=True):
    """The name of an MCP tool. `server` is empty where the agent's spelling loses it."""

    server: str
    tool: str


def normalize_tool_name(name: str) -> str:
    """The canonical name: trimmed, lower case, aliases folded. Unknown names stay as they are."""
    plain = name.strip().lower()
    return TOOL_ALIASES.get(plain, plain)


def mcp_name(name: str) -> McpName | None:
    """The server and tool of an MCP tool name in any agent's spelling, or None."""
    plain = name.strip()
    lower = plain.lower()
    if lower.startswith("mcp__"):
        server, _, tool = plain[5:].partition("__")
        return McpName(server, tool) if tool else McpName("", server)
    if lower.startswith("mcp:"):
        return McpName("", plain[4:])
    if plain.startswith("@") and "/" in plain:
        server, _, tool = plain[1:].partition("/")
        return McpName(server, tool)
    if lower.startswith("mcp_"):
        # Gemini joins with single underscores: the first is taken as the border, a server with `_` stays ambiguous.
        server, _, tool = plain[4:].partition("_")
        return McpName(server, tool) if tool else McpName("", server)
    return None


def canonical(call: ToolCall) -> ToolCall:
    """The call under its canonical name, unwrapped if it only carries another call."""
    if call.original_name:
        return call
    original, name, arguments = call.name, normalize_tool_name(call.name), call.arguments
    for _ in range(_MAX_WRAPPERS):
        keys = WRAPPER_TOOLS.get(name)
        if keys is None:
            return ToolCall(name, arguments, call.call_id, call.context, call.metadata, original)
        inner, carried, server = arguments.get(keys[0]), arguments.get(keys[1], FrozenDict()), arguments.get(keys[2])
        if not isinstance(inner, str) or not inner.strip():
            raise InvalidCallError(f"{original} carries no tool name in its argument {keys[0]!r}")
        if isinstance(carried, str):
            carried = _decoded(original, keys[1], carried)
        if not isinstance(carried, dict):
            raise InvalidCallError(f"{original} carries {type(carried).__name__} in {keys[1]!r}, expected an object")
        if keys[2]:
            inner = f"mcp__{server or ''}__{inner}"
        name, arguments = normalize_tool_name(inner), _frozen(original, carried)
    raise InvalidCallError(f"{original} wraps calls more than {_MAX_WRAPPERS} deep")


def _frozen(tool: str, arguments: dict[str, Any]) -> FrozenDict:
    try:
        frozen: FrozenDict = freeze(arguments)
    except ValueError as error:
        raise InvalidCallError(f"{tool}: {error}") from None
    return frozen


def _decoded(tool: str, key: str, text: str) -> object:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCallError(f"{tool} carries text in {key!r} that is no JSON object: {error}") from None


def command_of(call: ToolCall) -> str | None:
    """The shell command of a call, or None if it has none.

    A list is one command given as words. Several command arguments are all returned, one a line: which of them
    the tool would run is not ours to guess.
    """
    arguments = call.arguments
    if len(arguments) == 1 and type(command := arguments.get("command")) is str:
        return command
    found = [text for key in _COMMAND if (text := _command(arguments.get(key))) is not None]
    return "\n".join(found) if found else None


def _command(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return None


def cwd_of(call: ToolCall) -> str:
    """The directory that the call itself asks to start in, or an empty text."""
    arguments = call.arguments
    if len(arguments) == 1 and "command" in arguments:
        return ""
    for key in _CWD:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
    return ""


def paths_of(call: ToolCall) -> tuple[str, ...]:
    """The paths that a file tool's arguments name, those inside a patch or a list of edits included."""
    named = [file.path for file in patched_of(call)]
    named += [value for _, value in path_arguments(call) if isinstance(value, str)]
    return tuple(dict.fromkeys(named))


def patched_of(call: ToolCall) -> tuple[Patched, ...]:
    """The files that the patch of a call touches; none if the call carries no patch."""
    if call.name != "apply_patch":
        return ()
    texts = [text for key in _PATCH if isinstance(text := call.arguments.get(key), str)]
    return tuple(file for text in texts for file in patched(text))


def path_arguments(call: ToolCall) -> Iterator[tuple[str, object]]:
    """Every argument that should be a path, by its name: also those that are no text."""
    for key, value in call.arguments.items():
        plain = _plain_key(key)
        if plain in _PATH:
            yield from _path_values(key, value)
        elif plain in _PATH_HOLDERS and isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, dict):
                    yield from _path_values(key, item)


def _path_values(key: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for inner, item in value.items():
            if _plain_key(inner) in _PATH:
                yield from ((f"{key}.{inner}", text) for text in (item if isinstance(item, list | tuple) else [item]))
    elif isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, dict):
                yield from _path_values(key, item)
            else:
                yield key, item
    else:
        yield key, value


def _plain_key(key: object) -> str:
    return key.lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, str))


def urls_of(call: ToolCall) -> tuple[str, ...]:
    """The urls that a web tool's arguments name."""
    named = [url for key in _URL for url in _texts(call.arguments.get(key))]
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
