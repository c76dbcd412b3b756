"""Disks that are really full or read-only, in a mount namespace of their own: a hook and `run` say so and refuse."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

_CAN = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
CAN_MOUNT = bool(shutil.which("unshare")) and subprocess.run(_CAN, check=False, capture_output=True).returncode == 0
pytestmark = pytest.mark.skipif(not CAN_MOUNT, reason="needs a mount namespace")

FULL = 'mount -t tmpfs -o size=64k tmpfs "$0" && { cat /dev/zero >"$0/ballast"; } 2>/dev/null; exec "$@"'
FILLED = """mount -t tmpfs -o size=1500k tmpfs "$0" && mkdir -p "$0/interpose" && chmod 700 "$0/interpose"
"$1" -c 'import sys; from interpose import open_ledger; open_ledger(sys.argv[1]).close()' "$0/interpose/ledger"
{ cat /dev/zero >"$0/ballast"; } 2>/dev/null; exec "$@\""""
READ_ONLY = 'mount -t tmpfs tmpfs "$0" && mount -o remount,ro "$0" && exec "$@"'
DISKS = [
    ("full", FULL, "the disk is full. Make room on it: `df -h "),
    ("full later", FILLED, "the disk is full. Make room on it: `df -h "),
    ("read-only", READ_ONLY, "the file system is read-only. Mount it writable, or name another place as"),
]
EVENT = {
    "session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash",
    "tool_input": {"command": "true"},
}  # fmt: skip


@pytest.mark.parametrize(("note", "mounts", "said"), DISKS, ids=[case[0] for case in DISKS])
def test_a_hook_and_run_say_which_file_and_what_to_do(note: str, mounts: str, said: str, tmp_path: Path) -> None:
    state = tmp_path / ".local" / "state"
    state.mkdir(parents=True)
    for words, given, code in (
        (["hook", "claude-code", "--in-process"], json.dumps(EVENT), 2),
        (["run", "--", "touch", str(tmp_path / "ran")], "", 70),
    ):
        command = ["unshare", "-rm", "sh", "-c", mounts, str(state), sys.executable, "-m", "interpose", *words]
        done = subprocess.run(
            command, input=given, env=clean_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (code, ""), done
        assert said in done.stderr, note
        assert str(state / "interpose") in done.stderr
        assert not (tmp_path / "ran").exists()
