"""One governance file, and an agent that works under it, for the tests of seed 003."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.sessions import GovernedSession
from tests.support.governance.governed_agents import Claude

FILE = """
version: 1
agents:
  - {role: builder, agent: builder, sub_agent: true}
  - {role: validator, agent: validator, sub_agent: true}
  - {role: lead, sub_agent: false}
tools:
  look: [read, glob, grep, todo]
scopes:
  META: {paths: [".idumb/**"]}
  PROJECT: {paths: ["**"], others: [META]}
roles:
  lead:
    tools: {allow: [look, task, idumb-validate]}
    write: []
    first_tools: {any_of: [look], mode: block}
    delegates: {to: [builder, validator]}
    instead: Delegate to the agent builder
  builder:
    parent: lead
    tools: {allow: [look, write, edit, exec]}
    write: [PROJECT]
    first_tools: {any_of: [look], mode: warn}
    delegates: {to: []}
  validator:
    parent: lead
    tools: {allow: [look, exec]}
    commands: [inspection, validation]
    first_tools: {any_of: [look], mode: off}
    delegates: {to: []}
stalls: {same_call: 2, same_error: 3, errors: 20}
frontmatter: {paths: [docs/**/*.md]}
"""
READ = ("Read", {"file_path": "README.md"})
WRITE = ("Write", {"file_path": "src/app.py", "content": "x = 1"})
TASK = {"description": "build it", "prompt": "build it", "subagent_type": "builder"}
BUILDER, VALIDATOR = ("agent-1", "builder"), ("agent-2", "validator")


def kept(service: Service, name: str = "s-1") -> Any:
    return service.governed.detail(service.governed.session(name))


def age(service: Service, hours: float) -> None:
    """Let the session have been left alone for so long: nobody waits in a test."""
    past = int(hours * 3600) * 1_000_000_000

    def older(last: GovernedSession | None) -> GovernedSession:
        assert last is not None
        return replace(last, active_ns=last.active_ns - past, seen_ns=last.seen_ns - past)

    SessionKeeper(service.store).change("s-1", older)


def log_of(place: Path, service: Service) -> str:
    for ruled in (*service.policies.all(), service.policies.shared):
        if ruled.engine.governor is not None:
            ruled.engine.governor.close()
    return (place / "governance.log").read_text(encoding="utf-8")


def refused(claude: Claude) -> int:
    """The host's number of a call that was refused."""
    claude.use(*READ)
    assert claude.before(*WRITE)[0] == "deny"
    return claude._calls
