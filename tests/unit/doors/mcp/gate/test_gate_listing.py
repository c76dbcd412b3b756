"""Two tools in the place of many: what is found, and that the carried call is a call like any other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpose.core.errors import InvalidCallError
from interpose.doors.mcp.gate.gate_listing import MOST_FOUND, SEARCH_TOOLS, carried, ranked, searched

TOOLS: list[dict[str, Any]] = [
    {"name": "github__create_issue", "description": "Open a new issue in a repository",
     "inputSchema": {"properties": {"title": {}, "body": {}}}},
    {"name": "github__listPullRequests", "description": "Pull requests of a repository"},
    {"name": "files__read_file", "description": "Read a text file", "inputSchema": {"properties": {"path": {}}}},
    {"name": "files__write_file", "description": "Write a text file"},
    {"name": "weather__now", "description": "The weather at a place, with wind and temperature"},
]  # fmt: skip

QUERIES = [
    ("its words", "create issue", "github__create_issue"),
    ("plurals", "issues", "github__create_issue"),
    ("names in one word", "pull request", "github__listPullRequests"),
    ("a name counts more than a text", "read", "files__read_file"),
    ("an argument", "path", "files__read_file"),
    ("a description", "temperature", "weather__now"),
    ("capitals", "WRITE File", "files__write_file"),
]


@pytest.mark.parametrize(("note", "query", "first"), QUERIES)
def test_the_best_comes_first(note: str, query: str, first: str) -> None:
    assert ranked(query, TOOLS)[0]["name"] == first


def test_a_search_gives_what_is_needed_to_call() -> None:
    result = searched({"arguments": {"query": "text file", "limit": 2}}, TOOLS)
    found = json.loads(result["content"][0]["text"])
    assert [tool["name"] for tool in found] == ["files__read_file", "files__write_file"]
    assert found[0]["inputSchema"] == {"properties": {"path": {}}}


def test_a_search_for_nothing_that_is_there_says_so() -> None:
    assert searched({"arguments": {"query": "submarine"}}, TOOLS)["content"][0]["text"] == (
        "No tool is about 'submarine'"
    )


def test_a_search_is_bounded() -> None:
    many = [{"name": f"s__file{number}", "description": "file " * 2000} for number in range(500)]
    result = searched({"arguments": {"query": "file " * 500, "limit": 10_000}}, many)
    assert len(result["content"][0]["text"]) < 60_000
    assert len(json.loads(result["content"][0]["text"])) <= MOST_FOUND


WRONG: list[tuple[str, Any]] = [
    ("no arguments", {}),
    ("no object", {"arguments": []}),
    ("no query", {"arguments": {}}),
    ("a blank query", {"arguments": {"query": " "}}),
    ("no text", {"arguments": {"query": 5}}),
]


@pytest.mark.parametrize(("note", "params"), WRONG)
def test_a_search_needs_a_text(note: str, params: Any) -> None:
    with pytest.raises(InvalidCallError, match='needs a text in "query"'):
        searched(params, TOOLS)


def test_a_carried_call_is_a_call() -> None:
    params = {
        "name": "call_tool",
        "arguments": {"name": "files__read_file", "arguments": {"path": "a"}},
        "_meta": {"x": 1},
    }
    assert carried(params) == {"name": "files__read_file", "arguments": {"path": "a"}, "_meta": {"x": 1}}


BAD_CALLS: list[tuple[str, Any, str]] = [
    ("no arguments", {"name": "call_tool"}, "needs the name"),
    ("no name", {"arguments": {"arguments": {}}}, "needs the name"),
    ("a blank name", {"arguments": {"name": " "}}, "needs the name"),
    ("itself", {"arguments": {"name": "call_tool"}}, "not call_tool"),
    ("the search", {"arguments": {"name": "search_tools"}}, "not search_tools"),
    ("arguments that are a text", {"arguments": {"name": "x", "arguments": "{}"}}, "takes an object"),
]


@pytest.mark.parametrize(("note", "params", "why"), BAD_CALLS)
def test_what_carries_no_call_is_an_error(note: str, params: Any, why: str) -> None:
    with pytest.raises(InvalidCallError, match=why):
        carried(params)


def test_the_two_tools_are_small() -> None:
    """They are there to save context."""
    assert len(json.dumps(SEARCH_TOOLS)) < 1600
