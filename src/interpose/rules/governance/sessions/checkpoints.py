"""What a session was at when it was halted: one JSON file for each halt, for whoever looks why and lets it go on.

INVARIANT: no argument and no secret is in it: what agents named their agents is an agent's word, and may be one.
INVARIANT: nothing of a checkpoint is found by taking its file's name apart. Sessions and phases are called as their
makers like, with dashes, blanks or slashes: what a file is about stands in it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec import json as fast
from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.formats.whole_files import read_bounded, write_whole
from interpose.core.types import Context
from interpose.reading import hidden
from interpose.rules.governance.files.git_head import git_head
from interpose.rules.governance.sessions.sessions import (
    AgentNode,
    Delegation,
    GovernedSession,
    SeenViolation,
    SessionCounts,
    SessionWord,
)

MOST_KEPT = 200
"""Checkpoints of a directory. Older ones make room."""
MOST_BYTES = 1 << 20
_MOST_AGENTS = 200
_MOST_VIOLATIONS = 50
_TEXT = 1000
_PREFIX, _ENDING = "checkpoint-", ".json"


class CheckpointStep(Struct, frozen=True):
    """One of the last calls: who called what, and how it ended. No arguments are kept."""

    agent: str
    tool: str
    end: str
    """`done`, `failed` or `denied`."""


class HaltCheckpoint(Struct, frozen=True, kw_only=True):
    """The file."""

    version: int = 1
    id: str
    session: str
    reason: str
    by: str
    at: str
    at_ns: int
    state: SessionWord
    host: str = ""
    project: str = ""
    principal: str = ""
    agent: str = ""
    role: str = ""
    phase: str = ""
    git_head: str = ""
    stall: str = ""
    counts: SessionCounts = SessionCounts()
    agents: tuple[AgentNode, ...] = ()
    delegations: tuple[Delegation, ...] = ()
    steps: tuple[CheckpointStep, ...] = ()
    violations: tuple[SeenViolation, ...] = ()


def write_checkpoint(directory: Path, session: GovernedSession, context: Context, *, phase: str = "") -> Path:
    """Keep what a halted session is at. Raises OSError: a session is halted whether that can be kept or not."""
    halt = session.halt
    at_ns = halt.at_ns if halt is not None else session.active_ns
    seconds = datetime.fromtimestamp(at_ns // 1_000_000_000, UTC)
    which = blake2b(f"{session.id} {at_ns}".encode(errors="replace"), digest_size=6).hexdigest()
    id = f"{seconds:%Y%m%dT%H%M%SZ}-{which}"
    made = HaltCheckpoint(
        id=id, session=session.id[:_TEXT], reason=hidden(halt.reason) if halt is not None else "",
        by=halt.by if halt is not None else "", at=f"{seconds:%Y-%m-%dT%H:%M:%SZ}", at_ns=at_ns, state=session.state,
        host=session.host[:_TEXT], project=session.project[:_TEXT], principal=session.principal[:_TEXT],
        agent=context.agent_id[:_TEXT], role=context.role[:_TEXT], phase=one_line(phase)[:_TEXT],
        git_head=git_head(context.cwd or session.project), stall=session.stall.kind, counts=session.counts,
        agents=tuple(replace(one, name=hidden(one.name)) for one in session.agents[-_MOST_AGENTS:]),
        delegations=tuple(replace(one, target=hidden(one.target)) for one in session.delegations[-_MOST_AGENTS:]),
        steps=tuple(
            CheckpointStep(step.agent, step.tool, "denied" if step.denied else "failed" if step.error else "done")
            for step in session.steps
        ),
        violations=session.violations[-_MOST_VIOLATIONS:],
    )  # fmt: skip
    data = fast.format(fast.encode(made), indent=2) + b"\n"
    if len(data) > MOST_BYTES:  # names that agents chose can be long
        small = fast.encode(_without_lists(made))
        data = fast.format(small, indent=2) + b"\n"
    path = directory / f"{_PREFIX}{id}{_ENDING}"
    write_whole(path, data)
    _make_room(directory)
    return path


def _without_lists(made: HaltCheckpoint) -> HaltCheckpoint:
    return replace(made, agents=(), delegations=(), steps=(), violations=())


def read_checkpoint(path: Path) -> HaltCheckpoint | None:
    """A checkpoint; None if the file is none, or not a whole one."""
    data = read_bounded(path, MOST_BYTES + 1)
    if data is None or len(data) > MOST_BYTES:
        return None
    try:
        return fast.decode(data, type=HaltCheckpoint)
    except MsgspecError:
        return None


def checkpoints_of(directory: Path, *, session: str = "", phase: str = "") -> list[tuple[Path, HaltCheckpoint]]:
    """Checkpoints that can be read, the newest first; of one session or phase if they are named."""
    found = [(path, made) for path in _files(directory) if (made := read_checkpoint(path)) is not None]
    wanted = [
        (path, made)
        for path, made in found
        if (not session or made.session == session[:_TEXT]) and (not phase or made.phase == one_line(phase)[:_TEXT])
    ]
    return sorted(wanted, key=lambda each: each[1].at_ns, reverse=True)


def _files(directory: Path) -> list[Path]:
    try:
        return sorted(directory.glob(f"{_PREFIX}*{_ENDING}"))
    except OSError:
        return []


def _make_room(directory: Path) -> None:
    for path in _files(directory)[:-MOST_KEPT]:  # their names begin with the time
        path.unlink(missing_ok=True)
