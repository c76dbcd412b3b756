"""All hosts by name, and which of them really speaks.

One settings file may be run by several hosts: Claude Code, Copilot CLI, VS Code and Cursor all read
`.claude/settings.json`. Each must be answered in its own language, or it goes on as if nothing had been said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from interpose.doors.hooks.hosts.events import Host, HostFacts
from interpose.effects.agents.agent import Agent, AgentFileError, agent_of_host, has_hooks

_WIRES = {"claude-code": "claude_like", "exit-code": "exit_code", "in-process": "in_process"}


class _Hosts(Mapping[str, Host]):
    """Each host is in a file of its name, which is read when it is needed: a hook needs one of them."""

    def __init__(self) -> None:
        self._known: dict[str, Host] = {}

    def __getitem__(self, name: str) -> Host:
        if name not in self._known:
            if not has_hooks(name):
                raise KeyError(name)
            self._known[name] = _host(agent_of_host(name))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        from interpose.effects.agents.known_agents import HOST_NAMES

        return iter(HOST_NAMES)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and has_hooks(name)


HOSTS: Mapping[str, Host] = _Hosts()


def _host(agent: Agent) -> Host:
    hooks = agent.hooks
    if hooks is None:
        raise AgentFileError(f"the file of {agent.name} says nothing of its hooks")
    module = agent.name.replace("-", "_") if hooks.codec else _WIRES[hooks.wire]
    codec = import_module(f"interpose.doors.hooks.hosts.{module}").CODEC
    known: dict[str, Any] = {name: getattr(hooks, name) for name in hooks.__struct_fields__}
    known["points"] = {**codec.EVENTS, **hooks.points, **dict.fromkeys(hooks.ignored, "ignored")}
    if not hooks.setup.program and agent.programs:
        known["setup"] = replace(hooks.setup, program=agent.programs[0])
    host: Host = codec(HostFacts(name=agent.name, title=agent.title, **known))
    return host


def host_named(name: str) -> Host | None:
    """The host of this name or of a common other name for it."""
    if name in HOSTS:
        return HOSTS[name]
    from interpose.effects.agents.known_agents import agent_named

    return HOSTS.get(agent_named(name))


def speaking(raw: dict[str, Any], named: Host) -> Host:
    """The host that wrote this payload: the one that was named, unless it is unmistakably another's."""
    if not named.facts.shares_files:
        return named
    return HOSTS.get(_marked(raw), named)


def _marked(raw: dict[str, Any]) -> str:
    event = raw.get("hook_event_name")
    if "cursor_version" in raw:
        return "cursor"
    if event in ("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "PreCompress"):
        return "gemini-cli"
    if "turn_id" in raw and "model" in raw and event is not None:
        return "codex"
    if "timestamp" not in raw:
        return "claude-code" if raw.keys() & {"prompt_id", "effort"} else ""
    if "hookEventName" in raw:
        return "vscode"
    if raw.keys() & {"transcript_path", "tool_use_id"}:
        return "qwen-code" if raw.keys() & {"tool_call_id", "prompt_id"} else ""
    native = event is None and "toolName" in raw and raw.keys() & {"toolArgs", "toolInput"}
    if native or not isinstance(event, str):
        return "copilot" if native else ""
    return "copilot" if event in HOSTS["copilot"].facts.points else ""
