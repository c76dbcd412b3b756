"""Imports point down only, third-party packages are confined, and modules stay short."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interpose"

EVERYWHERE = {"late_loggers", "late_names", "late_patterns"}
LEAVES = {"answers", "types", "errors"}
CORE = {
    *LEAVES,
    "driving",
    "tools",
    "tool_descriptions",
    "carried_calls",
    "toolsets",
    "points",
    "interceptor",
    "registration",
    "registry",
}
FLOW = {*CORE, "pipeline", "approvals", "flow", "chain", "engine"}
SHELL_TOOLS = {"shell.invocation", "shell.streams", "shell.commands.shared.handler_table"}
LANGUAGE_TOOLS = {"shell.invocation", "shell.secret_names", "shell.commands.shared.handler_table"}
POLICY = {"policy", "policy.interceptor", "policy.reload"}
READ_BY_PEOPLE = {"reading", "shell", "paths", "secrets", "store", "ledger", "formats"}

# Which rooms a room may use. The order is the architecture: a room stands on those above it. A surface is several
# rooms: a server that knows nothing of us, the routes of our API, the agents' languages, the programs agents start.
# A module is a room of its own where its neighbours stand on both sides of a room between them.
MAY_USE: dict[str, set[str]] = {
    "answers": set(),
    "command_line": set(),
    "operations": set(),
    "tool_names": set(),
    "frozen_values": set(),
    "types": {"answers", "frozen_values", "tool_names"},
    "errors": set(),
    "late_loggers": set(),
    "late_names": set(),
    "late_patterns": set(),
    "formats": {"types"},
    "agents": set(),
    "platforms": set(),
    "driving": {"types", "errors"},
    "tool_words": set(),
    "tools": {"types", "errors", "formats", "tool_names", "tool_words"},
    "tool_descriptions": set(),
    "carried_calls": {"types", "errors", "formats", "tools"},
    "toolsets": {"tools", "errors"},
    "points": {"types", "errors", "tool_names"},
    "interceptor": {"types", "errors", "points", "driving"},
    "registration": {"types", "errors", "driving", "tool_names", "interceptor"},
    "registry": {"types", "errors", "interceptor", "registration", "tools", "tool_descriptions"},
    "pipeline": {"answers", "types", "errors", "points", "interceptor", "driving"},
    "environment": set(),
    "paths": {"types", "agents", "environment", "operations", "platforms"},
    "secrets.kinds": set(),
    "secrets": {"types", "secrets.kinds", "formats"},
    "store": {"types", "errors", "formats", "platforms"},
    "shell.syntax": set(),
    "shell.invocation": {"types"},
    "shell.streams": {"shell.invocation"},
    "shell.commands.shared.handler_table": {"shell.invocation"},
    "shell.secret_names": set(),
    "shell.languages": {"types", "paths"} | LANGUAGE_TOOLS,
    "shell.commands": SHELL_TOOLS | {"command_line", "types", "agents", "paths", "formats", "shell.languages"},
    "shell": SHELL_TOOLS
    | {
        "types",
        "agents",
        "paths",
        "secrets",
        "shell.secret_names",
        "shell.syntax",
        "shell.languages",
        "shell.commands",
    },
    "foreign_tools": {"types", "tools", "tool_words", "tool_descriptions", "secrets"},
    "reading": {"types", "tools", "tool_descriptions", "foreign_tools", "shell", "paths"},
    "pins": LEAVES | {"store"},
    "call_kinds": LEAVES | {"formats", "reading", "tools"},
    "approvals": LEAVES | {"call_kinds", "formats", "pipeline", "driving", "secrets", "store", "platforms"},
    "flow": CORE | {"formats", "pipeline", "approvals", "secrets"},
    "function_tools": {"errors", "tools", "driving", "flow", "formats"},
    "engine": FLOW - {"chain", "engine"} | {"function_tools"},
    "chain": CORE | {"pipeline", "flow", "approvals"},
    "config": LEAVES | {"agents", "formats", "tools", "platforms"},
    "proof": LEAVES | {"agents", "config", "platforms"},
    "notifications": LEAVES | {"approvals", "config", "formats", "store"},
    "guards": LEAVES | {"agents", "formats", "tools", "foreign_tools", "reading", "shell", "paths", "secrets"},
    "cel": {"types"},
    "policy": LEAVES
    | {"cel", "tools", "shell", "paths", "reading", "driving", "interceptor", "registration", "formats", "config"},
    "policy.judge": LEAVES | {"driving", "formats", "interceptor", "policy", "registration"},
    "policy.interceptor": LEAVES | {"cel", "interceptor", "policy", "policy.judge", "registration"},
    "policy.reload": LEAVES | {"formats", "interceptor", "policy", "policy.interceptor"},
    "policy_trials": LEAVES
    | {"tools", "formats", "cel", "policy", "policy.interceptor"}
    | {"carried_calls", "driving", "engine", "interceptor", "pipeline", "registry"},
    "ledger": LEAVES | {"formats", "reading", "secrets", "store", "config", "platforms"},
    "governance": CORE
    | {"agents", "cel", "config", "formats", "reading", "shell", "paths", "secrets", "store", "flow"},
    "service": FLOW
    | POLICY
    | {"call_kinds", "config", "formats", "governance", "ledger", "notifications", "pins", "proof", "store"},
    "plugins": {"types", "errors", "registry"},
    "interceptor_protocol": LEAVES | {"config", "driving", "formats"},
    "build_governance": LEAVES
    | {"config", "engine", "flow", "governance", "ledger", "policy", "registry", "service", "store"},
    "build": FLOW
    | POLICY
    | {
        "build_governance",
        "governance",
        "interceptor_protocol",
        "reading",
        "paths",
        "service",
        "config",
        "guards",
        "plugins",
        "ledger",
        "store",
    },
    "guarded_functions": FLOW | {"build", "function_tools"},
    "testing": FLOW,
    "observability": {*LEAVES, "formats", "flow", "config", "service"},
    "surfaces": set(),
    "surfaces.http_server": LEAVES | {"config", "formats", "platforms"},
    "surfaces.http": FLOW
    | POLICY
    | READ_BY_PEOPLE
    | {"config", "governance", "notifications", "observability", "operations", "pins", "policy_trials", "proof"}
    | {"service", "surfaces.http_server"},
    "surfaces.page": LEAVES
    | {"approvals", "call_kinds", "config", "formats", "ledger", "policy", "policy.reload", "proof", "service", "store"}
    | {"governance", "surfaces.http", "surfaces.http_server", "tools"},
    "surfaces.hosts": FLOW | {"agents", "formats", "secrets", "service", "store", "config"},
    "surfaces.known_callers": {"proof", "service", "surfaces.http_server", "platforms"},
    "surfaces.hook_clients": LEAVES
    | {"approvals", "build", "config", "proof", "service", "surfaces.hosts", "platforms"},
    "surfaces.http_client": {"types"},
    "surfaces.mcp": FLOW
    | {"cel", "config", "formats", "observability", "pins", "secrets", "service", "store", "surfaces.hosts"}
    | {"interceptor_protocol", "surfaces.hook_clients", "surfaces.http_client", "surfaces.http_server"}
    | {"surfaces.known_callers", "tool_descriptions"},
    "surfaces.frameworks": FLOW | {"build", "config", "formats", "service", "surfaces.hosts", "surfaces.http_client"},
    "frameworks": {"surfaces.frameworks"},
    "surfaces.model_proxy": LEAVES
    | {"approvals", "config", "driving", "flow", "formats", "observability", "service"}
    | {"surfaces.hook_clients", "surfaces.hosts", "surfaces.http_client", "surfaces.http_server"}
    | {"surfaces.known_callers"},
    "install": LEAVES
    | {"agents", "approvals", "environment", "formats", "config", "notifications", "secrets", "store", "ledger"}
    | {"platforms", "surfaces.hook_clients", "surfaces.hosts"},
    "server": LEAVES
    | {"approvals", "build", "config", "driving", "install", "ledger", "observability", "proof", "service", "store"}
    | {"surfaces.hook_clients", "surfaces.hosts", "surfaces.http", "surfaces.http_server", "surfaces.mcp"}
    | {"surfaces.known_callers", "surfaces.page"},
    "cli": FLOW
    | POLICY
    | READ_BY_PEOPLE
    | {
        "__init__",
        "agents",
        "build",
        "command_line",
        "config",
        "environment",
        "governance",
        "install",
        "notifications",
        "observability",
        "operations",
        "pins",
        "policy_trials",
    }
    | {"build_governance", "platforms", "proof"}
    | {"interceptor_protocol", "plugins", "server", "service"}
    | {"shell.commands"}
    | {"surfaces.hook_clients", "surfaces.hosts", "surfaces.http_server", "surfaces.mcp", "surfaces.model_proxy"},
    "__init__": FLOW | {"build", "build_governance", "guarded_functions", "plugins"},
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
    "cryptography": ("formats/signatures.py", "approvals/seal.py"),
    "httpx2": ("policy/judge/http_transport.py", "interceptor_protocol/remote_http.py"),
    "httptools": ("surfaces/http_server/request_reader.py", "surfaces/http_client/connection.py"),
    "jwt": ("surfaces/mcp/client_tokens.py",),
    "keyring": ("surfaces/mcp/server_oauth.py",),
    "uvloop": ("surfaces/http_server/listener.py",),
    "prometheus_client": ("surfaces/http/metrics.py",),
    "opentelemetry": ("observability/telemetry.py",),
    "pydantic": ("surfaces/frameworks/",),  # where a framework speaks in its models
    "pydantic_core": ("surfaces/frameworks/",),
} | {
    package: (f"surfaces/frameworks/{module}.py",)
    for module, packages in {
        "ag2": ("ag2", "autogen"),
        "agent_framework": ("agent_framework",),
        "claude_agent_sdk": ("claude_agent_sdk",),
        "crewai": ("crewai",),
        "fastmcp": ("fastmcp",),
        "google_adk": ("google",),
        "langchain": ("langchain", "langchain_core", "langgraph"),
        "llama_index": ("llama_index", "workflows"),
        "mcp_sdk": ("mcp",),
        "openai_agents": ("agents", "openai"),
        "pydantic_ai": ("pydantic_ai",),
        "smolagents": ("smolagents",),
        "strands": ("strands",),
    }.items()
    for package in packages
}
CONFINED["mcp"] += ("surfaces/frameworks/fastmcp.py",)  # which stands on it

SOURCE_LIMIT = 500
TEST_LIMIT = 600


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def room_of(path: Path) -> str:
    return room_named(module_of(path))


def room_named(module: str) -> str:
    """The room of a module: the longest name in front of it that has a place in MAY_USE."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in MAY_USE:
            return name
    raise AssertionError(f"{parts[0]} is a new room: give it a place in MAY_USE")


def is_package(name: str) -> bool:
    return (PACKAGE / name.replace(".", "/") / "__init__.py").is_file()


def is_module(name: str) -> bool:
    return is_package(name) or (PACKAGE / name.replace(".", "/")).with_suffix(".py").is_file()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def importing_in(path: Path) -> tuple[ast.AST, ...]:
    """The nodes of a module that import. Kept, unlike its tree: reading every module once takes long enough."""
    return tuple(node for node in ast.walk(tree_of(path)) if is_importing(node))


def is_importing(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Call(func=ast.Name(id="import_module" | "__import__")):
            return True
        case _:
            return False


def imports_of(path: Path) -> Iterator[str]:
    """Every module that is imported, as far as the text says whether a name is one."""
    for node in importing_in(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the direction"
            yield node.module or ""
            for name in named_in(node):
                if is_module(name.removeprefix("interpose.")):
                    yield name


def named_in(node: ast.ImportFrom) -> Iterator[str]:
    """`interpose.room.Name` for each name that is taken out of a module of ours."""
    if node.module == "interpose" or (node.module or "").startswith("interpose."):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def taken_by(path: Path) -> Iterator[str]:
    """What a module takes out of ours, in full: `formats.strict_json.decode`, `ledger.Record`."""
    for node in importing_in(path):
        if isinstance(node, ast.ImportFrom):
            yield from (name.removeprefix("interpose.") for name in named_in(node))
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("interpose.") for alias in node.names if "interpose." in alias.name)


@cache
def exported(room: str) -> list[str]:
    """The `__all__` of a package."""
    for node in tree_of(PACKAGE / room.replace(".", "/") / "__init__.py").body:
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets):
            names = ast.literal_eval(node.value)
            assert isinstance(names, list)
            return names
    raise AssertionError(f"{room}/__init__.py has no __all__")


def door_text(room: str) -> str:
    """The text of a package's `__init__.py`."""
    return (PACKAGE / room.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")


PACKAGES = [room for room in MAY_USE if is_package(room) and room != "surfaces"]


def doors_of(thing: str, module: str) -> Iterator[tuple[str, str]]:
    """The rooms that a module enters on its way to a thing, and what it asks for at each door."""
    for room in PACKAGES:
        if thing.startswith(f"{room}.") and not f"{module}.".startswith(f"{room}."):
            yield room, thing.removeprefix(f"{room}.").split(".")[0]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    names = {name.removeprefix("interpose.") for name in imports_of(path) if name.startswith("interpose.")}
    used = {room_named(name) for name in names if is_module(name)}
    above = used - {room} - MAY_USE[room] - EVERYWHERE
    assert not above, f"{name_of(path)} must not use {sorted(above)}"


def test_every_room_is_there() -> None:
    """A room that was renamed or taken away leaves no place in MAY_USE behind."""
    assert [room for room in MAY_USE if not is_module(room)] == []


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_rooms_are_entered_by_their_doors(path: Path) -> None:
    """What another room may use stands in `__all__`: a name, or a module that is not imported until it is needed."""
    around = [
        f"{thing}: {asked!r} is not in __all__ of {room}"
        for thing in taken_by(path)
        for room, asked in doors_of(thing, module_of(path))
        if asked not in exported(room)
    ]
    assert around == []


def ways_around(path: Path) -> Iterator[str]:
    """Ways to another room that `taken_by` does not see, or that end at a name which is nobody else's."""
    for node in importing_in(path):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if f"{alias.name}.".startswith("interpose."))
            case ast.ImportFrom():
                things = [name.removeprefix("interpose.") for name in named_in(node)]
                yield from (f"the whole room {thing}" for thing in things if thing in PACKAGES and "." not in thing)
                yield from (f"the private name {thing}" for thing in things if is_of_others(thing, path))
            case ast.Call(func=ast.Name(id="import_module" | "__import__"), args=[ast.Constant(value=str(name)), *_]):
                if name.startswith("interpose."):
                    yield f"{name} by its name"
            case _:
                pass


def is_of_others(thing: str, path: Path) -> bool:
    """Whether a thing is a private name of another room."""
    module, _, name = thing.rpartition(".")
    return name.startswith("_") and not name.startswith("__") and room_named(module) != room_of(path)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_rooms_are_not_reached_around_their_doors(path: Path) -> None:
    assert list(ways_around(path)) == []


@pytest.mark.parametrize("room", PACKAGES)
def test_what_a_room_exports_is_there_and_is_used(room: str) -> None:
    names = exported(room)
    assert sorted(set(names)) == sorted(names)
    defined = set(bound_in(PACKAGE / room.replace(".", "/") / "__init__.py"))
    submodules = set(names) - defined
    assert [name for name in submodules if not is_module(f"{room}.{name}")] == []
    used = {asked for at, asked in entered() if at == room}
    assert submodules - used == set(), "no other room uses these modules"


@cache
def entered() -> frozenset[tuple[str, str]]:
    """Every door that is used, with what is asked for there."""
    return frozenset(
        door for path in modules() for thing in taken_by(path) for door in doors_of(thing, module_of(path))
    )


def bound_in(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (to.id for to in node.targets if isinstance(to, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_only_the_composition_knows_the_guards() -> None:
    """Users import the classes of `interpose.rules.guards`; of our own modules only `build` does, by their names."""
    assert [room for room, used in MAY_USE.items() if "guards" in used] == ["build"]
    named = {module_of(path) for path in modules() if "interpose.rules.guards" in path.read_text(encoding="utf-8")}
    assert {name for name in named if room_named(name) != "guards"} <= {"build", "config.builtins"}


def test_governance_reads_calls_and_never_analyses_them() -> None:
    """The reading has the analyses that were made, and the budget of steps that all of them share."""
    assert any("shell.analyse" in taken_by(path) for path in modules() if room_of(path) == "reading")
    assert not [
        name_of(path) for path in modules() if room_of(path) == "governance" and "shell.analyse" in taken_by(path)
    ]


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


@pytest.mark.parametrize("room", [room for room in ("", *PACKAGES) if "_HOMES = {" in door_text(room)])
def test_a_late_name_is_no_modules_name(room: str) -> None:
    """Whoever imports the module would put it in the place of what has its name."""
    names = re.findall(r'"(\w+)"', door_text(room).partition("_HOMES = {")[2].partition("\n}")[0])
    assert names
    homes = set(re.findall(r'^    "([\w.]+)":', door_text(room).partition("_HOMES = {")[2], re.MULTILINE))
    assert [name for name in names if name not in homes and is_module(f"{room}.{name}".lstrip("."))] == []


def test_importing_the_package_stays_light() -> None:
    """It imports nothing of ours, and of Python's library only what starts with the interpreter."""
    import subprocess

    code = "import sys; before = set(sys.modules); import interpose; print(*set(sys.modules) - before)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {name for name in loaded if name.startswith("interpose")} == {"interpose", "interpose.late_names"}


def exported_by_the_package() -> list[str]:
    import interpose

    return list(interpose.__all__)


def test_every_public_name_together_stays_light() -> None:
    """No web, no MCP, no CEL, no asyncio, no parser, no logging, whatever of it an embedding program uses."""
    import subprocess

    names = [name for name in exported_by_the_package() if name != "load_plugins"]  # metadata is slow to read
    code = f"import sys; from interpose import {', '.join(names)}; print(' '.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"asyncio", "logging", "json", "subprocess", "tree_sitter", "sqlglot", "yaml", "re2", "email"}
    heavy |= {
        "interpose.effects.shell",
        "interpose.reading.secrets",
        "interpose.rules.policy",
        "interpose.rules.cel",
        "cel_expr_python",
    }
    assert not heavy & set(loaded)
