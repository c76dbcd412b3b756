"""The PATH of an agent, as its hook's process has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interpose.doors.server.hook_routes import search_path_of
from tests.support.timing.patience import PATIENCE


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells what a process was started with")
def test_the_path_that_a_process_was_started_with() -> None:
    speaks_first = [sys.executable, "-c", "input(print('here', flush=True) or '')"]
    with subprocess.Popen(speaks_first, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PATH": "/a:/b"}) as hook:
        assert hook.stdout is not None
        hook.stdout.readline()  # Popen returns before the kernel knows the new program's environment
        assert search_path_of(hook.pid) == "/a:/b"
        hook.communicate(b"\n", timeout=PATIENCE)


def test_an_unknown_process_has_no_path() -> None:
    assert search_path_of(0) == ""
