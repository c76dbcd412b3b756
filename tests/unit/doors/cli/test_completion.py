"""Completion, tried in the shells themselves; and every script names every verb, option and choice."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.cli.helping.command_tree import TypedValue, VerbCommand, command_tree

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def tree() -> VerbCommand:
    return command_tree()


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script of a shell, in a directory with some files; without the shell, the test is skipped and says so."""
    shell: str = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"NOT TRIED: there is no {shell} here; `apt install {shell}` lets this test run")
    assert main(["completion", shell]) == 0
    (tmp_path / "rules.yaml").write_text("")
    (tmp_path / "rules dir").mkdir()
    file = tmp_path / f"script.{shell}"
    file.write_text(capsys.readouterr().out)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "_interpose").write_text(file.read_text())
    return file


# What is typed before TAB, and what a shell must offer then; exactly that, if the third is True.
OFFERS: list[tuple[str, str, set[str], bool]] = [
    ("a verb", "interpose unin", {"uninstall"}, True),
    ("all verbs", "interpose ", {"install", "audit", "completion", "hook"}, False),
    ("a verb of a verb", "interpose audit sh", {"show"}, True),
    ("all of them", "interpose approvals grants ", {"list", "revoke"}, True),
    ("an option", "interpose audit tail --fol", {"--follow"}, True),
    ("options of the root", "interpose --ver", {"--version"}, True),
    ("an agent", "interpose install claude", {"claude-code"}, True),
    ("an agent behind an option", "interpose install --dry-run claude", {"claude-code"}, True),
    ("a choice", "interpose audit tail --format rec", {"record"}, True),
    ("all choices", "interpose check --profile ", {"balanced", "strict"}, True),
    ("a pack", "interpose policy enable kub", {"kubernetes"}, True),
    ("a tool", "interpose check --tool exe", {"exec"}, False),
    ("an argument that is a choice", "interpose completion fi", {"fish"}, True),
    ("an option behind a value", "interpose audit tail --limit 5 --fol", {"--follow"}, True),
    ("a value that is a verb's name", "interpose audit search --tool install --fo", {"--format"}, True),
]
FILES: list[tuple[str, str, str]] = [
    ("a file of an option", "interpose config show --config rules.", "rules.yaml"),
    ("a file as an argument", "interpose policy lint rules.", "rules.yaml"),
    ("a second file", "interpose policy lint rules.yaml rules.", "rules.yaml"),
]


def bash_offers(script: Path, line: str) -> set[str]:
    words = line.split(" ")
    code = (
        f'source {script.name}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _interpose 2>&1; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    told = subprocess.run(
        ["bash", "--norc", "-u", "-c", code, "bash", *words],
        cwd=script.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    return set(told.stdout.split("\n")) - {""}


def fish_offers(script: Path, line: str) -> set[str]:
    told = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script.name}; complete -C $argv[1]", line],
        cwd=script.parent, capture_output=True, text=True, check=True,
        env={"HOME": str(script.parent), "PATH": os.environ["PATH"], "LC_ALL": "C"},
    )  # fmt: skip
    assert told.stderr == ""
    return {offer.partition("\t")[0].removesuffix("/") for offer in told.stdout.splitlines()}


@pytest.mark.parametrize(("note", "line", "want", "exactly"), OFFERS, ids=[offer[0] for offer in OFFERS])
@pytest.mark.parametrize("script", ["bash", "fish"], indirect=True)
def test_what_is_offered(script: Path, note: str, line: str, want: set[str], exactly: bool) -> None:
    offered = (bash_offers if script.suffix == ".bash" else fish_offers)(script, line)
    assert offered == want if exactly else want <= offered, f"{note}: {sorted(offered)}"


@pytest.mark.parametrize(("note", "line", "want"), FILES, ids=[offer[0] for offer in FILES])
@pytest.mark.parametrize("script", ["bash", "fish"], indirect=True)
def test_files_are_offered_where_a_file_is_meant(script: Path, note: str, line: str, want: str) -> None:
    offered = (bash_offers if script.suffix == ".bash" else fish_offers)(script, line)
    assert offered == {want}, note


@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("note", "words", "want"),
    [
        ("bash takes --option=value apart", ["audit", "tail", "--format", "=", "int"], {"intercept"}),
        ("and stands on the sign at first", ["check", "--profile", "="], {"balanced", "strict"}),
        ("a name with a space stays one", ["install", "--cwd", "rules"], {"rules dir"}),
        ("a program behind --", ["run", "--", "basenam"], {"basename"}),
        ("files behind the program", ["run", "--", "cat", "rules."], {"rules.yaml"}),
        ("no options behind --", ["run", "--", "ls", "--dry"], set()),
    ],
)
def test_bash_in_particular(script: Path, note: str, words: list[str], want: set[str]) -> None:
    assert bash_offers(script, "\0".join(["interpose", *words]).replace(" ", "\1").replace("\0", " ")) == want, note


INTERACTIVE = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SET_UP = {
    "bash": "PS1='READY>'; bind 'set enable-bracketed-paste off'; source {}\n",
    # As the page about it says: a file that is read at the first TAB.
    "zsh": "PROMPT='READY>'; unset zle_bracketed_paste; fpath=($PWD/own $fpath); autoload -Uz compinit; compinit -uD\n",
}


@pytest.fixture
def terminal(script: Path) -> Iterator[int]:
    """A shell with our completion, as a person has it before them."""
    shell = script.suffix[1:]
    words = INTERACTIVE[shell]
    handle, theirs = pty.openpty()
    environ = {"HOME": str(script.parent), "PATH": os.environ["PATH"], "TERM": "dumb", "HISTFILE": "/dev/null"}
    owning = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", owning, *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=script.parent, env=environ, start_new_session=True,
    ):  # fmt: skip
        os.close(theirs)
        os.write(handle, SET_UP[shell].format(script.name).encode())
        read_until(handle, rb"(?<!')READY>")
        yield handle
        os.close(handle)  # which ends the shell


def read_until(handle: int, pattern: bytes) -> str:
    seen = b""
    while not re.search(pattern, seen):
        ready, _, _ = select.select([handle], [], [], 20)
        assert ready, f"waited for {pattern!r}, saw {seen!r}"
        seen += os.read(handle, 4096)
    return seen.decode(errors="replace")


COMPLETED = [
    ("interpose unins", "interpose uninstall "),
    ("interpose audit sho", "interpose audit show "),
    ("interpose audit tail --fol", "interpose audit tail --follow "),
    ("interpose install claude", "interpose install claude-code "),
    ("interpose audit tail --format rec", "interpose audit tail --format record "),
    ("interpose audit tail --format=rec", "interpose audit tail --format=record "),
    ("interpose policy enable kub", "interpose policy enable kubernetes "),
    ("interpose policy lint rules.", "interpose policy lint rules.yaml "),
    ("interpose run -- basenam", "interpose run -- basename "),
]


@pytest.mark.parametrize(("typed", "want"), COMPLETED)
@pytest.mark.parametrize("script", ["bash", "zsh"], indirect=True)
def test_a_tab_completes_at_the_terminal(script: Path, terminal: int, typed: str, want: str) -> None:
    """The line is run with `printf` in front of it, so that the shell itself says what it has become."""
    os.write(terminal, f"{typed}\t".encode())
    os.write(terminal, b"END\x01printf '<%s>' \n")  # to its beginning, and away
    shown = read_until(terminal, rb"(<[^>\r\n%]+>)+")
    said = re.findall(r"<([^>\r\n%]+)>", shown)
    assert " ".join(said) == f"{want}END".strip()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_everything(shell: str, tree: VerbCommand, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in tree.walk():
        assert command.name in script or "_".join(command.path).replace("-", "_") in script
        for option in command.options:
            for flag in option.flags:
                spelled = f" -l {flag[2:]} " if flag.startswith("--") else f" -s {flag[1:]} "
                assert (spelled if shell == "fish" else flag) in script, f"{command.name} {flag}"
            if option.value:
                assert all(word in script for word in option.value.words)
    # A word alone is a topic of `help`.
    assert not re.search(r"python[0-9.]* +-|python3", script.lower()), "a shell must not start us for each TAB"
    assert "$(interpose" not in script


def test_the_tree_is_that_of_the_parsers(tree: VerbCommand) -> None:
    by_name = {command.name: command for command in tree.walk()}
    install = by_name["install"]
    assert install.arguments[0].value == TypedValue(
        "HOST", "words", install.arguments[0].value.words, False, True, False
    )
    assert "claude-code" in install.arguments[0].value.words
    formats = next(option for option in by_name["audit tail"].options if "--format" in option.flags)
    assert formats.value is not None
    assert formats.value.closed
    assert "--on-demand" not in [flag for option in by_name["serve"].options for flag in option.flags], "it is hidden"
    assert by_name["run"].arguments[0].value.kind == "command"
