"""What a role says to a call: in three parts, and to those who have no role what the file says."""

from __future__ import annotations

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import ToolCall
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.roles.roles import role_rulings

TEXT = """\
version: 1
unknown_role: deny
roles:
  researcher:
    instead: Report it.
    tools:
      allow: [read]
  plain: {tools: {allow: [read, grep]}}
  watched: {tools: {deny: [exec]}, mode: watch}
"""
BOOK = load_rulebook(TEXT, "governance.yaml")
WRITE = canonical(ToolCall("Write", {"file_path": "a", "content": "b"}))


def seat(name: str) -> Seat:
    return Seat(book=BOOK, role=BOOK.roles[name])


def test_a_refusal_has_three_parts() -> None:
    (said,) = role_rulings(seat("researcher"), WRITE)
    assert (said.said, said.rule) == ("deny", "governance/role")
    assert said.reason == "This agent may not use Write"
    assert said.instead == "Report it."
    assert said.evidence == "governance.yaml:7: roles.researcher.tools.allow has no write"
    assert not said.watch


def test_without_a_word_of_the_file_it_says_what_the_role_has() -> None:
    (said,) = role_rulings(seat("plain"), WRITE)
    assert said.instead == "Use what it has: read, grep"


def test_what_is_watched_says_so() -> None:
    (said,) = role_rulings(seat("watched"), canonical(ToolCall("Bash", {"command": "ls"})))
    assert (said.said, said.watch) == ("deny", True)


def test_a_file_in_watch_blocks_nobody() -> None:
    book = load_rulebook("version: 1\nmode: watch\nroles: {a: {mode: enforce, tools: {allow: []}}}", "g.yaml")
    (said,) = role_rulings(Seat(book=book, role=book.roles["a"]), WRITE)
    assert said.watch
    (nobody,) = role_rulings(Seat(book=book), WRITE)
    assert nobody.watch


@pytest.mark.parametrize("word", ["deny", "ask", "note"])
def test_who_has_no_role_is_told_what_the_file_says(word: str) -> None:
    book = load_rulebook(f"version: 1\nunknown_role: {word}\nroles: {{a: {{}}}}", "governance.yaml")
    (said,) = role_rulings(Seat(book=book, name="general"), WRITE)
    assert (said.said, said.rule) == (word, "governance/unknown-role")
    assert said.reason == "The agent general has no role here"
    assert said.evidence == f"governance.yaml:2: unknown_role is {word}, and no entry of agents fits"


def test_who_has_no_role_may_be_allowed() -> None:
    book = load_rulebook("version: 1\nunknown_role: allow\nroles: {a: {}}", "g.yaml")
    assert role_rulings(Seat(book=book), WRITE) == ()


def test_a_file_without_roles_says_nothing_about_them() -> None:
    book = load_rulebook("version: 1\nbudgets: [{per: session, calls: 5}]", "g.yaml")
    assert role_rulings(Seat(book=book), WRITE) == ()


def test_a_name_that_an_agent_chose_can_not_repaint_what_people_read() -> None:
    call = ToolCall("evil\x1b[2J\n" + "x" * 5000, original_name="evil\x1b[2J\n" + "x" * 5000)
    (said,) = role_rulings(seat("researcher"), call)
    assert "\x1b" not in said.reason + said.evidence
    assert "\n" not in said.reason + said.evidence
    assert len(said.reason) < 300
