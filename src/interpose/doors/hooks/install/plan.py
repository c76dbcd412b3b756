"""What an install or uninstall would change, worked out before anything is touched."""

from __future__ import annotations

import json
import shlex
import stat
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import SetupError
from interpose.doors.hooks.clients.client_files import (
    GONE,
    HookClient,
    client_for,
    managed_client,
    managed_seconds,
    managed_wait,
    needed,
    seconds_of,
    wait_of,
)
from interpose.doors.hooks.clients.plugins import MADE_BY, Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.hook_places import LINE_PROGRAM, hooks_of
from interpose.doors.hooks.install.careful_files import FoundFile, found_at
from interpose.doors.hooks.install.hooks_file import EVERYTHING, HooksFile, Made, is_empty, together
from interpose.doors.hooks.install.jsonc import JsoncError, departures, error_at, parse
from interpose.doors.hooks.install.places import InstallTarget, file_for
from interpose.doors.hooks.install.records import Installed, Records

if TYPE_CHECKING:
    from interpose.core.config.load import Loaded
    from interpose.doors.hooks.hosts.events import Host


class FileChange(Struct, frozen=True):
    """One file: what it holds now and what it is to hold. None is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int
    theirs: bool = True
    """Whether it is the host's file, and not one that is ours as a whole."""


class Plan(Struct, frozen=True, kw_only=True):
    """All that has to be done. `record` is how it will be remembered; without one it will be forgotten."""

    target: InstallTarget
    changes: tuple[FileChange, ...]
    record: Installed | None
    was: Installed | None
    heirs: tuple[Installed, ...] = ()
    """Records of other hosts in the same file: whoever leaves last takes along what the first one made."""

    @property
    def changed(self) -> tuple[FileChange, ...]:
        """The files that don't stay as they are."""
        return tuple(change for change in self.changes if change.before != change.after)


def is_ours(host: str) -> Callable[[str], bool]:
    """Whether a command line is a hook of ours for this host: our client, or `interpose hook` itself."""

    def ours(command: str) -> bool:
        try:
            words = shlex.split(command)
        except ValueError:
            return False
        program = next(iter(words), "")
        if program.endswith((f"/interpose/hooks/{host}", f"/interpose/hooks/{host}{LINE_PROGRAM}")):
            return True
        starts = [at for at, word in enumerate(words) if word == "interpose" or word.endswith("/interpose")]
        return any(words[at + 1 : at + 3] == ["hook", host] for at in starts)

    return ours


def plan_install(target: InstallTarget, loaded: Loaded, *, fail_open: bool = False) -> Plan:
    """Put a host's hooks in their place. Raises SetupError."""
    host = HOSTS[target.facts.name]
    client = (
        managed_client(host, fail_open=fail_open, settings=target.path)
        if target.scope == "managed"
        else client_for(host, loaded.config, loaded.places, fail_open=fail_open, settings=target.path)
    )
    match target.facts.setup.layout:
        case "groups" | "flat":
            main, record = _with_hooks(target, host, loaded, client, fail_open=fail_open)
            texts: Mapping[Path, tuple[str, int]] = _beside(target)
        case "scripts":
            texts = _scripts(target, host, client, fail_open=fail_open)
            main, record = (), _new_record(target, target.path, fail_open=fail_open)
        case "plugin":
            texts = _plugin(target, loaded, client)
            main, record = (), _new_record(target, target.path, fail_open=fail_open)
    was = Records(loaded.places).get(record.host, Path(record.path))
    ours = [_whole(path, text, mode, target.root, was) for path, (text, mode) in texts.items()]
    directories = _directories((*ours, *main), target.root, was)
    for file in client.files:
        found = found_at(file.path, loaded.places.state)
        ours.append(FileChange(found.path, found.content, file.text.encode(), file.mode, theirs=False))
    record = replace(record, files=tuple(str(change.path) for change in ours), directories=directories)
    if was is not None and replace(was, at_ns=record.at_ns) == record:
        record = was
    return _writable(Plan(target=target, changes=(*ours, *main), record=record, was=was))


def plan_uninstall(target: InstallTarget, loaded: Loaded) -> Plan:
    """Take a host's hooks out again, and nothing else. Raises SetupError."""
    records = Records(loaded.places)
    changes: list[FileChange] = []
    if target.facts.setup.layout in ("groups", "flat"):
        found = _found(target)
        was = records.get(target.facts.name, found.path)
        changes.append(_without_hooks(target, found, was))
    else:
        was = records.get(target.facts.name, target.path.resolve())
    others = [record for record in records.all() if record != was]
    shared = {file for record in others for file in record.files}
    state = loaded.places.state
    for path in map(Path, was.files) if was is not None else _unrecorded(target):
        if str(path) not in shared:
            found = found_at(path, state if path.is_relative_to(state) else target.root)
            changes.append(FileChange(found.path, found.content, None, found.mode, theirs=False))
    heirs = tuple(_inherited(record, was) for record in others if was is not None and record.path == was.path)
    return _writable(Plan(target=target, changes=tuple(changes), record=None, was=was, heirs=heirs))


def _writable(plan: Plan) -> Plan:
    for change in plan.changed:
        if change.theirs and not change.mode & stat.S_IWUSR:
            said = "somebody wants it to stay as it is (chmod u+w if that was you)"
            raise SetupError(f"{change.path} is read-only: {said}")
    return plan


def _inherited(record: Installed, gone: Installed) -> Installed:
    return replace(
        record,
        created=record.created or gone.created,
        made=together([record.made, gone.made]),
        directories=tuple(sorted({*record.directories, *gone.directories})),
    )


def _unrecorded(target: InstallTarget) -> list[Path]:
    """Files that are ours by what is written in them, where nobody remembers them."""
    place = target.path
    inside = sorted(place.iterdir()) if place.is_dir() else [place] if target.facts.setup.layout == "plugin" else []
    return [path for path in inside if path.is_file() and MADE_BY.encode() in path.read_bytes()]


def hooks_text(found: FoundFile) -> str:
    """The text of a host's file. Raises SetupError."""
    try:
        return (found.content or b"").decode()
    except UnicodeDecodeError as error:
        raise SetupError(f"{found.path} is not UTF-8: {error.reason} at byte {error.start}") from None


def _found(target: InstallTarget) -> FoundFile:
    return found_at(target.path, target.root, 0o600 if target.scope == "user" else 0o644)


def _with_hooks(
    target: InstallTarget, host: Host, loaded: Loaded, client: HookClient, *, fail_open: bool
) -> tuple[tuple[FileChange, ...], Installed]:
    setup = target.facts.setup
    wanted_setup = replace(setup, fail_closed={}) if fail_open else setup
    # Whoever asks a person takes longer than a decision does, and the host has to know.
    managed, config = target.scope == "managed", loaded.config
    wait = managed_wait(host) if managed else wait_of(host, config)
    seconds = managed_seconds(host) if managed else seconds_of(host, config)
    ours = is_ours(target.facts.name)
    found = _found(target)
    was = Records(loaded.places).get(target.facts.name, found.path)
    text = hooks_text(found)
    try:
        _refuse_unread(target, text)
        _refuse_another_top(target, found, text)
        now = HooksFile(text, setup)
        # A project's line would take the place of its users' own ones.
        line = client.line if target.scope == "user" and wait and not now.has_others_line(ours) else ""
        wanted = hooks_of(wanted_setup, client.command, seconds, wait, line, client.telling)
        if now.has(wanted, ours):
            kept = was or _new_record(target, found.path, fail_open=fail_open, made=EVERYTHING)
            return (_change(found, text),), replace(kept, fail_open=fail_open)
        base = now.without_hooks(ours, was.made if was else EVERYTHING)
        after, made = (now if base == text else HooksFile(base, setup)).with_hooks(wanted)
        then = HooksFile(after, setup)
        if not then.has(wanted, ours) or then.without_hooks(ours, made) != base:
            raise SetupError(
                f"{found.path} can't be changed so that it could be changed back exactly; it stays as it is"
            )
    except JsoncError as error:
        raise SetupError(f"{found.path} can't be understood, and stays as it is: {error}") from None
    created = found.content is None or (was is not None and was.created)
    return (_change(found, after),), _new_record(target, found.path, fail_open=fail_open, made=made, created=created)


def unread_by(target: InstallTarget) -> str:
    """Why a host does not read the file in which its hooks are; empty if it does, or there is none."""
    if target.facts.setup.layout not in ("groups", "flat"):
        return ""
    try:
        return _unread(target, hooks_text(_found(target)))
    except (SetupError, JsoncError) as error:
        return str(error)


def _unread(target: InstallTarget, text: str) -> str:
    for what, at in departures(text):
        if what not in target.facts.setup.takes:
            return (
                f"{target.path} can't be read by {target.facts.title}: {error_at(text, at, f'a {what}')}, which is no"
                " plain JSON. It passes over the whole file, and over our hooks. Take that out, and try again"
            )
    return ""


def _refuse_unread(target: InstallTarget, text: str) -> None:
    """INVARIANT: hooks are only put where their host reads them. Hosts pass over a file that they can't read."""
    if why := _unread(target, text):
        raise SetupError(why)


def _refuse_another_top(target: InstallTarget, found: FoundFile, text: str) -> None:
    """What holds managed hooks on must be there as it is wanted: somebody else's word in its place may mean off."""
    file = file_for(target.facts, target.scope)
    for name, wanted in file.top.items() if file is not None and not is_empty(text) else ():
        member = parse(text).member(name)
        if member is not None and member.value.data != wanted:
            shown = json.dumps(wanted)
            raise SetupError(f"{found.path} has its own {name!r}; make it {shown} or take it out, and try again")


def _beside(target: InstallTarget) -> Mapping[Path, tuple[str, int]]:
    """The second file of a host, if it is not there yet, or is ours. Raises SetupError if it says something else."""
    file = file_for(target.facts, target.scope)
    if file is None or not file.beside:
        return {}
    path = target.path.with_name(Path(file.beside).name)
    text = f"# {MADE_BY}\n{file.beside_text}"
    found = found_at(path, target.root)
    if found.content is None or MADE_BY.encode() in found.content:
        return {path: (text, 0o644)}
    try:
        has, wants = tomllib.loads(hooks_text(found)), tomllib.loads(file.beside_text)
    except ValueError as error:
        raise SetupError(f"{path} can't be understood: {error}") from None
    if any(has.get(name, {}) | wanted != has.get(name) for name, wanted in wants.items()):
        shown = " ".join(file.beside_text.split("\n")).strip()
        raise SetupError(f"{path} is there already and does not say `{shown}`; put that into it, and try again")
    return {}


def _without_hooks(target: InstallTarget, found: FoundFile, was: Installed | None) -> FileChange:
    try:
        file = HooksFile(hooks_text(found), target.facts.setup)
        text = file.without_hooks(is_ours(target.facts.name), was.made if was else EVERYTHING)
    except JsoncError as error:
        raise SetupError(f"{found.path} can't be understood, and stays as it is: {error}") from None
    if found.content is None or (was is not None and was.created and is_empty(text)):
        return FileChange(found.path, found.content, None, found.mode)
    return _change(found, text)


def _change(found: FoundFile, text: str) -> FileChange:
    return FileChange(found.path, found.content, text.encode(), found.mode)


def _whole(path: Path, text: str, mode: int, root: Path, was: Installed | None) -> FileChange:
    found = found_at(path, root)
    recorded = was is not None and str(found.path) in was.files
    known = found.content in (None, text.encode()) or MADE_BY.encode() in (found.content or b"")
    if not recorded and not known:
        raise SetupError(f"{path} is there already and is not ours; move it away first")
    return FileChange(found.path, found.content, text.encode(), mode, theirs=False)


def _scripts(
    target: InstallTarget, host: Host, client: HookClient, *, fail_open: bool
) -> Mapping[Path, tuple[str, int]]:
    broken = host.broken("The hook of Interpose did not start, so this is denied. `interpose doctor` says why")
    asked = f"{shlex.quote(client.program)} || printf %s {shlex.quote(broken.stdout.decode())}"
    if not fail_open:
        gone = host.broken(f"Interpose denied this: {GONE} remove its scripts from {target.path}")
        there = " && ".join(f"test -e {shlex.quote(file)}" for file in needed())
        asked = f"if {there}; then\n  {asked}\nelse\n  printf %s {shlex.quote(gone.stdout.decode())}\nfi"
    script = f"#!/bin/sh\n# Asks Interpose about one event of {host.facts.title}. {MADE_BY}\n{asked}\n"
    return {target.path / event.name: (script, 0o755) for event in target.facts.setup.events}


def _plugin(target: InstallTarget, loaded: Loaded, client: HookClient) -> Mapping[Path, tuple[str, int]]:
    host, config = HOSTS[target.facts.name], loaded.config
    reach = Reach(
        socket=config.hooks.socket, command=(client.program,), deadline=seconds_of(host, config),
        wait=wait_of(host, config),
        needed=needed(), gone=f"{GONE} remove {target.path}",
    )  # fmt: skip
    mode = 0o600 if target.scope == "user" else 0o644
    return {
        (target.path / name if name else target.path): (text, mode)
        for name, text in plugin_files(target.facts, reach).items()
    }


def _new_record(
    target: InstallTarget, path: Path, *, fail_open: bool, made: Made = EVERYTHING, created: bool = False
) -> Installed:
    return Installed(
        host=target.facts.name, scope=target.scope, path=str(path.resolve()), at_ns=time_ns(), fail_open=fail_open,
        made=made, created=created,
    )  # fmt: skip


def _directories(changes: tuple[FileChange, ...], root: Path, was: Installed | None) -> tuple[str, ...]:
    """Directories that don't exist yet, the highest first, and those that were made at an earlier time."""
    missing = {
        str(place)
        for change in changes
        for place in change.path.parents
        if place.is_relative_to(root.resolve()) and not place.exists()
    }
    return tuple(sorted(missing.union(was.directories if was else ())))
