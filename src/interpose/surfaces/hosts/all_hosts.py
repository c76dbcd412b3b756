"""All hosts by name, and which of them really speaks.

One settings file may be run by several hosts: Claude Code, Copilot CLI, VS Code and Cursor all read
`.claude/settings.json`. Each must be answered in its own language, or it goes on as if nothing had been said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from interpose.surfaces.hosts.events import Host

_NAMES = (
    "claude-code", "gemini-cli", "codex", "copilot", "cursor", "qwen-code", "opencode", "openclaw", "cline", "vscode",
    "windsurf", "kiro", "droid",
)  # fmt: skip


class _Hosts(Mapping[str, Host]):
    """Each host is in a module of its name, which is imported when it is needed: a hook needs one of them."""

    def __init__(self) -> None:
        self._known: dict[str, Host] = {}

    def __getitem__(self, name: str) -> Host:
        if name not in self._known:
            if name not in _NAMES:
                raise KeyError(name)
            host: Host = import_module(f"interpose.surfaces.hosts.{name.replace('-', '_')}").HOST
            self._known[name] = host
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES


HOSTS: Mapping[str, Host] = _Hosts()

ALIASES: Mapping[str, str] = {
    "claude": "claude-code", "gemini": "gemini-cli", "qwen": "qwen-code", "codex-cli": "codex", "vs-code": "vscode",
    "copilot-cli": "copilot", "kiro-cli": "kiro", "factory-droid": "droid",
}  # fmt: skip

_CLAUDE_LIKE = frozenset({"claude-code", "qwen-code", "droid", "vscode", "codex", "copilot", "cursor", "gemini-cli"})
"""Hosts whose settings others read, or who read those of others."""


def host_named(name: str) -> Host | None:
    """The host of this name or of a common other name for it."""
    plain = name.strip().lower().replace("_", "-")
    return HOSTS.get(ALIASES.get(plain, plain))


def speaking(raw: dict[str, Any], named: Host) -> Host:
    """The host that wrote this payload: the one that was named, unless it is unmistakably another's."""
    if named.facts.name not in _CLAUDE_LIKE:
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
    from interpose.surfaces.hosts.copilot import POINTS

    return "copilot" if event in POINTS else ""
