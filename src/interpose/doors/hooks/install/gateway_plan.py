"""What pointing an agent at the gateway would change, and what taking that back would: worked out, then done at once.

The agent's servers go into our configuration, and our gateway stands in their place. What their entries had that only
the agent knows, secrets among it, stays in the agent's file, as variables of the gateway.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time_ns
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec import json as fast
from msgspec.structs import fields

from interpose.core.config.gateway_servers import GatewayServer
from interpose.core.errors import ConfigError, SetupError, text_of
from interpose.doors.hooks.install.apply import alone
from interpose.doors.hooks.install.careful_files import FoundFile, back_up, found_at, make_directories, write
from interpose.doors.hooks.install.config_servers import with_servers
from interpose.doors.hooks.install.gateway_records import GatewayInstalled, GatewayRecords, sha256
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS, McpHost, McpPlace, mcp_place
from interpose.doors.hooks.install.mcp_servers import ImportedServer, Untranslated, is_ours, translated
from interpose.doors.hooks.install.plan import FileChange, hooks_text
from interpose.doors.hooks.install.servers_text import JsonServers, ServersText, TomlServers
from interpose.effects.agents.agent import McpScope

if TYPE_CHECKING:
    from interpose.core.config.load import Loaded

T = TypeVar("T")

ENTRY = "interpose"


class GatewayPlan(Struct, frozen=True, kw_only=True):
    """All that has to be done. Our own file first, so that the agent finds its servers behind the gateway."""

    title: str
    changes: tuple[FileChange, ...]
    record: GatewayInstalled | None = None
    was: GatewayInstalled | None = None
    imported: tuple[ImportedServer, ...] = ()
    untranslated: tuple[Untranslated, ...] = ()
    present: tuple[str, ...] = ()
    """Servers that our configuration has already, as they are."""
    back: tuple[ImportedServer, ...] = ()
    """Servers that an agent gets back."""

    @property
    def changed(self) -> tuple[FileChange, ...]:
        """The files that don't stay as they are."""
        return tuple(change for change in self.changes if change.before != change.after)

    @property
    def variables(self) -> dict[str, str]:
        """What the servers need, and the text that the agent's file has for it."""
        return {name: text for server in self.imported for name, text in server.variables.items()}


def plan_import(sources: Iterable[McpPlace], loaded: Loaded) -> GatewayPlan:
    """Servers of these files into our configuration; the files stay as they are. Raises SetupError."""
    found: list[ImportedServer | Untranslated] = []
    taken = _configured(loaded)
    for place in sources:
        servers = _servers_in(place, found_at(place.path, place.root))
        new = list(translated(servers, place.host if place.host.name else None, taken))
        taken |= {each.name: each.server for each in new if isinstance(each, ImportedServer)}
        found += new
    imported = [each for each in found if isinstance(each, ImportedServer)]
    change, present = _into_configuration(imported, loaded)
    return GatewayPlan(
        title="your configuration", changes=(change,), imported=tuple(imported), present=present,
        untranslated=tuple(each for each in found if isinstance(each, Untranslated)),
    )  # fmt: skip


def plan_gateway_install(place: McpPlace, loaded: Loaded) -> GatewayPlan:
    """Our gateway in the place of an agent's servers. Raises SetupError."""
    host, language = place.host, language_of(place)
    file = found_at(place.path, place.root, 0o600 if place.scope == "user" else 0o644)
    now = hooks_text(file)
    was = GatewayRecords(loaded.places).get(host.name, file.path, place.keys)
    before = _before(file)
    if was is not None:  # what was added since is taken over, too
        before = _named(place, lambda: language.restored(now, was, is_ours))
    base = before or ""
    servers = _named(place, lambda: language.servers(base))
    found = list(translated(servers, host, _configured(loaded)))
    imported = [each for each in found if isinstance(each, ImportedServer)]
    gone = {each.was for each in imported} | {name for name, entry in servers.items() if is_ours(entry)}
    left = [name for name in servers if name not in gone]
    name = ENTRY if ENTRY not in left else f"{ENTRY}-gateway"
    entry = entry_for(place, imported)
    swap = _named(place, lambda: language.swapped(base, gone, name, entry))
    change, present = _into_configuration(imported, loaded)
    record = GatewayInstalled(
        host=host.name, scope=place.scope, path=str(file.path), root=str(place.root.resolve()), at_ns=time_ns(),
        keys=place.keys, entry=name, before=before,
        after_sha256=sha256(swap.text), section_before=swap.section_before, section_after=swap.section_after,
        moved={each.was: servers[each.was] for each in imported}, directories=_missing(file.path, place, was),
    )  # fmt: skip
    theirs = FileChange(file.path, file.content, swap.text.encode(), file.mode)
    return GatewayPlan(
        title=host.title, changes=(change, theirs), record=record, was=was, imported=tuple(imported),
        untranslated=tuple(each for each in found if isinstance(each, Untranslated)), present=present,
    )  # fmt: skip


def plan_gateway_uninstall(record: GatewayInstalled) -> GatewayPlan:
    """An agent's servers as they were. Our configuration keeps them, too. Raises SetupError."""
    host = MCP_HOSTS.get(record.host)
    if host is None:
        raise SetupError(f"{record.path} is of {record.host}, an agent that this version does not know")
    place = McpPlace(host, record.scope, Path(record.path), Path(record.root), record.keys)
    file = found_at(place.path, place.root)
    text = _named(place, lambda: language_of(place).restored(hooks_text(file), record, is_ours))
    after = None if text is None or file.content is None else text.encode()
    change = FileChange(file.path, file.content, after, file.mode)
    back = [each for each in translated(record.moved, host, {}) if isinstance(each, ImportedServer)]
    return GatewayPlan(title=host.title, changes=(change,), was=record, back=tuple(back))


def carry_out_gateway(plan: GatewayPlan, loaded: Loaded) -> list[Path]:
    """Do what was planned, or nothing. Says where copies of what was changed are. Raises SetupError."""
    places, records = loaded.places, GatewayRecords(loaded.places)
    try:
        with alone(places.state):
            for change in plan.changed:
                if found_at(change.path, change.path.parent).content != change.before:
                    raise SetupError(f"{change.path} was changed in the meantime; try again")
            backups = [
                back_up(places.state / "backups", change.path, change.before)
                for change in plan.changed
                if change.before is not None
            ]
            if plan.record is not None:
                records.keep(plan.record)  # first, so that whatever comes of the rest can be taken back
            for change in plan.changed:
                if change.after is None:
                    change.path.unlink(missing_ok=True)
                else:
                    make_directories(change.path.parent, 0o700)
                    write(change.path, change.after, change.mode)
            if plan.record is None and plan.was is not None:
                _remove_directories(plan.was.directories)
                records.forget(plan.was)
    except OSError as error:
        raise SetupError(f"it could not be written: {text_of(error)}") from error
    return backups


def installed_for(host: McpHost, loaded: Loaded) -> list[GatewayInstalled]:
    """Where an agent was pointed at the gateway."""
    return [record for record in GatewayRecords(loaded.places).all() if record.host == host.name]


class GatewayStanding(Struct, frozen=True, kw_only=True):
    """How an agent's file stands that was pointed at the gateway."""

    host: str
    title: str
    path: str
    starts: bool
    """Whether the agent still starts the gateway by it."""
    past: tuple[str, ...] = ()
    """Servers that it starts itself."""
    problem: str = ""

    @property
    def text(self) -> str:
        """For people."""
        if self.problem:
            return f"{self.title}: {self.problem}"
        if not self.starts:
            once_more = f"interpose mcp gateway install {self.host}"
            return f"{self.title} does not start the gateway any more; once more: {once_more}"
        if self.past:
            named = ", ".join(self.past)
            return (
                f"{self.title} starts {named} past the gateway; to take over: interpose mcp gateway install {self.host}"
            )
        return f"{self.title} starts its MCP servers through the gateway"


def gateway_standings(loaded: Loaded) -> list[GatewayStanding]:
    """Every agent that was pointed at the gateway. Raises nothing."""
    return [_standing(record) for record in GatewayRecords(loaded.places).all()]


def _standing(record: GatewayInstalled) -> GatewayStanding:
    host = MCP_HOSTS.get(record.host)
    title = host.title if host is not None else record.host
    try:
        if host is None:
            raise SetupError("this version does not know the agent")
        place = McpPlace(host, record.scope, Path(record.path), Path(record.root), record.keys)
        servers = _servers_in(place, found_at(place.path, place.root))
    except (SetupError, OSError) as error:
        return GatewayStanding(host=record.host, title=title, path=record.path, starts=False, problem=text_of(error))
    past = tuple(name for name, entry in servers.items() if not is_ours(entry))
    starts = any(is_ours(entry) for entry in servers.values())
    return GatewayStanding(host=record.host, title=title, path=record.path, starts=starts, past=past)


def installed_in(host: str, scope: str, root: Path, loaded: Loaded) -> list[GatewayInstalled]:
    """Where an agent was pointed at the gateway: by the user's own file, or by that of one project."""
    return [
        record
        for record in GatewayRecords(loaded.places).all()
        if record.host == host
        and (record.scope == scope or (record.scope == "local" and scope == "user"))
        and (scope == "user" or record.root == str(root.resolve()))
    ]


def places_with_servers(scope: McpScope, project: Path) -> list[McpPlace]:
    """Every file of every agent that is there."""
    return [place for host in MCP_HOSTS.values() for place in places_of_host(host, scope, project)]


def places_of_host(host: McpHost, scope: McpScope, project: Path) -> list[McpPlace]:
    """The files of an agent that are there. What is a user's own for one project belongs to what is the user's."""
    scopes: tuple[McpScope, ...] = ("user", "local") if scope == "user" else (scope,)
    places = [mcp_place(host, each, project) for each in scopes if any(file.scope == each for file in host.files)]
    return [place for place in places if place.path.is_file()]


def entry_for(place: McpPlace, imported: Sequence[ImportedServer]) -> dict[str, Any]:
    """Our gateway as this agent wants to have a server written."""
    program = ["interpose"] if place.scope == "project" else _program()
    args = [*program[1:], "gateway", *(["--servers", ",".join(each.name for each in imported)] if imported else [])]
    variables = {name: text for server in imported for name, text in server.variables.items()}
    env = {name: text for name, text in variables.items() if text}
    passed = [name for name, text in variables.items() if not text]
    match place.host.servers.style:
        case "opencode":
            entry: dict[str, Any] = {"type": "local", "command": [program[0], *args], "enabled": True}
            return entry | ({"environment": env} if env else {})
        case "codex":
            entry = {"command": program[0], "args": args} | ({"env_vars": passed} if passed else {})
        case "vscode":
            entry = {"type": "stdio", "command": program[0], "args": args}
        case "copilot":
            entry = {"type": "local", "command": program[0], "args": args, "tools": ["*"]}
        case "gemini" | "common":
            entry = {"command": program[0], "args": args}
    return entry | ({"env": env} if env else {})


def language_of(place: McpPlace) -> ServersText:
    """How the file of a place is read and written."""
    return TomlServers(place.keys[-1]) if place.host.servers.toml else JsonServers(place.keys)


def _program() -> list[str]:
    """An agent that was started from a desktop has another PATH than a terminal."""
    beside = Path(sys.executable).with_name("interpose")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "interpose"]


def _servers_in(place: McpPlace, file: FoundFile) -> dict[str, Any]:
    if file.content is None:
        raise SetupError(f"there is no {place.path}")
    return _named(place, lambda: language_of(place).servers(hooks_text(file)))


def _configured(loaded: Loaded) -> dict[str, Any]:
    """What our configuration has, in the words of a file: what has its default is not said there."""
    default = {field.name: _as_json(field.default) for field in fields(GatewayServer)}
    return {
        name: {key: value for key, value in _as_json(server).items() if value != default[key]}
        for name, server in loaded.config.gateway.servers.items()
    }


def _as_json(value: Any) -> Any:
    return fast.decode(fast.encode(value))


def _into_configuration(imported: Sequence[ImportedServer], loaded: Loaded) -> tuple[FileChange, tuple[str, ...]]:
    taken = _configured(loaded)
    new = {each.name: each.server for each in imported if each.name not in taken}
    # Our own file may be anywhere that the user put it.
    file = found_at(loaded.file, Path(loaded.file.resolve().anchor))
    after = with_servers(hooks_text(file), new, str(loaded.file))
    content = after.encode() if new else file.content
    if new:
        _refuse_unloadable(after, loaded)
    return FileChange(file.path, file.content, content, file.mode), tuple(
        each.name for each in imported if each.name in taken
    )


def _refuse_unloadable(text: str, loaded: Loaded) -> None:
    """INVARIANT: nothing is written that our programs could not load: every hook would refuse from then on."""
    from interpose.core.config.load import load

    with TemporaryDirectory(prefix="interpose-") as directory:
        trial = Path(directory) / loaded.file.name
        trial.write_text(text, encoding="utf-8")
        trial.chmod(0o600)
        try:
            load(trial)
        except ConfigError as error:
            said = "; ".join(str(problem).replace(str(trial), str(loaded.file)) for problem in error.problems)
            raise SetupError(f"it would not load with these servers, and stays as it is: {said}") from None


def _named(place: McpPlace, work: Callable[[], T]) -> T:
    try:
        return work()
    except SetupError as error:
        raise SetupError(f"{place.path}: {error}") from None


def _before(file: FoundFile) -> str | None:
    return None if file.content is None else hooks_text(file)


def _missing(path: Path, place: McpPlace, was: GatewayInstalled | None) -> tuple[str, ...]:
    root = place.root.resolve()
    missing = {str(each) for each in path.parents if each.is_relative_to(root) and not each.exists()}
    return tuple(sorted(missing.union(was.directories if was else ())))


def _remove_directories(directories: Iterable[str]) -> None:
    for directory in reversed(tuple(directories)):
        try:
            Path(directory).rmdir()
        except OSError:
            pass  # others have put something there, or it is gone


def secret_texts(plan: GatewayPlan) -> Mapping[str, str]:
    """What is not shown of a plan: the text of each variable, and its name instead."""
    texts = {name: text for each in (*plan.imported, *plan.back) for name, text in each.variables.items()}
    return {text: name for name, text in texts.items() if len(text) > 3 and "${" not in text and "{env:" not in text}
