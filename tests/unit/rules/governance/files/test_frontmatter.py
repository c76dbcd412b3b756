"""Managed markdown: which files, what they are, what stands in their frontmatter, and what is never touched."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.types import Context, ToolCall
from interpose.rules.governance.files.frontmatter import MOST_LINES, is_managed, quoted, with_frontmatter
from interpose.rules.governance.files.markdown_types import title_of, type_of
from interpose.rules.governance.sessions.uuid7 import uuid7

PATHS = (
    ".idumb/project-output/**/*.md", ".idumb/sessions/**/*.md", ".idumb/brain/governance/**/*.md",
    ".idumb/brain/context/**/*.md", ".idumb/brain/drift/**/*.md",
)  # fmt: skip
NOW = 1_794_952_801_000_000_000
LATER = NOW + 3_600_000_000_000
PLACE = ".idumb/project-output/phases/P1-plan.md"


def call(name: str, path: str = PLACE, **arguments: Any) -> ToolCall:
    given = {"file_path": path} | arguments
    return ToolCall(name, given, context=Context(session_id="s-1", agent_id="a", cwd="/work/project"))


def framed(made: ToolCall, *, file: str | None = None, now: int = NOW) -> dict[str, Any] | None:
    changed = with_frontmatter(PATHS, made, "s-1", "planner", lambda _path: file, now)
    if changed is None:
        return None
    assert (changed.name, changed.call_id, changed.context) == (made.name, made.call_id, made.context)
    assert set(changed.arguments) == set(made.arguments), "no call gets an argument that it did not have"
    return dict(changed.arguments)


def fields_of(text: str) -> dict[str, Any]:
    assert text.lstrip("\ufeff").startswith("---")
    head = text.lstrip("\ufeff").replace("\r\n", "\n").split("\n---\n", 1)[0]
    found = yaml.safe_load(head.removeprefix("---\n"))
    assert isinstance(found, dict)
    return found


MANAGED = [
    (".idumb/project-output/phases/P1-plan.md", True),
    (".idumb/project-output/a.md", True),
    (".idumb/sessions/s.md", True),
    (".idumb/brain/governance/deep/er/x.md", True),
    (".idumb/brain/drift/a.MD", False),
    ("/work/project/.idumb/brain/context/x.md", True),
    (".idumb/sessions/../sessions/x.md", True),
    ("README.md", False),
    ("src/index.ts", False),
    (".git/config", False),
    (".idumb/other/doc.md", False),
    (".idumb/sessions/notes.txt", False),
    (".idumb/sessions/../../elsewhere/x.md", False),
    ("/elsewhere/.idumb/sessions/x.md", False),
    ("x/.idumb/sessions/x.md", False),
]


@pytest.mark.parametrize(("path", "want"), MANAGED)
def test_which_files_are_managed(path: str, want: bool) -> None:
    assert (framed(call("write", path, content="# A")) is not None) == want


def test_a_glob_that_begins_with_a_slash_is_of_the_whole_machine() -> None:
    assert is_managed(("/docs/**/*.md",), "/docs/a/b.md", "/work/project")
    assert not is_managed(("docs/**/*.md",), "/docs/a/b.md", "/work/project")


TYPES = [
    (".idumb/project-output/phases/P1-plan.md", "phase", "phase-v1"),
    (".idumb/todo.md", "task", "task-v1"),
    (".idumb/decisions/adr-001.md", "decision", "decision-v1"),
    ("x/adr-001.md", "decision", "decision-v1"),
    ("x/research/phases.md", "phase", "phase-v1"),
    ("x/research/a.md", "research", "research-v1"),
    ("x/validation/a.md", "validation", "base-v1"),
    (".idumb/sessions/a.md", "session", "base-v1"),
    ("x/checkpoints/a.md", "checkpoint", "base-v1"),
    ("x/1-start.md", "phase", "phase-v1"),
    ("x/P12-start.md", "phase", "phase-v1"),
    (".idumb/project-output/stories/a.md", "story", "base-v1"),
    (".idumb/brain/drift/a.md", "drift", "base-v1"),
    ("notes/classes/a.md", "classe", "base-v1"),
    ("a.md", "document", "base-v1"),
]


@pytest.mark.parametrize(("path", "kind", "schema"), TYPES, ids=[row[0] for row in TYPES])
def test_types_in_their_order(path: str, kind: str, schema: str) -> None:
    made = with_frontmatter(("**/*.md",), call("write", path, content="x"), "s", "a", lambda _path: None, NOW)
    assert made is not None
    assert type_of(path) == kind
    fields = fields_of(made.arguments["content"])
    assert (fields["type"], fields["schema_type"]) == (kind, schema)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# The plan\ntext", "The plan"), ("text\n\n# Later #\n", "Later"), ("## Second\ntext", "P1 plan"),
        ("text", "P1 plan"), ("", "Untitled"), ("  \n", "Untitled"), ("#hashtag", "P1 plan"),
    ],
)  # fmt: skip
def test_titles(body: str, title: str) -> None:
    assert title_of(body, PLACE) == title


def test_what_a_new_file_gets() -> None:
    made = framed(call("write", content="# The plan\n\ntext\n"))
    assert made is not None
    fields = fields_of(made["content"])
    assert list(fields) == [
        "id", "title", "type", "created", "updated", "parent_id", "source_agent", "status", "schema_type",
    ]  # fmt: skip
    assert is_uuid7(fields.pop("id"))
    assert fields == {
        "title": "The plan", "type": "phase", "created": "2026-11-17T22:00:01Z", "updated": "2026-11-17T22:00:01Z",
        "parent_id": "s-1", "source_agent": "planner", "status": "active", "schema_type": "phase-v1",
    }  # fmt: skip
    assert made["content"].endswith("---\n# The plan\n\ntext\n")


@pytest.mark.parametrize("name", ["content", "contents", "file_text", "CodeContent", "text"])
def test_the_text_in_whatever_argument_the_tool_has_for_it(name: str) -> None:
    made = framed(call("write", **{name: "# A"}))
    assert made is not None
    assert made[name].startswith("---\nid: ")


@pytest.mark.parametrize("file", [None, "# Old\n", "---\nid: x\ntype: phase\nupdated: 2026-01-01\n---\n# Old\n"])
def test_an_agent_that_writes_what_it_was_told_gets_through(file: str | None) -> None:
    told = framed(call("write", content="# A\n"), file=file)
    assert told is not None
    assert framed(call("write", **_content(told)), file=file, now=NOW + 40_000_000_000) is None


def test_what_was_told_a_while_ago_is_set_anew() -> None:
    told = framed(call("write", content="# A\n"))
    assert told is not None
    assert framed(call("write", **_content(told)), now=LATER) is not None
    again = framed(call("write", **_content(told)), file=told["content"], now=NOW + 40_000_000_000)
    assert again is not None, "the time in it is the one that the file has"
    assert fields_of(again["content"])["updated"] == "2026-11-17T22:00:41Z"
    never = told["content"].replace('updated: "2026-11-17T22:00:01Z"', "updated: soon")
    assert framed(call("write", content=never)) is not None
    less = told["content"].replace("status: active\n", "")
    assert framed(call("write", content=less)) is not None


def _content(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": arguments["content"]}


def test_never_a_second_time() -> None:
    first = framed(call("write", content="# A\n"))
    assert first is not None
    assert framed(call("write", content=first["content"])) is None
    second = framed(call("write", content=first["content"]), now=LATER)
    assert second is not None
    assert second["content"] == first["content"].replace(
        'updated: "2026-11-17T22:00:01Z"', 'updated: "2026-11-17T23:00:01Z"'
    )


def test_a_file_that_is_written_anew_stays_who_it_is() -> None:
    first = framed(call("write", content="# A\n"))
    assert first is not None
    kept = first["content"].replace("status: active", "status: done\nrelated: [x, y]")
    again = framed(call("write", content="# Another title\n"), file=kept, now=LATER)
    assert again is not None
    before, after = fields_of(kept), fields_of(again["content"])
    assert after == before | {"updated": "2026-11-17T23:00:01Z"}
    assert again["content"].endswith("---\n# Another title\n")


FOREIGN = [
    ("a field of somebody's own", "author: ann\ntags: [a, b]", {"author": "ann", "tags": ["a", "b"]}),
    ("an id without a type", "id: 42", {"id": 42}),
    ("a type of one's own", "type: essay", {"type": "essay", "schema_type": "base-v1"}),
    ("nothing in it", "", {}),
    ("a comment", "# note\nauthor: ann", {"author": "ann"}),
    ("a text of several lines", "about: |\n  id: none\n  type: none", {"about": "id: none\ntype: none\n"}),
]


@pytest.mark.parametrize(("note", "head", "want"), FOREIGN, ids=[row[0] for row in FOREIGN])
def test_foreign_fields_stay_and_ours_are_added(note: str, head: str, want: dict[str, Any]) -> None:
    made = framed(call("write", content=f"---\n{head}\n---\n# A\n"))
    assert made is not None
    assert made["content"].startswith(f"---\n{head}\n" if head else "---\n\n")
    fields = fields_of(made["content"])
    assert want.items() <= fields.items()
    assert {"id", "type", "created", "updated"} <= set(fields)


HOSTILE = [
    ("a tag", "x: !!python/object/apply:os.system ['id']"),
    ("aliases without end", "a: &a [x]\nb: [*a, *a]"),
    ("no mapping", "- a\n- b"),
    ("no YAML", "a: [b"),
    ("a mapping in one piece", "{a: 1}"),
    ("a key twice", "a: 1\na: 2"),
    ("the end of a document", "a: 1\n..."),
    ("nothing but a comment", "# a: 1"),
    ("more lines than anybody writes", "\n".join(f"k{number}: 1" for number in range(MOST_LINES))),
    ("a line without end", "a: " + "x" * 70_000),
    ("depth", "a: " + "[" * 100 + "]" * 100),
]


@pytest.mark.parametrize(("note", "head"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_what_is_no_plain_mapping_stays_as_it_is(note: str, head: str) -> None:
    assert framed(call("write", content=f"---\n{head}\n---\n# A\n")) is None


@pytest.mark.parametrize("text", ["---\nno end\n", "---", "--- \nid: x", "---\n" * 3])
def test_a_line_that_only_looks_like_frontmatter(text: str) -> None:
    made = framed(call("write", content=text))
    assert made is None or made["content"].endswith("---\n")


def test_hostile_frontmatter_of_the_file_on_disk_is_not_taken_over() -> None:
    made = framed(call("write", content="# A\n"), file="---\nid: x\ntype: !!python/name:os.system y\n---\n")
    assert made is not None
    assert "python" not in made["content"]


def test_line_ends_and_marks_stay() -> None:
    made = framed(call("write", content="\ufeff# A\r\ntext\r\n"))
    assert made is not None
    text = made["content"]
    assert text.startswith("\ufeff---\r\nid: ")
    assert text.endswith("---\r\n# A\r\ntext\r\n")
    assert "\n" not in text.replace("\r\n", "")
    again = framed(call("write", content=text), now=LATER)
    assert again is not None
    assert again["content"].endswith("---\r\n# A\r\ntext\r\n")


# --- edits ---


def test_an_edit_of_the_beginning_of_a_file_that_has_none() -> None:
    file = "# Old\n\ntext\n"
    made = framed(call("edit", old_string="# Old", new_string="# New", replace_all=False), file=file)
    assert made is not None
    assert made["old_string"] == "# Old"
    after = file.replace(made["old_string"], made["new_string"], 1)
    assert fields_of(after)["title"] == "New"
    assert after.endswith("---\n# New\n\ntext\n")


UNTOUCHED: list[tuple[str, str | None, dict[str, Any]]] = [
    ("in the middle", "# Old\ntext", {"old_string": "text", "new_string": "other"}),
    (
        "a file that has one",
        "---\nid: x\ntype: y\n---\n# Old",
        {"old_string": "---\nid: x", "new_string": "---\nid: z"},
    ),
    ("an edit that adds one itself", "# Old", {"old_string": "# Old", "new_string": "---\na: b\n---\n# Old"}),
    ("an edit that takes it away", "---\nid: x\n---\n# Old", {"old_string": "---\nid: x\n---\n", "new_string": ""}),
    ("everywhere", "# Old", {"old_string": "# Old", "new_string": "# New", "replace_all": True}),
    ("a text that comes twice", "a b a", {"old_string": "a", "new_string": "c"}),
    ("a new file", None, {"old_string": "", "new_string": "# New"}),
    ("another file than was thought", "else", {"old_string": "# Old", "new_string": "# New"}),
    ("no old text", "# Old", {"code_edit": "# New"}),
    ("several edits", "# Old", {"edits": [{"old_string": "# Old", "new_string": "# New"}]}),
]


@pytest.mark.parametrize(("note", "file", "arguments"), UNTOUCHED, ids=[row[0] for row in UNTOUCHED])
def test_other_edits_stay_as_they_are(note: str, file: str | None, arguments: dict[str, Any]) -> None:
    assert framed(call("edit", **arguments), file=file) is None


def test_an_editor_that_creates_a_file() -> None:
    made = framed(call("edit", command="create", file_text="# A"))
    assert made is not None
    assert made["file_text"].endswith("---\n# A")


@pytest.mark.parametrize("name", ["read", "exec", "apply_patch", "delete", "mcp__x__write_file"])
def test_other_tools_stay_as_they_are(name: str) -> None:
    assert framed(call(name, content="# A", command="x")) is None


def test_several_files_at_once_stay_as_they_are() -> None:
    files = [{"path": ".idumb/sessions/a.md", "content": "a"}, {"path": ".idumb/sessions/b.md", "content": "b"}]
    assert framed(ToolCall("write", {"files": files}, context=Context(cwd="/work/project"))) is None


# --- laws ---

LINES = st.lists(st.sampled_from(["# A", "---", "a: b", "id: x", "type: y", "updated: z", "  in", "- c", "", "x"]))


@given(LINES.map("\n".join) | st.text(max_size=200), st.sampled_from(["", "\n"]))
def test_applied_twice_changes_only_when_it_was_updated(text: str, end: str) -> None:
    first = framed(call("write", content=text + end))
    once = text + end if first is None else first["content"]
    second = framed(call("write", content=once))
    twice = once if second is None else second["content"]

    def without(text: str) -> list[str]:
        return [line for line in text.split("\n") if not line.startswith("updated:")]

    assert without(twice) == without(once)
    third = framed(call("write", content=twice))
    assert third is None
    later = framed(call("write", content=twice), now=LATER)
    assert later is None or without(later["content"]) == without(twice)


@given(st.text(max_size=300))
def test_the_text_itself_is_never_changed(text: str) -> None:
    made = framed(call("write", content=text))
    if made is not None and not text.lstrip("\ufeff").startswith("---"):
        assert made["content"].endswith(text.removeprefix("\ufeff"))


@given(st.text(max_size=60))
def test_any_text_is_read_back(text: str) -> None:
    assert yaml.safe_load(quoted(text)) == text


def is_uuid7(text: str) -> bool:
    return UUID(text).version == 7 and str(UUID(text)) == text


@given(st.integers(0, (1 << 48) - 1), st.integers(0, (1 << 48) - 1))
def test_ids_sort_as_they_were_made(one: int, other: int) -> None:
    first, second = uuid7(one * 1_000_000), uuid7(other * 1_000_000)
    assert is_uuid7(first)
    assert first != second
    if one != other:
        assert (first < second) == (one < other)
