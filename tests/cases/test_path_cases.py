"""Runs the path cases: a note, a path, and what a file tool that is given it must be told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from interpose.core.types import Allow, Confirm, Context, Deny, ToolCall
from interpose.effects.paths import FileSystem, Lexical
from interpose.rules.guards.security_audit import SecurityAudit
from tests.support.case_files import read_cases
from tests.support.noted import noted

HERE = Path(__file__).parent / "paths"
HOME, CWD = "/home/dev", "/home/dev/project"
WORDS = {"allow": (Allow,), "ask": (Confirm,), "deny": (Deny,), "block": (Confirm, Deny)}
LOOKUPS = [Lexical(), FileSystem(), FileSystem(ignores_case=True)]
TRICK_FILES = ("spellings", "links")
PLAIN_SECRETS = (
    "/etc/shadow", f"{HOME}/.ssh/", f"{HOME}/.aws/", f"{HOME}/.netrc", f"{HOME}/.bashrc", f"{HOME}/.claude/",
    f"{CWD}/.env", f"{CWD}/.git/hooks/",
)  # fmt: skip


def _load(name: str) -> list[dict[str, Any]]:
    rows = read_cases(HERE / f"{name}.yaml")
    assert isinstance(rows, list)
    return rows


def _cases(name: str) -> list[Any]:
    return noted((f"{name}:{row['note']}", (row,)) for row in _load(name))


def _call(row: dict[str, Any], cwd: str) -> ToolCall:
    tool, path = row.get("tool", "read"), row["path"]
    arguments: dict[str, Any] = {"path": path, **row.get("args", {})}
    if tool == "apply_patch":
        arguments = {"input": f"*** Begin Patch\n*** Update File: {path}\n@@\n+x\n*** End Patch"}
    elif tool in ("write", "edit"):
        arguments.setdefault("content" if tool == "write" else "new_string", "x")
    return ToolCall(tool, arguments, context=Context(cwd=cwd))


def _check(row: dict[str, Any], guard: SecurityAudit, cwd: str) -> None:
    decision = guard.intercept(_call(row, cwd))
    told = f"{row['note']}\n  {row['path']!r}\n  {decision}"
    assert isinstance(decision, WORDS[row.get("want", "block")]), told


@pytest.mark.parametrize("row", _cases("spellings"))
@pytest.mark.parametrize(
    "lookup", [Lexical(), FileSystem(), FileSystem(ignores_case=True)], ids=["text", "disk", "case"]
)
def test_no_spelling_escapes(row: dict[str, Any], lookup: Lexical | FileSystem) -> None:
    _check(row, SecurityAudit(home=HOME, lookup=lookup), CWD)


@pytest.mark.parametrize("row", _cases("names"))
def test_names(row: dict[str, Any]) -> None:
    _check(row, SecurityAudit(home=HOME, lookup=Lexical()), row.get("cwd", CWD))


@pytest.mark.parametrize("row", _cases("switches"))
def test_switches_of_agents(row: dict[str, Any]) -> None:
    _check(row, SecurityAudit(home=HOME, lookup=Lexical()), CWD)


@pytest.mark.parametrize("row", _cases("openclaw_1_7"))
def test_openclaw(row: dict[str, Any]) -> None:
    _check(row, SecurityAudit(home=HOME, lookup=Lexical()), "/workspace/project")


@pytest.mark.parametrize("row", _cases("planted"))
def test_what_fires_by_itself(row: dict[str, Any]) -> None:
    _check(row, SecurityAudit(home=HOME, lookup=Lexical()), CWD)


@pytest.mark.parametrize("row", _cases("links"))
def test_no_link_escapes(row: dict[str, Any], tmp_path: Path) -> None:
    places = _tree(tmp_path)

    def placed(text: str) -> str:
        for name, place in places.items():
            text = text.replace(f"{{{name}}}", place)
        return text

    for name, target in row.get("hard", {}).items():
        os.link(Path(places["work"], placed(target)), _room(places["work"], placed(name)))
    for name, target in row.get("links", {}).items():
        _room(places["work"], placed(name)).symlink_to(placed(target))
    guard = SecurityAudit(home=places["home"], lookup=FileSystem())
    _check(row | {"path": placed(row["path"])}, guard, placed(row.get("cwd", "{work}")))


def _room(base: str, name: str) -> Path:
    path = Path(base, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _tree(root: Path) -> dict[str, str]:
    files = """
        home/.ssh/id_rsa home/.ssh/work home/.aws/credentials home/.netrc home/.npmrc home/.bashrc home/server.key
        home/.claude/settings.json home/.claude/.credentials.json home/.config/interpose/config.yaml
        home/.config/gh/hosts.yml work/.env work/src/app.py work/.git/hooks/pre-commit work/.git/config
        work/tests/fixtures/b.pem work/credentials.json other/.env other/readme.md
    """
    for name in files.split():
        _room(str(root), name).write_text("x\n", encoding="utf-8")
    return {"root": str(root), "home": str(root / "home"), "work": str(root / "work")}


def test_the_tricks_are_tricks() -> None:
    """A guard that compares how paths begin lets most of them pass."""
    rows = [row for name in TRICK_FILES for row in _load(name) if row.get("want", "block") != "allow"]
    caught = [row for row in rows if row["path"].startswith(PLAIN_SECRETS)]
    assert len(caught) < len(rows) / 5


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.yaml")))
def test_every_case_says_what_it_proves(name: str) -> None:
    rows = _load(name)
    for row in rows:
        assert row.keys() <= {"note", "path", "tool", "want", "links", "hard", "cwd", "args"}, row
        assert row["note"].strip(), row
        assert row.get("want", "block") in WORDS, row
    keys = [
        (row["path"], row.get("tool"), str(row.get("links")), str(row.get("hard")), str(row.get("args")))
        for row in rows
    ]
    assert len(set(keys)) == len(keys), f"{name} says something twice"
