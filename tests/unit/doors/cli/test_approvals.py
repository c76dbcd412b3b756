"""`interpose approvals` and `interpose approvals grants`: on the store, against a server, in a real terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import monotonic

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_service
from interpose.core.answers import Approved, Edited, Pending
from interpose.core.config.load import load
from interpose.core.types import Context, Deny, Finding, PermissionRequest, ToolCall
from interpose.doors.cli import main
from interpose.doors.cli.approving.approvals_text import question_text
from interpose.doors.cli.approving.approvals_watch import watch
from interpose.doors.cli.approving.approvals_yes import moment_of
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.doors.cli.shared.server_client import user_name
from interpose.doors.http import approvals
from interpose.doors.http_server.listener import Unix
from interpose.doors.http_server.tokens import read_tokens
from interpose.doors.http_server.trust import Trust
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.questions import Question
from interpose.people.approvals.scopes import SESSION
from tests.support.hosts.hooked import until
from tests.support.servers.servers import running, service_in
from tests.support.timing.patience import PATIENCE

ME = user_name()


def request(command: str = "git push --force", session: str = "s1", part: str = "--force") -> PermissionRequest:
    context = Context(session_id=session, agent_id="main", principal="user:ann", cwd="/work", source="hook:x")
    found = Finding(
        interceptor="g", said="ask", reason="It rewrites", rule="git/force", part=part, instead="git push --dry-run"
    )
    return PermissionRequest("?", ToolCall("exec", {"command": command}, context=context), (found,))


def ask(desk: Desk, asked: PermissionRequest | None = None) -> Approved | Deny | Pending | Edited:
    return asyncio.run(desk.waiting().confirm(asked or request()))


def queued(desk: Desk, asked: PermissionRequest | None = None) -> str:
    answer = ask(desk, asked)
    assert isinstance(answer, Pending)
    return answer.approval


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """The desk of the user whose directories these are."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERPOSE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("INTERPOSE_APPROVALS_PROOF", "token")
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:  # short: a Unix socket has no long path
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        config = load().config
        with (
            open_service(config, follow=False, serving=True) as service,
            running(approvals.routes(service), more=[Unix(config.server.socket)]),
        ):
            yield service.desk


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_question_from_list_to_grant(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "approvals", "list") == (0, "", "nothing waits for an answer\n")
    id = queued(desk)
    code, out, _ = said(capsys, "approvals", "list")
    assert (code, id in out, "git push --force" in out) == (0, True, True)
    assert json.loads(said(capsys, "approvals", "list", "--json")[1])["approvals"][0]["id"] == id

    shown = said(capsys, "approvals", "show", id.upper())[1]
    assert "  git push --force\n           ^^^^^^^\n" in shown
    assert "git/force  It rewrites" in shown
    assert "Safer  git push --dry-run" in shown
    assert all(fact in shown for fact in ("main", "s1", "user:ann", "/work", "hook:x"))

    code, out, _ = said(capsys, "approvals", "approve", id, "--uses", "2", "--comment", "fine")
    assert (code, f"by {ME}" in out, "2 times" in out, "fine" in out) == (0, True, True, True)
    assert "uses, 2 left, ends " in said(capsys, "grants", "list")[1]
    assert ask(desk) == Approved(f"grant:{id} of {ME}", "fine")
    assert json.loads(said(capsys, "grants", "list", "--json")[1])["grants"][0]["uses_left"] == 1
    assert said(capsys, "grants", "revoke", id) == (0, f"revoked {id}\n", "")
    assert said(capsys, "grants", "revoke", id)[0] == 1
    assert said(capsys, "grants", "list") == (0, "", "nothing is granted\n")
    assert "approved" in said(capsys, "approvals", "list", "--all")[1]


def test_denied_with_a_reason(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = queued(desk)
    assert said(capsys, "approvals", "deny", id, "--reason", "never", "--json")[0] == 0
    assert ask(desk) == Deny(f"Denied by {ME} (question {id}): never", rule="approval-denied")
    code, _, err = said(capsys, "approvals", "approve", id)
    said_before = f"question {id} was denied by {ME} already (already_answered)"
    assert (code, err) == (1, f"interpose approvals approve: {said_before}\n")


WRONG: list[tuple[str, list[str], int, str]] = [
    ("no such question", ["approvals", "show", "zzzzzzzz"], 1, "there is no question of this id"),
    ("its id can't steer", ["approvals", "deny", "z\x1b[2J"], 70, "hides control characters"),
    ("no such time", ["approvals", "approve", "x", "--until", "soon"], 64, "'soon' is no time"),
    ("two scopes", ["approvals", "approve", "x", "--once", "--session"], 64, "say one of --once"),
    ("no uses", ["approvals", "approve", "x", "--uses", "0"], 64, "between 1 and"),
    ("a token for nobody", ["approvals", "list", "--token-file", "x"], 64, "belongs to --server"),
    ("a server without a token", ["approvals", "list", "--server", "http://127.0.0.1:9"], 64, "needs --token-file"),
    ("no address", ["approvals", "list", "--server", "here"], 64, "needs an address"),
    ("no terminal", ["approvals", "watch"], 64, "needs a terminal"),
    ("a file that is none", ["approvals", "list", "--config", "/none.yaml"], 78, "can't be loaded"),
]


@pytest.mark.parametrize(("note", "words", "code", "text"), WRONG, ids=[row[0] for row in WRONG])
def test_what_goes_wrong(
    desk: Desk, capsys: pytest.CaptureFixture[str], note: str, words: list[str], code: int, text: str
) -> None:
    try:
        ended = main(words)
    except SystemExit as error:  # argparse ends so
        ended = int(str(error.code))
    err = capsys.readouterr().err
    assert (ended, text in err) == (code, True), (note, err)
    assert "\x1b" not in err


def test_without_a_server_questions_are_shown_and_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTERPOSE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        with open_service(load().config, follow=False, serving=True) as service:
            id = queued(service.desk)
        assert id in said(capsys, "approvals", "list")[1]
        for words in (("approve", id), ("deny", id)):
            code, _, err = said(capsys, "approvals", *words)
            assert (code, "no server runs" in err, "interpose serve" in err) == (1, True, True), err


BERLIN = timezone(timedelta(hours=1))
PRESENT = datetime(2026, 1, 31, 12, 30, 15, tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2h", PRESENT + timedelta(hours=2)),
        ("90s", PRESENT + timedelta(seconds=90)),
        ("7d", PRESENT + timedelta(days=7)),
        ("18:00", datetime(2026, 1, 31, 18, tzinfo=BERLIN)),
        ("9:05", datetime(2026, 2, 1, 9, 5, tzinfo=BERLIN)),
        ("12:30", datetime(2026, 2, 1, 12, 30, tzinfo=BERLIN)),
        ("2026-02-01T18:00:00Z", datetime(2026, 2, 1, 18, tzinfo=timezone.utc)),  # noqa: UP017 - beside another zone
    ],
)
def test_until_when(text: str, want: datetime) -> None:
    assert moment_of(text, PRESENT) == want


@pytest.mark.parametrize("text", ["", "24:00", "2", "2y", "-2h", "99999999h", "tomorrow", "0001-01-01T00:00:00+14:00"])
def test_no_time(text: str) -> None:
    with pytest.raises(UsageError):
        moment_of(text, PRESENT)


@pytest.mark.parametrize(
    ("note", "command", "part", "want"),
    [
        ("one part", "a bb c", "bb", ["a bb c", "  ^^"]),
        ("over two lines", "a bb\ncc d", "bb\ncc", ["a bb", "  ^^", "cc d", "^^"]),
        ("a part that is not there", "a bb", "x", ["a bb"]),
        ("wide letters", "a 中 bb", "bb", ["a 中 bb", "     ^^"]),
        ("behind what is spelled out", "\x1b bb", "bb", ["\\x1b bb", "     ^^"]),
        ("too wide to be marked", "x" * 200 + " bb", "bb", ["x" * 98, "» " + "x" * 96, "» " + "x" * 6 + " bb"]),
    ],
)
def test_what_was_objected_to_is_marked(desk: Desk, note: str, command: str, part: str, want: list[str]) -> None:
    question = desk.question(queued(desk, request(command, part=part)))
    lines = question_text(question, Ink(False), now=question.asked).split("\n")
    assert [line.strip("\n")[2:] for line in lines[2 : 2 + len(want)]] == want, note
    assert lines[2 + len(want)] == ""


def test_a_text_that_is_not_shown_whole_says_so(desk: Desk) -> None:
    for command in ("x\n" * 300, "x" * 100_000):
        question = desk.question(queued(desk, request(command)))
        assert "this is not all" in question_text(question, Ink(False), now=question.asked)


@contextmanager
def served(tmp_path: Path) -> Iterator[tuple[str, str, Desk]]:
    """A server's address, a file with an approver's token, and its desk."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"# who\nbot agent {'a' * 40}\nann approver {'b' * 40}\n", encoding="ascii")
    tokens.chmod(0o600)
    with (
        service_in(tmp_path / "service") as service,
        running(approvals.routes(service), trust=Trust(tokens=read_tokens(tokens))) as server,
    ):
        yield server.url, str(tokens), service.desk


def test_a_server_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "service").mkdir()
    with served(tmp_path) as (url, tokens, desk):
        place = ("--server", url, "--token-file", tokens)
        once, timed, other = (queued(desk, request(f"push {number}")) for number in range(3))
        assert once in said(capsys, "approvals", "list", *place)[1]
        assert said(capsys, "approvals", "approve", once, *place)[0] == 0
        assert ask(desk, request("push 0")) == Approved(f"grant:{once} of ann"), "the token's name is the approver's"
        code, _, err = said(capsys, "approvals", "approve", once, *place)
        assert (code, "was approved by ann already" in err) == (1, True)
        assert said(capsys, "approvals", "approve", timed, "--until", "2h", *place)[0] == 0
        assert said(capsys, "approvals", "approve", other, "--uses", "3", *place)[0] == 0
        assert timed in said(capsys, "grants", "list", *place)[1]
        assert said(capsys, "grants", "revoke", timed, *place)[0] == 0
        assert said(capsys, "grants", "revoke", timed, *place)[0] == 1
        assert said(capsys, "approvals", "show", "../grants", *place)[0] == 1
        assert len(said(capsys, "approvals", "list", "--all", *place)[1].splitlines()) == 3
        denied = queued(desk, request("push 4"))
        assert said(capsys, "approvals", "deny", denied, "--reason", "no", *place)[0] == 0
        (tmp_path / "other").write_text("c" * 40, encoding="ascii")
        code, _, err = said(capsys, "approvals", "list", "--server", url, "--token-file", str(tmp_path / "other"))
        assert (code, "unauthorized" in err) == (70, True), err
    assert said(capsys, "approvals", "list", *place)[0] == 70


def test_blank_lines_of_a_command_are_counted(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    """199 of them would be 199 lines on the approver's screen, and hide what stands above."""
    id = queued(desk, request("true" + "\n" * 200 + "push", part="push"))
    lines = said(capsys, "approvals", "show", id)[1].splitlines()
    at = lines.index("  (199 blank lines)")
    assert [line.strip() for line in lines[at - 1 : at + 3]] == ["true", "(199 blank lines)", "push", "^^^^"]
    assert len(lines) < 40


INTERRUPT = "\x03"


class Terminal:
    """`interpose approvals watch` in a terminal of its own."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        code = """import fcntl, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C arrives
signal.signal(signal.SIGINT, signal.default_int_handler)  # and is heeded where tests run in the background
from interpose.doors.cli import main
sys.exit(main(["approvals", "watch"]))"""
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str, insist: str = "") -> str:
        """What is shown until then, this text included. Keys to `insist` on are pressed until it comes."""
        end = monotonic() + PATIENCE
        while text not in self.seen:
            self.press(insist)
            ready, _, _ = select.select([self._master], [], [], 0.2 if insist else end - monotonic())
            if ready:
                self.seen += os.read(self._master, 65536).decode()
            assert monotonic() < end, f"{text!r} never came: {self.seen!r}"
        shown, _, self.seen = self.seen.partition(text)
        return shown + text

    def press(self, keys: str) -> None:
        """Ctrl-C only when the program waits for keys: Python loses a signal that comes just before it does."""
        state = Path(f"/proc/{self._process.pid}/stat")
        if INTERRUPT in keys and state.exists():
            until(lambda: state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "S")
        os.write(self._master, keys.encode())

    def ended(self) -> int:
        code = self._process.wait(PATIENCE)
        os.close(self._master)
        return code

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self.ended()


@pytest.fixture
def terminal(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    started = Terminal()
    started.until("waiting for questions")
    yield started
    started.stop()


def test_watch_answers_as_questions_come(desk: Desk, terminal: Terminal) -> None:
    commands = {"y": "once", "s": "session", "n": "no", "\r": "enter", "l": "later"}
    for key, command in commands.items():
        id = queued(desk, request(f"do {command}"))
        shown = terminal.until("[q] quit ")
        assert f"do {command}" in shown
        assert id in shown
        terminal.press(key)
        if key in "ys":
            terminal.until("and Enter: ")
            assert desk.question(id).state == "waiting", "no single key approves"
            terminal.press(f"{id[:4]}\r")
            terminal.until("approved")
        terminal.until("\n")
    id = queued(desk, request("do last"))
    terminal.until("[q] quit ")
    terminal.press("q")
    assert terminal.ended() == 0
    answers = {question.arguments["command"]: question.answer for question in desk.recent()}
    scopes = {command: answer and answer.scope and answer.scope.kind for command, answer in answers.items()}
    assert scopes == {
        "do once": "once", "do session": "session", "do no": None, "do enter": None, "do later": None, "do last": None,
    }  # fmt: skip
    assert [answers[f"do {word}"] is None for word in ("no", "enter", "later", "last")] == [False, False, True, True]
    assert {question.state for question in desk.recent() if question.answer} == {"approved", "denied"}


CHANGED = "\x15"
"""Ctrl-U empties the line that is edited."""


def test_a_command_is_edited_and_approved_by_the_id(desk: Desk, terminal: Terminal) -> None:
    id = queued(desk, request("git push --force"))
    terminal.until("[q] quit ")
    terminal.press("e")
    assert "git push --force" in terminal.until("> git push --force"), "what would run is on the line"
    terminal.press("-with-lease\r")
    assert "git push --force-with-lease" in terminal.until("and Enter: ")
    assert desk.question(id).state == "waiting", "an edit alone approves nothing"
    terminal.press(f"{id[:4]}\r")
    terminal.until("approved as edited")
    answer = desk.question(id).answer
    assert answer is not None
    assert answer.arguments == {"command": "git push --force-with-lease"}


@pytest.mark.parametrize("keys", ["\r", f"{CHANGED}\r", INTERRUPT], ids=["unchanged", "empty", "Ctrl-C"])
def test_an_edit_is_given_up(desk: Desk, terminal: Terminal, keys: str) -> None:
    id = queued(desk, request("make it so"))
    terminal.until("[q] quit ")
    terminal.press("e")
    terminal.until("> make it so")
    terminal.press(keys)
    terminal.until("not edited")
    terminal.until("[q] quit ")
    assert desk.question(id).state == "waiting"
    terminal.press("n")
    terminal.until("denied")


def test_a_call_of_many_lines_is_edited_as_json(desk: Desk, terminal: Terminal) -> None:
    id = queued(desk, request("one\n\x1b[2Jtwo"))
    terminal.until("[q] quit ")
    terminal.press("e")
    shown = terminal.until("two")
    assert "\x1b[2J" not in shown, "what would steer the terminal is spelled out"
    terminal.press(f'{CHANGED}["one"]\r')
    terminal.until("arguments are an object")
    terminal.until("[q] quit ")
    terminal.press("e")
    terminal.until("two")
    terminal.press(f'{CHANGED}{{"command": "one"}}\r')
    terminal.until("and Enter: ")
    terminal.press(f"{id[:4]}\r")
    terminal.until("approved as edited")
    answer = desk.question(id).answer
    assert answer is not None
    assert answer.arguments == {"command": "one"}


def test_only_a_key_of_its_own_is_an_answer(desk: Desk, terminal: Terminal) -> None:
    """What was typed before, what is pasted, and function keys whose names hold letters say nothing."""
    terminal.press("y")
    id = queued(desk)
    terminal.until("[q] quit ")
    for keys in ("yes", "\x1bOS", "\x1b[1;2S", "x", "\t"):
        terminal.press(keys)
    desk.approve(id, "bob", SESSION)
    assert "approved by bob meanwhile" in terminal.until("meanwhile")
    terminal.press(INTERRUPT)
    assert terminal.ended() == 130


@pytest.mark.parametrize("typed", ["\r", "y\r", "wxyz\r", "y", "\x04", "abcdefgh"])
def test_an_approval_takes_the_id_of_its_question(desk: Desk, terminal: Terminal, typed: str) -> None:
    id = queued(desk)
    terminal.until("[q] quit ")
    terminal.press("y")
    terminal.until("and Enter: ")
    terminal.press(typed)
    if typed == "y":
        terminal.press("\r")
    terminal.until("[q] quit ")
    assert desk.question(id).state == "waiting"
    terminal.press("n")
    terminal.until("denied")
    assert desk.question(id).state == "denied"


class TypingDesk:
    """A desk at which somebody types just before a question is shown, and to which another answers meanwhile."""

    def __init__(self, keyboard: int, terminal: int, question: Question) -> None:
        self._keyboard, self._terminal, self._question = keyboard, terminal, question
        self._typed = iter("yq")
        self.approved = False

    def asked(self) -> list[Question]:
        key = next(self._typed)
        os.write(self._keyboard, key.encode())
        select.select([self._terminal], [], [])
        return [self._question] if key == "y" else []

    def question(self, _id: str) -> Question:
        return replace(self._question, state="expired")

    def approve(self, *_args: object) -> None:
        self.approved = True


def test_what_was_typed_before_a_question_is_no_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    with open(terminal, closefd=False) as keys, open(terminal, "w", closefd=False) as screen:
        monkeypatch.setattr(sys, "stdin", keys)
        monkeypatch.setattr(sys, "stdout", screen)
        typing = TypingDesk(keyboard, terminal, desk.question(queued(desk)))
        assert watch(typing, "me") == 0  # type: ignore[arg-type]  # what is needed of a desk here
    os.close(keyboard)
    os.close(terminal)
    assert not typing.approved


def test_a_call_without_a_session_has_no_key_for_it(desk: Desk, terminal: Terminal) -> None:
    id = queued(desk, request(session=""))
    assert "this session" not in terminal.until("[q] quit ")
    terminal.press("s")
    terminal.until("denied", insist="n")
    assert desk.question(id).state == "denied"


def test_the_agent_s_text_does_not_steer_the_terminal(desk: Desk, terminal: Terminal) -> None:
    hostile = "rm\x1b[2K\r\x9b1A\x07\u202eecho\x08\x08\nWAITING  fake  [y] once\x1b]0;t\x07"
    queued(desk, request(hostile, part="\x1b[2K"))
    shown = terminal.until("[q] quit ")
    coloured = [part.split("m", 1)[0] for part in shown.split("\x1b[")[1:]]
    assert all(code.replace(";", "").isdigit() for code in coloured), "only our own colours"
    plain_text = shown.replace("\r\n", "\n").lstrip("\a")
    assert not set(plain_text.replace("\a", "", 1)) & set("\r\x9b\x07\u202e\x08")
    terminal.press("n")
    terminal.until("denied")
