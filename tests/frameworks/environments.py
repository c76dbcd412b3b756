"""One environment for each file of pins in requirements/frameworks, kept in .frameworks of this checkout."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from tests.frameworks.known import ROOT

PLACE = ROOT / ".frameworks"


class NoEnvironmentError(Exception):
    """An environment that can't be made. The text says why."""


def python_of(environment: str) -> Path:
    """The interpreter of an environment, which is made anew if its pins changed. Raises NoEnvironmentError."""
    pins = ROOT / "requirements" / "frameworks" / f"{environment}.txt"
    if not pins.is_file():
        raise NoEnvironmentError(f"{pins.relative_to(ROOT)} is not there: scripts/frameworks --lock {environment}")
    place = PLACE / environment
    stamp, python = place / ".stamp", place / "bin" / "python"
    wanted = hashlib.sha256(pins.read_bytes()).hexdigest()
    if python.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    sys.stderr.write(f"· making the environment {environment}\n")
    _run(sys.executable, "-m", "venv", "--clear", str(place))
    _run(
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "-r",
        str(pins),
    )
    stamp.write_text(wanted, encoding="utf-8")
    return python


def lock(environment: str) -> None:
    """Pin an environment anew: its .in file becomes its .txt file, with hashes. Raises NoEnvironmentError."""
    place = PLACE / "uv"
    uv = place / "bin" / "uv"
    if not uv.is_file():
        _run(sys.executable, "-m", "venv", "--clear", str(place))
        _run(str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv")
    folder = ROOT / "requirements" / "frameworks"
    _run(
        str(uv), "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
        "--no-emit-index-url", "--no-annotate", "--custom-compile-command", f"scripts/frameworks --lock {environment}",
        "--output-file", str(folder / f"{environment}.txt"), str(folder / f"{environment}.in"),
    )  # fmt: skip


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "WARNING" not in line]
        raise NoEnvironmentError("\n".join(said[-5:]) or f"{command[0]} ended with {done.returncode}")
