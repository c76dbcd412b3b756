"""The real OpenCode under a governance file: which of our texts are in the requests that its model gets.

OpenCode runs as a server, so that one session can be compacted, left alone and gone on with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.agents.behaviours import POLICY, Seen
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.governed import GOVERNANCE, MARK, TEAMS
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent
from tests.e2e.agents.opencode_prompts import OpenCodeServer

AWAY = 6
SESSIONS = f"""sessions: {{idle_after: 2s, resume_after: {AWAY}s, fresh_after: 48h}}
stalls: {{same_call: 3, same_error: 2, denied_again: 2}}
"""
TOLD = ("Interpose governs this session", "Your part here: Hand out work")
COMPACTED = "The context was compacted. Interpose still governs this session"
RESUMED = "This session goes on after"


def texts(agent: Agent, parts: Mapping[str, Path], place: Path) -> dict[str, Seen]:
    """One session from its beginning over reminders and a compaction to a resume."""
    team = TEAMS[agent.host]
    with Home(place / f"{agent.host}-texts", agent, parts) as home:
        home.configure(20, POLICY)
        # As OpenCode itself writes a tool of a server: our plugin says `mcp__notes__leave_note`.
        rules = GOVERNANCE.replace("HOST", agent.host).replace("task, todo]", "task, todo, notes_leave_note]")
        home.write(".config/interpose/governance.yaml", rules + SESSIONS)
        home.install()
        definition = home.project / team.file
        definition.parent.mkdir(parents=True)
        definition.write_text(team.text, encoding="utf-8")
        (home.project / "known.txt").write_text("known")
        with OpenCodeServer(home) as server:
            row = _walk(home, server, team.task("builder"))
            server.say(server.session(), "Note it.", [agent.note({"note": "once"})])
            noted = (home.project / "noted-once.marker").exists()
            why = f"NOT LET IN: {home.results}"
            return row | {"a server's tool, as OpenCode writes it": Seen("let in") if noted else Seen(why, good=False)}


def _walk(home: Home, server: OpenCodeServer, task: ToolUse) -> dict[str, Seen]:
    row: dict[str, Seen] = {}
    session = server.session()
    server.say(session, "Hello.")
    row["prefix"] = _told(home, *TOLD)

    home.sub_agent(MARK, [])
    before = len(home.requests)
    server.say(session, "Delegate it.", [task])
    own = [body for body in home.requests[before:] if MARK in json.dumps(body)]
    row["prefix of a sub-agent"] = _in(own[-1:], "Your part here: Work on files")
    row["prefix, beside a sub-agent"] = _told(home, *TOLD)

    # Each call has a result already when its turn comes: that of the task is the first.
    known, unknown = (ToolUse("read", {"filePath": str(home.project / name)}) for name in ("known.txt", "unknown.txt"))
    server.say(session, "Read it.", [task, *[known] * 3])
    row["reminder in a result"] = _told(home, "was called 3 times in a row")
    server.say(session, "Read another one.", [task, *[known] * 3, *[unknown] * 2])
    row["reminder in a failure"] = _told(home, "failed 2 times with the same error")
    write = ToolUse("write", {"filePath": str(home.project / "own.txt"), "content": "x"})
    server.say(session, "Write it.", [task, *[known] * 3, *[unknown] * 2, *[write] * 2])
    row["reminder in a refusal"] = _told(home, "What was denied came again")

    server.compact(session)
    server.say(session, "Go on.")
    row["after a compaction"] = _told(home, COMPACTED, "Your part here: Hand out work")
    time.sleep(AWAY + 1)
    server.say(session, "I am back.")
    row["after a resume"] = _told(home, RESUMED, "Your part here: Hand out work")
    return row


def _told(home: Home, *wanted: str) -> Seen:
    """Whether the last request of the agent itself has these texts: that for a title has no tools."""
    return _in([body for body in home.requests if body.get("tools") and MARK not in json.dumps(body)][-1:], *wanted)


def _in(requests: list[Any], *wanted: str) -> Seen:
    text = json.dumps(requests, ensure_ascii=False)
    missing = [one for one in wanted if one not in text]
    return Seen(f"NOT TOLD: {missing}: {text[-3000:]}", good=False) if missing or not requests else Seen("told")
