"""What clients make of a server that says that it waits for a person: whom they believe, and for how long."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interpose.doors.hooks.clients.plugins import Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.support.hosts.hooked import PROOF, Done, Hooks, StandIn, answer_bytes, event_of, saying
from tests.support.timing.patience import PATIENCE

CAN_WAIT = "hooks: {deadline: 4, wait: {all: 60}}"
DENY = b'{"permission":"deny"}'
SHOWN = "answer%20%C3%A4 here"


def before(wait: str = "50", *, proof: str = PROOF, shown: str = SHOWN) -> bytes:
    """What a server says before its answer."""
    fields = f"X-Interpose-Wait: {wait}\r\nX-Interpose-Stderr: {shown}\r\nX-Interpose-Proof: {proof}\r\n"
    return f"HTTP/1.1 102 Processing\r\n{fields}\r\n".encode()


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)


@pytest.fixture
def hooks(tmp_path: Path, stand_in: StandIn) -> Hooks:
    return Hooks(tmp_path, python=str(stand_in.path), settings=CAN_WAIT)


def _run(hooks: Hooks, way: str, reply: bytes) -> tuple[Done, bytes]:
    with saying(reply, hooks.socket if way == "python" else None) as (port, heard):
        hooks.point_to(port)
        return hooks.run(way, event_of("ls")), heard[0]


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_it_says_how_long_it_can_and_passes_the_answer_on(way: str, hooks: Hooks, stand_in: StandIn) -> None:
    done, heard = _run(hooks, way, before() + answer_bytes(DENY, stderr="no"))
    assert b"X-Interpose-Wait: 60\r\n" in heard
    assert (done.stdout, done.stderr, done.code) == (DENY, "answer ä here\nno\n", 0)
    assert not stand_in.words


BROKEN = [
    ("nothing after it", before()),
    ("half of it", before()[:40]),
    ("half an answer", before() + answer_bytes(DENY)[:-3]),
    ("a second one", before() + before() + answer_bytes(DENY)),
    ("garbage after it", before() + b"HTTP/1.1 200 OK\r\n\r\n"),
]
UNPROVEN = [
    ("nobody's proof", before(proof="x" * 43) + answer_bytes(DENY)),
    ("no proof in the answer", before() + answer_bytes(DENY, proof="x" * 43)),
    ("longer than we can", before("61") + answer_bytes(DENY)),
    ("no number", before("x") + answer_bytes(DENY)),
    ("arithmetic", before("a[$(touch z)]") + answer_bytes(DENY)),
]


@pytest.mark.parametrize(
    ("way", "note", "reply"),
    [(way, *case) for way in ("bash", "old bash", "python") for case in BROKEN]
    + [(way, *case) for way in ("bash", "old bash") for case in UNPROVEN],
)
def test_what_is_no_whole_answer_is_decided_elsewhere(
    way: str, note: str, reply: bytes, hooks: Hooks, stand_in: StandIn
) -> None:
    done, _ = _run(hooks, way, reply)
    assert done.stdout == b"decided", note
    assert "--in-process" in stand_in.words
    assert not (hooks.home / "z").exists()


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_who_can_not_wait_does_not(way: str, tmp_path: Path, stand_in: StandIn) -> None:
    hooks = Hooks(tmp_path, python=str(stand_in.path), settings="hooks: {deadline: 4, wait: {all: 0}}")
    done, heard = _run(hooks, way, before() + answer_bytes(DENY))
    assert b"X-Interpose-Wait: 60" not in heard
    assert done.stdout == b"decided"


@contextmanager
def _slow(reply: bytes, seconds: float, path: Path | None) -> Iterator[int]:
    """A server that waits for a person for so long."""
    with socket.socket(socket.AF_INET if path is None else socket.AF_UNIX) as server:
        server.bind(("127.0.0.1", 0) if path is None else str(path))
        if path is not None:
            path.chmod(0o600)
        server.listen(1)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                heard = b""
                while not heard.endswith(b"}"):  # all of it: what is left unread cuts the connection off at its end
                    heard += connection.recv(65536)
                connection.sendall(before("20"))
                threading.Event().wait(seconds)
                connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield 0 if path else server.getsockname()[1]
        thread.join(PATIENCE)


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_it_waits_longer_than_a_decision_may_take(way: str, tmp_path: Path, stand_in: StandIn) -> None:
    """A client that took this for a server that hangs would have given up after one second, and ended after two."""
    hooks = Hooks(tmp_path, python=str(stand_in.path), settings="hooks: {deadline: 2, wait: {all: 30}}")
    with _slow(answer_bytes(DENY), 3.0, hooks.socket if way == "python" else None) as port:
        hooks.point_to(port)
        done = hooks.run(way, event_of("ls"))
    assert (done.stdout, done.code) == (DENY, 0)
    assert not stand_in.words


def test_a_head_without_end_holds_nobody(hooks: Hooks, stand_in: StandIn) -> None:
    """The shell reads it line by line, each in its own time: without an end to that, the host would give up first."""
    endless = b"HTTP/1.1 102 Processing\r\n" + b"X-More: yes\r\n" * 1000
    done, _ = _run(hooks, "bash", endless + before()[25:] + answer_bytes(DENY))
    assert done.stdout == b"decided"
    assert stand_in.words


PLUGIN = """
import { Interpose } from "./plugin.mjs";
const said = [];
const client = {
  tui: { showToast: async ({ body }) => said.push(body.message) },
  _client: { post: async ({ url, path, body }) => said.push({ url, ...path, ...body }) },
};
const hooks = await Interpose({ directory: "/home/dev/proj", client });
const input = { tool: "bash", sessionID: "s1", callID: "c1" };
try {
  await hooks["tool.execute.before"](input, { args: { command: "echo hi" } });
} catch (error) {
  said.push({ thrown: error.message });
}
for (const callID of ["c1", "c2"]) {
  const properties = { id: `p-${callID}`, sessionID: "s1", permission: "bash", tool: { messageID: "m", callID } };
  await hooks.event({ event: { type: "permission.asked", properties } });
}
console.log(JSON.stringify(said));
"""


def _plugin(directory: Path, reply: bytes, wait: int) -> Any:
    with saying(reply) as (port, _):
        reach = Reach(port=port, deadline=4, wait=wait)
        (directory / "plugin.mjs").write_text(plugin_files(HOSTS["opencode"].facts, reach)[""], encoding="utf-8")
        (directory / "main.mjs").write_text(PLUGIN, encoding="utf-8")
        words = ["node", str(directory / "main.mjs")]
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout)


ONCE = {"url": "/permission/{requestID}/reply", "requestID": "p-c1", "reply": "once"}
AGREED, ALLOWED = b'{"decision":"allow","agreed":true}', b'{"decision":"allow"}'
REFUSED = b'{"decision":"deny","reason":"no"}'
TOLD = "answer ä here"
BROKE_OFF = "Interpose could not decide: the answer broke off"
PLUGINS: list[tuple[str, bytes, int, Any]] = [
    ("a yes to ours answers its own prompt, no other call's", before() + answer_bytes(AGREED), 60, [TOLD, ONCE]),
    ("what no person agreed to stays its own person's", answer_bytes(ALLOWED), 60, []),
    ("what is refused has no prompt", before() + answer_bytes(REFUSED), 60, [TOLD, {"thrown": "no"}]),
    (
        "what can't be read is a refusal, and the host lives on",
        before(shown="%zz") + answer_bytes(AGREED),
        60,
        [{"thrown": "Interpose could not decide: URI malformed"}],
    ),
    ("nothing after it is a refusal", before(), 60, [TOLD, {"thrown": BROKE_OFF}]),
    (
        "who can't wait takes it for no answer",
        before() + answer_bytes(AGREED),
        0,
        [{"thrown": "Interpose could not decide: the server answered 102"}],
    ),
]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(("note", "reply", "wait", "want"), PLUGINS, ids=[case[0] for case in PLUGINS])
def test_a_plugin(note: str, reply: bytes, wait: int, want: Any, tmp_path: Path) -> None:
    assert _plugin(tmp_path, reply, wait) == want, note


SAME_NAMES = """
import { Interpose } from "./plugin.mjs";
const said = [];
const client = { _client: { post: async ({ path, body }) => said.push({ ...path, ...body }) } };
const hooks = await Interpose({ directory: "/home/dev/proj", client });
const before = (sessionID, command) =>
  hooks["tool.execute.before"]({ tool: "bash", sessionID, callID: "functions.bash:0" }, { args: { command } });
const prompted = (sessionID, id) => {
  const tool = { messageID: "m", callID: "functions.bash:0" };
  return hooks.event({ event: { type: "permission.asked", properties: { id, sessionID, permission: "bash", tool } } });
};
await before("s1", "echo agreed");
await prompted("s2", "nobody-was-asked-about-this");
await before("s2", "echo other");
await prompted("s2", "not-agreed-to");
await prompted("s1", "agreed-to");
await before("s1", "echo third");
await prompted("s1", "the-first-failed-and-this-is-another");
console.log(JSON.stringify(said));
"""


@contextmanager
def _agreeing_to(words: bytes) -> Iterator[int]:
    """A server whose person agreed to the calls with these words, and that lets all others through."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard = b""
                    while b"}" not in heard or heard.count(b"{") != heard.count(b"}"):
                        heard += connection.recv(65536)
                    connection.sendall(answer_bytes(AGREED if words in heard else ALLOWED))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_yes_is_for_no_other_call_of_the_same_name(tmp_path: Path) -> None:
    """Some models count their calls anew in each session, and a call that failed is not heard of again."""
    with _agreeing_to(b"echo agreed") as port:
        reach = Reach(port=port, deadline=4, wait=60)
        (tmp_path / "plugin.mjs").write_text(plugin_files(HOSTS["opencode"].facts, reach)[""], encoding="utf-8")
        (tmp_path / "main.mjs").write_text(SAME_NAMES, encoding="utf-8")
        words = ["node", str(tmp_path / "main.mjs")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert json.loads(done.stdout) == [{"requestID": "agreed-to", "reply": "once"}]
