"""The stronger proofs, with a real server: a passphrase, a one-time code, and a second system user."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import Terminal, interpose
from tests.e2e.test_self_approval import asked, runs
from tests.e2e.trying_agents import alarms, terminal, wait_for


def configured(home: Path, *lines: str) -> None:
    settings = home / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    settings.write_text("\n".join(("approvals:", "  ask: queue", *(f"  {line}" for line in lines))) + "\n")


def test_a_passphrase_is_set_and_asked_for(tmp_path: Path) -> None:
    configured(tmp_path)
    with Terminal(clean_environment(tmp_path), tmp_path) as own:
        own.type(" ".join(interpose("operator", "init", "--passphrase")) + "; echo do''ne\n")
        own.until("New passphrase: ")
        own.type("correct horse\n")
        own.until("The same again: ")
        own.type("correct horse\n")
        assert "proof: passphrase" in own.until("done")
    configured(tmp_path, "proof: passphrase")
    with ServerProcess(tmp_path) as server, terminal(server) as own:
        id = asked(server)
        for word, state in (("wrong horse", "not done"), ("correct horse", "APPROVED")):
            own.type(" ".join(interpose("approvals", "approve", id)) + " || echo not do''ne\n")
            assert word not in own.until("Passphrase: ")
            own.type(f"{word}\n")
            assert word not in own.until(state), "it is typed unseen"
        assert runs(server)
        id = asked(server)
        token = server.ask("POST", f"/api/v1/approvals/{id}/approve", {})
        assert (token.status, token.body["error"]) == (403, "passphrase_needed")


def test_a_code_is_shown_by_the_server_and_typed_by_a_person(tmp_path: Path) -> None:
    configured(tmp_path, "proof: code")
    with ServerProcess(tmp_path) as server, terminal(server) as own:
        id = asked(server)
        own.type(" ".join(interpose("approvals", "approve", id)) + "\n")
        own.until("Code: ")
        wait_for(lambda: re.search(rf"the code to answer question {id} is \S+", alarms(server)))
        found = re.search(rf"the code to answer question {id} is (\S+)", alarms(server))
        assert found is not None
        own.type(f"{found[1]}\n")
        own.until("APPROVED")
        assert runs(server)
        assert found[1] not in server.ask("GET", f"/api/v1/approvals/{id}").body.values()


NAME = "daemon"
"""A user that every system has, in the place of an operator."""


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(),
    reason="NOT TESTED: a second system user needs root, and a Python that this user may run",
)
def test_another_user_alone_answers() -> None:
    home = Path(tempfile.mkdtemp(prefix="ip"))
    try:
        _another_user_alone_answers(home)
    finally:
        shutil.rmtree(home)


def _another_user_alone_answers(home: Path) -> None:
    place = home / "shared"
    place.mkdir()
    operator = pwd.getpwnam(NAME)
    home.chmod(0o755)
    os.chown(place, os.geteuid(), operator.pw_gid)
    place.chmod(0o2750)
    configured(home, "proof: user", f"operator: {NAME}", f"socket: {place / 'answers.sock'}")
    with ServerProcess(home) as server:
        id = asked(server)
        with terminal(server) as own:
            code, shown = own.run(*interpose("approvals", "approve", id))
            assert (code, "only the operator" in shown) == (1, True), shown
        # The operator's own program may not read this one's files, so a small one stands for it.
        program = (
            "import http.client, socket, sys\n"
            "c = http.client.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX)\n"
            "c.sock.connect(sys.argv[1])\n"
            "c.request('POST', sys.argv[2], '{}', {'Content-Type': 'application/json'})\n"
            "print(c.getresponse().status)\n"
        )
        done = subprocess.run(
            ["/usr/bin/python3", "-c", program, str(place / "answers.sock"), f"/api/v1/approvals/{id}/approve"],
            user=operator.pw_uid, group=operator.pw_gid, extra_groups=[], cwd="/", capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout == "200\n", done.stderr
        assert server.ask("GET", f"/api/v1/approvals/{id}").body["answer"]["by"] == NAME
        assert runs(server)


def test_a_pause_needs_the_proof_of_a_yes_and_ends_without(tmp_path: Path) -> None:
    """The default proof: a token alone pauses nothing from this machine, a person's own terminal does."""
    configured(tmp_path)
    with ServerProcess(tmp_path) as server, terminal(server) as own:
        refused = server.ask("POST", "/api/v1/pause", {"minutes": 10})
        assert (refused.status, refused.body["error"]) == (403, "not_proven")
        assert "`interpose approvals pause TIME`" in refused.body["message"], "it names what is to be typed for a pause"
        asked(server)
        code, shown = own.run(*interpose("pause", "10m", "--reason", "moving"))
        assert (code, "paused: " in shown) == (0, True), shown
        assert runs(server)
        (pause,) = server.ask("GET", "/api/v1/pause").body["pauses"]
        assert server.ask("DELETE", f"/api/v1/pause/{pause['id']}").status == 200
        assert not runs(server)


def test_an_edited_call_from_the_hook_to_the_record(tmp_path: Path) -> None:
    """A real hook asks, a person edits in their own terminal, the hook is told the edited call, the record has both."""
    configured(tmp_path)
    event = {
        "session_id": "s", "cwd": str(tmp_path), "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_use_id": "t1", "permission_mode": "bypassPermissions",
        "tool_input": {"command": "git push --force origin feature", "description": "publish"},
    }  # fmt: skip
    (tmp_path / "event.json").write_text(json.dumps(event))
    # An agent in a terminal of its own, which is younger than the person's.
    agent = tmp_path / "agent.sh"
    agent.write_text(f"{' '.join(interpose('hook', 'claude-code'))} <event.json >said.json\ntrue\n")
    with ServerProcess(tmp_path) as server, terminal(server) as own, terminal(server) as other:

        def hook() -> dict[str, Any]:
            assert other.run("bash", str(agent))[0] == 0
            told: dict[str, Any] = json.loads((tmp_path / "said.json").read_text())["hookSpecificOutput"]
            return told

        assert hook()["permissionDecision"] == "deny"
        (question,) = server.ask("GET", "/api/v1/approvals").body["approvals"]
        edited = "'command=git push --force-with-lease origin feature'"
        code, shown = own.run(*interpose("approvals", "approve", question["id"], "--set", edited))
        assert (code, "APPROVED" in shown) == (0, True), shown
        told = hook()
        assert (told["permissionDecision"], told["updatedInput"]["command"]) == (
            "allow", "git push --force-with-lease origin feature",
        )  # fmt: skip
        assert hook()["permissionDecision"] == "deny", "once"
        records = server.ask("GET", "/api/v1/audit?decision=rewrite").body["records"]
        (record,) = [one for one in records if one["rewritten"]]
        assert record["original_arguments"]["command"] == "git push --force origin feature"
        assert record["arguments"]["command"] == "git push --force-with-lease origin feature"
        assert record["approver"].startswith(f"grant:{question['id']} of ")
