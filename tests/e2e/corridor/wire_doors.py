"""The doors of `interpose serve`: its HTTP API, and the hooks of every host."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import unquote

from interpose.composition.service.service import Service
from interpose.core.driving import drive
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.events import Reply
from tests.e2e.corridor.calls import Case
from tests.e2e.corridor.differences import ASKING
from tests.e2e.corridor.doors import Told, session_of, texts_in
from tests.e2e.corridor.world import World
from tests.support.servers import hosting


class ServerDoor:
    """What the doors of the server have in common."""

    name = ""
    keeps = True
    asks: Literal["the desk", "its caller"] = "the desk"
    names_sessions = True

    def __init__(self, world: World) -> None:
        self.world = world

    def takes(self, case: Case) -> bool:
        return True

    def tool(self, case: Case) -> str:
        return case.tool

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        return kept

    def play(self, cases: Sequence[Case]) -> list[Told]:
        return [self.put(case) for case in cases]

    def put(self, case: Case) -> Told:
        raise NotImplementedError

    def caller(self, case: Case) -> dict[str, str]:
        return {"sessionId": session_of(self, case)} | ({"agentId": case.agent} if case.agent else {})

    def post(self, path: str, value: Any) -> Any:
        said = self.world.server.ask("POST", path, value)
        assert said.status == 200, said
        return said.body


class Intercept(ServerDoor):
    """`POST /api/v1/intercept`."""

    name = "HTTP intercept"

    def put(self, case: Case) -> Told:
        said = self.post(
            "/api/v1/intercept",
            {
                "event": "tools/call", "phase": "request", "payload": {"name": case.tool, "arguments": case.arguments},
                "context": self.caller(case), "config": {"working_directory": self.world.project},
            },
        )  # fmt: skip
        info = said["info"]
        rule = next((one["policy_name"] for one in info["results"]), "")
        text = "\n".join(one["message"] for one in said.get("messages", ()))
        arguments = said.get("payload", {}).get("arguments", case.arguments) if said["valid"] else None
        return Told(outcome=info["decision"], rule=rule, text=text, arguments=arguments)


class Events(ServerDoor):
    """`POST /api/v1/events/tool.before`."""

    name = "HTTP events"

    def put(self, case: Case) -> Told:
        event = {"name": case.tool, "arguments": case.arguments, "cwd": self.world.project}
        said = self.post("/api/v1/events/tool.before", event | {"context": self.caller(case)})
        arguments = said.get("payload", {}).get("arguments", case.arguments) if said["allowed"] else None
        rules = " ".join(one["rule"] for one in said["findings"])
        return Told(
            outcome=said["decision"], reason=said["reason"], text=f"{said['reason']} {rules}", arguments=arguments
        )


class Validate(ServerDoor):
    """`POST /api/v1/cli/validate`."""

    name = "HTTP validate"
    names_sessions = False

    def takes(self, case: Case) -> bool:
        """Its body has neither an agent nor a session."""
        return bool(case.command) and not case.agent and not case.session

    def put(self, case: Case) -> Told:
        body = {"command": case.command, "working_directory": self.world.project}
        said = self.post("/api/v1/cli/validate", body)
        assert said["allowed"] is (said["decision"] == "allow"), said
        rule = (said.get("denial") or {}).get("policy_name")
        return Told(outcome=said["decision"], rule=rule, text=json.dumps(said))


class Hook(ServerDoor):
    """The hook of a host, answered in this process (`service`) or by the server."""

    def __init__(self, world: World, host: str, service: Service | None = None) -> None:
        super().__init__(world)
        self.name = f"hook {host} {'of a server' if service is None else 'in process'}"
        self.host, self._service = HOSTS[host], service
        if host in ASKING:
            self.asks = "its caller"

    def takes(self, case: Case) -> bool:
        return bool(case.command) and not case.agent

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        """Hosts add arguments, such as a description, and Windsurf spells the command otherwise."""
        return {"command": kept.get("command") or kept.get("command_line")}

    def event(self, case: Case) -> bytes:
        """The host's own event, in a session of its own."""
        name = self.host.facts.name
        event = hosting.shell_event(name, case.command, self.world.project)
        session = self.host.read(event).context.session_id
        text = json.dumps(event)
        return text.replace(json.dumps(session), json.dumps(session_of(self, case))).encode()

    def put(self, case: Case) -> Told:
        event = self.event(case)
        if self._service is None:
            body, line, code = self.world.hook(self.host.facts.name, event)
            reply = Reply(body, unquote(line), code)
        else:
            reply = drive(answer(self._service, self.host, event))
        text = "\n".join(texts_in(json.loads(reply.stdout))) if reply.stdout else ""
        asks, refuses = hosting.asks(reply), hosting.refuses(self.host, reply)
        text = f"{text}{reply.stderr}"
        outcome = "ask" if asks else "deny" if refuses else "rewrite" if case.runs and case.runs in text else "allow"
        return Told(outcome=outcome, text=text)
