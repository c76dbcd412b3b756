"""One decision, whoever asks: the same calls through the library, over HTTP and through the hook of every host."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from interpose import Context, ToolCall
from interpose.service import Service
from interpose.surfaces.hooks.answer import answer
from interpose.surfaces.hooks.events import Reply
from interpose.surfaces.hooks.hosts import HOSTS
from interpose.surfaces.http.intercept import routes
from tests.servers import running, service_in

CASES = Path(__file__).parents[1] / "cases"
HOME, CWD = "/home/dev", "/home/dev/proj"
COMMANDS = 270
PATHS = (
    "README.md", "src/app.py", "../other/notes.txt", "~/.ssh/id_rsa", "/home/dev/.ssh/id_ed25519", "/etc/passwd",
    "/etc/shadow", "~/.aws/credentials", "~/.netrc", ".env", "config/.env.production", ".env.example", "~/.gnupg/x",
    "/proc/self/environ", "~/.kube/config", "//etc//shadow", "./a/../../proj/b.txt", "~/.config/gh/hosts.yml",
    "package.json", ".git/config", "/dev/sda", "~/.bash_history", "certs/server.key", "certs/server.pub",
    "docs/guide.md", "~/.docker/config.json", "/var/log/syslog", "tests/test_a.py", "~/.npmrc", "/etc/hosts",
)  # fmt: skip

READING: dict[str, tuple[str, str]] = {
    "claude-code": ("Read", "file_path"), "gemini-cli": ("read_file", "file_path"),
    "codex": ("mcp__fs__read_file", "path"), "copilot": ("Read", "path"), "cursor": ("Read", "file_path"),
    "qwen-code": ("read_file", "file_path"),
    "opencode": ("read", "filePath"), "openclaw": ("read", "path"), "cline": ("read_file", "path"),
    "vscode": ("read_file", "filePath"), "kiro": ("fs_read", "path"), "droid": ("Read", "file_path"),
}  # fmt: skip
"""What hosts call the tool that reads a file. Windsurf has an event of its own for it."""


def commands() -> list[str]:
    """An even sample of our own cases: those that are judged in the default directory."""
    found = [
        row["command"]
        for file in sorted((CASES / "shell").glob("*.yaml"))
        for row in yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        if "cwd" not in row and "\0" not in row["command"] and row["command"].strip()
    ]
    return found[:: len(found) // COMMANDS][:COMMANDS]


def shell_event(name: str) -> dict[str, Any]:
    """The event that a host sends before its shell tool runs `echo hi`."""
    content = yaml.safe_load((CASES / "hosts" / f"{name.replace('-', '_')}.yaml").read_text(encoding="utf-8"))
    event = put(content["base"] | content["cases"][0]["event"], "/tmp", CWD)
    assert "echo hi" in json.dumps(event)
    return event  # type: ignore[no-any-return]  # it is what YAML gave


def put(value: Any, old: str, new: Any) -> Any:
    """The value with another in the place of a text, also inside JSON that is text."""
    if value == old:
        return new
    if isinstance(value, dict):
        return {key: put(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [put(inner, old, new) for inner in value]
    if isinstance(value, str) and value.startswith("{") and old in value:
        return json.dumps(put(json.loads(value), old, new))
    return value


def reading_event(name: str, path: str) -> dict[str, Any]:
    if name == "windsurf":
        return shell_event(name) | {"agent_action_name": "pre_read_code", "tool_info": {"file_path": path}}
    tool, argument = READING[name]
    copied = copy.deepcopy(shell_event(name))

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            if any(inner == "echo hi" for inner in value.values()):
                return {argument: path}
            return {key: moved(inner) for key, inner in value.items()}
        return value

    event: dict[str, Any] = moved(copied)
    for holder in (event, event.get("preToolUse", {})):
        for key in ("tool_name", "toolName", "tool"):
            if key in holder:
                holder[key] = tool
    return event


def decided(reply: Reply) -> str:
    """What a host would do with this reply."""
    if reply.exit_code:
        return "deny"
    said = json.loads(reply.stdout or b"{}")
    said |= said.pop("hookSpecificOutput", {})
    word = said.get("permissionDecision") or said.get("decision") or said.get("permission")
    if word in ("deny", "block") or said.get("cancel"):
        return "deny"
    if word == "ask":
        return "ask"
    rewrites = ("updatedInput", "modifiedArgs", "tool_input", "updated_input", "arguments")
    return "rewrite" if any(key in said for key in rewrites) else "allow"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", HOME)
        with service_in(tmp_path_factory.mktemp("parity")) as opened:
            yield opened


@pytest.fixture(scope="module")
def wanted(service: Service) -> dict[tuple[str, str], str]:
    """What the library says."""
    run = service.policies.shared.engine.run(Context(cwd=CWD, session_id="library"))
    calls = [("Bash", {"command": command}) for command in commands()] + [
        ("Read", {"file_path": path}) for path in PATHS
    ]
    return {(name, next(iter(given.values()))): run.decide(ToolCall(name, given)).outcome for name, given in calls}


def test_there_are_three_hundred_cases_of_every_outcome(wanted: dict[tuple[str, str], str]) -> None:
    assert len(wanted) >= 298
    assert {"allow", "ask", "deny"} <= set(wanted.values())


def test_over_http(service: Service, wanted: dict[tuple[str, str], str]) -> None:
    with running(routes(service)) as server:
        for (tool, text), outcome in wanted.items():
            argument = "command" if tool == "Bash" else "file_path"
            said = server.post(
                "/api/v1/intercept",
                {
                    "event": "tools/call",
                    "phase": "request",
                    "payload": {"name": tool, "arguments": {argument: text}},
                    "context": {"sessionId": "http"},
                    "config": {"working_directory": CWD},
                },
            ).json
            assert said["info"]["decision"] == outcome, text


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_through_a_hook(service: Service, wanted: dict[tuple[str, str], str], name: str) -> None:
    host = HOSTS[name]
    template = shell_event(name)

    async def all_of_them() -> None:
        for (tool, text), outcome in wanted.items():
            event = put(template, "echo hi", text) if tool == "Bash" else reading_event(name, text)
            reply = await answer(service, host, json.dumps(event).encode())
            asks = host.read(event).name in host.facts.asks
            assert decided(reply) == ("deny" if outcome == "ask" and not asks else outcome), (text, event, reply)

    asyncio.run(all_of_them())
