"""docs/governance.md is true: its files load, its commands answer as shown, and no key is missing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from interpose.doors.cli import main
from interpose.rules.governance.commands.command_words import CATEGORIES
from interpose.rules.governance.files import file_model
from interpose.rules.governance.files.load import load_rulebook, ready_names

PAGE = (Path(__file__).parents[4] / "docs" / "governance.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```yaml\n(version: 1\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = [
    (command, output)
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for command, output in re.findall(r"^\$ interpose ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block, re.MULTILINE)
    if output
]
FORMS = [
    form
    for form in vars(file_model).values()
    if isinstance(form, type) and issubclass(form, msgspec.Struct) and form.__module__ == file_model.__name__
]


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_files_load(text: str) -> None:
    assert load_rulebook(text, "governance.yaml").roles


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_commands_answer_as_shown(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "governance.yaml").write_text(FILES[0], encoding="utf-8")
    project = tmp_path / "home" / "proj"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INTERPOSE_CONFIG_DIR", str(tmp_path))
    monkeypatch.chdir(project)
    code = main(shlex.split(command))
    assert capsys.readouterr().out == output
    assert code == {"ALLOW": 0, "ASK": 1, "DENY": 2}[output.split(maxsplit=1)[0]]


def test_there_is_something_to_check() -> None:
    assert len(FILES) >= 2
    assert len(SHOWN) >= 5


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_key_has_its_place(form: type[msgspec.Struct]) -> None:
    missing = [name for name in form.__struct_fields__ if f"`{name}`" not in PAGE and f"## {name}" not in PAGE]
    assert missing == []


def test_every_category_and_ready_file_has_its_row() -> None:
    assert [word for word in (*CATEGORIES, *ready_names()) if f"\n| `{word}` |" not in PAGE] == []
