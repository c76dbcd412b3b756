"""A data file of programs: what it says is what their handlers do, and what is wrong in it is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.effects import handler_table
from interpose.effects.programs import category_of, load
from interpose.effects.programs.shared import revealing
from interpose.effects.programs.shared.program_files import ProgramFileError, read_programs, register_file
from interpose.effects.shell import analyse

ACT = '[acts.stop]\neffect = "system"\nrule = "service-stop"\nreason = "Stops it."\n'
PROGRAM = '[[program]]\nnames = "frob frobd"\ncategory = "network"\nverbs.stop = "halt quit"\n'


@pytest.fixture
def own_tables() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    load()
    tables: list[dict[str, Any]] = [handler_table.HANDLERS, handler_table.CATEGORIES, revealing._LEARNED]
    before = [dict(table) for table in tables]
    yield
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)


def _register(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tools.toml"
    file.write_text(text, encoding="utf-8")
    register_file(file, "some.tools.toml")


def _said(text: str) -> set[tuple[str, str]]:
    return {(effect.kind, str(effect.details.get("rule", ""))) for effect in analyse(text).effects}


@pytest.mark.usefixtures("own_tables")
def test_all_that_a_file_can_say(tmp_path: Path) -> None:
    text = f"""{ACT}
[acts.lose]
effect = "data.destroy"
rule = "data-loss"
reason = "Removes it."

{PROGRAM}options.lose = "--purge"
shows = "--dry-run"
values = "-c --config"
default = "lose"
bare = "stop"
reach = 2
secrets = "token show"
carries.code = {{ sh = "--hook" }}
"""
    _register(tmp_path, text)
    for name in ("frob", "frobd"):
        assert _said(f"{name} halt") == {("system", "service-stop")}
        assert _said(f"{name} main quit") == {("system", "service-stop")}, "reach"
        assert _said(f"{name} x --purge") == {("data.destroy", "data-loss")}
        assert _said(f"{name} -c halt --dry-run") == set()
        assert _said(name) == {("system", "service-stop")}, "bare"
        assert _said(f"{name} -c halt other") == {("data.destroy", "data-loss")}, "a value is no verb"
        assert ("secret.read", "secret-tool") in _said(f"{name} token show")
        assert "fs.delete" in {kind for kind, _ in _said(f"{name} halt --hook 'rm -r /srv/x'")}
        assert category_of(name) == "network"
    assert category_of("frobnicate") == ""


@pytest.mark.parametrize(
    ("note", "text", "wanted"),
    [
        ("no TOML", f"{ACT}[[program]\n", r"tools: .*line 5"),
        ("nothing", "", r"no \[\[program\]\]"),
        ("an act alone", ACT, r"no \[\[program\]\]"),
        ("another table", f"{ACT}{PROGRAM}[extra]\n", "unknown key 'extra'"),
        ("acts that are none", f"acts = 3\n{PROGRAM}", "`acts` is not a table"),
        ("an unknown effect", f'{ACT.replace("system", "sytem")}{PROGRAM}', r"acts\.stop: Invalid enum value 'sytem'"),
        ("an act without a reason", f'{ACT.replace("Stops it.", "")}{PROGRAM}', r"acts\.stop: `rule` and `reason`"),
        ("a key of an act", f"{ACT}bold = true\n{PROGRAM}", r"acts\.stop: .*`bold`"),
        ("a key of a program", f"{ACT}{PROGRAM}verb = 3\n", r"tools:5: program 'frob frobd': .*`verb`"),
        ("no category", f'{ACT}[[program]]\nnames = "x"\nbare = "stop"\n', r"tools:5: program 'x': .*`category`"),
        ("another category", f'{ACT}{PROGRAM.replace("network", "net")}', r"program 'frob frobd': .*'net'"),
        ("no name", f'{ACT}{PROGRAM.replace("frob frobd", " ")}', "`names` is empty"),
        ("a type", f'{ACT}{PROGRAM}reach = "2"\n', r"Expected `int`, got `str` - at `\$\.reach`"),
        ("no reach", f"{ACT}{PROGRAM}reach = 0\n", "reach: 0 is less than 1"),
        ("no such act", f'{ACT}{PROGRAM}default = "halt"\n', r"default: no act 'halt'; this file has stop"),
        ("no such act of a verb", f'{ACT}{PROGRAM}verbs.stpo = "x"\n', r"verbs: no act 'stpo'"),
        ("no words", f'{ACT}{PROGRAM}options.stop = ""\n', r"options\.stop: no words"),
        ("a word twice", f'{ACT}{PROGRAM.replace("quit", "halt")}', r"verbs\.stop: 'halt' stands here twice"),
        ("an option among verbs", f'{ACT}{PROGRAM.replace("quit", "--quit")}', "'--quit' is no verb"),
        ("a verb that is never met", f'{ACT}{PROGRAM.replace("quit", "Quit")}', "'Quit' is no verb"),
        ("a verb among options", f'{ACT}{PROGRAM}options.stop = "off"\n', "'off' is no option"),
        ("a value without a dash", f'{ACT}{PROGRAM}values = "config"\n', "values: 'config' is no option"),
        ("another language", f'{ACT}{PROGRAM}carries.code = {{ shell = "-c" }}\n', "carries: unknown language 'shell'"),
        ("an empty act", f"{ACT}{PROGRAM}verbs.\"\" = \"x\"\n", r"verbs\.: no words"),
        ("a name twice", f"{ACT}{PROGRAM}{PROGRAM}", "the program 'frob' is described twice"),
        ("an act of nobody", f"{ACT}{ACT.replace('acts.stop', 'acts.start')}{PROGRAM}", r"acts\.start: no program"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(note: str, text: str, wanted: str) -> None:
    with pytest.raises(ProgramFileError, match=wanted):
        read_programs(text, "tools")


@pytest.mark.usefixtures("own_tables")
@pytest.mark.parametrize(
    ("note", "text", "wanted"),
    [
        ("a name of a handler", PROGRAM.replace("frobd", "rm"), "two handlers for the command 'rm'"),
        ("secrets of a table", f'{PROGRAM.replace("frobd", "openbao")}secrets = "read"\n', "reveal_tables.py"),
        ("code of a table", f'{PROGRAM.replace("frobd", "monit")}carries.operand = "sh"\n', "carriers.py"),
    ],
)
def test_a_program_is_described_in_one_place(note: str, text: str, wanted: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramFileError, match=wanted):
        _register(tmp_path, f"{ACT}{text}")


def test_a_file_that_is_not_there_is_loud(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"none\.toml"):
        register_file(tmp_path / "none.toml", "some.none.toml")
