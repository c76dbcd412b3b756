"""What each host calls the tools that we know by one name: agents are told the names that they see.

Every name here is one that we read as the tool: a test holds that. A tool that a host has not is left out of its row.
"""

from __future__ import annotations

from collections.abc import Mapping

from interpose.tools import mcp_name


def _row(**names: str) -> Mapping[str, tuple[str, ...]]:
    return {tool: tuple(said.split()) for tool, said in names.items()}


HOST_TOOLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "claude-code": _row(
        read="Read", write="Write", edit="Edit", exec="Bash", process="TaskOutput TaskStop", glob="Glob", grep="Grep",
        web_fetch="WebFetch", web_search="WebSearch", task="Task Agent", skill="Skill", todo="TodoWrite",
    ),
    "cline": _row(
        read="read_file", write="write_to_file", edit="replace_in_file", exec="execute_command", grep="search_files",
        list="list_files", web_fetch="web_fetch", web_search="web_search",
    ),
    "codex": _row(
        exec="shell exec_command", apply_patch="apply_patch", process="write_stdin", todo="update_plan",
        web_search="web_search", image="view_image", task="spawn_agent",
    ),
    "copilot": _row(
        read="view", write="create", edit="edit", exec="bash", process="read_bash write_bash stop_bash", glob="glob",
        grep="grep", task="task", web_fetch="web_fetch", skill="skill",
    ),
    "cursor": _row(
        read="Read", write="Write", exec="Shell", grep="Grep", glob="Glob", delete="Delete", task="Task",
        web_fetch="WebFetch", web_search="WebSearch", todo="TodoWrite",
    ),
    "droid": _row(
        read="Read", write="Create", edit="Edit", exec="Execute", apply_patch="ApplyPatch", glob="Glob", grep="Grep",
        list="LS", task="Task", web_search="WebSearch", web_fetch="FetchUrl", todo="TodoWrite",
    ),
    "gemini-cli": _row(
        read="read_file read_many_files", write="write_file", edit="replace", exec="run_shell_command", glob="glob",
        grep="search_file_content grep_search", list="list_directory", web_fetch="web_fetch",
        web_search="google_web_search", todo="write_todos", skill="activate_skill",
    ),
    "kiro": _row(read="fs_read", write="fs_write", exec="execute_bash"),
    "opencode": _row(
        read="read", write="write", edit="edit", exec="bash", apply_patch="apply_patch", glob="glob", grep="grep",
        list="list", web_fetch="webfetch", web_search="websearch", task="task", skill="skill",
        todo="todowrite todoread",
    ),
    "qwen-code": _row(
        read="read_file", write="write_file", edit="edit", exec="run_shell_command", glob="glob", grep="grep_search",
        list="list_directory", web_fetch="web_fetch", todo="todo_write", task="task agent", skill="skill",
    ),
    "vscode": _row(
        read="read_file", write="create_file", edit="replace_string_in_file", exec="run_in_terminal",
        apply_patch="apply_patch", grep="grep_search", glob="file_search", list="list_dir",
    ),
    "windsurf": _row(read="view_file read_file", edit="edit_file", exec="run_command", list="list_dir"),
}  # fmt: skip
_ONE_UNDERSCORE = frozenset({"opencode"})
"""Hosts that call an MCP server's tool `server_tool`."""


def host_names(tool: str, host: str) -> tuple[str, ...]:
    """What a host calls a tool that we know; empty if it has no such tool. Of a host that is not listed: our name."""
    row = HOST_TOOLS.get(host)
    return (tool,) if row is None else row.get(tool, ())


def host_spelling(name: str, host: str) -> str:
    """What a host calls a tool of somebody else's."""
    found = mcp_name(name) if host in _ONE_UNDERSCORE and name.startswith("mcp__") else None
    return name if found is None else f"{found.server}_{found.tool}"
