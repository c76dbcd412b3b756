"""Tool names and arguments: every agent's spelling of the same few tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpose import Context, InvalidCallError
from interpose.core.carried_calls import canonical
from interpose.core.tools import (
    KNOWN_TOOL_NAMES,
    TOOL_ALIASES,
    TOOL_GROUPS,
    WRAPPER_TOOLS,
    McpName,
    command_of,
    content_of,
    cwds_of,
    environment_of,
    is_powershell,
    mcp_name,
    normalize_tool_name,
    paths_of,
    plain_arguments,
    seen_as,
    tool_behind,
    urls_of,
)
from interpose.core.types import ToolCall

OPENCLAW_NAMES = [
    "read", "write", "edit", "apply_patch", "exec", "process", "memory_search", "memory_get", "web_search",
    "web_fetch", "sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status",
    "browser", "canvas", "cron", "gateway", "message", "nodes", "agents_list", "image", "tts",
]  # fmt: skip

AGENTS: dict[str, dict[str, str]] = {
    "claude": {
        "Bash": "exec", "Read": "read", "Write": "write", "Edit": "edit", "NotebookEdit": "edit", "Glob": "glob",
        "Grep": "grep", "WebFetch": "web_fetch", "WebSearch": "web_search", "Agent": "task", "Task": "task",
        "Skill": "skill", "PowerShell": "exec", "Monitor": "exec", "SendMessage": "message", "CronCreate": "cron",
    },
    "codex": {"exec_command": "exec", "apply_patch": "apply_patch", "spawn_agent": "task", "write_stdin": "process"},
    "gemini": {
        "run_shell_command": "exec", "read_file": "read", "write_file": "write", "replace": "edit",
        "list_directory": "list", "glob": "glob", "grep_search": "grep", "web_fetch": "web_fetch",
        "google_web_search": "web_search", "write_todos": "todo", "invoke_agent": "task", "activate_skill": "skill",
    },
    "copilot": {
        "bash": "exec", "read_bash": "process", "stop_bash": "process", "view": "read", "create": "write",
        "edit": "edit", "grep": "grep", "glob": "glob", "task": "task", "sql": "sql", "web_fetch": "web_fetch",
    },
    "opencode": {
        "bash": "exec", "read": "read", "write": "write", "edit": "edit", "glob": "glob", "grep": "grep",
        "webfetch": "web_fetch", "task": "task", "todowrite": "todo", "skill": "skill",
    },
    "qwen": {
        "run_shell_command": "exec", "read_file": "read", "write_file": "write", "edit": "edit",
        "grep_search": "grep", "glob": "glob", "agent": "task",
    },
    "cursor": {
        "Shell": "exec", "Read": "read", "Write": "write", "Grep": "grep", "Task": "task", "WebFetch": "web_fetch",
        "WebSearch": "web_search",
    },
    "vscode": {"editFiles": "edit"},
    "openclaw": {name: name for name in OPENCLAW_NAMES} | {"spawn_agent": "task"},
    "droid": {"Execute": "exec", "Read": "read", "Edit": "edit", "Create": "write", "ApplyPatch": "apply_patch"},
    "kiro": {"fs_read": "read", "fs_write": "write", "execute_bash": "exec"},
    "gemicro": {
        "file_read": "read", "file_write": "write", "file_edit": "edit", "bash": "exec", "grep": "grep", "glob": "glob",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "said", "name"), [(a, said, name) for a, names in AGENTS.items() for said, name in names.items()]
)
def test_every_agents_name_is_folded(agent: str, said: str, name: str) -> None:
    assert normalize_tool_name(said) == name
    assert name in KNOWN_TOOL_NAMES, agent


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("  BASH\n", "exec"),
        ("apply-patch", "apply_patch"),
        ("runInTerminal", "exec"),
        ("Run-Command", "exec"),
        ("web-fetch", "web_fetch"),
        ("DeleteFile", "delete"),
        ("rename", "move"),
        ("EXEC", "exec"),
        ("My_Tool", "my_tool"),
        ("", ""),
        ("mcp__Git__Push", "mcp__git__push"),
        ("mcp__interpose__git__Push", "mcp__git__push"),
        ("MCP__Interpose__git__push", "mcp__git__push"),
        ("@interpose/git__push", "mcp__git__push"),
        ("mcp_interpose_git__push", "mcp__git__push"),
        ("mcp__interpose__search_tools", "mcp__interpose__search_tools"),
        ("mcp__interposed__git__push", "mcp__interposed__git__push"),
        ("interpose", "interpose"),
    ],
)
def test_names_are_trimmed_and_lower(said: str, name: str) -> None:
    assert normalize_tool_name(said) == name


def test_the_public_table() -> None:
    assert set(OPENCLAW_NAMES) <= set(KNOWN_TOOL_NAMES)
    assert TOOL_GROUPS["group:fs"][:4] == ("read", "write", "edit", "apply_patch")
    assert {"delete", "move", "copy"} < set(TOOL_GROUPS["group:fs"])
    assert TOOL_GROUPS["group:runtime"] == ("exec", "process")
    assert len(KNOWN_TOOL_NAMES) == len(set(KNOWN_TOOL_NAMES))
    assert set(TOOL_ALIASES.values()) <= set(KNOWN_TOOL_NAMES)
    assert not set(TOOL_ALIASES) & set(KNOWN_TOOL_NAMES)
    assert all(alias == alias.lower().strip() for alias in TOOL_ALIASES)


COMMANDS: list[tuple[str, dict[str, Any], str]] = [
    ("Bash", {"command": "ls", "description": "d", "run_in_background": True}, "ls"),
    ("exec_command", {"cmd": "ls", "workdir": "/w"}, "ls"),
    ("run_shell_command", {"command": "ls", "dir_path": "/w"}, "ls"),
    ("bash", {"command": "ls", "shellId": "1"}, "ls"),
    ("Shell", {"command": "ls", "cwd": "/w", "timeout": 1}, "ls"),
    ("Execute", {"command": "ls"}, "ls"),
    ("execute_bash", {"command": "ls"}, "ls"),
    ("local_shell", {"command": ["rm", "-rf", "a b"]}, "rm -rf 'a b'"),
    ("exec", {"script": "ls"}, "ls"),
    ("exec", {"command": "true", "cmd": "rm -rf /"}, "true\nrm -rf /"),
    ("exec", {"CommandLine": "rm -rf /", "command": "true"}, "true\nrm -rf /"),
    ("exec", {"Command": "ls"}, "ls"),
    ("exec", {"command": "rm", "args": ["-rf", "a b"]}, "rm -rf 'a b'"),
    ("exec", {"command": "rm", "args": "-rf x"}, "rm -rf x"),
    ("exec", {"commands": ["rm -rf /", ["ls", "a b"]]}, "rm -rf /\nls 'a b'"),
    ("exec", {"command": ["rm -rf /"]}, "rm -rf /"),
]


@pytest.mark.parametrize(("tool", "arguments", "command"), COMMANDS)
def test_the_command_of_every_agents_shell(tool: str, arguments: dict[str, Any], command: str) -> None:
    assert command_of(canonical(ToolCall(tool, arguments))) == command


@pytest.mark.parametrize("value", [None, 5, {}, [], ["a", 5], True])
def test_what_is_no_command(value: Any) -> None:
    assert command_of(ToolCall("exec", {"command": value})) is None


PATHS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("Read", {"file_path": "a"}, ("a",)),
    ("Write", {"file_path": "a", "content": "c"}, ("a",)),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, ("a",)),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "y"}, ("a.ipynb",)),
    ("Glob", {"pattern": "*", "path": "a"}, ("a",)),
    ("Grep", {"pattern": "x", "path": "a"}, ("a",)),
    ("view", {"path": "a", "view_range": [1, 2]}, ("a",)),
    ("create", {"path": "a", "file_text": "t"}, ("a",)),
    ("glob", {"pattern": "*", "paths": ["a", "b"]}, ("a", "b")),
    ("read", {"filePath": "a"}, ("a",)),
    ("list_directory", {"dir_path": "a"}, ("a",)),
    ("editFiles", {"files": ["a", {"filePath": "b"}]}, ("a", "b")),
    ("multi_edit", {"edits": [{"path": "a"}, {"file_path": "b"}, 5]}, ("a", "b")),
    ("fs_read", {"operations": [{"path": "a"}]}, ("a",)),
    ("read_file", {"absolute_path": "a"}, ("a",)),
    ("file_write", {"path": "a", "content": "c"}, ("a",)),
    ("glob", {"base_dir": "a"}, ("a",)),
    ("read", {"path": "a", "file_path": "b"}, ("a", "b")),
    ("read", {"path": 5}, ()),
    ("read", {"path": "a", "uri": "file:///b"}, ("a", "file:///b")),
    ("move_file", {"source": "a", "destination": "b"}, ("a", "b")),
    ("mv", {"from": "a", "to": "b"}, ("a", "b")),
    ("write", {"path": "a", "to": "b"}, ("a",)),
    ("apply_patch", {"Patch": "*** Add File: a"}, ("a",)),
    ("apply_patch", {"command": "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch"}, ("a", "b")),
    ("apply_patch", {"input": "*** Add File: a\n*** Delete File: c"}, ("a", "c")),
    ("ApplyPatch", {"patch": "--- a/x\t2026\n+++ b/y\n"}, ("x", "y")),
    ("apply_patch", {"diff": "--- /dev/null\n+++ b/new"}, ("new",)),
]


@pytest.mark.parametrize(("tool", "arguments", "paths"), PATHS)
def test_the_paths_of_every_agents_file_tools(tool: str, arguments: dict[str, Any], paths: tuple[str, ...]) -> None:
    assert paths_of(canonical(ToolCall(tool, arguments))) == paths


@pytest.mark.parametrize(
    ("tool", "arguments", "urls"),
    [
        ("WebFetch", {"url": "https://a", "prompt": "read it"}, ("https://a",)),
        ("web_fetch", {"prompt": "read https://a and http://b now"}, ("https://a", "http://b")),
        ("web_fetch", {"urls": ["https://a", "https://a"]}, ("https://a",)),
        ("web_fetch", {"url": 5}, ()),
    ],
)
def test_the_urls(tool: str, arguments: dict[str, Any], urls: tuple[str, ...]) -> None:
    assert urls_of(canonical(ToolCall(tool, arguments))) == urls


@pytest.mark.parametrize("key", ["content", "file_text", "new_string", "new_str", "newString", "new_source"])
def test_the_content(key: str) -> None:
    assert content_of(ToolCall("write", {key: "text"})) == "text"


@pytest.mark.parametrize("key", ["cwd", "workdir", "dir_path", "directory", "working_directory"])
def test_the_directory_that_a_call_asks_for(key: str) -> None:
    assert cwds_of(ToolCall("exec", {"command": "ls", key: "/w"})) == ("/w",)
    assert cwds_of(ToolCall("exec", {"command": "ls", key: 5})) == ()


def test_all_directories_that_a_call_asks_for() -> None:
    assert cwds_of(ToolCall("exec", {"command": "ls", "cwd": ".", "workDir": "/"})) == (".", "/")


@pytest.mark.parametrize(
    ("given", "variables"),
    [
        ({"env": {"A": "b", "C": 1}}, ("A=b", "C=1")),
        ({"env": [{"name": "A", "value": "b"}, "C=d", "no"]}, ("A=b", "C=d")),
        ({"environment": "A=b"}, ()),
        ({}, ()),
    ],
)
def test_the_variables_that_a_call_sets(given: dict[str, Any], variables: tuple[str, ...]) -> None:
    assert environment_of(ToolCall("exec", {"command": "ls", **given})) == variables


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("mcp__shell__execute_command", "exec"),
        ("mcp__fs__readFile", "read"),
        ("mcp:write_file", "write"),
        ("@files/delete_file", "delete"),
        ("mcp_my_server_read_file", "read"),
        ("filesystem_write_file", "write"),
        ("functions.bash", "exec"),
        ("default_api:run_shell_command", "exec"),
        ("mcp_shell_bash", "exec"),
        ("ticket_create", ""),
        ("mcp__github__create_issue", ""),
        ("my_tool", ""),
    ],
)
def test_the_tool_behind_a_foreign_name(name: str, known: str) -> None:
    assert tool_behind(name) == known
    assert seen_as(ToolCall(name)).name == (known or name)


def test_fetching_a_file_address_is_reading() -> None:
    seen = seen_as(ToolCall("web_fetch", {"url": "FILE:///etc/passwd"}))
    assert (seen.name, paths_of(seen)) == ("read", ("FILE:///etc/passwd",))
    assert seen_as(ToolCall("web_fetch", {"url": "https://example.com"})).name == "web_fetch"


def test_an_original_name_does_not_vouch_for_a_name() -> None:
    assert canonical(ToolCall("Bash", {"command": "ls"}, original_name="Bash")).name == "exec"
    wrapped_call = ToolCall("tool_call", {"name": "bash", "arguments": {}}, original_name="x")
    assert (canonical(wrapped_call).name, canonical(wrapped_call).original_name) == ("exec", "bash")


@pytest.mark.parametrize(("name", "key"), [("batch", "tool_calls"), ("multi_tool_use.parallel", "tool_uses")])
def test_a_wrapper_of_several_calls_is_refused(name: str, key: str) -> None:
    with pytest.raises(InvalidCallError, match="one by one"):
        canonical(ToolCall(name, {key: [{"tool": "bash"}]}))
    assert canonical(ToolCall(name, {"size": 3})).name == name


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("mcp__github__create_issue", McpName("github", "create_issue")),
        ("MCP__GitHub__Create", McpName("GitHub", "Create")),
        ("mcp__a__b__c", McpName("a", "b__c")),
        ("mcp__interpose__a__b__c", McpName("a", "b__c", behind_gateway=True)),
        ("mcp__interpose__a", McpName("interpose", "a")),
        ("mcp__interpose____b", McpName("interpose", "__b")),
        ("mcp__lonely", McpName("", "lonely")),
        ("mcp_github_create_issue", McpName("github", "create_issue")),
        ("mcp_lonely", McpName("", "lonely")),
        ("MCP:create_issue", McpName("", "create_issue")),
        ("@github/create_issue", McpName("github", "create_issue")),
        (" @git/a/b ", McpName("git", "a/b")),
        ("@nothing", None),
        ("exec", None),
        ("my_mcp_tool", None),
        ("mcpx", None),
        ("", None),
    ],
)
def test_mcp_names_in_all_spellings(name: str, known: McpName | None) -> None:
    assert mcp_name(name) == known


def test_canonical_keeps_what_the_agent_said() -> None:
    call = canonical(ToolCall("Bash", {"command": "ls"}, "id-1", Context(agent_id="a")))
    assert (call.name, call.original_name, call.call_id) == ("exec", "Bash", "id-1")
    assert call.context.agent_id == "a"
    assert canonical(call) is call


@pytest.mark.parametrize("wrapper", [name for name, keys in WRAPPER_TOOLS.items() if not keys[2]])
def test_a_wrapper_is_unwrapped(wrapper: str) -> None:
    call = canonical(ToolCall(wrapper.upper(), {"name": "Bash", "arguments": {"command": "rm -rf /"}}))
    assert (call.name, call.original_name) == ("exec", "Bash")
    assert command_of(call) == "rm -rf /"


def test_a_wrapper_may_carry_its_arguments_as_json_text_or_not_at_all() -> None:
    text = json.dumps({"command": "ls"})
    assert canonical(ToolCall("tool_call", {"name": "bash", "arguments": text})).arguments == {"command": "ls"}
    assert canonical(ToolCall("tool_call", {"name": "bash"})).arguments == {}


def test_a_wrapper_does_not_hide_the_shell() -> None:
    given = {"name": "tool_call", "arguments": {"name": "PowerShell", "arguments": {"command": "ls"}}}
    assert is_powershell(canonical(ToolCall("tool_call", given)))


def test_nested_wrappers_are_unwrapped_to_the_end() -> None:
    arguments: dict[str, Any] = {"command": "rm -rf /"}
    name = "bash"
    for _ in range(7):
        name, arguments = "tool_call", {"name": name, "arguments": arguments}
    call = canonical(ToolCall(name, arguments))
    assert (call.name, command_of(call)) == ("exec", "rm -rf /")


def test_the_wrapper_of_mcp_tools_names_its_server() -> None:
    given = {"server_name": "git", "tool_name": "push", "arguments": "{}"}
    call = canonical(ToolCall("use_mcp_tool", given))
    assert (call.name, call.original_name) == ("mcp__git__push", "mcp__git__push")
    assert mcp_name(canonical(ToolCall("use_mcp_tool", {"tool_name": "push"})).name) == McpName("", "push")


@pytest.mark.parametrize("extra", ["server_name", "server", "mcp_server", ""])
def test_an_extra_argument_of_a_wrapper_does_not_hide_the_tool(extra: str) -> None:
    given = {"name": "bash", "arguments": {"command": "rm -rf /"}, extra: "x"}
    assert canonical(ToolCall("tool_call", given)).name == "exec"


def wrapped(levels: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for _ in range(levels):
        arguments = {"name": "tool_call", "arguments": arguments}
    return arguments


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "carries no tool name"),
        ({"name": ""}, "carries no tool name"),
        ({"name": "  "}, "carries no tool name"),
        ({"name": 5}, "carries no tool name"),
        ({"name": ["bash"]}, "carries no tool name"),
        ({"name": "bash", "arguments": 5}, "expected an object"),
        ({"name": "bash", "arguments": None}, "expected an object"),
        ({"name": "bash", "arguments": ["ls"]}, "expected an object"),
        ({"name": "bash", "arguments": "ls"}, "no JSON object"),
        ({"name": "bash", "arguments": "[1]"}, "expected an object"),
        ({"name": "bash", "arguments": '{"command": "ls"'}, "no JSON object"),
        ({"name": "bash", "arguments": "[" * 100_000}, "no JSON object"),
        ({"name": "bash", "arguments": '{"command": "rm -rf /", "command": "ls"}'}, "'command' stands twice"),
        ({"name": "bash", "arguments": '{"command": "ls", "timeout": NaN}'}, "no JSON object"),
        ({"name": "bash", "arguments": "\ud800"}, "no JSON object"),
        ({"name": "bash", "arguments": '{"a":' * 200 + "1" + "}" * 200}, "nested deeper"),
        (wrapped(9), "more than 8 deep"),
    ],
)
def test_a_hostile_wrapper_is_refused(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidCallError, match=why):
        canonical(ToolCall("tool_call", arguments))


def test_plain_arguments_are_a_copy() -> None:
    call = ToolCall("exec", {"env": {"A": [1]}})
    plain_arguments(call)["env"]["A"].append(2)
    assert call.arguments == {"env": {"A": [1]}}


@pytest.mark.parametrize(
    ("name", "original", "want"),
    [
        ("PowerShell", "", True),
        ("exec", "pwsh", True),
        ("exec", " powershell ", True),
        ("mcp__win__powershell", "", True),
        ("exec", "Bash", False),
        ("exec", "", False),
        ("powershell_docs", "", False),
    ],
)
def test_the_name_of_the_tool_says_whether_it_is_powershell(name: str, original: str, want: bool) -> None:
    arguments = {"command": "ls", "shell": "bash" if want else "powershell"}
    assert is_powershell(ToolCall(name, arguments, original_name=original)) is want
