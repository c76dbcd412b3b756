"""Agents by their ordinary names on npm, each version once, in a directory that is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

CACHE_VARIABLE = "INTERPOSE_AGENTS"


class FetchError(Exception):
    """A package that can't be had. The text says which and why."""


def cache() -> Path:
    """Where packages are kept."""
    given = os.environ.get(CACHE_VARIABLE)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else home / "interpose-agents"


def name_of(package: str) -> str:
    """A package without its version."""
    return package.rpartition("@")[0]


def fetched(package: str, kept: Path) -> Path:
    """The folder of a package `name@version`. npm checks that it is what its registry says. Raises FetchError."""
    place = kept / package.strip("@").replace("/", "-")
    if place.is_dir():
        return place
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError(f"{package}: there is no npm here")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as scratch:
        # `pack` fetches and runs nothing of the package, and takes a version that another Node would refuse.
        command = [npm, "pack", "--silent", "--pack-destination", scratch, package]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
        archive = next(Path(scratch).glob("*.tgz"), None)
        if done.returncode or archive is None:
            raise FetchError(f"{package}: npm says: {' '.join(done.stderr.split())[:300] or done.returncode}")
        with tarfile.open(archive) as packed:
            packed.extractall(Path(scratch) / "out", filter="data")
        inside = next((Path(scratch) / "out").iterdir())
        inside.rename(place)
    return place


def installed(package: str, kept: Path) -> Path:
    """The folder of a package that needs others, with all of them beside it. No script of any of them is run."""
    place = kept / f"{package.strip('@').replace('/', '-')}-installed"
    if not place.is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise FetchError(f"{package}: there is no npm here")
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as scratch:
            (Path(scratch) / "out").mkdir()
            command = [npm, "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", package]
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=1800, cwd=Path(scratch) / "out"
            )
            if done.returncode:
                raise FetchError(f"{package}: npm says: {' '.join(done.stderr.split())[:300] or done.returncode}")
            (Path(scratch) / "out").rename(place)
    return place / "node_modules" / name_of(package)
