"""What every test has: a directory of its own, time, and the name of its case."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

from interpose.effects.paths import ours
from interpose.record.store.sqlite import SqliteStore

# A busy machine is slow now and then, and no property is about that. Continuous integration plays the same examples
# every time: what new ones find is for those who can look at it.
settings.register_profile(
    "interpose", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("interpose")
os.environ.pop("COLUMNS", None)  # workers of pytest-xdist set it, and what is piped would be wrapped

# What a shell starts in the background, or `nohup`, ignores these, and so would every program that a test starts. A
# signal with a handler is one that a program starts with its default for.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda _number, _frame: None)

_OF_THE_TESTS = ("INTERPOSE_CHROMIUM", "INTERPOSE_AGENTS")


def _forget_whoever_runs_the_tests() -> None:
    """Their settings, rules and agents are not what is tested. Who uses Interpose gets another home."""
    ours = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
    for name in list(os.environ):
        if name in ours or (name.startswith("INTERPOSE_") and name not in _OF_THE_TESTS):
            del os.environ[name]
    places = (".config/interpose", ".local/state/interpose")
    if any(Path.home().joinpath(place).exists() for place in places):
        os.environ["HOME"] = home = tempfile.mkdtemp(prefix="h")
        atexit.register(shutil.rmtree, home, ignore_errors=True)


_forget_whoever_runs_the_tests()
os.umask(0o022)  # where groups have one user each it is 002, and files of rules that others can write do not count


def pytest_collection_finish() -> None:
    """Thousands of collected items are no garbage: whoever looks for some need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A case that has a `note` is known by it, and by nothing else that stands in its row."""
    for marker in metafunc.definition.iter_markers("parametrize"):
        names = marker.args[0]
        if "note" in names and isinstance(names, tuple) and isinstance(marker.kwargs, dict):
            at = names.index("note")
            notes = [row.id or row.values[at] if isinstance(row, ParameterSet) else row[at] for row in marker.args[1]]
            marker.kwargs.setdefault("ids", notes)


@pytest.fixture(autouse=True)
def _own_places_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test's configuration puts somewhere is not ours in the next test. A process only ever adds to it."""
    monkeypatch.setattr(ours, "_held", ours.Holdings())


@pytest.fixture(autouse=True)
def _stores_of_this_test_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test closes the stores that it opens.

    From Python 3.13 on the garbage collector reports open ones, but in whichever test it happens to run.
    """
    opened: list[SqliteStore] = []
    open_store = SqliteStore.__init__

    def open_and_note(store: SqliteStore, *args: Any, **options: Any) -> None:
        opened.append(store)
        open_store(store, *args, **options)

    monkeypatch.setattr(SqliteStore, "__init__", open_and_note)
    yield
    if not all(store.is_closed for store in opened):
        gc.collect()  # an engine that governs closes its store when it is gone
    left = [str(store.path) for store in opened if not store.is_closed]
    assert not left, "the test left stores open"


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory whose name is short, unlike pytest's own: the path of a Unix socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()
