"""A governed service, and an agent that speaks to it as Claude Code does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.driving import drive
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from tests.support.servers.servers import config_in


def governed(place: Path, text: str) -> Iterator[Service]:
    """A server in this place, under this governance file."""
    with opened(place, text) as service:
        yield service


@contextmanager
def opened(place: Path, text: str = "", *, serving: bool = True) -> Iterator[Service]:
    """A server in this place, or what decides where none runs. Without a text the file that is there holds."""
    config = config_in(place)
    file = place / "governance.yaml"
    if text:
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
    settings = replace(
        config.governance, file=str(file), log=str(place / "governance.log"), checkpoints=str(place / "checkpoints")
    )
    directory = Path(config.policy.directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "packs.yaml").write_text("version: 1\npacks: []\n", encoding="utf-8")
    with open_service(replace(config, governance=settings), follow=False, serving=serving) as service:
        yield service


class Claude:
    """Speaks as Claude Code does."""

    def __init__(self, service: Service, cwd: Path, session: str = "s-1") -> None:
        self._service, self._cwd, self._session = service, str(cwd), session
        self._calls = 0

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        raw = {"hook_event_name": name, "session_id": self._session, "cwd": self._cwd, **fields}
        reply = drive(answer(self._service, HOSTS["claude-code"], json.dumps(raw).encode()))
        assert reply.exit_code == 0, reply.stderr
        return json.loads(reply.stdout) if reply.stdout else {}

    def before(self, tool: str, arguments: dict[str, Any], agent: tuple[str, str] | None = None) -> tuple[str, str]:
        """The decision (empty: nothing is said against it) and its reason."""
        self._calls += 1
        said = self.event(
            "PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id=f"toolu_{self._calls}",
            permission_mode="default", **self._who(agent),
        ).get("hookSpecificOutput", {})  # fmt: skip
        return said.get("permissionDecision", ""), said.get("permissionDecisionReason", "")

    def after(
        self, tool: str, arguments: dict[str, Any], result: Any, agent: tuple[str, str] | None = None, *, key: int = 0
    ) -> dict[str, Any]:
        said = self.event(
            "PostToolUse", tool_name=tool, tool_input=arguments, tool_response=result,
            tool_use_id=f"toolu_{key or self._calls}", permission_mode="default", **self._who(agent),
        )  # fmt: skip
        found: dict[str, Any] = said.get("hookSpecificOutput", {})
        return found

    def use(self, tool: str, arguments: dict[str, Any], result: Any = "ok", **more: Any) -> str:
        decision, reason = self.before(tool, arguments, **more)
        if not decision:
            self.after(tool, arguments, result, **more)
        return reason if decision else ""

    @staticmethod
    def _who(agent: tuple[str, str] | None) -> dict[str, str]:
        return {} if agent is None else {"agent_id": agent[0], "agent_type": agent[1]}


def text_of_reply(told: dict[str, Any]) -> str:
    """What the agent reads beside what it gets."""
    return str(told.get("hookSpecificOutput", {}).get("additionalContext", ""))
