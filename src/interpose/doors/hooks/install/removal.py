"""Everything of Interpose, for one user: what of it can go, in an order that leaves every agent guarded or clean.

1. Agents' files, each with its client behind it. INVARIANT: a client goes only when no agent that is known starts it.
2. The local server, which nobody asks any more.
3. What is kept: state, keys, rules, settings.

A crash in between leaves what the next run finds and removes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from interpose.core.config.load import Loaded
from interpose.core.config.places import ORGANISATION, Places
from interpose.core.config.settings import Config
from interpose.core.errors import SetupError, text_of
from interpose.core.platforms.processes import owner_of
from interpose.doors.hooks.clients.on_demand import started_server
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.apply import alone, apply
from interpose.doors.hooks.install.careful_files import drafts_of
from interpose.doors.hooks.install.gateway_plan import carry_out_gateway, plan_gateway_uninstall
from interpose.doors.hooks.install.gateway_records import GatewayInstalled, GatewayRecords
from interpose.doors.hooks.install.own_places import OwnEntry, foreign_entries, own_entries
from interpose.doors.hooks.install.places import InstallTarget, Scope, file_for, target_of
from interpose.doors.hooks.install.plan import Plan, plan_uninstall
from interpose.doors.hooks.install.records import Installed, Records, recorded_target
from interpose.doors.hooks.install.situation import ListeningServer, listening
from interpose.doors.hooks.install.stopping import hooks_that_stay, stopped
from interpose.doors.hooks.install.trees import remove_empty, remove_tree

_SCOPES: tuple[Scope, ...] = ("user", "project", "managed")
_ROUNDS = 3


WRITTEN = (
    "server.socket", "server.tokens_file", "approvals.key", "approvals.directory", "approvals.passphrase_file",
    "approvals.socket", "hooks.socket", "ledger.directory", "ledger.log.path", "ledger.anchor.file",
    "policy.directory", "logging.path",
)  # fmt: skip
"""Settings that say where we write."""


class Remaining(Struct, frozen=True):
    """Something of ours that stays, and why."""

    path: str
    why: str
    asks: bool = False
    """Whether an agent may still start our client."""

    @property
    def is_there(self) -> bool:
        """Whether it is there, if it is a file at all."""
        return not self.path.startswith("/") or os.path.lexists(self.path)


class Removal(Struct, frozen=True, kw_only=True):
    """What would go, and what would not."""

    plans: tuple[Plan, ...]
    gateways: tuple[GatewayInstalled, ...] = ()
    """Agents that get their own MCP servers back."""
    entries: tuple[OwnEntry, ...] = ()
    servers: tuple[ListeningServer, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    """Agents' files that stay as they are."""
    elsewhere: tuple[Remaining, ...] = ()
    """What is kept where it is not ours to remove."""

    @property
    def held_up(self) -> bool:
        """Whether an agent keeps what it starts from going."""
        return any(each.asks for each in self.remaining)


def plan_removal(loaded: Loaded, project: Path, *, purge: bool) -> Removal:
    """Look at everything, and change nothing."""
    plans: list[Plan] = []
    remaining = list(_unreadable(loaded.places))
    for target, was in _targets(loaded, project):
        try:
            plan = plan_uninstall(target, loaded)
        except (SetupError, OSError) as error:
            if was is not None or _names_us(target.path):
                remaining.append(_refused(target, text_of(error)))
            continue
        if not plan.changed and plan.was is None:
            continue
        if target.scope == "managed" and os.geteuid() != 0:
            sudo = f"it is the administrator's: run `sudo interpose uninstall {target.facts.name} --managed`"
            remaining.append(Remaining(str(target.path), sudo))
        else:
            plans.append(plan)
    gateways: list[GatewayInstalled] = []
    for record in GatewayRecords(loaded.places).all():
        try:
            plan_gateway_uninstall(record)
            gateways.append(record)
        except (SetupError, OSError) as error:
            remaining.append(Remaining(record.path, text_of(error), asks=True))
    if not purge:
        return Removal(plans=tuple(plans), gateways=tuple(gateways), remaining=tuple(remaining))
    return Removal(
        plans=tuple(plans),
        gateways=tuple(gateways),
        entries=tuple(own_entries(loaded.places)),
        servers=tuple(_servers(loaded.config)),
        remaining=tuple(remaining),
        elsewhere=tuple(_elsewhere(loaded)),
    )


def carry_out(removal: Removal, loaded: Loaded, *, purge: bool) -> tuple[list[Path], list[Remaining]]:
    """Remove what was planned. Says where copies of agents' files are, and what is left."""
    backups: list[Path] = []
    remaining = list(removal.remaining)
    for planned in removal.plans:
        try:
            # Once more: who shares a file with another agent finds it changed by now.
            plan = plan_uninstall(planned.target, loaded)
            for change in plan.changes:
                for draft in drafts_of(change.path):
                    draft.unlink(missing_ok=True)
            backups += apply(plan, loaded.places)
        except (SetupError, OSError) as error:
            remaining.append(_refused(planned.target, text_of(error)))
    for record in removal.gateways:
        try:
            backups += carry_out_gateway(plan_gateway_uninstall(record), loaded)
        except (SetupError, OSError) as error:
            remaining.append(Remaining(record.path, text_of(error), asks=True))
    if not purge or any(each.asks for each in remaining):
        return backups, remaining
    return [], [*remaining, *_purged(loaded), *(each for each in removal.elsewhere if each.is_there)]


def _purged(loaded: Loaded) -> list[Remaining]:
    places = loaded.places
    failed: dict[str, str] = {}
    if places.state.is_dir():
        with alone(places.state):
            new = [one.path for one in Records(places).all()] + [one.path for one in GatewayRecords(places).all()]
            if new:
                return [Remaining(path, "it was installed in the meantime; try again", asks=True) for path in new]
            failed = _removed(loaded)
    else:
        failed = _removed(loaded)
    for directory in (places.runtime, places.state, places.config):
        remove_empty(directory, places.home)
    return [Remaining(path, why) for path, why in failed.items()]


def _removed(loaded: Loaded) -> dict[str, str]:
    """Servers and files, until there are none. Says what could not be removed, and why."""
    failed: dict[str, str] = {}
    for _ in range(_ROUNDS):
        failed = {}
        entries = own_entries(loaded.places)
        for entry in [each for each in entries if each.path.name == "hooks"]:
            failed |= remove_tree(entry.path)  # first, so that no hook begins any more
        for pid in hooks_that_stay(loaded.places):  # each records its call, and starts a server when it is done
            failed[f"process {pid}"] = "a hook that does not end"
        for server in _servers(loaded.config):
            if why := stopped(server.pid, loaded.config.server.shutdown_timeout):
                failed[f"process {server.pid}"] = why
        if failed:
            return failed  # a server that goes on writes to what is kept
        for entry in entries:
            failed |= remove_tree(entry.path)
        if failed or not own_entries(loaded.places):
            break
    return failed


def _targets(loaded: Loaded, project: Path) -> Iterator[tuple[InstallTarget, Installed | None]]:
    """Where hooks could be: by our records, and in the files of this user, this project and this machine."""
    seen: set[tuple[str, Path]] = set()
    for record in Records(loaded.places).all():
        if record.host in HOSTS:
            seen.add((record.host, Path(record.path)))
            yield recorded_target(record, loaded.places.home), record
    for name, host in HOSTS.items():
        for scope in _SCOPES:
            if file_for(host.facts, scope) is None:
                continue
            try:
                target = target_of(host.facts, scope, project)
                place = target.path.resolve()
            except (SetupError, OSError, RuntimeError):
                continue  # no agent finds it there either
            if (name, place) not in seen:
                seen.add((name, place))
                yield target, None


def _unreadable(places: Places) -> Iterator[Remaining]:
    records = Records(places)
    for file in (*records.damaged(), *GatewayRecords(places).damaged()):
        yield Remaining(
            str(file),
            "it says what was installed where, and can't be read: run `interpose uninstall HOST --project` in the"
            " project that it may speak of, and remove it",
            asks=True,
        )
    for record in records.all():
        if record.host not in HOSTS:
            why = f"it has hooks for {record.host}, an agent that this version does not know"
            yield Remaining(record.path, why, asks=True)


def _names_us(path: Path) -> bool:
    try:
        return path.is_file() and b"interpose" in path.read_bytes()
    except OSError:
        return True


def _refused(target: InstallTarget, why: str) -> Remaining:
    # What is managed starts the program itself, and needs nothing of what is kept here.
    return Remaining(str(target.path), why, asks=target.scope != "managed")


def _servers(config: Config) -> list[ListeningServer]:
    found = {server.pid: server for server in map(listening, (config.hooks.socket, config.server.socket))}
    # One that a hook has just started does not listen yet, and would write to what is gone by then.
    starting = started_server(config.hooks.socket) if config.hooks.socket else 0
    found.setdefault(starting, ListeningServer(config.hooks.socket, starting))
    return [server for pid, server in found.items() if pid and _is_ours(pid)]


def _is_ours(pid: int) -> bool:
    try:
        return owner_of(pid) == os.geteuid()
    except OSError:
        return False


def _elsewhere(loaded: Loaded) -> Iterator[Remaining]:
    """What lies in our directories or by our settings elsewhere, and is not ours to remove."""
    places = loaded.places
    own = (places.config, places.state, places.runtime)
    for path in (*own, *(entry.path for entry in own_entries(places))):
        if path.is_symlink():
            yield Remaining(str(path.resolve()), f"{path} is a link to it: the link goes, what you keep there stays")
    for path in foreign_entries(places):
        yield Remaining(str(path), "nothing that this version of Interpose wrote")
    for name in WRITTEN:
        value: object = loaded.config
        for part in name.split("."):
            value = getattr(value, part)
        path = Path(str(value))
        if str(value) and os.path.lexists(path) and not any(path.is_relative_to(base) for base in own):
            yield Remaining(str(path), f"{name} puts it there, where other things may be; remove it yourself")
    if loaded.config.store.url:
        yield Remaining("the database that store.url names", "others may use it; its records stay")


def organisation_settings() -> str:
    """Where settings for everybody on this machine are, if there are any. They are nobody's to remove here."""
    return str(ORGANISATION.parent) if ORGANISATION.parent.is_dir() else ""
