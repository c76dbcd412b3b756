from __future__ import annotations

from collections.abc import Callable

import pytest

from interpose.core.platforms.macos import connection_table, process_table
from interpose.core.platforms.macos.libproc import Libproc
from tests.unit.core.platforms.machines import USER, MacKernel, MacProcess


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Callable[..., MacKernel]:
    """The kernel of a Mac with these processes, which this process asks as an ordinary user."""

    def made(*processes: MacProcess, me: int = USER) -> MacKernel:
        kernel = MacKernel(*processes, me=me)
        library = Libproc(kernel)
        for module in (process_table, connection_table):
            monkeypatch.setattr(module, "kernel", lambda: library)
        monkeypatch.setattr("os.geteuid", lambda: me)
        monkeypatch.setattr("os.getsid", lambda pid: kernel.processes[pid].group or pid)
        return kernel

    return made
