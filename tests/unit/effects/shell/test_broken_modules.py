"""A module of ours that can't be imported is an error, loud at once. A handler's own fault is a question."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.effects import handler_table
from interpose.effects.handler_table import command, import_later
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs import load
from interpose.effects.shell import analyse, simple_commands


@pytest.fixture(autouse=True)
def own_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten after it."""
    load()
    monkeypatch.setattr(handler_table, "_LATER", {})
    before = dict(handler_table.HANDLERS)
    yield
    handler_table.HANDLERS.clear()
    handler_table.HANDLERS.update(before)


def _rules(text: str) -> set[str]:
    return {effect.details.get("rule", "") for effect in analyse(text).effects}


@pytest.mark.parametrize(
    ("note", "code"),
    [
        ("imports what is not there", "from interpose.effects.programs.shared.options import no_such_name"),
        ("fails while it is imported", "no_such_name"),
        ("has no handler for its command", ""),
    ],
)
@pytest.mark.parametrize("typed", ["frobnicate x", "FROBNICATE x", "sudo frobnicate x"])
def test_a_broken_family_is_loud(
    note: str, code: str, typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken_family_{abs(hash((note, typed)))}"
    (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import_later("frobnicate", name)
    with pytest.raises(ImportError, match=name):
        analyse(typed)


def test_a_missing_module_in_a_handler_is_loud() -> None:
    @command("frobnicate")
    def handler(inv: Invocation, low: Lowering) -> None:
        from interpose.effects.languages import no_such_language  # type: ignore[attr-defined]  # noqa: F401

    with pytest.raises(ImportError, match="no_such_language"):
        analyse("frobnicate x")


def test_a_missing_general_rule_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "interpose.effects.programs.shared.verbs", None)
    simple_commands._general.cache_clear()
    try:
        with pytest.raises(ImportError):
            analyse("nosuch delete everything")
    finally:
        simple_commands._general.cache_clear()


def test_a_fault_of_a_handler_is_a_question() -> None:
    @command("frobnicate")
    def handler(inv: Invocation, low: Lowering) -> None:
        raise KeyError(inv.name)

    assert "analysis-failed" in _rules("frobnicate x; rm -rf /")
    assert "fs.delete" in {effect.kind for effect in analyse("frobnicate x; rm -rf /").effects}
