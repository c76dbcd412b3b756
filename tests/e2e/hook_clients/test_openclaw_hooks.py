"""OpenClaw's hooks in our plugin, with a real node, a real server and real governance: messages, models, results and
what its model is told. `scripts/agents --openclaw` shows the same with the real OpenClaw."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.settings import GovernanceSettings
from interpose.doors.hooks.clients.plugins import Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.server.hook_routes import routes
from tests.support.servers import hosting
from tests.support.servers.servers import config_in, running
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

GOVERNANCE = """version: 1
agents:
  - {role: helper, sub_agent: true}
  - {role: clerk, host: openclaw}
roles:
  clerk: {description: Keep the files, tools: {allow: [read, exec]}}
  helper: {description: Help by reading, tools: {allow: [read]}}
stalls: {same_call: 2, same_error: 2}
"""
PROGRAM = """
import plugin from "./index.js";
import again from "./index.js?again";
import { readFileSync } from "node:fs";
const hooks = {};
// As OpenClaw does: hooks of one copy of the plugin, middleware of another.
plugin.register({ on: (name, handler) => (hooks[name] = handler) });
again.register({ on: () => {}, registerAgentToolResultMiddleware: (handler) => (hooks["result"] = handler) });
const seen = [];
for (const [point, event, context] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    seen.push((await hooks[point](event, context)) ?? null);
  } catch (error) {
    seen.push({ thrown: error.message });
  }
}
console.log(JSON.stringify(seen));
"""

Step = tuple[str, dict[str, Any], dict[str, Any]]
MAIN = {"sessionId": "s1", "sessionKey": "agent:main:main", "agentId": "main", "workspaceDir": "/home/dev/proj"}
CHILD = {"sessionId": "s2", "sessionKey": "agent:main:subagent:1", "agentId": "main", "workspaceDir": "/home/dev/proj"}
RUN = MAIN | {"runId": "r1", "modelId": "small", "modelProviderId": "fake"}
TOOL = {name: RUN[name] for name in ("sessionId", "sessionKey", "agentId", "runId")}
"""OpenClaw does not say where an agent works to hooks about tools."""


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def result(id: str, text: str, *, is_error: bool = False, **args: Any) -> Step:
    """What a tool gave, on its way to the model."""
    event = {"toolCallId": id, "toolName": "read", "args": args, "isError": is_error}
    return "result", event | {"result": {"content": [part(text)], "details": {"kept": text}}}, TOOL


def call(id: str, tool: str = "read", **params: Any) -> Step:
    return "before_tool_call", {"toolName": tool, "params": params, "toolCallId": id}, TOOL


def played(directory: Path, steps: Sequence[Step], service: Any = None, *, port: int = 0) -> list[Any]:
    """What OpenClaw gets of each step from one plugin."""
    (directory / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
    governance = GovernanceSettings(file=str(directory / "governance.yaml"), log=str(directory / "governance.log"))
    opened = service or open_service(config_in(directory, governance=governance), follow=False)
    try:
        with running(routes(cast("Service", opened))) as server:
            files = plugin_files(HOSTS["openclaw"].facts, Reach(port=port or server.port, deadline=20))
            for name, text in files.items():
                (directory / name).write_text(text, encoding="utf-8")
            (directory / "main.mjs").write_text(PROGRAM, encoding="utf-8")
            words = ["node", str(directory / "main.mjs")]
            given = json.dumps(steps)
            done = subprocess.run(words, input=given, capture_output=True, text=True, check=True, timeout=PATIENCE)
    finally:
        if service is None:
            opened.close()
    return cast("list[Any]", json.loads(done.stdout))


def scripted(verdict: str) -> hosting.Scripted:
    service = hosting.Scripted()
    service.verdict = verdict
    return service


def turn(prompt: str, context: dict[str, Any] = RUN) -> list[Step]:
    """The hooks of a run before its model is asked, in the order in which OpenClaw calls them."""
    messages: dict[str, Any] = {"prompt": prompt, "messages": []}
    return [
        ("before_model_resolve", {"prompt": prompt}, context), ("before_prompt_build", messages, context),
        ("before_agent_run", messages, context),
    ]  # fmt: skip


def test_a_message_that_may_go_on(tmp_path: Path) -> None:
    assert played(tmp_path, turn("hello"), scripted("allow")) == [{}, {}, {"outcome": "pass"}]


@pytest.mark.parametrize(("verdict", "reason"), [("deny", hosting.DENIED), ("error", hosting.BROKEN)])
def test_a_message_that_is_refused_ends_its_run(verdict: str, reason: str, tmp_path: Path) -> None:
    *_, gate = played(tmp_path, turn("hello"), scripted(verdict))
    assert gate == {"outcome": "block", "reason": reason, "message": reason}


def test_a_run_without_an_answer_is_blocked_by_openclaw_itself(tmp_path: Path) -> None:
    *_, gate = played(tmp_path, turn("hello"), scripted("allow"), port=9)
    assert "Interpose could not decide" in gate["thrown"]


def test_another_model_is_used_and_only_that_is_said(tmp_path: Path) -> None:
    chosen, _, gate = played(tmp_path, turn("hello"), scripted("model"))
    assert (chosen, gate) == ({"modelOverride": "large"}, {"outcome": "pass"})


def test_a_message_is_judged_once_in_its_run(tmp_path: Path) -> None:
    service = scripted("allow")
    service.verdict = "warn"
    played(tmp_path, turn("/review 12"), service)
    assert service.commands == [("review", "12")]


def test_a_secret_in_a_result_is_hidden_before_the_model_reads_it(tmp_path: Path) -> None:
    [shown] = played(tmp_path, [result("c1", "a SECRET", path="a")], scripted("redact"))
    assert shown == {"result": {"content": [part("a [hidden]")], "details": {}}}


def test_a_result_that_could_not_be_looked_at_is_withheld(tmp_path: Path) -> None:
    [shown] = played(tmp_path, [result("c1", "a SECRET", path="a")], scripted("allow"), port=9)
    [text] = shown["result"]["content"]
    assert text["text"].startswith("Interpose could not decide")
    assert "SECRET" not in json.dumps(shown)


def test_a_refused_call_has_no_result_of_its_own(tmp_path: Path) -> None:
    service = scripted("deny")
    steps = [call("c1", path="a"), result("c1", "refused", path="a"), ("after_tool_call", {"toolCallId": "c1"}, TOOL)]
    refused, shown, _ = played(tmp_path, steps, service)
    assert refused == {"block": True, "blockReason": hosting.DENIED}
    assert shown is None
    assert len(service.recorder.log) == 2, "the refusal, and that it did not run"


def test_a_result_that_the_middleware_saw_is_reported_once(tmp_path: Path) -> None:
    service = scripted("allow")
    about = {"toolCallId": "c1", "toolName": "read", "params": {"path": "a"}, "result": {"content": [part("text")]}}
    played(tmp_path, [call("c1", path="a"), result("c1", "text", path="a"), ("after_tool_call", about, TOOL)], service)
    assert len(service.recorder.log) == 2, "what was decided, and one result"


def test_an_agent_is_told_its_role_in_each_of_its_turns(tmp_path: Path) -> None:
    steps = [("session_start", {}, MAIN), *turn("hello"), *turn("more", RUN | {"runId": "r2"})]
    _, _, first, _, _, second, _ = played(tmp_path, steps)
    assert first["appendSystemContext"].startswith("Interpose governs this session")
    assert "Your part here: Keep the files" in first["appendSystemContext"]
    assert second == first


def test_a_sub_agent_is_told_its_own_and_works_in_the_session_that_started_it(tmp_path: Path) -> None:
    spawned = {"childSessionKey": CHILD["sessionKey"], "agentId": "main"}
    steps: list[Step] = [
        *turn("hello"), ("subagent_spawned", spawned, {"requesterSessionKey": MAIN["sessionKey"]}),
        *turn("do it", CHILD | {"runId": "r2"}),
        ("before_tool_call", {"toolName": "exec", "params": {"command": "ls"}, "toolCallId": "c1"}, CHILD),
    ]  # fmt: skip
    *_, told, _, refused = played(tmp_path, steps)
    assert "Your part here: Help by reading" in told["appendSystemContext"]
    assert "roles.helper.tools.allow has no exec" in refused["blockReason"]


def test_after_a_compaction_the_next_turn_has_the_reminder(tmp_path: Path) -> None:
    steps = [*turn("hello"), ("after_compaction", {}, MAIN), *turn("more", RUN | {"runId": "r2"})]
    told = played(tmp_path, steps)[-2]["appendSystemContext"]
    assert told.startswith("The context was compacted. Interpose still governs this session")


@pytest.mark.parametrize(("is_error", "says"), [(False, "2 times in a row"), (True, "failed 2 times")])
def test_a_reminder_stands_below_what_it_is_about(is_error: bool, says: str, tmp_path: Path) -> None:
    steps = [*turn("hello")]
    for id in ("c1", "c2"):
        steps += [call(id, path="/home/dev/proj/a"), result(id, "the same", is_error=is_error, path="/home/dev/proj/a")]
    first, _, second = played(tmp_path, steps)[-3:]
    assert first is None
    came, note = second["result"]["content"]
    assert came == part("the same")
    assert says in note["text"]
