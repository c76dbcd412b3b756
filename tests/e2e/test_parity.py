"""One decision, whoever asks: the same calls through the library, over HTTP and through the hook of every host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose import Context, ToolCall
from interpose.composition.service.service import Service
from interpose.core.driving import drive_async
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.events import Host, Reply
from interpose.doors.http.intercept import routes
from interpose.effects.paths import ours
from interpose.effects.shell import analyse
from interpose.effects.shell.terminal_programs import waits_for_typing
from tests.support.case_files import read_cases
from tests.support.servers import hosting
from tests.support.servers.servers import running, service_in

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


def commands() -> list[str]:
    """An even sample of our own cases: those that are judged in the default directory."""
    found = [
        row["command"]
        for file in sorted((CASES / "shell").rglob("*.yaml"))
        for row in read_cases(file)
        if "cwd" not in row and "\0" not in row["command"] and row["command"].strip()
    ]
    return found[:: len(found) // COMMANDS][:COMMANDS]


def reading_event(name: str, path: str) -> dict[str, Any]:
    """The event with which a host asks whether its tool may read a file."""
    event = hosting.shell_event(name, "echo hi", CWD)
    if name == "windsurf":
        return event | {"agent_action_name": "pre_read_code", "tool_info": {"file_path": path}}
    tool, argument = hosting.fixtures(name)["reads_a_file_by"]  # Windsurf has an event of its own for it

    def moved(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if "echo hi" in value.values():
            return {argument: path}
        return {key: tool if key in ("tool_name", "toolName", "tool") else moved(inner) for key, inner in value.items()}

    found: dict[str, Any] = moved(event)
    return found


def waits(command: str) -> bool:
    """Whether it does what is typed into the terminal later."""
    return any(waits_for_typing(ran) for ran in analyse(command).commands)


def decided(host: Host, reply: Reply) -> str:
    """What a host would do with this reply."""
    return "ask" if hosting.asks(reply) else "deny" if hosting.refuses(host, reply) else "allow"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", HOME)
        with service_in(tmp_path_factory.mktemp("parity")) as opened:
            yield opened


@pytest.fixture(scope="module")
def places(service: Service) -> ours.Holdings:
    return ours._held


@pytest.fixture(autouse=True)
def _same_places(places: ours.Holdings, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these tests share one service: what is its own is ours in each of them."""
    monkeypatch.setattr(ours, "_held", places)


@pytest.fixture(scope="module")
def wanted(service: Service) -> dict[tuple[str, str], str]:
    """What the library says."""
    run = service.policies.shared.engine.run(Context(cwd=CWD, session_id="library"))
    calls = [("Bash", {"command": command}) for command in commands()] + [
        ("Read", {"file_path": path}) for path in PATHS
    ]
    return {(name, next(iter(given.values()))): run.decide(ToolCall(name, given)).outcome for name, given in calls}


def test_every_outcome_is_among_the_cases(wanted: dict[tuple[str, str], str]) -> None:
    assert {"allow", "ask", "deny"} <= set(wanted.values())


def test_over_http(service: Service, wanted: dict[tuple[str, str], str]) -> None:
    with running(routes(service)) as server:
        for number, ((tool, text), outcome) in enumerate(wanted.items()):
            argument = "command" if tool == "Bash" else "file_path"
            said = server.post(
                "/api/v1/intercept",
                {
                    "event": "tools/call",
                    "phase": "request",
                    "payload": {"name": tool, "arguments": {argument: text}},
                    "context": {"sessionId": f"http-{number}"},
                    "config": {"working_directory": CWD},
                },
            ).json
            assert said["info"]["decision"] == outcome, text


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_through_a_hook(service: Service, wanted: dict[tuple[str, str], str], name: str) -> None:
    host = HOSTS[name]

    async def all_of_them() -> None:
        for (tool, text), outcome in wanted.items():
            event = hosting.shell_event(name, text, CWD) if tool == "Bash" else reading_event(name, text)
            reply = await drive_async(answer(service, host, json.dumps(event).encode()))
            asks = host.facts.can_ask(host.read(event))
            if outcome == "allow" and host.facts.unasked_input and tool == "Bash" and waits(text):
                outcome = "ask"  # the one thing that hangs on the host: whether what is typed later is seen
            assert decided(host, reply) == ("deny" if outcome == "ask" and not asks else outcome), (text, event, reply)

    asyncio.run(all_of_them())
