"""What a wheel and an sdist must have, and what they must not."""

from __future__ import annotations

import re
import tarfile
import zipfile
from pathlib import Path

from tests.package.built import ROOT, Packages

INFO = ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")
BESIDE = ("CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore")
_KINDS = (".py", ".json", ".yaml", ".js", ".css", ".svg", ".toml", ".txt", ".bash", ".typed", ".md")
_UNWANTED = re.compile(
    r"(^|/)(tests?|bench|\.git|\.venv|__pycache__|\.mypy_cache|\.env[^/]*)(/|$)|\.(pyc|pyo|key|pem|db|log|orig|rej|sock)$"
)
_SECRETS = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}|gh[pousr]_[A-Za-z0-9]{36}\b|sk-ant-[A-Za-z0-9-]{40}"
)


def source_files(root: Path = ROOT) -> set[str]:
    """The files of the package, as the wheel names them."""
    source = root / "src"
    return {
        str(path.relative_to(source))
        for path in (source / "interpose").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def pages(root: Path = ROOT) -> set[str]:
    """The pages that `interpose help` prints, as the repository names them."""
    found = (path for part in ("", "agents", "frameworks") for path in (root / "docs" / part).glob("*.md"))
    return {str(path.relative_to(root)) for path in found}


def problems(packages: Packages, version: str) -> list[str]:
    """Everything that is wrong with their contents."""
    wheel, sdist = _wheel(packages.wheel), _sdist(packages.sdist)
    info = f"interpose-{version}.dist-info"
    wanted = source_files() | {f"interpose/{page}" for page in pages()} | {f"{info}/{name}" for name in INFO}
    shared = {name for name in wheel if name.startswith(f"interpose-{version}.data/data/share/man/")}
    top = f"interpose-{version}"
    beside = {f"{top}/{name}" for name in (*BESIDE, *pages())} | {
        name for name in sdist if name.startswith(f"{top}/docs/man/")
    }
    wanted_source = {f"{top}/src/{name}" for name in source_files()} | beside
    return [
        *(f"{packages.wheel.name} lacks {name}" for name in sorted(wanted - set(wheel))),
        *(f"{packages.wheel.name} has {name}" for name in sorted(set(wheel) - wanted - shared)),
        *(f"{packages.sdist.name} lacks {name}" for name in sorted(wanted_source - set(sdist))),
        *(f"{packages.sdist.name} has {name}" for name in sorted(set(sdist) - wanted_source)),
        *(why for files in (wheel, sdist) for name, content in files.items() for why in _wrong(name, content)),
    ]


def _wrong(name: str, content: bytes) -> list[str]:
    found = [f"{name} is no file of a release"] if _UNWANTED.search(name) else []
    if name.startswith("interpose/") and not name.endswith(_KINDS):
        found.append(f"{name} is of a kind that no release had before")
    if _SECRETS.search(content):
        found.append(f"{name} has what looks like a secret")
    if str(ROOT).encode() in content:
        found.append(f"{name} names a directory of this machine")
    return found


def _wheel(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _sdist(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: file.read() for name, file in found.items() if file is not None}
