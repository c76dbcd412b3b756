"""A stranger with a page of ours: an empty home, a wheel instead of the repository, and the lines typed one by one.

What a page shows is compared with what comes. `...` stands for what varies, in a line or for any number of lines.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import sysconfig
import termios
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self

from msgspec import Struct

from tests.e2e.terminals import Terminal
from tests.support.timing.patience import PATIENCE

ROOT = Path(__file__).parents[2]
FOLLOWED = ("README.md", "docs/getting-started.md", "docs/which-verb.md")
"""The pages whose every line is typed (test_pages.py)."""
COLUMNS = 120
BROKEN = {64: "wrong usage", 70: "an internal error", 78: "no configuration", 126: "no program", 127: "no such command"}
"""Exit codes that no line of a page may end with."""
ANSWERS = {"exec>": "\n", "[y/N]": "y\n", "q ends": "q"}
"""What a stranger answers where a program waits, if the page shows nothing else."""

_BLOCK = re.compile(r"^```(console|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"[Ss]ave (?:this|it) as `([\w.-]+)`:\s*$")
_PROMPT = re.compile(r"@@(\d+)@@")


class Line(Struct, frozen=True):
    """One command of a page, and what the page shows of its output."""

    command: str
    shown: str


class Saved(Struct, frozen=True):
    """A file that the reader is told to save."""

    name: str
    text: str


def steps(page: str) -> Iterator[Line | Saved]:
    """What a page tells its reader to do, from top to bottom."""
    for block in _BLOCK.finditer(page):
        if block[1] == "console":
            yield from _lines(block[2])
        elif named := _SAVED.search(page[: block.start()]):
            yield Saved(named[1], block[2])


def _lines(block: str) -> Iterator[Line]:
    command, shown = "", list[str]()
    for line in block.splitlines():
        if command and not _whole(command):
            command += "\n" + line
        elif line.startswith("$ "):
            if command:
                yield Line(command, "\n".join(shown))
            command, shown = line.removeprefix("$ "), []
        else:
            assert command, f"a block of commands begins with `$ `, not {line!r}"
            shown.append(line)
    if command:
        yield Line(command, "\n".join(shown))


def _whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not command.endswith("\\")


def differs(shown: str, came: str) -> str:
    """Why what came is not what is shown; empty if it is."""
    pattern = ""
    for line in shown.strip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"\n"
    plain = "".join(f"{line.rstrip()}\n" for line in came.strip().splitlines())
    return "" if re.fullmatch(pattern, plain) else f"shown:\n{shown}\n\ncame:\n{plain}"


class Wheel:
    """The package as it is published, built once, and environments that have it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place], cwd=ROOT, check=True,
                       capture_output=True)  # fmt: skip
        (self.file,) = place.glob("*.whl")

    def environment(self, place: Path) -> Path:
        """A new virtual environment without Interpose, whose `pip` finds the wheel. What that needs is there."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        packages = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if "interpose" not in entry.name:  # nothing leads to our sources
                (packages / entry.name).symlink_to(entry)
        pip = place / "bin" / "pip"
        index = f"PIP_NO_INDEX=1 PIP_FIND_LINKS={self.file.parent} PIP_DISABLE_PIP_VERSION_CHECK=1"
        pip.write_text(f'#!/bin/sh\n{index} exec {sys.executable} -m pip --python {place}/bin/python "$@"\n')
        pip.chmod(0o755)
        return place


class Stranger(Terminal):
    """Somebody who types what a page says, in a directory that is no repository. Ends what it started."""

    def __init__(self, home: Path, environment: Path) -> None:
        self.home = home
        self.project = home / "project"
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", self.project], check=True)
        path = f"{environment}/bin:/usr/local/bin:/usr/bin:/bin"
        super().__init__({"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "NO_COLOR": "1", "PS2": ""}, self.project)
        self._environment["PS1"] = "@@$?@@"
        self._servers: list[subprocess.Popen[str]] = []
        self._port = ""

    def __enter__(self) -> Self:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(self._directory)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], self._environment)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        self._until_prompt()
        self.type("stty -echo\n")
        self._until_prompt()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for server in self._servers:
            server.terminate()
            server.communicate(timeout=PATIENCE)
        for address in self.home.rglob("hook.addr"):
            _, pid, *_ = address.read_text(encoding="ascii").split()
            if self._is_ours(pid):
                os.kill(int(pid), signal.SIGTERM)

    def _is_ours(self, pid: str) -> bool:
        """Whether a process is a server of this home: its number may be another's by now."""
        try:
            return f"HOME={self.home}\0".encode() in Path("/proc", pid, "environ").read_bytes()
        except OSError:
            return False

    def follow(self, page: str, instead: Mapping[str, str]) -> None:
        """Do all that a page says. `instead` has what is typed in the place of lines that can't be typed here; an empty
        one is left out."""
        for step in steps(page):
            match step:
                case Saved(name, text):
                    (self.project / name).write_text(text, encoding="utf-8")
                case Line(command, shown):
                    plain = command.partition(" #")[0].strip()
                    command = instead.get(plain, command)
                    if command:
                        self._do(command, shown)

    def _do(self, command: str, shown: str) -> None:
        if shlex.split(command, comments=True) == ["interpose", "serve"]:
            self._serve()
            return
        said = {"[y/N]": f"{answer[1]}\n"} if (answer := re.search(r"\[y/N\] (\w)$", shown, re.MULTILINE)) else {}
        code, came = self.enter(command.replace("localhost:8080", f"localhost:{self._port}"), said)
        where = f"$ {command}\n(exit code {code})\n"
        assert code not in BROKEN, f"{where}{BROKEN[code]}: {came}"
        assert "Traceback" not in came, where + came
        if shown.strip():
            why = differs(shown, came)
            assert not why, where + why

    def enter(self, command: str, answers: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Type a command line, answer what it asks, and give its exit code and what it showed."""
        self.type(command + "\n")
        return self._until_prompt(ANSWERS | dict(answers or {}))

    def _until_prompt(self, answers: Mapping[str, str] | None = None) -> tuple[int, str]:
        before, seen = "", ""
        while not (prompt := _PROMPT.search(seen)):
            seen += self._more()
            for wanted, answer in (answers or {}).items():
                if seen.rstrip().endswith(wanted):
                    self.type(answer)
                    echo = f" {answer}" if answer.endswith("\n") else "\n"  # a key is not shown while it is typed
                    before, seen = before + seen.rstrip() + echo, ""
        return int(prompt[1]), (before + seen[: prompt.start()]).replace("\r\n", "\n")

    def _more(self) -> str:
        ready, _, _ = select.select([self._master], [], [], 240)
        assert ready, "the terminal went silent"
        return os.read(self._master, 65536).decode("utf-8", "replace")

    def _serve(self) -> None:
        """A server as the line would start it, in a terminal of its own and on a port that is free."""
        server = subprocess.Popen(
            [Path(sys.executable).parent / "interpose", "serve", "--port", "0"],
            cwd=self.project, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._servers.append(server)
        assert server.stdout is not None
        said = ""
        while not (port := re.search(r"http://127\.0\.0\.1:(\d+)", said)):
            line = server.stdout.readline()
            assert line, f"the server ended: {said}"
            said += line
        self._port = port[1]
