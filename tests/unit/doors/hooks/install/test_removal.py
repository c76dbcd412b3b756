"""`interpose uninstall --all --purge`: nothing is left, agents' files are as they were, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.load import load
from interpose.core.config.places import places_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.own_places import OWN_NAMES, own_entries
from interpose.doors.hooks.install.plan import plan_install
from interpose.doors.hooks.install.records import Records
from interpose.doors.hooks.install.removal import WRITTEN, Remaining, carry_out, plan_removal
from interpose.doors.hooks.install.situation import ListeningServer
from interpose.doors.hooks.install.stopping import stopped
from interpose.doors.hooks.install.trees import remove_tree
from interpose.effects.agents import switch_reader
from tests.support.timing.patience import PATIENCE
from tests.unit.doors.hooks.install.homes import installed, new_home, target

SETTINGS = '\ufeff{\r\n\t"model":   "opus",\r\n\t"hooks": {"Stop": []}\r\n}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = new_home(tmp_path / "home", monkeypatch)
    (home / "work").mkdir()
    monkeypatch.setattr(switch_reader, "SYSTEM", tmp_path / "system")
    (tmp_path / "system" / "etc").mkdir(parents=True)
    path = target("claude-code").path
    path.parent.mkdir()
    path.write_bytes(SETTINGS.encode())
    path.chmod(0o640)
    return home


def whole(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything under a directory."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(root.rglob("*"))
    }


def filled(home: Path) -> None:
    """State and settings as a user of some weeks has them."""
    places = places_of()
    for own in OWN_NAMES:
        base = getattr(places, own.base)
        directory = own.name in ("hooks", "run", "cache", "approvals", "ledger", "backups", "installs", "policy")
        path = base / own.name.replace("*", ".lock") / ("some" if directory else "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (places.config / "interpose.yaml").write_text("")
    (places.config / ".tokens.0badc0de").write_text("half written")


def removed(home: Path, *, purge: bool = True) -> list[Remaining]:
    loaded = load()
    return carry_out(plan_removal(loaded, home / "work", purge=purge), loaded, purge=purge)[1]


def test_every_agent_everywhere_and_nothing_is_left(home: Path) -> None:
    before = whole(home)
    for name in HOSTS:
        installed(target(name))
        installed(target(name, "project", home / "work"))
    filled(home)
    assert removed(home) == []
    assert whole(home) == before


def test_a_project_elsewhere_is_remembered(home: Path, tmp_path: Path) -> None:
    before = whole(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    installed(target("codex", "project", tmp_path / "elsewhere"))
    (tmp_path / "gone").mkdir()
    installed(target("codex", "project", tmp_path / "gone"))
    (tmp_path / "gone" / ".codex" / "hooks.json").unlink()
    (tmp_path / "gone" / ".codex").rmdir()
    (tmp_path / "gone").rmdir()
    assert removed(home) == []
    (tmp_path / "elsewhere").rmdir()
    assert whole(tmp_path) == before


def test_without_purge_what_is_kept_stays(home: Path) -> None:
    installed(target("claude-code"))
    filled(home)
    assert removed(home, purge=False) == []
    assert target("claude-code").path.read_bytes() == SETTINGS.encode()
    assert Records(places_of()).all() == []
    assert (places_of().config / "tokens").exists()
    assert (places_of().state / "ledger" / "some").exists()
    assert not (places_of().state / "hooks" / "claude-code").exists()


def test_what_no_record_speaks_of_is_found(home: Path) -> None:
    before = whole(home)
    for name in ("claude-code", "cline", "opencode"):
        installed(target(name))
        installed(target(name, "project", home / "work"))
    for file in (places_of().state / "installs").glob("*.json"):
        file.unlink()
    assert removed(home) == []
    left = {name: one[1] for name, one in whole(home).items() if name not in before}
    assert [name for name, content in left.items() if b"interpose" in content] == []
    assert [name for name in left if name.endswith("interpose")] == []
    assert target("claude-code").path.read_bytes() == SETTINGS.encode()


# --- a crash at any moment


class Died(BaseException):
    """Nobody catches it."""


@contextmanager
def dying(after: int) -> Iterator[list[int]]:
    """The process dies before one of its changes to the disk: nothing more is done, not even cleaned up."""
    count = [0]
    real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in ("unlink", "rename", "rmdir", "mkdir")}

    def counting(act: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            count[0] += 1
            if count[0] > after:
                raise Died
            return act(*args, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, act in real.items():
            patch.setattr(os, name, counting(act))
        yield count


def guarded_or_clean(home: Path, before: dict[str, tuple[int, bytes]]) -> None:
    """INVARIANT: an agent that has a hook of ours finds its client."""
    loaded = load()
    for name in ("claude-code", "opencode", "cline"):
        where = target(name)
        files = [where.path] if where.path.is_file() else sorted(where.path.glob("*"))
        for file in files:
            if before.get(str(file.relative_to(home)), (0, b""))[1] == file.read_bytes():
                continue
            clients = [
                change for change in plan_install(where, loaded).changes if "/interpose/hooks/" in str(change.path)
            ]
            assert clients
            for change in clients:
                assert change.before == change.after, f"{file} asks {change.path}, which is gone or not whole"


def test_a_crash_leaves_every_agent_guarded_or_clean(home: Path) -> None:
    before = whole(home)
    moments = 0
    for after in range(1000):
        for name in ("claude-code", "opencode", "cline"):
            installed(target(name))
        installed(target("claude-code", "project", home / "work"))
        filled(home)
        with dying(after) as count:
            try:
                removed(home)
            except Died:
                pass
        guarded_or_clean(home, before)
        assert removed(home) == [], f"after {after} changes"
        assert whole(home) == before, f"after {after} changes"
        moments = count[0]
        if moments <= after:
            break
    assert moments > 40


# --- what stays, and is said


def _broken(home: Path) -> str:
    target("claude-code").path.write_text('{"hooks": /interpose/hooks/claude-code')
    return "can't be understood"


def _read_only(home: Path) -> str:
    target("claude-code").path.chmod(0o400)
    return "read-only"


def _damaged(home: Path) -> str:
    (places_of().state / "installs" / "codex-0123456789abcdef.json").write_text("{")
    return "can't be read"


def _unknown(home: Path) -> str:
    file = next((places_of().state / "installs").glob("claude-code-*.json"))
    text = file.read_text().replace('"claude-code"', '"emacs"')
    file.with_name("emacs-0123456789abcdef.json").write_text(text)
    return "does not know"


@pytest.mark.parametrize("fault", [_broken, _read_only, _damaged, _unknown])
def test_a_client_stays_while_somebody_may_start_it(home: Path, fault: Callable[[Path], str]) -> None:
    installed(target("claude-code"))
    installed(target("copilot"))
    filled(home)
    why = fault(home)
    remaining = removed(home)
    assert [why in each.why and each.asks for each in remaining] == [True]
    assert not target("copilot").path.exists()
    for name in ("tokens", "approvals.key.lock", "interpose.yaml"):
        assert (places_of().config / name).exists()
    assert (places_of().state / "ledger" / "some").exists()
    if fault in (_broken, _read_only):
        assert (places_of().state / "hooks" / "claude-code").exists()


def test_a_broken_file_that_never_had_our_hooks_is_nobody_s_business(home: Path) -> None:
    path = target("cursor").path
    path.parent.mkdir()
    path.write_text("{")
    filled(home)
    assert removed(home) == []
    assert path.read_text() == "{"


def test_what_is_managed_needs_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 0)
        installed(target("claude-code", "managed"))
    for file in (places_of().state / "installs").glob("*.json"):
        file.unlink()  # it is root's state that has the record
    managed = target("claude-code", "managed").path
    filled(home)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        (remaining,) = removed(home)
    assert remaining.path == str(managed)
    assert "sudo interpose uninstall claude-code --managed" in remaining.why
    assert managed.exists()
    assert own_entries(places_of()) == []  # it starts the program itself, and no client of a user
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert removed(home) == []
    assert b"interpose" not in managed.read_bytes()


def test_what_others_put_among_ours_stays(home: Path) -> None:
    filled(home)
    note = places_of().config / "notes.txt"
    note.write_text("mine")
    assert [each.path for each in removed(home)] == [str(note)]
    assert own_entries(places_of()) == []
    assert note.read_text() == "mine"


def test_what_a_link_leads_to_stays(home: Path, tmp_path: Path) -> None:
    filled(home)
    places = places_of()
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "rules.yaml").write_text("version: 1\nrules: []\n")
    remove_tree(places.config / "policy")
    (places.config / "policy").symlink_to(tmp_path / "dotfiles")
    assert [each.path for each in removed(home)] == [str(tmp_path / "dotfiles")]
    assert not os.path.lexists(places.config)
    assert (tmp_path / "dotfiles" / "rules.yaml").exists()
    places.config.parent.mkdir(exist_ok=True)
    places.config.symlink_to(tmp_path / "dotfiles")
    (tmp_path / "dotfiles" / "interpose.yaml").write_text("")
    assert [each.path for each in removed(home)] == [str(tmp_path / "dotfiles")]
    assert not os.path.lexists(places.config)
    assert (tmp_path / "dotfiles" / "interpose.yaml").exists()


def test_what_settings_put_elsewhere_is_named(home: Path, tmp_path: Path) -> None:
    filled(home)
    (tmp_path / "records").mkdir()
    (tmp_path / "log").write_text("")
    lines = f"ledger:\n  directory: {tmp_path / 'records'}\nlogging:\n  path: {tmp_path / 'log'}\n"
    places_of().file.write_text(lines + "policy:\n  directory: /nonexistent/rules\n")
    assert {each.path: each.why.partition(" puts")[0] for each in removed(home)} == {
        str(tmp_path / "records"): "ledger.directory", str(tmp_path / "log"): "logging.path",
    }  # fmt: skip
    assert (tmp_path / "records").exists()


def test_a_chosen_directory_may_hold_anything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's whole home as our directory: only what is ours by name goes."""
    monkeypatch.setenv("INTERPOSE_CONFIG_DIR", str(home))
    before = whole(home)
    (home / "tokens").write_text("")
    (home / "interpose.yaml").write_text("")
    assert removed(home) == []
    assert whole(home) == before


def test_where_we_write_is_a_setting_of_a_path() -> None:
    from interpose.core.config.keys import tree

    assert set(WRITTEN) <= {key.name for key in tree().all_keys() if key.is_path}


def test_while_a_server_goes_on_what_it_writes_to_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(home)
    server = ListeningServer("/run/hook.sock", os.getpid())
    monkeypatch.setattr("interpose.doors.hooks.install.removal.listening", lambda _path: server)
    monkeypatch.setattr("interpose.doors.hooks.install.removal.stopped", lambda _pid, _seconds: "it does not end")
    assert [(each.path, each.why) for each in removed(home)] == [(f"process {os.getpid()}", "it does not end")]
    assert (places_of().state / "ledger" / "some").exists()


def test_who_installs_in_the_meantime_is_not_cut_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(target("claude-code"))
    loaded = load()
    planned = plan_removal(loaded, home / "work", purge=True)
    installed(target("codex"))
    _, remaining = carry_out(planned, loaded, purge=True)
    assert [(each.path, each.asks) for each in remaining] == [(str(target("codex").path), True)]
    assert (places_of().state / "hooks" / "codex").exists()
    assert target("claude-code").path.read_bytes() == SETTINGS.encode()


def test_a_hook_on_its_way_is_waited_for(home: Path) -> None:
    """It writes to the ledger when it ends: what it made then goes, too."""
    filled(home)
    late = places_of().state / "ledger" / "late"
    code = "import sys; print(flush=True); sys.stdin.read(1); open(sys.argv[-1], 'w').close()"
    words = [sys.executable, "-c", code, f"{places_of().state}/hooks/claude-code", str(late)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        timer = threading.Timer(0.3, child.stdin.close)
        timer.start()
        assert removed(home) == []
        assert child.wait(PATIENCE) == 0
        timer.join()
    assert own_entries(places_of()) == []


def test_a_server_that_does_not_listen_yet_is_ended(home: Path) -> None:
    filled(home)
    lock = Path(load().config.hooks.socket).with_name("start.lock")
    code = (
        "import fcntl, os, sys, time; lock = open(sys.argv[1], 'w'); fcntl.flock(lock, fcntl.LOCK_EX);"
        "lock.write(f'{os.getpid()}\\n'); lock.flush(); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, lock], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert [server.pid for server in plan_removal(load(), home, purge=True).servers] == [child.pid]
        assert removed(home) == []
        assert child.wait(PATIENCE) == -signal.SIGTERM
    assert own_entries(places_of()) == []


# --- processes


@pytest.mark.parametrize(
    ("note", "code", "seconds"),
    [
        ("ends when it is asked", "", 5.0),
        ("does not listen", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", -1.9),
        ("is stopped", "", 5.0),
    ],
)  # fmt: skip
def test_a_process_ends(note: str, code: str, seconds: float) -> None:
    program = f"import signal, time\n{code}\nprint(flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        if note == "is stopped":
            child.send_signal(signal.SIGSTOP)
        assert stopped(child.pid, seconds) == ""
        assert child.wait(PATIENCE) in (-signal.SIGTERM, -signal.SIGKILL)
    assert stopped(child.pid, 0.1) == ""
