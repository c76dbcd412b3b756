"""What a machine, its user and its shell have of their own is nothing to the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TELL = """
import json, os, signal, subprocess
import tests.conftest
ignored = "import signal; print([signal.getsignal(one) is signal.SIG_IGN for one in (signal.SIGINT, signal.SIGHUP)])"
started = subprocess.run(["python3", "-c", ignored], capture_output=True, text=True, check=True).stdout
print(json.dumps({"variables": dict(os.environ), "umask": os.umask(0), "ignored": started.strip()}))
"""


def told(home: Path, **variables: str) -> dict[str, Any]:
    """What a test would find, started by a shell in the background whose user has such a home."""
    words = ["sh", "-c", 'umask 002; trap "" INT HUP; exec "$0" -c "$1"', sys.executable, TELL]
    environment = os.environ | {"HOME": str(home)} | variables
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_masks_signals_and_variables_are_the_same_everywhere(tmp_path: Path) -> None:
    found = told(tmp_path, XDG_CONFIG_HOME="/x", INTERPOSE_SERVER_PORT="1", INTERPOSE_CHROMIUM="/c", CODEX_HOME="/y")
    assert (found["umask"], found["ignored"]) == (0o022, "[False, False]")
    assert found["variables"]["INTERPOSE_CHROMIUM"] == "/c", "it says where the tests find a browser"
    assert not {"XDG_CONFIG_HOME", "INTERPOSE_SERVER_PORT", "CODEX_HOME"} & found["variables"].keys()
    assert found["variables"]["HOME"] == str(tmp_path)


@pytest.mark.parametrize("place", [".config/interpose", ".local/state/interpose"])
def test_the_rules_of_who_uses_interpose_hold_for_no_test(place: str, tmp_path: Path) -> None:
    (tmp_path / place).mkdir(parents=True)
    home = Path(told(tmp_path)["variables"]["HOME"])
    assert home != tmp_path
    assert not home.exists(), "it goes with the tests"
