"""Runs scripts by real bash: in an empty directory each, with stubs on PATH that write down how they were called."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from tests.differential.generator import FAILING, PRINTING, RUNNERS, STUBS

REAL = (
    "bash", "sh", "cat", "env", "xargs", "timeout", "nice", "nohup", "find", "tee", "base64", "rev", "mkdir", "awk",
    "perl", "sed",
)  # fmt: skip

_LOG = 'printf \'%s\\037\' "${0##*/}" "$@" \'\036\' >> "$STUB_LOG"\n'
_BODIES = {
    "sudo": 'exec "$@"',
    "doas": 'exec "$@"',
    "busybox": 'exec "$@"',
    "ssh": 'shift; exec sh -c "$*"',
    "su": 'shift; exec sh -c "$1"',
}
_DRIVER = """
ulimit -t 5
for script in "$1"/*.script; do
  home=${script%.script}
  mkdir "$home"
  (cd "$home" && STUB_LOG=$home.log HOME=$home exec bash "$script") </dev/null >/dev/null 2>&1
done
"""


class Observed(Struct, frozen=True):
    """What one script really did."""

    calls: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]


def prepare(root: Path) -> Path:
    """The directory of stubs and of the few real programs that the scripts need."""
    programs = root / "bin"
    programs.mkdir()
    for name in (*STUBS, *FAILING, *RUNNERS):
        stub = programs / name
        last = _BODIES.get(name, "exit 1" if name in FAILING else f"echo out-{name}" if name in PRINTING else "exit 0")
        log = "" if name in RUNNERS else _LOG
        stub.write_text(f"#!/bin/sh\n{log}{last}\n")
        stub.chmod(0o755)
    for name in REAL:
        found = shutil.which(name)
        if found is not None:
            (programs / name).symlink_to(found)
    return programs


def run(scripts: list[str], root: Path, programs: Path) -> list[Observed]:
    """Run all scripts, one after the other, in one driving shell."""
    for number, script in enumerate(scripts):
        (root / f"{number:06d}.script").write_text(script)
    environment = {"PATH": str(programs), "LC_ALL": "C.UTF-8"}
    subprocess.run(
        ["/bin/sh", "-c", _DRIVER, "driver", str(root)],
        env=environment,
        stderr=subprocess.DEVNULL,
        timeout=20 + len(scripts),
        check=False,
    )
    return [_observed(root / f"{number:06d}") for number in range(len(scripts))]


def _observed(home: Path) -> Observed:
    log = home.with_suffix(".log")
    records = log.read_bytes().decode(errors="replace").split("\036\037") if log.exists() else []
    calls = tuple(tuple(record.split("\037")[:-1]) for record in records if record)
    files = tuple(sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()))
    return Observed(calls, files)
