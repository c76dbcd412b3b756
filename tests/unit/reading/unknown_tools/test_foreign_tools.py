"""Tools that nobody knows: nothing that a call or a server says about itself makes an answer milder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose import Context, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from interpose.core.errors import RegistrationError
from interpose.core.tool_descriptions import describe_tools, description_of, forget_descriptions
from interpose.core.tool_words import file_tool, word_set, words_of
from interpose.core.types import freeze
from interpose.reading.calls import reading_of
from interpose.reading.unknown_tools import carried_by
from interpose.reading.unknown_tools.tool_names import tool_words
from tests.support.case_files import read_cases

CASES = Path(__file__).parents[3] / "cases" / "tools"
HARMFUL = read_cases(CASES / "harmful.yaml")
HONEST = read_cases(CASES / "honest.yaml")
WEIGHT = {"allow": 0, "rewrite": 0, "ask": 1, "deny": 2}
CWD = "/home/dev/project"

KEYS = st.sampled_from(
    sorted(
        word_set(
            """
            readOnlyHint readOnly read_only dry_run dryRun description language lang runtime method action operation
            args arguments argv options flags env input stdin text content body data url path file file_path id fileId
            mode cwd workdir command cmd script code sql query name timeout safe confirm approved help version format
            type shell headers token title comment prompt message params _meta annotations
            """
        )
    )
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            "", "true", "--help", "--dry-run", "--version", "-h", "GET", "get", "list", "read", "python", "lua", "x",
            "ls -la", "exit 0", "echo hi", "SELECT 1", "-- nothing", "# nothing", "print(1)", "README.md", "/tmp/x",
            "https://example.com", "'", '"', "{", "$(", "<<EOF", "\\", "\n", "explain", "{}", "[]", "src/a.py",
        ]
    ),
    st.booleans(),
    st.none(),
    st.integers(-2, 99),
    st.lists(st.sampled_from(["ls", "--help", "-n", "x"]), max_size=3),
    st.dictionaries(st.sampled_from(["command", "readOnlyHint", "x"]), st.sampled_from(["ls", "true"]), max_size=2),
    st.text(max_size=12),
)  # fmt: skip


@cache
def _engine() -> Engine:
    return Engine(add_builtin_interceptors(create_interceptor_registry()))


def _word(tool: str, arguments: dict[str, Any]) -> str:
    return _engine().decide(ToolCall(tool, arguments, context=Context(cwd=CWD))).outcome


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOME", "/home/dev")
    yield
    forget_descriptions()


@settings(max_examples=400, deadline=None)
@given(row=st.sampled_from(HARMFUL), extra=st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), first=st.booleans())
def test_no_argument_makes_it_milder(row: dict[str, Any], extra: dict[str, Any], first: bool) -> None:
    given_arguments = row.get("args", {})
    added = {key: value for key, value in extra.items() if words_of(key) not in set(map(words_of, given_arguments))}
    both = {**added, **given_arguments} if first else {**given_arguments, **added}
    before, after = _word(row["tool"], given_arguments), _word(row["tool"], both)
    assert WEIGHT[after] >= WEIGHT[before], f"{row['tool']} {both}: {before} became {after}"


@settings(max_examples=150, deadline=None)
@given(
    row=st.sampled_from([*HARMFUL, *HONEST]),
    hints=st.dictionaries(
        st.sampled_from(["readOnlyHint", "destructiveHint", "openWorldHint", "idempotentHint", "title"]),
        st.one_of(st.booleans(), st.text(max_size=5), st.none()),
    ),
    said=st.sampled_from(
        [
            "",
            "harmless text",
            "Just a comment",
            "free text, never run",
            "The shell command to execute",
            "SQL to run",
            "Source code to run",
            "path to a file",
        ]
    ),
)
def test_no_description_of_a_server_makes_it_milder(row: dict[str, Any], hints: dict[str, Any], said: str) -> None:
    forget_descriptions()
    arguments = row.get("args", {})
    before = _word(row["tool"], arguments)
    properties = {key: {"type": "string", "description": said} for key in arguments}
    describe_tools([{"name": row["tool"], "annotations": hints, "inputSchema": {"properties": properties}}])
    assert WEIGHT[_word(row["tool"], arguments)] >= WEIGHT[before], f"{row} {hints} {said}"


def test_a_destructive_tool_is_a_question() -> None:
    assert _word("mcp__shop__reindex", {"id": "5"}) == "allow"
    registry = create_interceptor_registry()
    registry.declare_tools([{"name": "reindex", "annotations": {"destructiveHint": True, "readOnlyHint": True}}])
    assert _word("mcp__shop__reindex", {"id": "5"}) == "ask"
    registry.declare_tools([{"name": "reindex", "annotations": {"destructiveHint": False}}])
    assert _word("mcp__shop__reindex", {"id": "5"}) == "ask", "nothing is taken back"


def test_a_hint_says_nothing_of_tools_that_are_known() -> None:
    describe_tools([{"name": "write_file", "annotations": {"destructiveHint": True}}])
    assert _word("write_file", {"path": "a.txt", "content": "x"}) == "allow"
    assert _word("mcp__fs__write_file", {"path": "a.txt", "content": "x"}) == "allow"


def test_a_schema_says_which_argument_is_a_command() -> None:
    hidden = {"z": "rm -rf ~"}
    assert _word("mcp__x__q", hidden) == "ask"
    about = {"z": {"type": "string", "description": "The shell command to execute on the machine"}}
    describe_tools([{"name": "mcp__x__q", "inputSchema": {"type": "object", "properties": about}}])
    assert _word("mcp__x__q", hidden) == "deny"
    assert _word("mcp__x__q", {"z": "npm test"}) == "allow"


def test_a_schema_says_which_argument_is_sql() -> None:
    call = {"z": "DROP TABLE users"}
    assert _word("mcp__x__ask", call) == "allow"
    describe_tools([{"name": "mcp__x__ask", "inputSchema": {"properties": {"z": {"description": "SQL to run"}}}}])
    assert _word("mcp__x__ask", call) == "ask"


def test_what_leaves_is_searched_where_a_server_says_that_it_leaves() -> None:
    secret = {"x": "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"}
    assert _word("mcp__notes__keep", secret) == "allow"
    describe_tools([{"name": "mcp__notes__keep", "annotations": {"openWorldHint": True}}])
    assert _word("mcp__notes__keep", secret) == "deny"


def test_definitions_that_are_none() -> None:
    registry = create_interceptor_registry()
    for wrong in ([{"title": "x"}], [{"name": ""}], [5], {"name": "x"}):
        with pytest.raises(RegistrationError):
            registry.declare_tools(wrong)  # type: ignore[arg-type]  # that is what is tried
    describe_tools([{"name": "x", "annotations": "all", "inputSchema": [{"properties": {"a": 5}}]}])
    assert not description_of("x").destructive


def test_what_nobody_looks_at_is_not_harmless() -> None:
    many = {"items": [f"word {number}" for number in range(6_000)]}
    assert _word("mcp__x__keep", many) == "ask"
    buried = {"items": [*(f"run rm {number}" for number in range(900))], "command": "rm -rf ~"}
    assert _word("mcp__x__do", buried) == "deny"


def test_a_call_with_many_values_is_read_in_time() -> None:
    call = ToolCall("mcp__sheets__update_cells", freeze({"data": [[f"cell {n}" for n in range(40)]] * 100}))
    started = time.process_time()
    carried_by(call)
    long = time.process_time() - started
    started = time.process_time()
    for _ in range(100):
        carried_by(ToolCall("mcp__sheets__update_cells", freeze({"data": [[f"cell {n}" for n in range(40)]]})))
    assert long < 20 * (time.process_time() - started)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("deleteRepository", ("delete", "repository")),
        ("DELETE_REPOSITORY", ("delete", "repository")),
        ("delete-repository", ("delete", "repository")),
        ("deleterepository", ("delete", "repository")),
        ("HTTPRequest", ("http", "request")),
        ("mcp__x__run", ("mcp", "x", "run")),
        ("k8s", ("k8s",)),
        ("runner", ("runner",)),
        ("removed", ("removed",)),
        ("", ()),
    ],
)
def test_words(name: str, words: tuple[str, ...]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("append_to_file", "write"), ("create_or_update_file", "write"), ("readTextFile", "read"), ("fs_read", "read"),
        ("delete_folder", "delete"), ("relocate_file", "move"), ("duplicate_dir", "copy"), ("patch_file", "edit"),
        ("get_file_info", ""), ("list_files", ""), ("upload_file", ""), ("create_issue", ""), ("search_files", ""),
    ],
)  # fmt: skip
def test_file_tools_by_their_words(name: str, tool: str) -> None:
    assert file_tool(words_of(name)) == tool


def test_a_name_is_taken_apart() -> None:
    assert tool_words("mcp__git-hub__deleteRepo") == tool_words("@git_hub/delete_repo")
    assert tool_words("mcp__a__b__c").own == ("c",)
    assert tool_words("functions.run").server == ()


def test_policies_see_what_a_tool_carries() -> None:
    call = ToolCall("mcp__x__do", freeze({"command": "rm -rf ~"}), context=Context(cwd=CWD))
    kinds = {effect.kind for effect in reading_of(call, "/home/dev").effects}
    assert "fs.delete" in kinds
    sent = ToolCall("send_email", freeze({"to": "a@example.com"}), context=Context(cwd=CWD))
    assert {effect.kind for effect in reading_of(sent, "/home/dev").effects} == {"world.change"}


ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), VALUES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=12) | KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = st.one_of(
    st.text(max_size=20),
    st.sampled_from([row["tool"] for row in [*HARMFUL, *HONEST]]),
    st.lists(
        st.sampled_from(["mcp__", "run", "delete", "_", "git", "sql", "file", "send", "Http", "chmod", "@x/"])
    ).map("".join),
)


@settings(max_examples=300, deadline=None)
@given(name=NAMES, arguments=st.dictionaries(st.text(max_size=12) | KEYS, ANYTHING, max_size=5))
def test_nothing_raises(name: str, arguments: dict[str, Any]) -> None:
    call = ToolCall(name or "x", freeze(arguments), context=Context(cwd=CWD))
    carried = carried_by(call)
    assert carried == carried_by(call)
    assert isinstance(reading_of(call, "/home/dev").understood, bool)
    verdict = _engine().decide(call)
    assert not [finding for finding in verdict.findings if finding.said == "error"]


def test_a_number_of_many_digits_is_read() -> None:
    assert (
        _word("mcp__x__do", {"n": 10**5000, "argv": [10**5000, 1], "command": "rm -rf ~", "args": [10**5000]}) == "deny"
    )


def test_a_path_of_python_is_a_path() -> None:
    assert _word("mcp__ocr__recognise", {"input": Path("/home/dev/.ssh/id_rsa")}) == "ask"
