"""What only one operating system has is called in `interpose.core.platforms` alone.

No list of names is kept here: typeshed, which mypy brings along, says of every name of Python's library on which
systems it is. The files of a kernel are known by their first directory. A text that only says `/proc`, as in the tables
that judge commands and paths, calls nothing. What counts is a path that is opened, listed or put together.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "interpose"
SEAM = (*sorted((PACKAGE / "core" / "platforms").rglob("*.py")), PACKAGE / "effects" / "systems.py")
SYSTEMS = ("linux", "darwin")
KERNEL = re.compile(r"/(?:proc|sys|dev/shm|run/user|private/var)\b")
"""Directories that are not there on every system. A path that begins there is put together in the seam alone."""
ANYWHERE = re.compile(r"/dev/(?:tty|null|fd)$|/(?:etc|var/lib)/interpose(?:/|$)|/bin/sh$|/$")
"""Places that each of our systems has, or that we make. Any other path that is opened as it stands is of one system."""
OPENS = frozenset({"Path", "open", "PurePath", "PosixPath", "CDLL"})
FOREIGN = frozenset({"ctypes", "_ctypes"})
"""Modules that call what no Python library has."""


@cache
def typeshed() -> Path:
    found = importlib.util.find_spec("mypy")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "typeshed" / "stdlib"


def stub_of(module: str) -> Path | None:
    place = typeshed().joinpath(*module.split("."))
    return next((each for each in (place.with_suffix(".pyi"), place / "__init__.pyi") if each.is_file()), None)


@cache
def names_on(module: str, system: str) -> frozenset[str]:
    """What a module of Python's library has on a system."""
    stub = stub_of(module)
    return frozenset() if stub is None else frozenset(_bound(ast.parse(stub.read_text("utf-8")).body, system))


def _bound(body: list[ast.stmt], system: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.If(test=test):
                yield from _bound(node.body if _holds(test, system) else node.orelse, system)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (each.id for each in targets if isinstance(each, ast.Name))
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                yield from (each.asname or each.name for each in names)
            case _:
                pass


def _holds(test: ast.expr, system: str) -> bool:
    known = {"sys": SimpleNamespace(platform=system, version_info=sys.version_info), "TYPE_CHECKING": True}
    return bool(eval(compile(ast.Expression(test), "stub", "eval"), {"__builtins__": {}}, known))


def is_of_one(module: str, name: str) -> bool:
    """Whether a name of Python's library is not there on each of our systems."""
    there = [name in names_on(module, system) for system in SYSTEMS]
    return any(there) and not all(there)


def calls_of_one(text: str) -> Iterator[str]:
    """What a module calls that only one system has."""
    tree = ast.parse(text)
    modules = dict(_imported(tree))
    nodes = list(ast.walk(tree))
    parents = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}
    for node in nodes:
        match node:
            case ast.Import(names=names) if found := {each.name for each in names} & FOREIGN:
                yield f"{node.lineno}: import {', '.join(found)}"
            case ast.ImportFrom(module=str(module), names=names):
                if module in FOREIGN:
                    yield f"{node.lineno}: from {module}"
                yield from (f"{node.lineno}: {module}.{each.name}" for each in names if is_of_one(module, each.name))
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
                if (modules[name], attribute) == ("sys", "platform") or is_of_one(modules[name], attribute):
                    yield f"{node.lineno}: {modules[name]}.{attribute}"
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[ast.Name(id=name), ast.Constant(value=str(said)), *_]
            ) if is_of_one(modules.get(name, ""), said):
                yield f"{node.lineno}: {modules[name]}.{said}"
            case ast.Constant(value=str(said)) if _is_of_one_system(said, node, parents, modules):
                yield f"{node.lineno}: {said}"
            case _:
                pass


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that stand for modules of Python's library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name.partition(".")[0], each.name) for each in node.names)


def _is_of_one_system(said: str, node: ast.AST, parents: dict[int, ast.AST], modules: dict[str, str]) -> bool:
    """Whether a text is a path that another system does not have, and that is used."""
    if not said.startswith("/") or not _is_opened(node, parents, modules):
        return False
    in_parts = isinstance(parents[id(node)], ast.JoinedStr)
    return KERNEL.match(said) is not None if in_parts else ANYWHERE.match(said) is None


def _is_opened(node: ast.AST, parents: dict[int, ast.AST], modules: dict[str, str]) -> bool:
    """Whether a text is a path that is used: one that is handed to what opens, or one that is put together."""
    above = parents[id(node)]
    if isinstance(above, ast.JoinedStr):
        if above.values[0] is not node or len(above.values) == 1:
            return False
        # `f"/proc/{pid}"` is a path wherever it goes, unless it is compared or is a sentence.
        return " " not in "".join(str(each.value) for each in above.values if isinstance(each, ast.Constant))
    if not isinstance(above, ast.Call) or node is above.func:
        return False
    match above.func:
        case ast.Name(id=name):
            return name in OPENS
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return modules.get(name, "") in ("os", "posix", "io", "shutil", "_io", "ctypes") and attribute != "fspath"
        case _:
            return False


OUTSIDE = [path for path in sorted(PACKAGE.rglob("*.py")) if path not in SEAM]


def test_only_the_seam_calls_what_one_system_has() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{call}" for path in OUTSIDE for call in calls_of_one(path.read_text("utf-8"))
    ]
    assert found == [], "put it into interpose.platforms, with both systems"


def test_the_seam_itself_has_such_calls() -> None:
    """The same eyes see them where they are allowed."""
    found = {call.partition(": ")[2] for path in SEAM for call in calls_of_one(path.read_text("utf-8"))}
    assert {
        "sys.platform",
        "os.pidfd_open",
        "os.fdatasync",
        "socket.AF_NETLINK",
        "socket.SO_PEERCRED",
        "/proc",
    } <= found
    assert "import ctypes" in found


CALLS = [
    ("import os\nos.pidfd_open(1)", "os.pidfd_open"),
    ("import os as system\nsystem.sched_getaffinity(0)", "os.sched_getaffinity"),
    ("from signal import pidfd_send_signal", "signal.pidfd_send_signal"),
    ("import socket\nsocket.SO_PEERCRED", "socket.SO_PEERCRED"),
    ("import socket\ngetattr(socket, 'SO_PEERCRED', None)", "socket.SO_PEERCRED"),
    ("import select\nselect.epoll()", "select.epoll"),
    ("import select\nselect.kqueue()", "select.kqueue"),
    ("import time\ntime.CLOCK_BOOTTIME", "time.CLOCK_BOOTTIME"),
    ("import os\nos.memfd_create('x')", "os.memfd_create"),
    ("import os\nos.fdatasync(1)", "os.fdatasync"),
    ("import resource\nresource.prlimit(0, 7)", "resource.prlimit"),
    ("import ctypes", "import ctypes"),
    ("from ctypes import CDLL", "from ctypes"),
    ("import sys\nif sys.platform == 'linux': pass", "sys.platform"),
    ("from pathlib import Path\nPROC = Path('/proc')", "/proc"),
    ("open('/proc/self/stat')", "/proc/self/stat"),
    ("import os\nos.listdir('/proc')", "/proc"),
    ("import os\nos.stat('/dev/shm/x')", "/dev/shm/x"),
    ("def f(pid): return f'/proc/{pid}/stat'", "/proc/"),
    ("from pathlib import Path\nPath('/etc/machine-id').read_bytes()", "/etc/machine-id"),
    ("import os\nos.stat('/etc/os-release')", "/etc/os-release"),
    ("open('/Library/x')", "/Library/x"),
]


@pytest.mark.parametrize(("text", "want"), CALLS, ids=[want for _, want in CALLS])
def test_such_a_call_is_seen(text: str, want: str) -> None:
    assert [call.partition(": ")[2] for call in calls_of_one(text)] == [want]


TALK = [
    "PATHS = frozenset({'/proc', '/sys'})",
    "def f(path): return path.startswith(('/proc/', '/private/'))",
    "if at == '/proc': pass",
    "import re\nre.compile('/proc/self/environ')",
    "def f(name): print(f'/proc/{name} is what the command reads')",
    "import os\nos.stat('/etc/interpose/x'); os.open('/dev/null', 0)",
    "import os, socket\nsocket.SOL_SOCKET; os.fsync(1); os.kill(1, 2)",
    "import posixpath\nposixpath.join('/proc', 'self')",
]


@pytest.mark.parametrize("text", TALK)
def test_text_about_a_system_is_no_call(text: str) -> None:
    assert list(calls_of_one(text)) == []
