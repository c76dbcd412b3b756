"""What is not written, and that nothing is written then."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.core.errors import SetupError
from interpose.doors.hooks.install.apply import apply
from interpose.doors.hooks.install.plan import plan_install, plan_uninstall
from tests.unit.doors.hooks.install.homes import installed, new_home, target, tree, uninstalled


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path / "home", monkeypatch)


@pytest.fixture
def settings(home: Path) -> Path:
    path = target("claude-code").path
    path.parent.mkdir()
    return path


def refusal(name: str = "claude-code") -> str:
    with pytest.raises(SetupError) as caught:
        installed(target(name))
    return str(caught.value)


@pytest.mark.parametrize(
    ("note", "content", "said"),
    [
        ("broken", b'{\n  "a": 1,\n  "b" 2\n}', "line 3, column 7: expected ':', got '2'"),
        ("a key twice", b'{"hooks": {},\n "hooks": {}}', "line 2, column 2: the key 'hooks' stands twice"),
        ("a key twice further in", b'{"env": {"A": 1, "A": 2}}', "the key 'A' stands twice"),
        ("a list", b"[]", "line 1, column 1: the top must be an object"),
        ("hooks of another shape", b'{"hooks": "none"}', "'hooks' must be an object"),
        ("an event of another shape", b'{"hooks": {"PreToolUse": {}}}', "'PreToolUse' must be a list"),
        ("Latin-1", b'{"a": "\xe9"}', "is not UTF-8"),
        ("UTF-16", '{"a": 1}'.encode("utf-16"), "is not UTF-8"),
        ("huge", b'{"a": "' + b"x" * (4 << 20) + b'"}', "no settings of that size are edited"),
        ("very deep", b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper than 128 levels"),
    ],
)  # fmt: skip
def test_files_that_are_not_understood(note: str, content: bytes, said: str, settings: Path, home: Path) -> None:
    settings.write_bytes(content)
    before = tree(home)
    assert said in refusal(), note
    with pytest.raises(SetupError):
        plan_uninstall(target("claude-code"), load())
    assert tree(home) == before


def test_a_large_file_is_edited(settings: Path) -> None:
    content = b'{\n  "a": [' + b"1, " * 30_000 + b"1]\n}\n"
    settings.write_bytes(content)
    installed(target("claude-code"))
    uninstalled(target("claude-code"))
    assert settings.read_bytes() == content


@pytest.mark.parametrize("linked", ["file", "directory"])
def test_a_link_that_leaves_the_home(linked: str, home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.json").write_text("{}", encoding="utf-8")
    place = target("claude-code").path
    if linked == "file":
        place.parent.mkdir()
        place.symlink_to(outside / "settings.json")
    else:
        place.parent.symlink_to(outside)
    assert f"outside {home}" in refusal()
    assert (outside / "settings.json").read_text(encoding="utf-8") == "{}"


def test_a_link_that_leaves_the_project(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    (home / "elsewhere").mkdir()
    (project / ".claude").symlink_to(home / "elsewhere")
    with pytest.raises(SetupError, match="outside"):
        installed(target("claude-code", "project", project))
    assert list((home / "elsewhere").iterdir()) == []


def test_a_link_within_the_home_stays_a_link(settings: Path, home: Path) -> None:
    (home / "dotfiles").mkdir()
    real = home / "dotfiles" / "claude.json"
    real.write_text('{"a": 1}\n', encoding="utf-8")
    settings.symlink_to(real)
    installed(target("claude-code"))
    assert settings.is_symlink()
    assert "interpose" in real.read_text(encoding="utf-8")
    uninstalled(target("claude-code"))
    assert (settings.is_symlink(), real.read_text(encoding="utf-8")) == (True, '{"a": 1}\n')


def test_a_circle_of_links(settings: Path) -> None:
    settings.symlink_to(settings)
    assert "can't be read" in refusal()


def test_a_read_only_file(settings: Path) -> None:
    settings.write_text("{}", encoding="utf-8")
    settings.chmod(0o444)
    assert "is read-only" in refusal()
    assert settings.read_text(encoding="utf-8") == "{}"


def test_a_file_that_was_made_read_only_afterwards(settings: Path) -> None:
    """Whoever protects what is installed is not bothered until something has to change."""
    installed(target("claude-code"))
    settings.chmod(0o400)
    assert not installed(target("claude-code")).changed
    with pytest.raises(SetupError, match="is read-only"):
        uninstalled(target("claude-code"))


def test_what_is_no_file(settings: Path) -> None:
    os.mkfifo(settings)
    assert "is no regular file" in refusal()


def test_a_directory_that_everybody_can_write(settings: Path) -> None:
    settings.parent.chmod(0o777)
    assert "everybody can write to" in refusal()
    assert not settings.exists()


@pytest.mark.parametrize(("name", "path"), [("cline", "PreToolUse"), ("opencode", ""), ("openclaw", "package.json")])
def test_programs_of_others_are_not_replaced(name: str, path: str, home: Path) -> None:
    place = target(name).path
    mine = place / path if path else place
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    before = tree(home)
    assert "is not ours" in refusal(name)
    uninstalled(target(name))
    assert tree(home) == before


def test_a_directory_of_the_host_that_is_relative(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "claude")
    with pytest.raises(SetupError, match="CLAUDE_CONFIG_DIR"):
        target("claude-code")


def test_who_was_faster_is_not_overwritten(settings: Path) -> None:
    settings.write_text("{}", encoding="utf-8")
    loaded = load()
    plan = plan_install(target("claude-code"), loaded)
    settings.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(SetupError, match="changed in the meantime"):
        apply(plan, loaded.places)
    assert settings.read_text(encoding="utf-8") == '{"a": 1}'


def test_a_full_disk_leaves_all_of_the_old_file(settings: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text('{"a": 1}', encoding="utf-8")
    loaded = load()
    plan = plan_install(target("claude-code"), loaded)
    before = tree(home)
    sync = os.fsync

    def full(handle: int) -> None:
        if "/.claude/" in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SetupError, match="No space left"):
        apply(plan, loaded.places)
    assert tree(home) == before


def test_what_was_there_is_kept_for_its_owner(settings: Path) -> None:
    settings.write_text('{"token": "secret"}', encoding="utf-8")
    settings.chmod(0o644)
    loaded = load()
    (kept,) = apply(plan_install(target("claude-code"), loaded), loaded.places)
    assert kept.read_text(encoding="utf-8") == '{"token": "secret"}'
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.is_relative_to(loaded.places.state / "backups")
    assert kept.parent.stat().st_mode & 0o777 == 0o700
