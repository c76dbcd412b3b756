"""Hooks that answer in this process: what `doctor` would start takes a Python interpreter for every canary."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from interpose.core.driving import drive
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.install import canary
from interpose.doors.hooks.install.places import InstallTarget
from interpose.doors.hooks.install.plan import plan_install


@contextmanager
def answered_in_process(where: InstallTarget) -> Iterator[None]:
    """Canaries for the hooks at this place are answered by a service of this process."""
    loaded = load()
    with open_service(loaded.config, follow=False) as service, pytest.MonkeyPatch.context() as patch:
        run = _InProcessRun(where, service).run
        patch.setattr(canary, "subprocess", SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired))
        yield


class _InProcessRun:
    """Runs command lines of hooks. One whose client is gone or changed is really run: that takes a shell at most."""

    def __init__(self, where: InstallTarget, service: Service) -> None:
        self._where, self._service = where, service

    def run(self, words: Sequence[str], *, input: bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
        if not self._asks_us(words):
            return subprocess.run(words, input=input, **options)  # noqa: PLW1510 - the options say whether
        reply = drive(answer(self._service, HOSTS[self._where.facts.name], input))
        return subprocess.CompletedProcess(words, reply.exit_code, reply.stdout, reply.stderr.encode())

    def _asks_us(self, words: Sequence[str]) -> bool:
        if words[:4] == [sys.executable, "-I", "-m", "interpose"]:
            return True
        line = " ".join(words)
        if self._where.facts.setup.layout == "scripts" and len(words) == 1:
            line = Path(words[0]).read_text(encoding="utf-8")
        return f"/interpose/hooks/{self._where.facts.name}" in line and self._client_is_whole()

    def _client_is_whole(self) -> bool:
        plans = [plan_install(self._where, load(), fail_open=fail_open) for fail_open in (False, True)]
        return any(
            all(change.before == change.after for change in plan.changes if "/interpose/hooks/" in str(change.path))
            for plan in plans
        )
