"""The programs that a host starts for each event, written for one host and one user.

1. bash, over the loopback port: nothing is started but bash itself.
2. Python without its library, over the Unix socket: for long events, and where bash or the port can't be used.
3. `interpose hook`, which asks the server, too, or decides by itself.

Each goes on to the next when it gets no answer, and refuses when there is none at all.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.config.places import DIRECTORY_VARIABLE, Places
from interpose.core.config.waiting_times import hook_wait, usual_wait
from interpose.doors.hooks.clients.fail_open_log import spool_of
from interpose.doors.hooks.clients.programs.socket_client import LARGEST, STALLED_SECONDS, stalled_file
from interpose.doors.hooks.hosts.hook_places import LINE_PROGRAM

if TYPE_CHECKING:
    from interpose.core.config.settings import Config
    from interpose.doors.hooks.hosts.events import Host, Reply

LONGEST = 32768
"""Bytes of an event that bash sends. A server that reads nothing must not make it wait, and sockets hold more."""
MANAGED_DEADLINE = 30.0
UNDECIDED = "Interpose could not decide, so this is refused. `interpose doctor` says why"
GONE = "its program is gone from this machine. Install it again, or"
"""What is said when the package was removed and its hooks were not; what follows says how to take those out."""
_TAKE_OUT = "take this hook out of your agent's settings"
"""A client serves every settings file that names it; the line behind it there says which file that is."""
_PLAIN = re.compile(r"[A-Za-z0-9/._+@-]+")
"""What no shell takes for anything but itself."""
_ENDS = " && exit 0; "
_IMPORTS = (
    "from interpose.doors.hooks.clients.programs.socket_client import "
    "LARGEST, BrokenError, NobodyError, PersonWait, ask\n"
)
_OWNER_IMPORT = "from interpose.core.platforms.peer_owner import NOT_TOLD, peer_owner\n"


class ClientFile(Struct, frozen=True):
    """A file to write."""

    path: Path
    text: str
    mode: int


class HookClient(Struct, frozen=True):
    """The files of a host's hook, and the command line that a host runs in a shell.

    Whatever becomes of the program, the command line ends with 0, or with 2 and a text on standard error: hosts take
    any other code for an accident, some also a 2 without a text, and go on. A host that runs a program without a shell
    is given `program`.
    """

    files: tuple[ClientFile, ...]
    command: str
    program: str
    without_bash: tuple[str, ...]
    """The Python client by itself."""
    line: str = ""
    """The command line of the program that shows questions, for a host that can run one each second."""

    @property
    def telling(self) -> str:
        """The command line for events that only tell, whatever becomes of the program: a host takes a 2 after the end
        of an agent for a wish that it goes on."""
        return f"{self.command.rpartition(_ENDS)[0]} ; exit 0"


def address_file(socket: str) -> Path:
    """Where a server writes the port for hooks and its secrets, beside the socket."""
    return Path(socket).with_name("hook.addr")


def notes_directory(socket: str) -> Path:
    """Where a server notes the questions that hooks wait for, for those who show them, beside the socket."""
    return Path(socket).with_name("asked")


def seconds_of(host: Host, config: Config) -> float:
    """How long a hook of this host may take for its decision."""
    return host.facts.setup.seconds_for(config.hooks.deadline)


def wait_of(host: Host, config: Config) -> int:
    """How long it may wait for a person besides, in whole seconds."""
    return int(hook_wait(host.facts.name, config))


def client_for(
    host: Host,
    config: Config,
    places: Places,
    *,
    fail_open: bool = False,
    python: str = sys.executable,
    settings: Path | None = None,
) -> HookClient:
    """The client of a host. The same arguments give the same files, whatever `settings` hold its command line."""
    directory = places.state / "hooks"
    seconds = seconds_of(host, config)
    name = host.facts.name
    slow, fast = directory / f"{name}.py", directory / name
    flags = ["--fail-open"] if fail_open else []
    program = [python, "-I", "-m", "interpose", "hook", name, *flags]
    without_bash = _importing(python, slow, places.state / "cache")
    environment = _environment(places)
    spool = str(spool_of(config)) if fail_open else ""
    broken, gone = host.broken(UNDECIDED), host.broken(f"Interpose denied this: {GONE} {_TAKE_OUT}")
    filled = {
        "BASH": shutil.which("bash", path=os.defpath) or "/bin/bash",
        "CAT": shlex.quote(shutil.which("cat", path=os.defpath) or "/bin/cat"),
        "DATE": shlex.quote(shutil.which("date", path=os.defpath) or "/bin/date"),
        "TITLE": host.facts.title,
        "HOST": shlex.quote(name),
        "ADDRESS": shlex.quote(str(address_file(config.hooks.socket))),
        "SOCKET": shlex.quote(config.hooks.socket),
        "ASKED": shlex.quote(str(notes_directory(config.hooks.socket))),
        "STALLED": shlex.quote(stalled_file(config.hooks.socket)),
        "PAUSE": str(STALLED_SECONDS),
        "SECONDS": str(max(2, int(seconds))),
        "WAIT": str(wait_of(host, config)),
        "LONGEST": str(LONGEST),
        "LARGEST": str(LARGEST),
        "ENVIRONMENT": "".join(f"{key}={shlex.quote(value)} " for key, value in environment.items()),
        "CLIENT": shlex.join(without_bash),
        "PROGRAM": shlex.join(program),
        "REFUSE": _opening(name, spool) if fail_open else _refusing(broken),
        "THERE": " && ".join(f"-e {shlex.quote(file)}" for file in needed(python)),
        "GONE": "refuse" if fail_open else _refusing(gone),
    }
    told = {
        "host": name,
        "socket": config.hooks.socket,
        "seconds": seconds,
        "wait": float(wait_of(host, config)),
        "command": program,
        "environment": environment,
        "broken": (b"", b"", 0) if fail_open else (broken.stdout, broken.stderr.encode() + b"\n", broken.exit_code),
        "spool": spool,
    }
    made = [ClientFile(fast, _filled(_text("hook.bash"), filled), 0o700), ClientFile(slow, _python(told), 0o600)]
    line = ""
    if host.facts.setup.line:
        shows = directory / f"{name}{LINE_PROGRAM}"
        made.append(ClientFile(shows, _filled(_text("line.bash"), filled), 0o700))
        line = shlex.quote(str(shows))
    return HookClient(
        tuple(made),
        _or_denied(shlex.quote(str(fast)), settings),
        str(fast),
        without_bash,
        line,
    )


def needed(python: str = sys.executable) -> tuple[str, ...]:
    """The files without which no client comes to an answer by itself: who removes the package removes one of them."""
    return python, str(files("interpose") / "__init__.py")


def _or_denied(program: str, settings: Path | None) -> str:
    """A program whose end may be no answer, and behind it one short line that needs no file of ours.

    INVARIANT: every shell denies, as hosts use that of their user: fish leaves out what stands behind `||` after a
    program that is gone, csh has no `>&2`. And there is a text, as some hosts go on after a 2 that has none.
    """
    place = f" in {settings}" if settings is not None and _PLAIN.fullmatch(str(settings)) else ""
    said = f"Denied by the Interpose hook{place}. If no reason is given, run interpose doctor."
    return f"{program}{_ENDS}/bin/sh -c 'echo {said} >&2'; exit 2"


def managed_client(
    host: Host, *, fail_open: bool = False, python: str = sys.executable, settings: Path | None = None
) -> HookClient:
    """The client for everybody on a machine: the program itself, which finds the places of whoever runs it.

    INVARIANT: no file that a user could change is part of it.
    """
    times = ["--within", f"{managed_seconds(host):g}", "--wait", f"{managed_wait(host)}"]
    flags = ["--managed", *times, *(["--fail-open"] if fail_open else [])]
    program = shlex.join([python, "-I", "-m", "interpose", "hook", host.facts.name, *flags])
    return HookClient((), _or_denied(program, settings), program, ())


def managed_seconds(host: Host) -> float:
    """How long that one may take, whatever its user set: the host's own file says how long it waits."""
    return host.facts.setup.seconds_for(MANAGED_DEADLINE)


def managed_wait(host: Host) -> int:
    """How long that one may wait for a person besides."""
    return int(usual_wait(host.facts.name))


def _importing(python: str, file: Path, cache: Path) -> tuple[str, ...]:
    """Run a file as a module: a script would be compiled each time, which takes longer than all that it does."""
    code = f"import sys; sys.path.append({str(file.parent)!r}); __import__({file.stem!r})"
    return python, "-I", "-S", "-X", f"pycache_prefix={cache}", "-c", code


def _environment(places: Places) -> dict[str, str]:
    """The places as they are now. INVARIANT: what a project puts into its agent's environment moves none of them."""
    return {
        "HOME": str(places.home),
        DIRECTORY_VARIABLE: str(places.config),
        "XDG_STATE_HOME": str(places.state.parent),
        "XDG_RUNTIME_DIR": str(places.runtime.parent) if places.runtime.parent != places.state else "",
    }


def _refusing(broken: Reply) -> str:
    lines = [f"printf '%s\\n' {shlex.quote(broken.stderr)} >&2"] if broken.stderr else []
    if broken.stdout:
        lines.append(f"printf %s {shlex.quote(broken.stdout.decode())}")
    return "\n  ".join([*lines, f"exit {broken.exit_code}"])


def _opening(name: str, spool: str) -> str:
    line = f'{{"at":%d,"host":"{name}","why":"the client got no answer"}}\\n'
    return "\n  ".join(
        [
            f'{{ now; printf {shlex.quote(line)} "$REPLY" >>{shlex.quote(spool)}; }} 2>/dev/null',
            "exit 0",
        ]
    )


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda found: values[found[1]], text)


def _python(told: Mapping[str, object]) -> str:
    owner = files("interpose.core.platforms").joinpath("peer_owner.py").read_text(encoding="utf-8")
    first, second = _text("socket_client.py").replace(_OWNER_IMPORT, ""), _text("standalone.py").replace(_IMPORTS, "")
    return f"{owner}\n\n{first}\n\n{second}\n\nmain(StandaloneSettings(**{told!r}))\n"


def _text(name: str) -> str:
    return files("interpose.doors.hooks.clients.programs").joinpath(name).read_text(encoding="utf-8")
