"""What tools are called: every agent has its own names for the same few tools, and interceptors see one for all.

`Bash`, `run_shell_command` and `execute_bash` are all `exec`. Calls are built under the canonical name (types.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from interpose.effects.late_patterns import late

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
        "edit": "replace file_edit file_editor edit_file str_replace str_replace_editor str_replace_based_edit_tool "
        "multiedit multi_edit notebookedit notebook_edit replace_in_file editfiles insert_edit_into_file "
        "replace_string_in_file multi_replace_string_in_file search_replace edit_notebook",
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
    # INVARIANT: a canonical name is its own canonical name, however often our gateway is named in front of it.
    while GATEWAY in plain and (found := mcp_name(plain)) is not None and found.behind_gateway:
        plain = f"mcp__{found.server}__{found.tool}"
    return TOOL_ALIASES.get(plain) or _BY_PLAIN_NAME.get(plain_key(plain), plain)


_remembered = lru_cache(maxsize=1024)(_normalized)


def is_known(name: str) -> bool:
    """Whether a canonical name is one of the tools that every agent has."""
    return name in _KNOWN


def plain_key(key: object) -> str:
    """A key or name without case, underscores and hyphens. Empty of what is no text."""
    return key.lower().replace("_", "").replace("-", "") if isinstance(key, str) else ""


def plain_name(name: str) -> str:
    """A name without case, underscores and hyphens, as two names are compared."""
    return plain_key(name.strip())


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


_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_NAMESPACE = late(r"__|[.:/]")
_BY_PLAIN_NAME = {
    plain_key(name): TOOL_ALIASES.get(name, name)
    for name in (*WRAPPER_TOOLS, *BATCH_TOOLS, *TOOL_ALIASES, *KNOWN_TOOL_NAMES)
}
