"""`approvals.proof: user`: another user lets a browser in, and only that user's browser answers on this machine."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.browser.browsing import ask, configured
from tests.browser.test_doors import offered, send
from tests.e2e.processes import ServerProcess
from tests.support.timing.patience import PATIENCE

OPERATOR, THIEF = "daemon", "nobody"
"""Users that every system has."""
PAIRS = """\
import http.client, socket, sys
c = http.client.HTTPConnection('localhost'); c.sock = socket.socket(socket.AF_UNIX)
c.sock.connect(sys.argv[1])
c.request('POST', '/api/v1/page/pairings', sys.argv[2], {'Content-Type': 'application/json'})
print(c.getresponse().read().decode())
"""
APPROVES = """\
import http.client, sys
c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
form = {'Content-Type': 'application/x-www-form-urlencoded', 'Cookie': sys.argv[2]}
form['Origin'] = 'http://127.0.0.1:' + sys.argv[1]
c.request('POST', sys.argv[3], 'scope=once&csrf=' + sys.argv[4], form)
answer = c.getresponse(); text = answer.read().decode()
print(answer.status, 'was let in' in text)
"""


def as_user(name: str, program: str, *words: str) -> subprocess.Popen[str]:
    user = pwd.getpwnam(name)
    return subprocess.Popen(
        ["/usr/bin/python3", "-c", program, *words], user=user.pw_uid, group=user.pw_gid, extra_groups=[], cwd="/",
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def printed(process: subprocess.Popen[str]) -> str:
    return process.communicate(timeout=PATIENCE)[0]


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/usr/bin/python3").exists(),
    reason="NOT TESTED: a second system user needs root, and a Python that this user may run",
)
def test_only_the_operators_browser_answers() -> None:
    home = Path(tempfile.mkdtemp(prefix="ip"))
    try:
        place = home / "shared"
        place.mkdir()
        home.chmod(0o755)
        os.chown(place, os.geteuid(), pwd.getpwnam(OPERATOR).pw_gid)
        place.chmod(0o2750)
        socket = place / "answers.sock"
        configured(home, proof=f"user\n  operator: {OPERATOR}\n  socket: {socket}")
        with ServerProcess(home) as server:
            _only_the_operators_browser(server, str(socket))
    finally:
        shutil.rmtree(home)


def _only_the_operators_browser(server: ServerProcess, socket: str) -> None:
    id = ask(server)
    code, number, pair = offered(server)
    address = f"/enter?pair={number}"
    pairing = as_user(OPERATOR, PAIRS, socket, json.dumps({"pairing": code}))
    entered = send(server, "GET", address, Cookie=pair)
    while entered.status == 200:  # until the code was typed
        entered = send(server, "GET", address, Cookie=pair)
    assert json.loads(printed(pairing)) == {"name": OPERATOR, "role": "operator", "arrived": True}
    cookie = entered.headers["Set-Cookie"].partition(";")[0]
    csrf = re.search(r'name="csrf" value="([^"]+)"', send(server, "GET", f"/inbox/{id}", Cookie=cookie).text)
    assert csrf is not None
    words = (str(server.port), cookie, f"/inbox/{id}/approve", csrf[1])
    assert printed(as_user(THIEF, APPROVES, *words)) == "403 True\n"
    assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"
    assert printed(as_user(OPERATOR, APPROVES, *words)) == "303 False\n"
    assert server.ask("GET", f"/api/v1/approvals/{id}").body["answer"]["by"] == OPERATOR
