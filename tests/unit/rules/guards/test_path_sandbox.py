from __future__ import annotations

import logging
from pathlib import Path

import pytest

from interpose.core.types import Allow, Context, Deny, ToolCall
from interpose.rules.guards import PathSandbox
from interpose.testing import ScriptedEngine, assert_allowed, assert_denied

FILE_TOOLS = ["file_read", "file_write", "file_edit", "grep", "list", "glob"]


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A sandbox with a file and a directory, and secrets beside it."""
    root = tmp_path.resolve() / "box"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").touch()
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "secret").touch()
    return root


def ask(box: Path, tool: str, /, **arguments: object) -> Allow | Deny:
    sandbox = PathSandbox((str(box),))
    return sandbox.intercept(ToolCall(tool, arguments, context=Context(cwd=str(box))))


@pytest.mark.parametrize("tool", FILE_TOOLS)
@pytest.mark.parametrize(
    ("note", "path"),
    [
        ("a file", "src/a.py"),
        ("a bare name", "new.py"),
        ("up and down again", "src/../src/a.py"),
        ("a new directory", "new/file.py"),
        ("new directories several levels deep", "new/and/deeper/still/file.py"),
        ("the root itself", "."),
    ],
)
def test_inside_is_allowed(box: Path, tool: str, note: str, path: str) -> None:
    assert ask(box, tool, path=path) == Allow(), note
    assert ask(box, tool, path=str(box / path)) == Allow(), note


@pytest.mark.parametrize("tool", FILE_TOOLS)
@pytest.mark.parametrize(
    ("note", "path"),
    [
        ("a traversal", "../outside/secret"),
        ("a traversal through what is not there", "new/../../outside/secret"),
        ("absolute", "/etc/passwd"),
        ("only the name begins the same", "../box-of-others/x"),
        ("the directory above", ".."),
        ("home", "~/.ssh/id_rsa"),
        ("a variable", "$HOME/.ssh/id_rsa"),
        ("a URL", "file:///etc/passwd"),
        ("escapes of a URL", "%2e%2e/outside/secret"),
        ("through the root of a process", "/proc/self/root/etc/passwd"),
        ("full-width dots", "．．/outside/secret"),
        ("backslashes", "..\\outside\\secret"),
        ("a drive", "C:\\Windows\\win.ini"),
        ("a variable that nobody knows", "$SOMEWHERE/x"),
    ],
)
def test_outside_is_refused(box: Path, tool: str, note: str, path: str) -> None:
    assert ask(box, tool, path=path) == Deny(
        f"Path '{path}' is outside the allowed sandbox. Allowed paths: [{box}]", "path-sandbox", part=path
    ), note


@pytest.mark.parametrize("path", ["link/secret", "link/new/deep", "file-link", "src/../link/secret", "link/../outside"])
def test_links_that_lead_out_are_refused(box: Path, path: str) -> None:
    (box / "link").symlink_to(box.parent / "outside")
    (box / "file-link").symlink_to("../outside/secret")
    assert isinstance(ask(box, "read", path=path), Deny)


def test_a_link_whose_name_only_looks_like_another_is_followed(box: Path) -> None:
    (box / "ｌink").symlink_to(box.parent / "outside")
    assert isinstance(ask(box, "read", path="ｌink/secret"), Deny)


def test_links_that_stay_or_come_back_are_allowed(box: Path) -> None:
    (box / "near").symlink_to("src")
    (box.parent / "alias").symlink_to("box")
    assert ask(box, "read", path="near/a.py") == Allow()
    assert ask(box, "read", path=str(box.parent / "alias" / "src" / "a.py")) == Allow()
    assert PathSandbox((str(box.parent / "alias"),)).intercept(ToolCall("read", {"path": str(box / "x")})) == Allow()


def test_a_link_made_between_two_calls_is_seen_by_the_second(box: Path) -> None:
    sandbox = PathSandbox((str(box),))
    call = ToolCall("write", {"path": str(box / "later" / "x")})
    assert sandbox.intercept(call) == Allow()
    (box / "later").symlink_to("../outside")
    assert isinstance(sandbox.intercept(call), Deny)


def test_a_root_that_becomes_a_link_does_not_move_the_sandbox(box: Path) -> None:
    sandbox = PathSandbox((str(box),))
    box.rename(box.parent / "moved")
    box.symlink_to("outside")
    assert isinstance(sandbox.intercept(ToolCall("read", {"path": str(box / "secret")})), Deny)


@pytest.mark.parametrize("path", ["a\0b", "x/" * 10_000, "loop/x", "half\ud800"])
def test_what_cannot_be_validated_is_refused(box: Path, path: str) -> None:
    (box / "loop").symlink_to("loop")
    decision = ask(box, "read", path=path)
    assert isinstance(decision, Deny)
    assert decision.reason.startswith("Cannot validate path ")


@pytest.mark.parametrize("tool", [tool for tool in FILE_TOOLS if tool != "glob"])
@pytest.mark.parametrize("arguments", [{}, {"path": None}, {"path": 7}, {"path": ""}, {"path": ["a", 7]}])
def test_a_call_without_a_path_is_refused(box: Path, tool: str, arguments: dict[str, object]) -> None:
    reason = f"Tool '{tool}' missing required 'path' parameter - cannot validate sandbox"
    assert ask(box, tool, **arguments) == Deny(reason, "path-sandbox")


def test_a_glob_starts_here_unless_told_otherwise(box: Path) -> None:
    assert ask(box, "glob", pattern="**/*.py") == Allow()
    assert ask(box, "glob", base_dir="src", pattern="*") == Allow()
    assert isinstance(ask(box, "glob", base_dir=7), Deny)
    sandbox = PathSandbox((str(box / "src"),))
    assert isinstance(sandbox.intercept(ToolCall("glob", {"pattern": "*"}, context=Context(cwd=str(box)))), Deny)


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "*/../../*", "~/.ssh/*", "$HOME/*"])
def test_a_pattern_does_not_lead_out(box: Path, pattern: str) -> None:
    assert isinstance(ask(box, "glob", pattern=pattern), Deny)


def test_a_search_does_not_reach_out_by_its_filter(box: Path) -> None:
    assert ask(box, "grep", path="src", pattern="x", glob="*.py") == Allow()
    assert isinstance(ask(box, "grep", path="src", pattern="x", glob="../../outside/*"), Deny)


def test_every_file_of_a_patch_stays_inside(box: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** Add File: {}\n+x\n*** End Patch"
    assert ask(box, "apply_patch", input=patch.format("src/b.py")) == Allow()
    assert isinstance(ask(box, "apply_patch", input=patch.format("../b.py")), Deny)


def test_other_tools_are_ignored(box: Path) -> None:
    assert ask(box, "bash", command="cat /etc/passwd") == Allow()
    assert ask(box, "web_fetch", url="https://example.com", path="/etc") == Allow()


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("cat src/a.py > out.txt", True),
        ("cat src/a.py 2> /dev/null", True),
        ("rm -r src", True),
        ("cat ../outside/secret", False),
        ("echo x > /etc/motd", False),
        ("cd .. && rm -r outside", False),
        ("cat link/secret", False),
        ("cat $SOMEWHERE", False),
        ("$COMMAND", False),
    ],
)
def test_commands_are_judged_by_their_effects_on_request(box: Path, command: str, inside: bool) -> None:
    (box / "link").symlink_to("../outside")
    sandbox = PathSandbox((str(box),), include_commands=True)
    decision = sandbox.intercept(ToolCall("bash", {"command": command}, context=Context(cwd=str(box))))
    assert (decision == Allow()) is inside


def test_roots_that_do_not_exist_are_skipped_with_a_warning(box: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="interpose.guards"):
        sandbox = PathSandbox((str(box), str(box / "missing")))
    assert "missing' is skipped" in caplog.text
    assert sandbox.roots == (str(box),)
    assert sandbox.intercept(ToolCall("read", {"path": str(box / "src" / "a.py")})) == Allow()


def test_without_any_root_everything_is_refused(box: Path) -> None:
    sandbox = PathSandbox((str(box / "missing"),))
    decision = sandbox.intercept(ToolCall("read", {"path": str(box / "missing" / "x")}))
    assert isinstance(decision, Deny)
    assert decision.reason.endswith("Allowed paths: []")


@pytest.mark.parametrize("given", [(), [""], [7], "/srv"])
def test_a_broken_configuration_is_an_error(given: object) -> None:
    with pytest.raises(ValueError, match="requires at least one"):
        PathSandbox(given)  # type: ignore[arg-type]  # that is the point


def test_the_engine_refuses_before_anything_is_read(box: Path) -> None:
    scripted = ScriptedEngine(PathSandbox((str(box),)), guard=True)
    context = Context(cwd=str(box))
    assert_denied(scripted.decide(ToolCall("Read", {"file_path": "/etc/passwd"}, context=context)), reason="outside")
    assert_allowed(scripted.decide(ToolCall("Read", {"file_path": "src/a.py"}, context=context)))
    scripted.run(ToolCall("Write", {"file_path": "../x"}, context=context))
    assert scripted.executed == []
