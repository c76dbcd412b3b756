"""Whether the files that the guard runs with are those that were installed: against the hashes of their records.

INVARIANT: nothing that is looked at is run or imported for it.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from warnings import catch_warnings

from msgspec import Struct

from interpose.effects.environment.distributions import Distribution, entries, installed_in, is_editable, recorded_files
from interpose.effects.environment.facts import Environment
from interpose.effects.environment.protected import STARTUP

Kind = Literal["changed", "missing", "added", "compiled"]
"""`added`: no record knows it, and Python would import it. `compiled`: not what its source says."""

_IMPORTED = (".py", ".so", ".pyc", ".pyd")
_FROM_VIRTUALENV = "import _virtualenv"
"""What virtualenv and uv write into every environment, and into no record."""


class Flaw(Struct, frozen=True):
    """A file that is not as it was installed."""

    kind: Kind
    path: str
    title: str
    """The distribution that it belongs to."""


class VerifiedFiles(Struct, frozen=True, kw_only=True):
    """What was found. Files without a recorded hash can't be verified, and are none of `files`."""

    files: int
    flaws: tuple[Flaw, ...]
    unrecorded: tuple[str, ...]
    """Distributions whose installer left no record."""
    editable: tuple[str, ...]
    """Distributions that are run from a checkout."""


class StartupFile(Struct, frozen=True):
    """A file that Python runs or reads at every start, and that no record knows."""

    path: str
    runs: bool
    """Whether it runs code, or only names further directories."""
    usual: bool = False
    """Whether virtualenv and uv put it into every environment."""


def verify(environment: Environment) -> VerifiedFiles:
    """Look at every file of every distribution that the guard needs."""
    recorded = _all_recorded(environment)
    files, flaws = 0, list[Flaw]()
    unrecorded, editable = list[str](), list[str]()
    for each in environment.distributions:
        if is_editable(each):
            editable.append(each.title)
        known = recorded_files(each)
        if known is None:
            unrecorded.append(each.title)
            continue
        for file in known:
            # What lies elsewhere (manual pages, programs of a `--target` directory) is nothing that the guard runs.
            inside = _is_in(file.path, each)
            if file.digest and (inside or file.path.startswith(f"{environment.scripts}/")):
                files += 1
                kind = _compare(file.path, file.digest)
                if kind == "missing" and not inside:
                    continue  # a program that nobody wanted: one that is not there runs nothing
                flaws += [Flaw(kind, file.path, each.title)] if kind else []
        tops = {file.path[len(each.library) + 1 :].partition("/")[0] for file in known if _is_in(file.path, each)}
        for top in sorted(tops):
            flaws += _beside(each, f"{each.library}/{top}", recorded)
    return VerifiedFiles(
        files=files, flaws=tuple(flaws), unrecorded=tuple(unrecorded), editable=tuple(editable)
    )  # fmt: skip


def startup_files(environment: Environment) -> list[StartupFile]:
    """What Python runs before the guard, and no record knows."""
    recorded = _all_recorded(environment)
    found: list[StartupFile] = []
    for library in environment.libraries:
        for name in sorted(entries(library)):
            path = f"{library}/{name}"
            if path in recorded or (not name.endswith(".pth") and name not in STARTUP):
                continue
            lines = [line.strip() for line in read_bytes(path).decode("utf-8", "replace").split("\n")]
            runs = name in STARTUP or any(line.startswith(("import ", "import\t")) for line in lines)
            found.append(StartupFile(path, runs, name == "_virtualenv.pth" and set(lines) <= {_FROM_VIRTUALENV, ""}))
    return found


def interpreter_flaw(environment: Environment) -> str:
    """Why the interpreter is not the one that the environment was made with; empty if it is."""
    real = os.path.realpath(environment.interpreter)
    if environment.virtual:
        home = _setting(f"{environment.root}/pyvenv.cfg", "home")
        if not home:
            return f"{environment.root}/pyvenv.cfg does not say which Python the environment was made with"
        names = (os.path.basename(real), "python3", "python", f"python3.{sys.version_info.minor}")  # noqa: PTH119
        expected = [os.path.realpath(f"{home}/{name}") for name in names]
        if real not in expected and not any(
            read_bytes(real) == read_bytes(path) != b"" for path in dict.fromkeys(expected)
        ):
            return f"{environment.interpreter} leads to {real}, and the environment was made with the Python in {home}"
    about = Path(real).stat()
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & 0o022:
        return f"{real} can be changed by other users"
    return ""


def _is_in(path: str, distribution: Distribution) -> bool:
    return path.startswith(f"{distribution.library}/")


def _all_recorded(environment: Environment) -> frozenset[str]:
    """Every file that some record in these libraries knows: distributions share directories."""
    return frozenset(
        file.path for each in installed_in(environment.libraries).values() for file in recorded_files(each) or ()
    )


def _compare(path: str, digest: str) -> Kind | None:
    name, _, wanted = digest.partition("=")
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "changed"
    if name not in hashlib.algorithms_guaranteed:
        return "changed"
    found = urlsafe_b64encode(hashlib.new(name, content).digest()).decode().rstrip("=")
    return None if found == wanted.rstrip("=") else "changed"


def _beside(distribution: Distribution, top: str, recorded: frozenset[str]) -> Iterator[Flaw]:
    """What lies among a distribution's files, was not recorded, and would be imported."""
    for directory, _, names in os.walk(top):
        compiled = os.path.basename(directory) == "__pycache__"  # noqa: PTH119 - a plain text
        for name in sorted(names):
            path = f"{directory}/{name}"
            if compiled:
                if _differs(directory, name):
                    yield Flaw("compiled", path, distribution.title)
            elif name.endswith(_IMPORTED) and path not in recorded:
                yield Flaw("added", path, distribution.title)


def _differs(directory: str, name: str) -> bool:
    """Whether Python would run a compiled file that says something else than its source."""
    stem, _, tag = name.removesuffix(".pyc").partition(".")
    if tag != sys.implementation.cache_tag:
        return False
    source_path, path = f"{directory.rpartition('/')[0]}/{stem}.py", f"{directory}/{name}"
    source, code = read_bytes(source_path), read_bytes(path)
    try:
        about = Path(source_path).stat()
        flags = int.from_bytes(code[4:8], "little")
        made = (
            (int(about.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little"),
            (about.st_size & 0xFFFFFFFF).to_bytes(4, "little"),
        )
        if flags == 0 and (code[8:12], code[12:16]) != made:
            return False  # Python compiles the source again
        with catch_warnings(action="ignore"):  # of what others wrote: nobody here can mend it
            meant = compile(source, source_path, "exec", dont_inherit=True, optimize=0)
        return code[16:] != marshal.dumps(meant) and marshal.loads(code[16:]) != meant  # noqa: S302 - never run
    except (OSError, SyntaxError, ValueError, EOFError, TypeError):
        return bool(source)


def _setting(path: str, name: str) -> str:
    for line in read_bytes(path).decode("utf-8", "replace").split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.strip().lower() == name:
            return value.strip()
    return ""


def read_bytes(path: str) -> bytes:
    """What is in a file; nothing if it can't be read."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
