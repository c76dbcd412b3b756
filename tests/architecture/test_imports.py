"""Imports point down only, third-party packages are confined, and modules stay short."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "interpose"

FLOORS = ("effects", "core", "reading", "record", "rules", "people", "engine", "composition", "doors")
"""From the ground up: a module imports from its own floor and from those below it. See docs/design/016."""
HALL_LIMIT = 12
"""Modules and packages beside the floors: what users import."""
FOLDER_LIMIT = 40

# Third-party packages, and the only places that may import them.
CONFINED = {
    "msgspec": ("",),
    "tree_sitter": ("effects/languages/",),
    "tree_sitter_javascript": ("effects/languages/",),
    "sqlglot": ("effects/languages/",),
    "re2": ("reading/secrets/patterns.py", "rules/cel/text_functions.py"),
    "cel_expr_python": ("rules/cel/checker.py",),
    "yaml": ("core/formats/yaml_text.py",),
    "asyncpg": ("record/store/postgres.py",),
    "cryptography": ("core/formats/signatures.py", "people/approvals/seal.py"),
    "httpx2": ("rules/policy/judge/http_transport.py", "rules/interceptor_protocol/remote_http.py"),
    "httptools": ("doors/http_server/request_reader.py", "doors/http_client/connection.py"),
    "jwt": ("doors/mcp/clients/client_tokens.py",),
    "keyring": ("doors/mcp/servers/server_oauth.py",),
    "uvloop": ("doors/http_server/listener.py",),
    "prometheus_client": ("doors/http/metrics.py",),
    "opentelemetry": ("composition/observability/telemetry.py",),
    "pydantic": ("doors/frameworks/",),  # where a framework speaks in its models
    "pydantic_core": ("doors/frameworks/",),
} | {
    package: (f"doors/frameworks/{module}.py",)
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
CONFINED["mcp"] += ("doors/frameworks/fastmcp.py",)  # which stands on it

SOURCE_LIMIT = 500
TEST_LIMIT = 600


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def room_of(module: str) -> str:
    """The room of a module: what stands on its floor. The door of coding agents has three."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[:2] == ["doors", "hooks"] else 2])


def floor_of(module: str) -> str | None:
    """The floor of a module; None in the hall."""
    floor = module.partition(".")[0]
    return floor if floor in FLOORS else None


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


PACKAGES = [
    module
    for path in modules()
    if path.name == "__init__.py"
    if (module := module_of(path)) not in FLOORS and floor_of(module) is not None
    if "\n__all__ = " in path.read_text("utf-8")
]
"""The packages that say what others may use of them. What the hall shows is for users."""


def doors_of(thing: str, module: str) -> Iterator[tuple[str, str]]:
    """The rooms that a module enters on its way to a thing, and what it asks for at each door."""
    for room in PACKAGES:
        if thing.startswith(f"{room}.") and not f"{module}.".startswith(f"{room}."):
            yield room, thing.removeprefix(f"{room}.").split(".")[0]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down(path: Path) -> None:
    floor = floor_of(module_of(path))
    if floor is None:
        return  # the hall shows what is on every floor
    below = FLOORS[: FLOORS.index(floor) + 1]
    used = {name.removeprefix("interpose.") for name in imports_of(path) if name.startswith("interpose.")}
    above = [name for name in sorted(used) if floor_of(name) not in below]
    assert above == [], f"{name_of(path)} is on the floor {floor!r}"


def test_the_rooms_of_a_floor_form_no_circle() -> None:
    left: dict[str, set[str]] = {}
    for path in modules():
        module = module_of(path)
        if (floor := floor_of(module)) is None:
            continue
        names = {name.removeprefix("interpose.") for name in imports_of(path) if name.startswith("interpose.")}
        used = {room_of(name) for name in names if is_module(name) and floor_of(name) == floor}
        left.setdefault(room_of(module), set()).update(used - {room_of(module), floor})
    while left:
        ground = [room for room, used in left.items() if not used & left.keys()]
        assert ground, f"a circle among {sorted(left)}"
        for room in ground:
            del left[room]


ALONE: dict[str, set[str]] = {
    "reading.secrets.kinds": set(), "rules.cel": {"core", "effects"}, "doors.http_client": {"core"},
    "doors.http_server": {"core", "effects"},
}  # fmt: skip
"""Parts that would serve another program as well, and the floors that they may use beside themselves."""


@pytest.mark.parametrize("part", ALONE)
def test_some_parts_stand_almost_alone(part: str) -> None:
    paths = [path for path in modules() if f"{module_of(path)}.".startswith(f"{part}.")]
    assert paths
    used = {
        name.removeprefix("interpose.") for path in paths for name in imports_of(path) if name.startswith("interpose.")
    }
    assert {floor_of(name) for name in used if not f"{name}.".startswith(f"{part}.")} <= ALONE[part]


def test_the_hall_is_small() -> None:
    beside = {path.name for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert set(FLOORS) <= beside
    assert len(beside - set(FLOORS)) <= HALL_LIMIT


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.parent for path in modules())
    assert {str(folder.relative_to(PACKAGE)): count for folder, count in counts.items() if count > FOLDER_LIMIT} == {}


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
    return name.startswith("_") and not name.startswith("__") and room_of(module) != room_of(module_of(path))


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
    """The names of a module itself, those for type checkers included."""
    body = tree_of(path).body
    for node in (*body, *(part for each in body if isinstance(each, ast.If) for part in each.body)):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (to.id for to in node.targets if isinstance(to, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_only_the_composition_knows_the_guards() -> None:
    """Users import the classes of `interpose.guards`; ours find them in the table of built-ins alone."""
    named = {module_of(path) for path in modules() if "interpose.rules.guards" in path.read_text(encoding="utf-8")}
    assert {name for name in named if room_of(name) != "rules.guards"} <= {"core.config.builtins", "guards"}


def test_governance_reads_calls_and_never_analyses_them() -> None:
    """The reading has the analyses that were made, and the budget of steps that all of them share."""
    taking = {room_of(module_of(path)) for path in modules() if "effects.shell.analyse" in taken_by(path)}
    assert "reading.calls" in taking
    assert "rules.governance" not in taking


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_third_party_packages_are_confined(path: Path) -> None:
    for name in imports_of(path):
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or top == "interpose":
            continue
        assert top in CONFINED, f"{name_of(path)} imports {top}, which has no place in CONFINED"
        assert name_of(path).startswith(CONFINED[top]), f"{top} may only be imported in {CONFINED[top]}"


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
    assert {name for name in loaded if name.startswith("interpose")} == {
        "interpose", "interpose.core", "interpose.core.late"
    }  # fmt: skip


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
        "interpose.effects.shell", "interpose.reading.secrets", "interpose.rules.policy", "interpose.rules.cel",
        "cel_expr_python",
    }  # fmt: skip
    assert not heavy & set(loaded)
