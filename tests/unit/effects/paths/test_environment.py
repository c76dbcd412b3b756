"""The environment that the guard runs in, where it is a project's: what is asked about, and what stays ordinary."""

from __future__ import annotations

import pytest

from interpose.effects.environment.protected import Protected
from interpose.effects.paths import environment, hold, holds_environment, ours_of, tamper_of
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard

HOME, CWD = "/home/dev", "/home/dev/work"
LIBRARY = f"{CWD}/.venv/lib/python3/site-packages"
PLACES = Protected(
    own=frozenset(),
    shared=frozenset({f"{LIBRARY}/msgspec", f"{CWD}/.venv/bin/python", f"{CWD}/.venv/pyvenv.cfg"}),
    standard=frozenset({"/opt/python/lib/python3"}),
    libraries=frozenset({LIBRARY}),
)


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "protected", lambda: PLACES)
    hold(environment=[f"{CWD}/.venv", "/opt/python/lib/python3"])


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("rm -rf .venv", "ask"),
        ("rm -rf .venv/lib", "ask"),
        ("mv .venv old", "ask"),
        ("rm .venv/lib/python3/site-packages/msgspec/*", "ask"),
        ("rm -rf .venv/lib/python3/site-packages/*", "ask"),
        ("cp -r x/. .venv/lib/python3/site-packages/", "ask"),
        ("cp x /opt/python/lib/python3/json/decoder.py", "ask"),
        ("find . -empty -delete", "allow"),
        ("find . -name '*.pyc' -delete", "allow"),
        ("chmod -R u+w .", "allow"),
        ("rm -rf .venv/lib/python3/site-packages/flask", "allow"),
        ("touch .venv/installed", "allow"),
        ("cp -r mine .venv/lib/python3/site-packages/", "allow"),
        ("cat .venv/pyvenv.cfg", "allow"),
        ("grep -rn x .venv", "allow"),
        ("pyright --pythonpath .venv/bin/python", "allow"),
    ],
)
def test_commands_in_the_project(command: str, wanted: str) -> None:
    assert CommandSafetyGuard(home=HOME).judge(command, CWD, HOME, CWD).decision == wanted


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (f"{LIBRARY}/msgspec/_core.so", True),
        (f"{LIBRARY}/MSGSPEC/_core.so", True),
        (f"{LIBRARY}/msg*/_core.so", True),
        (f"{CWD}/.venv/**/_core.so", True),
        (f"{LIBRARY}/msgspec2/_core.so", False),
        (f"{LIBRARY}/flask/app.py", False),
        (f"{LIBRARY}/fl*/app.py", False),
        ("/opt/python/lib/python3/json/decoder.py", True),
        ("/opt/python/lib/python3/site-packages/flask/app.py", False),
        (f"{CWD}/.venv", False),
    ],
)
def test_which_files_are_protected(path: str, protected: bool) -> None:
    assert (tamper_of(path, HOME) is not None) == protected


@pytest.mark.parametrize("path", ["/", "/home", HOME])
def test_rules_about_whole_trees_speak_about_homes_and_what_is_above(path: str) -> None:
    assert holds_environment(path, HOME) is None


def test_a_file_of_others_is_no_reason_to_refuse() -> None:
    mark = ours_of(f"{LIBRARY}/msgspec/_core.so")
    assert mark is not None
    assert (mark.ours, mark.private) == (False, False)
