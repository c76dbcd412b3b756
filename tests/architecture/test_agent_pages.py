"""The pages about agents say what the code does: tables and files are compared with the facts of each host."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.effects.agents.agent import Evidence
from tests.architecture.agent_pages import DOCS, FILE_BLOCK, SHOWN_LAYOUTS, TABLES, file_shown, new_page, table_in

PAGES = DOCS / "agents"


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "head", "rows"), TABLES, ids=[rows.__name__ for _, _, rows in TABLES])
def test_a_table_has_every_agent(name: str, head: str, rows: Callable[[], list[str]]) -> None:
    """After a change: .venv/bin/python -m tests.architecture.agent_pages."""
    text = (DOCS / name).read_text(encoding="utf-8")
    start, end = table_in(text, head)
    assert text[start:end].splitlines() == rows()


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_a_new_page_has_all_but_what_its_author_knows(name: str) -> None:
    text = new_page(name)
    facts = HOSTS[name].facts
    assert text.count("TODO") == 2
    assert all(said in text for said in (*facts.setup.opens_on, facts.setup.afterwards))
    assert "TODO" not in page(name)


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_the_page_of_a_host(name: str) -> None:
    facts, text = HOSTS[name].facts, page(name)
    assert text.startswith(f"# {facts.title}\n")
    assert f"(`{facts.evidence}`)" in text
    assert ("**experimental**" in text) is facts.experimental
    for event in (*facts.asks, *facts.rewrites, *facts.replaces):
        assert f"`{event}`" in text
    for said in (*facts.setup.opens_on, facts.setup.afterwards, *(f"`{file.path}`" for file in facts.setup.files)):
        assert said in text


@pytest.mark.parametrize("name", [name for name in sorted(HOSTS) if HOSTS[name].facts.setup.layout in SHOWN_LAYOUTS])
def test_the_file_of_a_host(name: str) -> None:
    """The page shows it byte for byte."""
    assert FILE_BLOCK.findall(page(name)) == [file_shown(name)]


MODES = "| mode | its events say | what it makes of `ask` | what we answer | known from |"
LEFT_TO_IT, REFUSED = "`ask`", ("refused, waits in our queue", "as above")
HANDED_OVER = "refused, waits in our queue; ordinary questions get `ask` with `hooks.ask: host`"


def modes_on(name: str) -> list[list[str]]:
    """The rows of a page's table of modes."""
    section = page(name).split("## Modes\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert rows[0] == MODES
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_the_modes_of_a_host(name: str) -> None:
    """A question is left to a host in the modes of its facts, and in no other that its page names."""
    facts, rows = HOSTS[name].facts, modes_on(name)
    left = {
        word for _, said, _, answer, _ in rows if answer == LEFT_TO_IT for word in said.replace("`", "").split(", ")
    }
    assert left == ({word or "nothing" for word in facts.asks_in} if facts.asks else set())
    handed = {said.replace("`", "") for _, said, _, answer, _ in rows if answer == HANDED_OVER}
    assert handed == set(facts.hands_over_in)
    assert all(answer in (LEFT_TO_IT, HANDED_OVER, *REFUSED) for _, _, _, answer, _ in rows)
    assert all(known in get_args(Evidence) for _, _, _, _, known in rows)
    assert any(known == facts.evidence for _, _, _, _, known in rows) or facts.evidence == "source"
