"""Imports point down only, third-party packages are confined, and modules stay short."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interpose"

LEAVES = {"types", "errors", "texts", "background"}
CORE = {*LEAVES, "waiting", "tools", "toolsets", "points", "interceptor", "registration", "registry"}
FLOW = {*CORE, "pipeline", "observing", "approvals", "chain", "batch", "status", "wire", "engine"}
READ_BY_PEOPLE = {"analysis", "shell", "paths", "secrets", "store", "ledger"}

# Which rooms a room may use. The order is the architecture: a room stands on those above it.
MAY_USE: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "texts": set(),
    "background": set(),
    "arrivals": set(),
    "yaml_text": set(),
    "waiting": {"arrivals", "background", "types"},
    "patches": set(),
    "strict_json": {"types"},
    "tools": {"types", "errors", "patches", "strict_json"},
    "toolsets": {"tools", "errors"},
    "points": {"types", "errors"},
    "interceptor": {"types", "points", "waiting"},
    "registration": {"types", "errors", "tools", "interceptor"},
    "registry": {"types", "errors", "interceptor", "registration"},
    "pipeline": {"types", "errors", "points", "interceptor", "waiting"},
    "observing": {"types", "errors", "interceptor", "waiting"},
    "approvals": {"types", "errors", "texts", "pipeline", "waiting", "secrets", "store"},
    "batch": {"types", "approvals", "waiting"},
    "chain": CORE | {"pipeline", "observing", "approvals"},
    "status": {"types", "errors", "texts", "tools", "secrets"},
    "wire": {"types", "errors", "texts", "secrets"},
    "engine": FLOW - {"chain", "engine"},
    "paths": {"types"},
    "secrets": {"types"},
    "store": {"types", "errors"},
    "shell": {"types", "paths", "secrets", "patches"},
    "answers": set(),
    "analysis": {"types", "tools", "shell", "paths", "answers"},
    "cel": set(),
    "policy": LEAVES
    | {"cel", "tools", "shell", "paths", "analysis", "answers", "interceptor", "registration"}
    | {"yaml_text", "strict_json", "config"},
    "policy_trials": {"types", "errors", "tools", "yaml_text", "cel", "policy"},
    "guards": {"types", "errors", "tools", "analysis", "answers", "shell", "paths", "secrets"},
    "ledger": {"types", "errors", "texts", "answers", "analysis", "secrets", "store", "config"},
    "build": FLOW | {"activity", "service", "policies", "config", "guards", "plugins", "policy", "ledger", "store"},
    "config": LEAVES | {"yaml_text", "tools"},
    "surfaces": FLOW
    | READ_BY_PEOPLE
    | {"activity", "strict_json", "service", "opencalls", "config", "build", "policy"},
    "setup": {"types", "errors", "texts", "config", "store", "ledger", "surfaces"},
    "opencalls": {"types", "errors"},
    "policies": {"types", "errors", "engine"},
    "activity": {"types", "waiting", "engine"},
    "service": FLOW | {"activity", "opencalls", "policies", "policy", "config", "ledger", "store"},
    "guarded": FLOW | {"build"},
    "__main__": {"cli"},
    "plugins": {"errors", "registry"},
    "testing": FLOW,
    "__init__": FLOW | {"build", "guarded", "plugins"},
    "cli": FLOW
    | READ_BY_PEOPLE
    | {"__init__", "build", "config", "guarded", "plugins", "guards", "policy", "service", "surfaces", "testing"}
    | {"policy_trials", "setup", "strict_json"},
}

# Third-party packages, and the only places that may import them.
CONFINED = {
    "msgspec": ("",),
    "tree_sitter": ("shell/languages/",),
    "tree_sitter_javascript": ("shell/languages/",),
    "sqlglot": ("shell/languages/",),
    "re2": ("secrets/patterns.py", "cel/text_functions.py"),
    "cel_expr_python": ("cel/checker.py",),
    "yaml": ("yaml_text.py",),
    "asyncpg": ("store/postgres.py",),
    "httpx2": ("policy/judge/http_transport.py",),
    "httptools": ("surfaces/http/reader.py",),
    "uvloop": ("surfaces/http/listener.py",),
    "prometheus_client": ("surfaces/http/metrics.py",),
    "opentelemetry": ("surfaces/telemetry.py",),
}

SOURCE_LIMIT = 500
TEST_LIMIT = 600


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


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
    assert room in MAY_USE, f"{room} is a new room: give it a place in MAY_USE"
    known = {room_of(module) for module in modules()}
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("interpose.")} & known
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
