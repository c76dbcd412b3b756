"""OpenCode's commands in our plugin, with a real node and a real server: a refusal takes the place of the command."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest

from interpose.composition.service.service import Service
from interpose.doors.hooks.clients.plugins import Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.server.hook_routes import routes
from tests.support.servers import hosting
from tests.support.servers.servers import running
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

EXPANDED = {"type": "text", "text": "Review the change 12"}

PROGRAM = """
import { Interpose } from "./plugin.mjs";
const [, , input, changed] = process.argv;
const hooks = await Interpose({ directory: "/home/dev/proj" });
const command = { parts: [{ type: "text", text: "Review the change 12" }] };
const parts = command.parts;
const seen = {};
try {
  await hooks["command.execute.before"](JSON.parse(input), command);
  // As OpenCode does: the same parts, each with names of its own. `changed` is an OpenCode that took another copy.
  const message = { parts: (JSON.parse(changed) ?? parts).map((part) => ({ ...part, id: "prt_1" })) };
  seen.parts = parts;
  await hooks["chat.message"]({ sessionID: "s1" }, message);
  await hooks["chat.message"]({ sessionID: "s1" }, { parts: [{ type: "text", text: "the next message" }] });
} catch (error) {
  seen.thrown = error.message;
}
console.log(JSON.stringify(seen));
"""


def typed(directory: Path, verdict: str, *, changed: Any = None, port: int | None = None) -> tuple[Any, list[Any]]:
    """What OpenCode goes on with, and what our server heard."""
    service = hosting.Scripted()
    service.verdict = verdict
    given = {"command": "review", "sessionID": "s1", "arguments": "12"}
    with running(routes(cast("Service", service))) as server:
        reach = Reach(port=server.port if port is None else port, deadline=10)
        (directory / "plugin.mjs").write_text(plugin_files(HOSTS["opencode"].facts, reach)[""], encoding="utf-8")
        (directory / "main.mjs").write_text(PROGRAM, encoding="utf-8")
        words = ["node", str(directory / "main.mjs"), json.dumps(given), json.dumps(changed)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return json.loads(done.stdout), service.commands


def test_a_command_that_may_run_says_what_it_says(tmp_path: Path) -> None:
    seen, heard = typed(tmp_path, "allow")
    assert seen == {"parts": [EXPANDED]}
    assert heard == [("review", "12")]


def test_a_warning_is_told_beside_it(tmp_path: Path) -> None:
    seen, _ = typed(tmp_path, "warn")
    assert seen == {"parts": [EXPANDED, {"type": "text", "text": hosting.WARNED}]}


@pytest.mark.parametrize(("verdict", "reason"), [("deny", hosting.DENIED), ("ask", hosting.WAITING)])
def test_a_refusal_takes_its_place_and_the_next_message_is_free(verdict: str, reason: str, tmp_path: Path) -> None:
    seen, _ = typed(tmp_path, verdict)
    assert seen == {"parts": [{"type": "text", "text": reason}]}


def test_a_host_that_went_on_with_the_command_all_the_same_is_stopped(tmp_path: Path) -> None:
    seen, _ = typed(tmp_path, "deny", changed=[EXPANDED])
    assert seen["thrown"] == hosting.DENIED
    seen, _ = typed(tmp_path, "deny", changed=[{"type": "text", "text": hosting.DENIED}, EXPANDED])
    assert seen["thrown"] == hosting.DENIED


def test_without_an_answer_the_command_does_not_run(tmp_path: Path) -> None:
    seen, heard = typed(tmp_path, "allow", port=9)
    assert "Interpose could not decide" in seen["thrown"]
    assert heard == []
