"""A configuration, rules or a plugin that can't be loaded: every verb says so in lines, and none falls over."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.cli.helping.command_tree import VerbCommand, command_tree

WRITTEN = {
    "a key that is none": ("interpose.yaml", "server:\n  prot: 1\n"),
    "a plugin that is not there": ("interpose.yaml", "plugins: [nope]\n"),
    "a rule that is none": ("policy/mine.yaml", "version: 1\nrules: [{id: x, wen: 1}]\n"),
    "a governance.yaml that is none": ("governance.yaml", "roles: 3\n"),
}
SERVES = frozenset({
    "serve", "proxy", "gateway", "interceptor-server", "hook", "open", "approvals watch", "demo", "run", "wrap",
    "doctor",
})  # fmt: skip
"""What would go on, ask a person or start something. `doctor` is tried once, below: it reads every file of ours."""
SAID = ("check ls", "explain ls", "command check /x", "run --dry-run -- true")
"""Verbs that decide, with what they decide about."""


def needs_nothing(act: VerbCommand) -> bool:
    """Whether it can be called as it is."""
    return not act.acts and act.name not in SERVES and all(one.value.optional for one in act.arguments)


VERBS = (*SAID, *(act.name for act in command_tree().walk() if act.path and needs_nothing(act)))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    project = tmp_path / "project"
    project.mkdir()
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:
        monkeypatch.chdir(project)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "INTERPOSE_CONFIG_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("os.execvp", lambda *words: pytest.fail(f"it ran {words}"))
        # A closed standard input: no verb waits for anything.
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
        yield tmp_path / "home"


def write(home: Path, what: str) -> None:
    name, text = WRITTEN[what]
    file = home / ".config/interpose" / name
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text(text)


@pytest.mark.parametrize("what", WRITTEN)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_says_it_in_lines(verb: str, what: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home, what)
    try:
        code = main(verb.split())
    except SystemExit as ended:  # wrong usage
        code = ended.code  # type: ignore[assignment]  # argparse ends with a number
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert code != 70 or verb in ("audit verify",), err


@pytest.mark.parametrize("verb", [*SAID, "status"])
@pytest.mark.parametrize("what", ["a plugin that is not there", "a rule that is none"])
def test_what_decides_ends_with_the_code_for_it(
    verb: str, what: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home, what)
    assert main(verb.split()) == 78
    said = "".join(capsys.readouterr())
    assert ("'nope'" if "plugin" in what else "'wen'") in said


@pytest.mark.parametrize("place", [".local/state/interpose", ".local/state/interpose/ledger"])
def test_a_file_where_the_ledger_has_to_be_is_named(place: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / place).parent.mkdir(parents=True)
    (home / place).write_text("x")
    assert main(["proxy", "--", "true"]) == 69
    assert main(["run", "--", "true"]) == 70
    assert str(home / place) in capsys.readouterr().err
    assert main(["status"]) == 0
    assert f"{home / place} is no directory, and calls are refused" in capsys.readouterr().out
    assert main(["doctor"]) == 1
    assert "move that file away" in capsys.readouterr().out


@pytest.mark.parametrize(
    "verb",
    [
        "approvals list",
        "session list",
        "grants list",
        "pause list",
        "notify list",
        "command bypasses",
        "audit search",
        "audit stats",
        "audit verify",
        "audit export",
        "governance report",
        "run -- true",
    ],
)
def test_a_damaged_ledger_is_named_with_what_to_do(verb: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = home / ".local/state/interpose/ledger/ledger.db"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("garbage" * 100)
    assert main(verb.split()) in (1, 70)
    err = capsys.readouterr().err
    assert err.count("`interpose audit recover`") == 1, err


def test_doctor_names_the_plugin(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(home, "a plugin that is not there")
    assert main(["doctor", "--json"]) == 1
    around = json.loads(capsys.readouterr().out)["around"]
    (policy,) = [check for check in around if check["name"] == "policy"]
    assert policy["level"] == "open"
    assert "no installed package offers interceptors named 'nope'" in policy["text"]
    assert policy["file"] == str(home / ".config/interpose/interpose.yaml")
