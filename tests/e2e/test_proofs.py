"""The stronger proofs, with a real server: a passphrase, a one-time code, and a second system user."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

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
