"""`interpose audit`: what it finds, how it looks, and what it says of a ledger that was changed."""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_ledger
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import Allow, Confirm, Context, Decision, Deny, ToolCall
from interpose.doors.cli import main
from interpose.doors.cli.auditing.audit_query import meant
from interpose.doors.cli.auditing.audit_stats import drawn
from interpose.doors.cli.auditing.audit_text import duration
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.engine.engine import Engine
from interpose.record.ledger.stats import stats
from interpose.record.store import open_store
from interpose.record.store.protocols import Query

CALLS = [
    ("ls -la", "s1", "main"),
    ("rm -rf /", "s1", "main"),
    ("git push\x1b[2J --force", "s2", "sub"),
    ("echo fine > /tmp/x", "s2", "sub"),
    ("fails", "s2", "sub"),
    ("rm -rf /", "s3", "main"),
]


class Rules:
    """Denies one command and asks about another."""

    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        command = call.arguments["command"]
        if command.startswith("rm"):
            return Deny("Deletes everything.", rule="no-rm")
        return Confirm("Really push?", rule="push") if command.startswith("git") else Allow()


def tool(arguments: dict[str, Any]) -> object:
    if arguments["command"] == "fails":
        raise RuntimeError("it failed")
    return {"exit_code": 3, "stdout": "done"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger's directory, under a state directory of its own."""
    directory = tmp_path_factory.mktemp("state") / "interpose"
    registry = InterceptorRegistry()
    registry.add(id="test:rules", name="tool.before", interceptor=Rules())
    with open_ledger(directory) as ledger:
        engine = Engine(registry, recorder=ledger.recorder)
        for number, (command, session, agent) in enumerate(CALLS, 1):
            context = Context(session_id=session, agent_id=agent, cwd="/work", request_id=f"of {session}/{agent}")
            engine.run_tool(ToolCall("exec", {"command": command}, call_id=f"call-{number}", context=context), tool)
    return directory


@pytest.fixture
def ledger(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the default ledger of this test."""
    shutil.copytree(made, tmp_path / "interpose" / "ledger")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "interpose" / "ledger" / "ledger.db"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def audit(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["audit", *words])
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def commands(out: str) -> list[str]:
    return [json.loads(line)["arguments"]["command"] for line in out.splitlines()]


ALL = [command for command, _, _ in CALLS]
SEARCHES = [
    ("everything, the newest first", [], ALL[::-1]),
    ("text", ["rm -"], ["rm -rf /", "rm -rf /"]),
    ("text of a reason", ["--text", "deletes EVERYTHING"], ["rm -rf /", "rm -rf /"]),
    ("a session", ["--session", "s1"], ["rm -rf /", "ls -la"]),
    ("an agent and a decision", ["--agent", "sub", "--decision", "allow"], ["fails", "echo fine > /tmp/x"]),
    ("a rule", ["--rule", "no-rm", "-n", "1"], ["rm -rf /"]),
    ("a request", ["--request", "of s1/main"], ["rm -rf /", "ls -la"]),
    ("a request and a rule", ["--request", "of s1/main", "--rule", "no-rm"], ["rm -rf /"]),
    ("half a request", ["--request", "of s1"], []),
    ("a request that is no text", ["--request", "\udcff"], []),
    ("an effect", ["--effect", "fs.write"], ["echo fine > /tmp/x"]),
    ("a path", ["--path", "/tmp"], ["echo fine > /tmp/x"]),
    ("since", ["--since", "1h", "--tool", "exec", "--session", "s3"], ["rm -rf /"]),
    ("until", ["--until", "1h"], []),
    ("until a day", ["--until", "2001-02-03"], []),
    ("nothing", ["no such words"], []),
]  # fmt: skip


@pytest.mark.parametrize(("note", "words", "wanted"), SEARCHES, ids=[note for note, _, _ in SEARCHES])
def test_search(note: str, words: list[str], wanted: list[str], audit: Run, ledger: Path) -> None:
    code, out, _ = audit("search", "--json", *words)
    assert commands(out) == wanted
    assert code == (0 if wanted else 1)


def test_tail_shows_the_last_in_order_and_aligned(audit: Run, ledger: Path) -> None:
    code, out, err = audit("tail", "-n", "4")
    assert (code, err) == (0, "")
    rows = out.splitlines()
    assert [row[row.index("exec") :].split() for row in rows] == [
        ["exec", "no-confirmation-handler", "git", "push\\x1b[2J", "--force"],
        ["exec", "echo", "fine", ">", "/tmp/x"],
        ["exec", "fails"],
        ["exec", "no-rm", "rm", "-rf", "/"],
    ]
    assert len({row.index("exec") for row in rows}) == 1
    assert "\x1b" not in out
    assert [row.split()[4] for row in rows] == ["denied", "success", "error", "denied"]


def test_show_says_everything(audit: Run, ledger: Path) -> None:
    code, out, _ = audit("show", "call-4")
    assert code == 0
    for part in (
        "ALLOW  exec  success",
        "exit code 3",
        "s2",
        "/work",
        "fs.write",
        "/tmp/x",
        '"stdout": "done"',
        "test:rules",
    ):
        assert part in out
    number = audit("search", "echo")[1].split()[0]
    assert audit("show", number) == (code, out, "")


def test_show_has_all_calls_of_a_request(audit: Run, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = audit("show", "of s2/sub")
    assert code == 0
    assert out.startswith("3 calls of request of s2/sub\n\nDENY  exec  denied")
    assert [line.split()[1] for line in out.splitlines() if line.startswith("  call ")] == [
        "call-3",
        "call-4",
        "call-5",
    ]
    assert out.count("\n  request     of s2/sub\n") == 3
    monkeypatch.setattr("interpose.doors.cli.audit.SHOWN", 2)
    out = audit("show", "of s2/sub")[1]
    assert out.startswith(
        "the last 2 calls of request of s2/sub (`interpose audit search --request 'of s2/sub' -n 1000`"
    )
    assert [line.split()[1] for line in out.splitlines() if line.startswith("  call ")] == ["call-4", "call-5"]
    shown, decoder = audit("show", "of s2/sub", "--json")[1], json.JSONDecoder()
    first, end = decoder.raw_decode(shown)
    second, _ = decoder.raw_decode(shown[end:].lstrip())
    assert [(one["call_id"], one["request_id"]) for one in (first, second)] == [
        ("call-4", "of s2/sub"), ("call-5", "of s2/sub"),
    ]  # fmt: skip
    assert audit("show", "of s3/main")[1] == audit("show", "call-6")[1], "one call is shown as a call"


def test_stats_of_a_request(audit: Run, ledger: Path) -> None:
    assert json.loads(audit("stats", "--json", "--request", "of s1/main")[1])["total"] == 2


@pytest.mark.parametrize("call", ["nope", "#0", "#99999", "#x", "#" + "9" * 30, ""])
def test_a_call_that_is_not_there(call: str, audit: Run, ledger: Path) -> None:
    code, out, err = audit("show", call)
    assert (code, out) == (1, "")
    assert "there is no call" in err


def test_formats(audit: Run, ledger: Path) -> None:
    entry = json.loads(audit("show", "call-2", "--format", "intercept")[1])
    assert (entry["decision"], entry["tool"]["arguments"]) == ("deny", {"command": "rm -rf /"})
    assert json.loads(audit("show", "call-2", "--format", "seed")[1]) == entry  # its old name, which help doesn't show
    long = json.loads(audit("show", "call-2", "--format", "maybe-dont")[1])
    assert long["request_validation"]["cel"]["deciding_rule"] == "no-rm"
    assert json.loads(audit("show", "call-2", "--json")[1])["reason"] == "Deletes everything."


def test_export_is_every_call_once_the_oldest_first(audit: Run, ledger: Path, tmp_path: Path) -> None:
    code, out, _ = audit("export")
    assert code == 0
    assert commands(out) == ALL
    target = tmp_path / "out.jsonl"
    assert audit("export", "--agent", "sub", "--format", "intercept", "-o", str(target))[:2] == (0, "")
    assert [json.loads(line)["decision"] for line in target.read_text().splitlines()] == ["deny", "allow", "allow"]
    assert target.stat().st_mode & 0o777 == 0o600


def test_stats_count_and_draw(audit: Run, ledger: Path) -> None:
    counted = json.loads(audit("stats", "--json")[1])
    assert counted["total"] == 6
    assert counted["decisions"] == {"allow": 3, "deny": 3}
    assert counted["rules"] == {"no-rm": 2, "no-confirmation-handler": 1}
    assert counted["agents"] == {"main": {"allow": 1, "deny": 2}, "sub": {"allow": 2, "deny": 1}}
    assert sum(sum(each["decisions"].values()) for each in counted["over_time"]) == 6
    assert [each["interceptor"] for each in counted["interceptors"]] == ["test:rules"]
    (spent,) = counted["interceptors"]
    assert spent["p50_ns"] <= spent["p99_ns"] <= spent["max_ns"]
    code, out, _ = audit("stats", "--session", "s2")
    assert code == 0
    assert "3 decisions   █ deny 1   ░ allow 2" in out
    assert "slowest interceptors" in out
    assert audit("stats", "--session", "none")[:2] == (0, "no decisions\n")


def test_bars_stay_within_the_terminal(ledger: Path) -> None:
    store = open_store(ledger, read_only=True)
    counted = stats(store, Query(kinds=("decided",)))
    store.close()
    for width in (60, 100, 200):
        assert max(map(len, drawn(counted, Ink(False), width).splitlines())) <= width + 12
    assert "\x1b[31m█" in drawn(counted, Ink(True), 80)


def test_a_whole_ledger_verifies(audit: Run, ledger: Path) -> None:
    code, out, _ = audit("verify")
    assert code == 0
    assert out.startswith("WHOLE  entries 13   writers 1   checkpoints 1")
    assert json.loads(audit("verify", "--json")[1])["ok"] is True


def test_without_the_key_chains_are_followed(audit: Run, ledger: Path) -> None:
    (ledger.parent / "key").unlink()
    code, out, _ = audit("verify")
    assert code == 0
    assert "signatures were not checked" in out


TAMPERED = [
    ("a changed body", "UPDATE entries SET body = replace(body, 'rm -rf', 'ls -la') WHERE seq = 3", "entry 3 of"),
    ("a removed entry", "DELETE FROM entries WHERE seq = 5", "entry 5 of"),
    ("a truncated chain", "DELETE FROM entries WHERE seq > 9", "entry 10 of"),
    ("an entry in another place", "UPDATE entries SET seq = 1003 WHERE seq = 3", "entry 3 of"),
    ("a body that is text", "UPDATE entries SET body = CAST(body AS TEXT) || ' ' WHERE seq = 3", "entry 3 of"),
    ("a session that is no text", "UPDATE entries SET session = x'ff00' WHERE seq = 3", "entry 3 of"),
    ("a name that is no UTF-8", "UPDATE entries SET agent = CAST(x'ffff' AS TEXT) WHERE seq = 3", "entry 3 of"),
    ("a time that is no number", "UPDATE entries SET time_ns = 'noon' WHERE seq = 3", "entry 3 of"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "sql", "where"), TAMPERED, ids=[note for note, _, _ in TAMPERED])
def test_verify_says_where_a_ledger_is_broken(note: str, sql: str, where: str, audit: Run, ledger: Path) -> None:
    connection = sqlite3.connect(ledger)
    assert connection.execute(sql).rowcount > 0
    connection.commit()
    connection.close()
    code, out, _ = audit("verify")
    assert code == 1
    assert out.startswith("BROKEN")
    assert where in out.splitlines()[1]
    assert json.loads(audit("verify", "--json")[1])["ok"] is False


DAMAGE: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("the header is overwritten", lambda data: bytes(100) + data[100:]),
    ("its pages are overwritten", lambda data: data[:8192] + b"\xff" * (len(data) - 8192)),
    ("it ends too early", lambda data: data[: len(data) // 2]),
]


@pytest.mark.parametrize(("note", "damage"), DAMAGE, ids=[note for note, _ in DAMAGE])
def test_verify_says_of_a_damaged_file_that_it_is(
    note: str, damage: Callable[[bytes], bytes], audit: Run, ledger: Path
) -> None:
    ledger.write_bytes(damage(ledger.read_bytes()))
    code, out, err = audit("verify")
    assert code == 1, note
    assert "malformed" in out + err or "not a database" in err


MISTAKES = [
    ("no such ledger", ["tail", "--ledger", "/nope/ledger.db"], 70, "there is no ledger at /nope/ledger.db"),
    ("a time that is none", ["search", "--since", "yesterday"], 64, "is no time"),
    ("a time beyond all times", ["search", "--since", "0001-01-01T00:00"], 64, "is no time"),
    ("the text twice", ["search", "a", "--text", "b"], 64, "once"),
    ("no server", ["tail", "--ledger", "postgresql://x@/x?host=/nope"], 70, "interpose audit tail:"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "words", "code", "said"), MISTAKES, ids=[note for note, _, _, _ in MISTAKES])
def test_mistakes_are_said(note: str, words: list[str], code: int, said: str, audit: Run, ledger: Path) -> None:
    got, out, err = audit(*words)
    assert (got, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["nope"], ["tail", "-n", "0"], ["tail", "-n", "x"], ["show"]])
def test_wrong_usage(words: list[str], audit: Run) -> None:
    with pytest.raises(SystemExit) as ended:
        audit(*words)
    assert ended.value.code == 64


def test_a_file_that_is_no_ledger(audit: Run, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"no database at all" * 100)
    assert audit("tail", "--ledger", str(path))[0] == 70


def test_where_the_default_ledger_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    nothing = argparse.Namespace(ledger=None, directory=None)
    usual = Path("/home/ann/.local/state/interpose/ledger")
    assert meant(nothing) == (f"{usual}/ledger.db", usual)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert meant(nothing) == ("/state/interpose/ledger/ledger.db", Path("/state/interpose/ledger"))
    monkeypatch.setenv("INTERPOSE_STORE_URL", "postgresql://h/db")
    assert meant(nothing) == ("postgresql://h/db", Path("/state/interpose/ledger"))
    monkeypatch.setenv("INTERPOSE_LEDGER_DIRECTORY", "/l")
    assert meant(nothing) == ("postgresql://h/db", Path("/l"))
    assert meant(argparse.Namespace(ledger="/m/x.db", directory=None)) == ("/m/x.db", Path("/m"))


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1500, "1.5 µs"),
        (12_345_678, "12.3 ms"),
        (250_000_000, "250 ms"),
        (90_000_000_000, "90 s"),
    ],
)
def test_durations(nanoseconds: int, text: str) -> None:
    assert duration(nanoseconds) == text


def test_the_same_over_postgresql(postgres_address: str, audit: Run, ledger: Path) -> None:
    copied, store = open_store(ledger), open_store(postgres_address)
    for writer in copied.writers():
        store.append(copied.scan(writer, 0, 1000))
    copied.close()
    store.close()
    for words in (["search", "rm -", "--json"], ["stats", "--json"], ["export", "--format", "intercept"], ["verify"]):
        here, there = audit(*words), audit(*words, "--ledger", postgres_address)
        assert there == here
        assert here[0] == 0


def test_following_shows_what_comes_once(audit: Run, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter(("new one", "", "new two"))

    def meanwhile(_seconds: float) -> None:
        command = next(rounds, None)
        if command is None:
            raise KeyboardInterrupt
        if command:
            with open_ledger(ledger.parent) as writing:
                engine = Engine(InterceptorRegistry(), recorder=writing.recorder)
                engine.run_tool(ToolCall("exec", {"command": command}), tool)

    monkeypatch.setattr("interpose.doors.cli.audit.time.sleep", meanwhile)
    code, out, _ = audit("tail", "--follow", "-n", "1", "--json", "--tool", "exec")
    assert code == 0
    assert commands(out) == ["rm -rf /", "new one", "new two"]


def test_what_a_killed_writer_left_in_its_journal_is_shown(audit: Run, ledger: Path) -> None:
    """Its process ended before the store had the entries: they are only in the journal."""
    journal = next((ledger.parent / "journals").glob("*/"))
    script = f"""
import os
from pathlib import Path
from interpose.composition.build import open_ledger
from interpose.engine.engine import Engine
from interpose.record.ledger.stats import stats
from interpose.core.registry import InterceptorRegistry
from interpose.record.store.sqlite import SqliteStore
from interpose.core.types import ToolCall
from interpose.core.errors import StoreError

ledger = open_ledger(Path({str(ledger.parent)!r}))

def refuse(*_entries, **_options):
    raise StoreError("not now")

ledger.store.append = refuse
engine = Engine(InterceptorRegistry(), recorder=ledger.recorder)
engine.run_tool(ToolCall("exec", {{"command": "left behind"}}), lambda _arguments: os.kill(os.getpid(), 9))
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -9
    assert list(journal.glob("*.journal"))
    code, out, err = audit("search", "left behind", "--json")
    assert (code, err) == (0, "")
    assert [json.loads(line)["outcome"] for line in out.splitlines()] == ["unknown"]
    assert audit("verify")[0] == 0
