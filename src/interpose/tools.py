"""What tools are called, and which of their arguments is the command, the path or the url.

Every agent has its own names for the same few tools. Interceptors see one canonical name: `Bash`,
`run_shell_command` and `execute_bash` are all `exec`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.formats.patches import Patched, patched
from interpose.late_patterns import late
from interpose.tool_words import file_tool, words_of
from interpose.types import FrozenDict, FrozenList, ToolCall, thaw

TOOL_GROUPS: Mapping[str, tuple[str, ...]] = {
    "group:fs": ("read", "write", "edit", "apply_patch", "delete", "move", "copy"),
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
        "exec": "bash shell powershell pwsh run_shell_command execute_bash execute_command execute run_command "
        "exec_command run_terminal_cmd run_in_terminal terminal local_shell shell_command monitor",
        "process": "read_bash stop_bash write_bash write_stdin bashoutput killshell killbash taskoutput taskstop",
        "read": "view read_file file_read fs_read readfile cat_file open_file notebookread read_many_files view_file "
        "read_text_file read_multiple_files",
        "write": "create write_file file_write fs_write writefile create_file write_to_file create_directory "
        "make_directory create_dir mkdir",
        "edit": "replace file_edit edit_file str_replace str_replace_editor str_replace_based_edit_tool multiedit "
        "multi_edit notebookedit notebook_edit replace_in_file editfiles insert_edit_into_file replace_string_in_file "
        "multi_replace_string_in_file search_replace edit_notebook",
        "apply_patch": "apply-patch applypatch apply_diff",
        "delete": "delete_file file_delete fs_delete delete_path delete_directory delete_dir delete_folder remove "
        "remove_file file_remove remove_path remove_directory remove_dir rm rmdir unlink trash trash_file",
        "move": "move_file file_move fs_move move_path move_directory rename rename_file file_rename rename_path mv",
        "copy": "copy_file file_copy fs_copy copy_path copy_directory duplicate_file cp",
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

GATEWAY = "interpose"
"""What agents call our MCP gateway, in front of the names of the tools behind it: `mcp__interpose__github__merge`."""

BATCH_TOOLS = frozenset({"batch", "parallel", "multi_tool_use.parallel", "multi_tool_use"})
"""Tools whose arguments may be several calls."""

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

_SHORT = 64


class McpName(Struct, frozen=True):
    """The name of an MCP tool. `server` is empty where the agent's spelling loses it."""

    server: str
    tool: str
    behind_gateway: bool = False
    """The agent said the name of our gateway first: its server and tool are those behind it."""


def normalize_tool_name(name: str) -> str:
    """The canonical name: trimmed, lower case, aliases folded (`runCommand`, `run-command`). Unknown names stay."""
    # Agents choose names: only short ones are remembered, or the memory would grow with them.
    return _remembered(name) if len(name) <= _SHORT else _normalized(name)


def _normalized(name: str) -> str:
    plain = name.strip().lower()
    if GATEWAY in plain and (found := mcp_name(plain)) is not None and found.behind_gateway:
        return f"mcp__{found.server}__{found.tool}"
    return TOOL_ALIASES.get(plain) or _BY_PLAIN_NAME.get(_plain_key(plain), plain)


_remembered = lru_cache(maxsize=1024)(_normalized)


def plain_name(name: str) -> str:
    """A name without case, underscores and hyphens, as two names are compared."""
    return _plain_key(name.strip())


def mcp_name(name: str) -> McpName | None:
    """The server and tool of an MCP tool name in any agent's spelling, or None. Our own gateway is no server."""
    found = _mcp_name(name)
    if found is None or found.server.lower() != GATEWAY:
        return found
    server, border, tool = found.tool.partition("__")
    return McpName(server, tool, behind_gateway=True) if server and border and tool else found


def _mcp_name(name: str) -> McpName | None:
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


def shell_names(names: Iterable[str]) -> frozenset[str]:
    """Names that are to be judged as shells, compared without case and dashes. Known tools stay what they are."""
    return frozenset(plain_name(name) for name in names if normalize_tool_name(name) not in _KNOWN)


def namespace_of(name: str) -> str:
    """Whose tool a name says it is, with the border: `functions.` of `functions.bash`, `mcp__x__`; or nothing."""
    borders = [border.end() for border in _NAMESPACE.finditer(name)]
    return name[: borders[-1]] if borders else ""


@lru_cache(maxsize=1024)
def tool_behind(name: str) -> str:
    """The known tool that a foreign name ends with: `exec` for `mcp__shell__execute_command`; empty if none."""
    last = _NAMESPACE.split(name)[-1]
    if last != name and (known := normalize_tool_name(last)) in _KNOWN:
        return known
    words = last.lower().replace("-", "_").split("_")
    for start in range(1, len(words)):
        known = TOOL_ALIASES.get("_".join(words[start:]), "")
        if known and (known == "exec" or start < len(words) - 1):  # `ticket_create` is not `create`
            return known
    return ""


def seen_as(call: ToolCall) -> ToolCall:
    """The call as guards look at it: an MCP server's `read_file` as `read`, a fetch of `file:` addresses too.

    The call keeps its own name everywhere else: it says who runs it.
    """
    if call.name == "web_fetch":
        files = [url for url in urls_of(call) if url.strip().lower().startswith("file:")]
        return replace(call, name="read", arguments=FrozenDict({"paths": FrozenList(files)})) if files else call
    known = "" if call.name in _KNOWN else tool_behind(call.name) or _file_tool_behind(call)
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
    return _NAMESPACE.split(call.original_name or call.name)[-1].strip().lower() in ("powershell", "pwsh")


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


def _plain_key(key: object) -> str:
    return key.lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""


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


_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_NAMESPACE = late(r"__|[.:/]")
_BY_PLAIN_NAME = {
    _plain_key(name): TOOL_ALIASES.get(name, name)
    for name in (*WRAPPER_TOOLS, *BATCH_TOOLS, *TOOL_ALIASES, *KNOWN_TOOL_NAMES)
}
