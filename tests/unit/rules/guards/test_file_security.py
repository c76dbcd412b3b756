from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from interpose.core.types import Allow, Context, Deny, ToolCall
from interpose.rules.guards import FileSecurity
from interpose.testing import ScriptedEngine, assert_allowed, assert_denied

MISSING = "Tool '{}' missing required 'path' parameter - cannot validate security policy"


def ask(guard: FileSecurity, path: object, tool: str = "file_write", cwd: str = "/home/user/work") -> Allow | Deny:
    return guard.intercept(ToolCall(tool, {"path": path, "content": "x"}, context=Context(cwd=cwd)))


@pytest.mark.parametrize(
    ("note", "path"),
    [
        ("as it is", "/etc/passwd"),
        ("the directory itself", "/etc"),
        ("several levels deep", "/etc/systemd/system/x.service"),
        ("up and down again", "/home/user/../../etc/passwd"),
        ("up from here", "../../../etc/passwd"),
        ("more up than there is", "../../../../../../etc/passwd"),
        ("another case", "/ETC/passwd"),
        ("slashes", "//etc///passwd"),
        ("dots", "/etc/./passwd"),
        ("a URL", "file:///etc/passwd"),
        ("escapes of a URL", "/%65tc/passwd"),
        ("full-width letters", "/ｅｔｃ/passwd"),
        ("through the root of a process", "/proc/self/root/etc/passwd"),
        ("a directory that is not there yet", "/etc/new/deep/file"),
    ],
)
def test_no_spelling_of_a_blocked_path_gets_past(note: str, path: str) -> None:
    assert ask(FileSecurity(("/etc",)), path) == Deny(
        f"Writing to '{path}' is blocked by security policy", "file-security", part=path
    ), note


@pytest.mark.parametrize(
    ("note", "path"),
    [
        ("another directory", "/home/user/safe.txt"),
        ("only its name begins the same", "/etcetera/x"),
        ("below a directory of that name", "/home/user/etc/passwd"),
        ("relative", "notes.txt"),
    ],
)
def test_other_paths_are_written(note: str, path: str) -> None:
    assert ask(FileSecurity(("/etc",)), path) == Allow(), note


@pytest.mark.parametrize("tool", ["file_read", "read", "exec", "glob", "bash", "unknown_tool"])
def test_tools_that_do_not_write_are_ignored(tool: str) -> None:
    assert ask(FileSecurity(("/etc",)), "/etc/passwd", tool) == Allow()


@pytest.mark.parametrize("tool", ["file_write", "file_edit", "write", "edit", "Write", "MultiEdit", "create_file"])
def test_every_name_of_a_writing_tool_is_known(tool: str) -> None:
    assert isinstance(ask(FileSecurity(("/etc",)), "/etc/passwd", tool), Deny)


def test_looking_at_a_file_with_an_editing_tool_writes_nothing() -> None:
    call = ToolCall("str_replace_based_edit_tool", {"command": "view", "path": "/etc/hosts"})
    assert FileSecurity(("/etc",)).intercept(call) == Allow()


@pytest.mark.parametrize("path", [None, 5, True, {"a": 1}, "", "  ", []])
def test_what_is_no_path_is_refused(path: object) -> None:
    assert ask(FileSecurity(("/etc",)), path) == Deny(MISSING.format("file_write"), "file-security")


def test_a_call_without_a_path_is_refused() -> None:
    assert FileSecurity(("/etc",)).intercept(ToolCall("edit", {})) == Deny(MISSING.format("edit"), "file-security")


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "file").touch()
    (tmp_path / "to-directory").symlink_to(tmp_path / "blocked")
    (tmp_path / "to-file").symlink_to("blocked/file")
    (tmp_path / "to-nothing").symlink_to("blocked/not-there-yet")
    (tmp_path / "first").symlink_to("to-directory")
    guard = FileSecurity((str(tmp_path / "blocked"),))
    for path in ("to-directory/new", "to-file", "to-nothing", "first/a/b", "other/../to-directory/x"):
        assert isinstance(ask(guard, path, cwd=str(tmp_path)), Deny), path
    assert ask(guard, "free", cwd=str(tmp_path)) == Allow()


def test_a_blocked_path_that_is_a_link_blocks_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    guard = FileSecurity((tmp_path / "later",))  # type: ignore[arg-type]  # a Path is taken too
    assert ask(guard, str(tmp_path / "real" / "x")) == Allow()
    (tmp_path / "later").symlink_to("real")
    assert isinstance(ask(guard, str(tmp_path / "real" / "x")), Deny)
    assert isinstance(ask(guard, str(tmp_path / "later" / "x")), Deny)


def test_links_in_a_circle_cannot_be_validated(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    decision = ask(FileSecurity(("/etc",)), "a/x", cwd=str(tmp_path))
    assert isinstance(decision, Deny)
    assert decision.reason.startswith("Cannot validate path 'a/x': ")


def test_composed_and_decomposed_letters_are_one(tmp_path: Path) -> None:
    guard = FileSecurity((str(tmp_path / unicodedata.normalize("NFC", "Müll")),))
    assert isinstance(ask(guard, str(tmp_path / unicodedata.normalize("NFD", "müll") / "x")), Deny)


def test_a_working_directory_among_the_arguments_counts() -> None:
    call = ToolCall("write", {"path": "passwd", "cwd": "/etc"}, context=Context(cwd="/home/user"))
    assert isinstance(FileSecurity(("/etc",)).intercept(call), Deny)


def test_every_file_of_a_patch_is_judged() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n+x\n*** Delete File: ../../etc/hosts\n*** End Patch"
    call = ToolCall("apply_patch", {"input": patch}, context=Context(cwd="/home/user"))
    decision = FileSecurity(("/etc",)).intercept(call)
    assert decision == Deny(
        "Writing to '../../etc/hosts' is blocked by security policy", "file-security", part="../../etc/hosts"
    )


def test_the_engine_refuses_before_anything_is_written() -> None:
    scripted = ScriptedEngine(FileSecurity(("/etc",)))
    refused = scripted.run(ToolCall("file_write", {"path": "/etc/hosts"}))
    assert refused.response["reason"] == "Writing to '/etc/hosts' is blocked by security policy"
    assert scripted.executed == []
    assert_denied(scripted.decide(ToolCall("file_edit", {})), reason="Tool 'file_edit' missing", rule="file-security")
    assert_allowed(scripted.decide(ToolCall("file_write", {"path": "/srv/x"})))


@pytest.mark.parametrize("given", [[], (), [""], ["/etc", 5], "/etc", [b"/etc"]])
def test_a_broken_configuration_is_an_error(given: object) -> None:
    with pytest.raises(ValueError, match="requires at least one"):
        FileSecurity(given)  # type: ignore[arg-type]  # that is the point


def test_canonical_takes_real_paths_and_wants_them_to_exist(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert FileSecurity.canonical([tmp_path / "link"]).blocked_paths == (str(tmp_path.resolve() / "real"),)
    with pytest.raises(ValueError, match="cannot find the blocked path"):
        FileSecurity.canonical([str(tmp_path / "missing")])


def test_the_configuration_is_frozen() -> None:
    with pytest.raises(AttributeError):
        FileSecurity(("/etc",)).blocked_paths = ("/x",)  # type: ignore[misc]  # that is the point


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete_file", {"path": "/srv/kept/file"}),
        ("delete_directory", {"path": "/srv"}),
        ("move_path", {"source": "/srv", "destination": "/tmp/x"}),
        ("copy_file", {"source": "/tmp/x", "destination": "/srv/kept/x"}),
        ("mcp__files__write_file", {"path": "/srv/kept/x", "content": ""}),
    ],
)
def test_what_is_blocked_is_not_taken_away_either(tool: str, arguments: dict[str, str]) -> None:
    guard = FileSecurity(("/srv/kept",))
    assert isinstance(guard.intercept(ToolCall(tool, arguments)), Deny)
    assert guard.intercept(ToolCall("copy_file", {"source": "/srv/kept/x", "destination": "/tmp/x"})) == Allow()
