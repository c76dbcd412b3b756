"""Imports point down only, third-party packages are confined, and modules stay short."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interpose"

LEAVES = {"types", "errors"}
CORE = {*LEAVES, "driving", "tools", "toolsets", "points", "interceptor", "registration", "registry"}
FLOW = {*CORE, "pipeline", "approvals", "flow", "chain", "engine"}
READ_BY_PEOPLE = {"reading", "shell", "paths", "secrets", "store", "ledger", "formats"}

# Which rooms a room may use. The order is the architecture: a room stands on those above it. A surface is several
# rooms: a server that knows nothing of us, the routes of our API, the agents' languages, the programs agents start.
MAY_USE: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "formats": {"types"},
    "driving": {"types", "errors"},
    "tools": {"types", "errors", "formats"},
    "toolsets": {"tools", "errors"},
    "points": {"types", "errors"},
    "interceptor": {"types", "errors", "points", "driving"},
    "registration": {"types", "errors", "tools", "interceptor"},
    "registry": {"types", "errors", "interceptor", "registration"},
    "pipeline": {"types", "errors", "points", "interceptor", "driving"},
    "paths": {"types"},
    "secrets": {"types"},
    "store": {"types", "errors"},
    "shell": {"types", "paths", "secrets", "formats"},
    "reading": {"types", "tools", "shell", "paths"},
    "approvals": LEAVES | {"formats", "pipeline", "driving", "secrets", "store"},
    "flow": CORE | {"formats", "pipeline", "approvals", "secrets"},
    "function_tools": {"errors", "tools", "driving", "flow", "formats"},
    "engine": FLOW - {"chain", "engine"} | {"function_tools"},
    "chain": CORE | {"pipeline", "flow", "approvals"},
    "config": LEAVES | {"formats", "tools"},
    "guards": LEAVES | {"tools", "reading", "shell", "paths", "secrets"},
    "cel": {"types"},
    "policy": LEAVES
    | {"cel", "tools", "shell", "paths", "reading", "driving", "interceptor", "registration", "formats", "config"},
    "policy_trials": LEAVES | {"tools", "formats", "cel", "policy"},
    "ledger": LEAVES | {"formats", "reading", "secrets", "store", "config"},
    "service": FLOW | {"policy", "config", "ledger", "store"},
    "plugins": {"errors", "registry"},
    "build": FLOW | {"reading", "service", "config", "guards", "plugins", "policy", "ledger", "store"},
    "guarded": FLOW | {"build", "function_tools"},
    "testing": FLOW,
    "observability": {*LEAVES, "formats", "flow", "config", "service"},
    "surfaces": set(),
    "surfaces.http_server": LEAVES | {"config", "formats"},
    "surfaces.http": FLOW | READ_BY_PEOPLE | {"service", "config", "policy", "observability", "surfaces.http_server"},
    "surfaces.hosts": FLOW | {"formats", "secrets", "service", "store", "config"},
    "surfaces.hook_clients": LEAVES | {"build", "config", "surfaces.hosts"},
    "server": LEAVES
    | {"build", "driving", "config", "ledger", "observability", "service"}
    | {"surfaces.hook_clients", "surfaces.hosts", "surfaces.http", "surfaces.http_server"},
    "install": LEAVES | {"formats", "config", "store", "ledger", "surfaces.hook_clients", "surfaces.hosts"},
    "cli": FLOW
    | READ_BY_PEOPLE
    | {"__init__", "build", "config", "guards", "install", "observability", "policy", "policy_trials"}
    | {"server", "service"}
    | {"surfaces.hook_clients", "surfaces.hosts", "surfaces.http_server"},
    "__init__": FLOW | {"build", "guarded", "plugins"},
    "__main__": {"cli"},
}

# Third-party packages, and the only places that may import them.
CONFINED = {
    "msgspec": ("",),
    "tree_sitter": ("shell/languages/",),
    "tree_sitter_javascript": ("shell/languages/",),
    "sqlglot": ("shell/languages/",),
    "re2": ("secrets/patterns.py", "cel/text_functions.py"),
    "cel_expr_python": ("cel/checker.py",),
    "yaml": ("formats/yaml_text.py",),
    "asyncpg": ("store/postgres.py",),
    "httpx2": ("policy/judge/http_transport.py",),
    "httptools": ("surfaces/http_server/request_reader.py",),
    "uvloop": ("surfaces/http_server/listener.py",),
    "prometheus_client": ("surfaces/http/metrics.py",),
    "opentelemetry": ("observability/telemetry.py",),
}

SOURCE_LIMIT = 500
TEST_LIMIT = 600


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def room_of(path: Path) -> str:
    return room_named(".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"))


def room_named(module: str) -> str:
    """The room of a module: the longest name in front of it that has a place in MAY_USE."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in MAY_USE:
            return name
    raise AssertionError(f"{parts[0]} is a new room: give it a place in MAY_USE")


def is_module(name: str) -> bool:
    """Whether there is such a room or module: `from interpose import X` also names things that are none."""
    place = PACKAGE / name.split(".", maxsplit=1)[0]
    return place.is_dir() or place.with_suffix(".py").is_file()


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield node.module or ""
            if node.module == "interpose":
                yield from (f"interpose.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    names = {name.removeprefix("interpose.") for name in imports_of(path) if name.startswith("interpose.")}
    used = {room_named(name) for name in names if is_module(name)}
    assert used - {room} <= MAY_USE[room], f"{name_of(path)} must not use {sorted(used - {room} - MAY_USE[room])}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_third_party_packages_are_confined(path: Path) -> None:
    for name in imports_of(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top == "interpose":
            continue
        assert top in CONFINED, f"{name_of(path)} imports {top}, which has no place in CONFINED"
        assert name_of(path).startswith(CONFINED[top]), f"{top} may only be imported in {CONFINED[top]}"


def test_the_rooms_form_no_circle() -> None:
    left = {room: set(used) for room, used in MAY_USE.items()}
    while left:
        ground = [room for room, used in left.items() if not used & left.keys()]
        assert ground, f"a circle among {sorted(left)}"
        for room in ground:
            del left[room]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_source_modules_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= SOURCE_LIMIT


def test_test_modules_are_short() -> None:
    long = {
        path.name: count
        for path in (ROOT / "tests").rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > TEST_LIMIT
    }
    assert not long


def test_importing_the_package_stays_light() -> None:
    """No web, no MCP, no CEL, no asyncio, no parser, no logging: `import interpose` is on every hook's path."""
    import subprocess

    code = "import sys, interpose; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"asyncio", "logging", "json", "subprocess", "tree_sitter", "sqlglot", "yaml", "re2", "email"}
    heavy |= {"interpose.shell", "interpose.secrets", "interpose.policy", "interpose.cel", "cel_expr_python"}
    assert not heavy & set(loaded)
