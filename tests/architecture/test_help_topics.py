"""What messages say of the documentation leads somewhere for people who have the program alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from interpose.doors.cli.helping.command_tree import VerbCommand, command_tree
from interpose.doors.cli.helping.help_topics import meant_topic, pages_directory, title_of, topics
from interpose.effects.ourselves.command_line import spelled_now, verb_of

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for path in (ROOT / "src" / "interpose").rglob("*")
    if path.suffix in (".py", ".js", ".bash", ".yaml", ".css", ".svg")
)
_FILE = re.compile(r"docs/[\w/-]+\.md|(?<![\w/.-])docs/[\w{]")
_COMMAND = re.compile(r"`interpose ([^`\n]*)`")
_WORD = re.compile(r"[a-z][a-z-]*|--?[a-z-]*|[A-Z]+")
_TOPIC = re.compile(r"interpose help ([a-z][\w-]*)")


def test_no_message_names_a_file_of_the_documentation() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {named[0]}" for path in SOURCES for named in _FILE.finditer(path.read_text("utf-8"))
    ]
    assert found == [], "people who installed the program have no docs/: say `interpose help TOPIC`"


def test_every_topic_that_is_named_is_there() -> None:
    pages = (*SOURCES, ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    named = {(path.name, topic) for path in pages for topic in _TOPIC.findall(path.read_text("utf-8"))}
    assert len({topic for _, topic in named}) > 10
    assert [each for each in sorted(named) if each[1] not in topics() and verb_of(spelled_now([each[1]])) is None] == []


def commands_in(text: str) -> Iterator[tuple[str, ...]]:
    """The command lines between backticks, without what a program fills in."""
    for said in _COMMAND.findall(text):
        yield tuple(takewhile(lambda word: _WORD.fullmatch(word) is not None, said.split()))


def unknown_in(words: tuple[str, ...], tree: VerbCommand) -> str:
    """What of a command line there is not: a verb, a verb below it, or an option."""
    known, rest = tree, list(words)
    while known.acts and rest and not rest[0].startswith("-"):
        below = next((act for act in known.acts if act.path[-1] == rest[0]), None)
        if below is None:
            return rest[0]
        known, rest = below, rest[1:]
    flags = {flag for option in known.options for flag in option.flags} | {"--help"}
    return next(
        (word for word in takewhile(lambda word: word != "--", rest) if word[:1] == "-" and word not in flags), ""
    )


def test_every_command_that_is_named_is_there() -> None:
    tree = command_tree()
    named = {(path.name, words) for path in SOURCES for words in commands_in(path.read_text("utf-8"))}
    assert len(named) > 100
    assert [(*each, gone) for each in sorted(named) if (gone := unknown_in(each[1], tree))] == []


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("`interpose approvals edit ID`", "edit"), ("`interpose restart`", "restart"),
        ("`interpose install HOST --force`", "--force"), ("`interpose approvals list --all`", ""),
        ("`interpose mcp gateway --http`", ""), ("`interpose {verb} --help`", ""), ("`interpose run -- ls -l`", ""),
    ],
)  # fmt: skip
def test_a_command_that_is_not_there_is_seen(said: str, gone: str) -> None:
    (words,) = commands_in(said)
    assert unknown_in(words, command_tree()) == gone


def test_a_topic_is_one_page() -> None:
    directory = pages_directory()
    pages = [*directory.glob("*.md"), *directory.glob("agents/*.md"), *directory.glob("frameworks/*.md")]
    assert sorted(topics().values()) == sorted(pages)
    assert all(title_of(path) for path in pages)


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("approvals", "approvals"), ("Approvals.md", "approvals"), ("docs/approvals.md", "approvals"),
        ("claude_agent_sdk", "claude-agent-sdk"), ("docs/agents/README.md", "agents"), ("readme", "readme"),
    ],
)  # fmt: skip
def test_a_topic_is_meant_by_the_name_of_its_file(word: str, want: str) -> None:
    assert meant_topic(word) == want
