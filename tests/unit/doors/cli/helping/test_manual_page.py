"""The manual page: valid, whole, and the one that the wheel carries is that of these parsers."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from interpose.doors.cli.helping.command_tree import TypedValue, VerbCommand, VerbOption, command_tree
from interpose.doors.cli.helping.manual_page import manual_page
from interpose.doors.cli.verbs import HELPS
from interpose.effects.ourselves.command_line import VERBS

ROOT = Path(__file__).parents[5]
KEPT = ROOT / "docs" / "man" / "interpose.1"


def test_the_page_that_is_shipped_is_the_one_of_these_parsers() -> None:
    assert KEPT.read_text(encoding="utf-8") == manual_page(command_tree()), (
        "a verb, option or help has changed: interpose completion man > docs/man/interpose.1"
    )


def test_the_wheel_brings_the_page_to_where_man_looks() -> None:
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert hatch["wheel"]["shared-data"]["docs/man/interpose.1"] == "share/man/man1/interpose.1"


def test_the_page_has_every_verb_and_option() -> None:
    page = KEPT.read_text(encoding="utf-8").replace("\\-", "-")
    for command in command_tree().walk():
        assert f"interpose {command.name}".strip() in page
        for option in command.options:
            assert all(f"\\fB{flag}\\fR" in page for flag in option.flags)
    assert all(f".SS interpose {verb}" in page for verb in VERBS)


def test_no_text_is_a_command_to_roff(tmp_path: Path) -> None:
    """Help is ours, yet a line of it may begin with a dot, or have a backslash in it."""
    hostile = (".so /etc/passwd", "'br", "a\\n.so x", "\\fBbold", "`quoted` ^ and – dashes")
    options = tuple(VerbOption((f"--x{at}",), text, TypedValue(text)) for at, text in enumerate(hostile))
    verbs = tuple(VerbCommand((verb,), ".ds x y", options, epilog="\n".join(hostile)) for verb in HELPS)
    page = manual_page(VerbCommand((), "", (), acts=verbs))
    requests = {line.split(" ")[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"}
    assert "\\fBbold" not in page
    assert page.isascii()


@pytest.mark.parametrize(
    "words",
    [
        ["mandoc", "-Tlint", "-W", "style", str(KEPT)],
        ["groff", "-man", "-ww", "-Tascii", "-z", str(KEPT)],
        ["man", "--warnings=all", "-E", "UTF-8", "-Z", "-l", str(KEPT)],
    ],
    ids=lambda words: str(words[0]),
)
def test_the_page_is_valid(words: list[str]) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"NOT TRIED: there is no {words[0]} here; `apt install {words[0]}` lets this test run")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    if words[0] == "mandoc":
        assert done.stdout == ""
