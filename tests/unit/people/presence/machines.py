"""A machine whose processes are written by a test, as the kernel would show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import process

TTY = 34817
FIRST_TTY = 34816
USER = 1000


class Machine:
    """A `/proc` of its own. The user is nobody special, and only `/usr` and `/lib` belong to root."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._place = place
        monkeypatch.setattr("interpose.core.platforms.linux.process_table.PROC", place)
        for module in ("processes", "keys", "windows"):
            monkeypatch.setattr(
                f"interpose.people.presence.{module}.is_of_root", lambda path: path.startswith(("/usr/", "/lib/"))
            )
        monkeypatch.setattr("os.geteuid", lambda: USER)
        self.add(1, 0, "/usr/lib/systemd/systemd", start=1, uid=0)

    def add(
        self,
        pid: int,
        parent: int,
        program: str,
        *,
        start: int = 0,
        name: str = "",
        session: int = 0,
        terminal: int = 0,
        foreground: int = 0,
        uid: int = USER,
        environment: dict[str, str] | None = None,
        command: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
        reads: str = "",
        opened: bool = True,
    ) -> Process:
        """One process. It leads its session unless another is named, in a terminal that its parent `opened`, reads that
        unless it `reads` something else, and runs nothing but its program."""
        own = self._place / str(pid)
        own.mkdir()
        shown = (name or program.rpartition("/")[2])[:15]
        numbers = [parent, pid, session or pid, terminal, foreground or pid, *[0] * 13, start or pid]
        (own / "stat").write_text(f"{pid} ({shown}) S {' '.join(map(str, numbers))} 0 0\n")
        (own / "status").write_text(f"Name:\t{shown}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        if uid == USER:
            (own / "exe").symlink_to(program)
            (own / "environ").write_text("".join(f"{key}={value}\0" for key, value in (environment or {}).items()))
            (own / "cmdline").write_text("".join(f"{word}\0" for word in (program, *command)))
            code = (program, *libraries)
            (own / "fd").mkdir()
            (own / "fdinfo").mkdir()
            (own / "fd" / "0").symlink_to(reads or f"/dev/pts/{terminal - FIRST_TTY}")
            (own / "maps").write_text("".join(f"7f00-7f01 r-xp 00000000 08:01 7 {path}\n" for path in code))
        if opened and terminal and not session and self._place.joinpath(str(parent), "fd").exists():
            self.open_terminal(parent, terminal)
        found = process(pid)
        assert found is not None
        return found

    def open_terminal(self, pid: int, terminal: int) -> None:
        """Let a process hold the other end of a terminal."""
        own = self._place / str(pid)
        (own / "fd" / str(terminal)).symlink_to("/dev/pts/ptmx")
        (own / "fdinfo" / str(terminal)).write_text(f"pos:\t0\ntty-index:\t{terminal - FIRST_TTY}\n")
