"""What messages say of the documentation leads somewhere for people who have the program alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interpose.cli.help_topics import meant_topic, pages_directory, title_of, topics
from interpose.command_line import spelled_now, verb_of

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for path in (ROOT / "src" / "interpose").rglob("*")
    if path.suffix in (".py", ".js", ".bash", ".yaml", ".css", ".svg")
)
_FILE = re.compile(r"docs/[\w/-]+\.md|(?<![\w/.-])docs/(?:agents|frameworks)/[\w{]")
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
