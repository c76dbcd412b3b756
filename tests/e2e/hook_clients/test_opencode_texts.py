"""What OpenCode's model reads of us, with a real node, a real server and real governance: our plugin puts our texts
into what OpenCode sends to the model. `scripts/agents opencode --governance` shows the same with the real OpenCode."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.settings import GovernanceSettings
from interpose.doors.hooks.clients.plugins import Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.server.hook_routes import routes
from interpose.record.store import open_store
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.sessions import GovernedSession
from tests.support.servers import hosting
from tests.support.servers.servers import config_in, running
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

GOVERNANCE = """version: 1
agents:
  - {role: worker, agent: builder}
  - {role: reader, agent: plan}
  - {role: coordinator, host: opencode}
roles:
  coordinator: {description: Hand out work, tools: {allow: [read, task, notes_look]}}
  reader: {description: Read it all, tools: {allow: [read]}}
  worker: {description: Work on files, tools: {allow: [read, exec]}}
stalls: {same_call: 2, same_error: 2, denied_again: 2}
"""
PROGRAM = """
import { Interpose } from "./plugin.mjs";
import { readFileSync } from "node:fs";
const hooks = await Interpose({ directory: "/home/dev/proj" });
await hooks.config({ mcp: { notes: {} } });
const seen = [];
for (const [point, input, output] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await hooks[point](input, output);
    seen.push(output);
  } catch (error) {
    seen.push({ thrown: error.message });
  }
}
console.log(JSON.stringify(seen));
"""

Step = tuple[str, dict[str, Any], dict[str, Any]]


def text(message: str, said: str) -> dict[str, Any]:
    """A part of a message, as OpenCode keeps it."""
    return {"id": f"prt_{message}", "messageID": message, "sessionID": "s1", "type": "text", "text": said}


def message(id: str, said: str, *, agent: str = "build", session: str = "s1") -> Step:
    """A message of its person, or of the agent that started another."""
    about = {"sessionID": session, "agent": agent}
    return "chat.message", about, {"message": {"id": id, "sessionID": session}, "parts": [text(id, said)]}


def request(*messages: tuple[str, list[dict[str, Any]]], session: str = "s1") -> Step:
    """What is about to be sent to the model: messages with their roles and parts."""
    shown = [
        {"info": {"id": f"m{number}", "sessionID": session, "role": role}, "parts": parts}
        for number, (role, parts) in enumerate(messages, 1)
    ]
    return "experimental.chat.messages.transform", {}, {"messages": shown}


def call(id: str, tool: str = "read", **arguments: Any) -> list[Step]:
    """A call that may run, and its result."""
    about = {"tool": tool, "sessionID": "s1", "callID": id}
    return [
        ("tool.execute.before", about, {"args": arguments}),
        ("tool.execute.after", about | {"args": arguments}, {"title": "t", "output": "the same", "metadata": {}}),
    ]


def failure(id: str, error: str = "ENOENT") -> dict[str, Any]:
    """The part of a call that failed."""
    return {"type": "tool", "sessionID": "s1", "callID": id, "state": {"status": "error", "error": error}}


def event(kind: str, **properties: Any) -> Step:
    """What OpenCode tells of unasked."""
    return "event", {"event": {"type": kind, "properties": properties}}, {}


def played(directory: Path, steps: Sequence[Step], service: Any = None) -> list[Any]:
    """What became of each step in one OpenCode."""
    (directory / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
    governance = GovernanceSettings(file=str(directory / "governance.yaml"), log=str(directory / "governance.log"))
    opened = service or open_service(config_in(directory, governance=governance), follow=False)
    try:
        with running(routes(cast("Service", opened))) as server:
            files = plugin_files(HOSTS["opencode"].facts, Reach(port=server.port, deadline=20))
            (directory / "plugin.mjs").write_text(files[""], encoding="utf-8")
            (directory / "main.mjs").write_text(PROGRAM, encoding="utf-8")
            words = ["node", str(directory / "main.mjs")]
            given = json.dumps(steps)
            done = subprocess.run(words, input=given, capture_output=True, text=True, check=True, timeout=PATIENCE)
    finally:
        if service is None:
            opened.close()
    return cast("list[Any]", json.loads(done.stdout))


def texts(sent: Any) -> list[list[str]]:
    """The texts of each message of a request."""
    return [[part["text"] for part in one["parts"] if part["type"] == "text"] for one in sent["messages"]]


def test_a_session_is_told_its_rules_in_its_first_message_of_every_request(tmp_path: Path) -> None:
    hello = ("user", [text("m1", "hello")])
    steps = [message("m1", "hello"), request(hello), request(hello, ("user", [text("m2", "more")]))]
    _, first, second = played(tmp_path, steps)
    [[said, told]] = texts(first)
    assert said == "hello"
    assert told.startswith("Interpose governs this session")
    assert "Your part here: Hand out work" in told
    assert texts(second) == [["hello", told], ["more"]]


def test_another_agent_in_the_same_session_is_told_its_own(tmp_path: Path) -> None:
    hello = ("user", [text("m1", "hello")])
    steps = [message("m1", "hello"), message("m2", "plan it", agent="plan"), request(hello)]
    [[_, told]] = texts(played(tmp_path, steps)[-1])
    assert "Your part here: Read it all" in told
    assert "Hand out work" not in told


def test_a_sub_agent_is_told_its_own_and_its_message_is_not_a_persons(tmp_path: Path) -> None:
    steps = [
        message("m1", "hello"), event("session.created", info={"id": "s2", "parentID": "s1"}),
        message("m9", "do it", agent="builder", session="s2"), request(("user", [text("m9", "do it")]), session="s2"),
        request(("user", [text("m1", "hello")])),
    ]  # fmt: skip
    *_, below, above = played(tmp_path, steps)
    assert "Your part here: Work on files" in texts(below)[0][1]
    assert "Your part here: Hand out work" in texts(above)[0][1]


def test_after_a_compaction_the_next_request_has_the_reminder(tmp_path: Path) -> None:
    steps = [
        message("m1", "hello"), ("experimental.session.compacting", {"sessionID": "s1"}, {"context": []}),
        request(("user", [text("m1", "hello")])), event("session.compacted", sessionID="s1"),
        request(("user", [text("m5", "What did we do so far?")])),
    ]  # fmt: skip
    *_, summed, _, after = played(tmp_path, steps)
    assert texts(summed) == [["hello"]], "what is summed up is the conversation"
    assert texts(after)[0][1].startswith("The context was compacted. Interpose still governs this session")


def test_a_session_that_was_left_alone_is_told_how_things_stand(tmp_path: Path) -> None:
    """OpenCode was closed for two hours, and goes on with the same session."""
    played(tmp_path, [message("m1", "hello"), *call("c1", filePath="/home/dev/proj/a")])
    past = 2 * 3600 * 1_000_000_000

    def older(last: GovernedSession | None) -> GovernedSession:
        assert last is not None
        return replace(last, active_ns=last.active_ns - past, seen_ns=last.seen_ns - past)

    with closing(open_store(str(tmp_path / "ledger" / "ledger.db"))) as store:
        [session] = SessionKeeper(store).recent()
        SessionKeeper(store).change(session.key, older)
    steps = [message("m5", "I am back."), request(("user", [text("m5", "I am back.")]))]
    [[said, told]] = texts(played(tmp_path, steps)[-1])
    assert said == "I am back."
    assert told.startswith("This session goes on after 2h")
    assert "Your part here: Hand out work" in told


def test_a_reminder_stands_below_the_result_that_it_is_about(tmp_path: Path) -> None:
    steps = [message("m1", "hello"), *call("c1", filePath="/home/dev/proj/a"), *call("c2", filePath="/home/dev/proj/a")]
    *_, last = played(tmp_path, steps)
    assert last["output"].startswith("the same\n\n")
    assert "2 times in a row" in last["output"]


def test_a_reminder_stands_below_the_last_part_of_a_servers_result(tmp_path: Path) -> None:
    about = {"tool": "notes_look", "sessionID": "s1"}
    steps: list[Step] = [message("m1", "hello")]
    for id in ("c1", "c2"):
        steps.append(("tool.execute.before", about | {"callID": id}, {"args": {"at": "x"}}))
        content = {"content": [{"type": "text", "text": "the same"}]}
        steps.append(("tool.execute.after", about | {"callID": id, "args": {"at": "x"}}, content))
    first, note = played(tmp_path, steps)[-1]["content"]
    assert first["text"] == "the same"
    assert "2 times in a row" in note["text"]


def test_a_call_that_failed_is_found_where_the_model_reads_of_it(tmp_path: Path) -> None:
    before = ("tool.execute.before", {"tool": "read", "sessionID": "s1"}, {"args": {"filePath": "/home/dev/proj/no"}})
    point, about, args = before
    steps: list[Step] = [message("m1", "hello")]
    failed: list[dict[str, Any]] = []
    for id in ("c1", "c2"):
        failed = [*failed, failure(id)]
        steps.append((point, about | {"callID": id}, args))
        steps.append(request(("user", [text("m1", "hello")]), ("assistant", failed)))
    steps.append(request(("user", [text("m1", "hello")]), ("assistant", failed)))
    *_, last, again = played(tmp_path, steps)
    one, two = (part["state"]["error"] for part in last["messages"][1]["parts"])
    assert one == "ENOENT"
    assert "failed 2 times with the same error" in two
    assert again == last, "OpenCode keeps nothing of it: every request has it anew"


def test_a_refused_call_is_no_failure_and_is_told_at_once_that_it_came_again(tmp_path: Path) -> None:
    before = {"tool": "write", "sessionID": "s1"}
    args = {"args": {"filePath": "/home/dev/proj/a", "content": "x"}}
    steps: list[Step] = [message("m1", "hello")]
    steps += [("tool.execute.before", before | {"callID": id}, args) for id in ("c1", "c2")]
    steps.append(request(("user", [text("m1", "hello")]), ("assistant", [failure("c1"), failure("c2")])))
    _, one, two, sent = played(tmp_path, steps)
    assert "came again" not in one["thrown"]
    assert "What was denied came again" in two["thrown"]
    assert [part["state"]["error"] for part in sent["messages"][1]["parts"]] == ["ENOENT", "ENOENT"]


@pytest.mark.parametrize(("verdict", "reason"), [("deny", hosting.DENIED), ("error", hosting.BROKEN)])
def test_a_message_that_is_refused_is_replaced(verdict: str, reason: str, tmp_path: Path) -> None:
    service = hosting.Scripted()
    service.verdict = verdict
    [refused] = played(tmp_path, [message("m1", "a secret")], service)
    [part] = refused["parts"]
    assert (part["text"], part["id"], part["type"]) == (reason, "prt_m1", "text")


def test_a_secret_in_an_error_is_hidden(tmp_path: Path) -> None:
    service = hosting.Scripted()
    service.verdict = "redact"
    about = {"tool": "read", "sessionID": "s1", "callID": "c1"}
    steps: list[Step] = [
        ("tool.execute.before", about, {"args": {"filePath": "a"}}),
        request(("user", [text("m1", "hello")]), ("assistant", [failure("c1", "no SECRET")])),
    ]
    *_, sent = played(tmp_path, steps, service)
    assert sent["messages"][1]["parts"][0]["state"]["error"] == "no [hidden]"


def test_a_request_of_ours_is_nothing_without_a_session(tmp_path: Path) -> None:
    steps: list[Step] = [request(), ("experimental.chat.messages.transform", {}, {})]
    assert played(tmp_path, steps, hosting.Scripted()) == [{"messages": []}, {}]
