"""Whether a host's hooks hold: its own command lines are run with canaries, and everything around them is looked at."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.errors import SetupError, text_of
from interpose.core.formats.counted import plural
from interpose.doors.hooks.clients.client_files import seconds_of, wait_of
from interpose.doors.hooks.clients.on_demand import started_server
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.hook_places import LINE_PROGRAM
from interpose.doors.hooks.install.canary import CanaryAnswer, canary, sent
from interpose.doors.hooks.install.careful_files import found_at
from interpose.doors.hooks.install.hooks_file import HooksFile
from interpose.doors.hooks.install.host_version import host_version
from interpose.doors.hooks.install.jsonc import JsoncError
from interpose.doors.hooks.install.last_heard import LastHeard
from interpose.doors.hooks.install.places import InstallTarget, Scope, file_for, spoken_path, target_of
from interpose.doors.hooks.install.plan import hooks_text, is_ours, plan_install
from interpose.doors.hooks.install.records import Installed, Records, recorded_target
from interpose.doors.hooks.install.remedies import HostCheck, remedied
from interpose.doors.hooks.install.running_agents import RunningAgent
from interpose.doors.hooks.install.situation import listening
from interpose.doors.hooks.install.started_installations import other_installations
from interpose.doors.hooks.install.unguarded import Unguarded, ago, switched_off, unasked_work
from interpose.doors.hooks.install.unheard_sessions import UnheardSession
from interpose.record.ledger.canaries import ALLOWED, REFUSED

if TYPE_CHECKING:
    from interpose.core.config.load import Loaded
    from interpose.doors.hooks.hosts.events import Host
    from interpose.effects.environment.facts import Environment

_SETTINGS = re.compile(r"^const INTERPOSE = (\{.*\});$", re.MULTILINE)
_STARTING_SECONDS = 10.0
_SEEN_SECONDS = 2.0
"""How long a server may take to be seen that the hook has just started, on a busy machine."""
"""How long a server that a hook starts is waited for, before the hook is measured without it."""
_GRACE = 5.0
_SCOPES: tuple[Scope, ...] = ("user", "project", "managed")


class Examined(Struct, frozen=True, kw_only=True):
    """One place where a host's hooks are, or should be."""

    host: str
    title: str
    scope: Scope
    path: str
    checks: tuple[HostCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is open."""
        return all(check.level != "open" for check in self.checks)


def installed_targets(loaded: Loaded, project: Path, only: str = "") -> list[tuple[InstallTarget, Installed | None]]:
    """Where hooks are: by our records, and by what stands in the files of this user and this project."""
    found: dict[tuple[str, Path], tuple[InstallTarget, Installed | None]] = {}
    for record in Records(loaded.places).all():
        if record.host in HOSTS:
            found[record.host, Path(record.path)] = (recorded_target(record, loaded.places.home), record)
    for name, host in HOSTS.items():
        for scope in _SCOPES:
            if file_for(host.facts, scope) is None:
                continue
            target = target_of(host.facts, scope, project)
            if (name, target.path.resolve()) not in found and _commands(host, target):
                found[name, target.path.resolve()] = (target, None)
    return [pair for (name, _), pair in sorted(found.items()) if only in ("", name)]


class Around(Struct, frozen=True, kw_only=True):
    """What is looked at besides the hooks themselves: where the agent works, and what agents were seen to do."""

    directory: Path
    managed: frozenset[str] = frozenset()
    """Hosts in whose managed settings there are hooks of ours."""
    unheard: tuple[UnheardSession, ...] = ()
    running: tuple[RunningAgent, ...] = ()


def examine(
    target: InstallTarget,
    record: Installed | None,
    loaded: Loaded,
    seen: LastHeard | None,
    around: Around | None = None,
) -> Examined:
    """All checks of one place. Raises nothing: what can't be looked at is a finding."""
    host = HOSTS[target.facts.name]
    around = around or Around(directory=target.root)
    others = started_elsewhere([(target, record)])
    checks = [*_written(target, record, loaded, others), *_answers(host, target, record, loaded)]
    checks += [*_safe_files(target, record), *_version(host), *_trust(target), *_shown(host, target, loaded)]
    name = target.facts.name
    since = since_when([(target, record)]).get(name, 0)
    checks += _named(switched_off(name, around.directory, managed=name in around.managed))
    checks += _named(unasked_work(name, since, seen, around.unheard, around.running))
    checks += _heard_of(seen)
    told = {"host": name, "title": target.facts.title, "install": _install(target), "canary": REFUSED}
    return Examined(
        host=name, title=target.facts.title, scope=target.scope, path=str(target.path),
        checks=tuple(remedied(check, str(target.path), **told) for check in checks),
    )  # fmt: skip


def _install(target: InstallTarget) -> str:
    """The command that puts the hooks there again."""
    sudo, scope = (
        ("sudo " if target.scope == "managed" else ""),
        ("" if target.scope == "user" else f" --{target.scope}"),
    )
    return f"{sudo}interpose install {target.facts.name}{scope}"


def since_when(targets: Iterable[tuple[InstallTarget, Installed | None]]) -> dict[str, int]:
    """Since when hosts have hooks of ours, in nanoseconds: by our records, or by the files that hold them."""
    since: dict[str, int] = {}
    for target, record in targets:
        name = target.facts.name
        try:
            at = record.at_ns if record else target.path.stat().st_mtime_ns
        except OSError:
            continue
        since[name] = min(at, since.get(name, at))
    return since


def _commands(host: Host, target: InstallTarget) -> list[list[str]]:
    """The command lines of ours that decide about the canary's event, as the host starts them."""
    setup, place = host.facts.setup, target.path
    event = host.read(json.loads(canary(host, ALLOWED))).name
    try:
        if setup.layout == "scripts":
            script = place / event
            return [[str(script)]] if is_our_text(script) else []
        if setup.layout == "plugin":
            return _plugin_commands(place)
        text = hooks_text(found_at(place, target.root))
        ours = is_ours(host.facts.name)
        file = HooksFile(text, setup)
        return [["/bin/sh", "-c", line] for name, line, _ in file.commands() if name == event and ours(line)]
    except (SetupError, JsoncError, OSError, ValueError):
        return []


def is_our_text(path: Path) -> bool:
    """Whether a file is a program that we wrote."""
    from interpose.doors.hooks.clients.plugins import MADE_BY

    return path.is_file() and MADE_BY.encode() in path.read_bytes()


def _plugin_commands(place: Path) -> list[list[str]]:
    program = place / "index.js" if place.is_dir() else place
    found = _SETTINGS.search(program.read_text(encoding="utf-8")) if is_our_text(program) else None
    command = json.loads(found.group(1)).get("command") if found else None
    return [command] if command else []


def started_elsewhere(targets: Iterable[tuple[InstallTarget, Installed | None]]) -> list[Environment]:
    """The environments, but for this one, that installed hooks start."""
    return other_installations(
        words for target, _ in targets for words in _commands(HOSTS[target.facts.name], target)
    )  # fmt: skip


def _written(
    target: InstallTarget, record: Installed | None, loaded: Loaded, others: list[Environment]
) -> Iterator[HostCheck]:
    fail_open = record is not None and record.fail_open
    try:
        plan = plan_install(target, loaded, fail_open=fail_open)
    except SetupError as error:
        yield HostCheck("installed", "open", str(error), todo=f"put that right, then run `{_install(target)}`")
        return
    stale = [str(change.path) for change in plan.changed]
    if stale and others:
        places = ", ".join(spoken_path(each.root) for each in others)
        todo = f"run `doctor` from there, or `{_install(target)}` to start this installation instead"
        yield HostCheck(
            "installed", "open", f"the hooks start another installation, {places}", file=stale[0], todo=todo
        )
    elif stale:
        yield HostCheck("installed", "open", f"{', '.join(stale)}: not as it should be", file=stale[0])
    else:
        yield HostCheck("installed", "ok", "every event of this agent, as it should be")
    if fail_open:
        yield HostCheck("fail-open", "open", "calls that can't be decided run: somebody chose so")
    elif loaded.config.hooks.fail_open:
        yield HostCheck(
            "fail-open", "open", "calls that can't be decided run: the configuration says `hooks.fail_open`",
            file=str(loaded.places.config / "interpose.yaml"),
            todo="take `hooks.fail_open` out; `interpose config show --origin` says where it was set",
        )  # fmt: skip


def _shown(host: Host, target: InstallTarget, loaded: Loaded) -> Iterator[HostCheck]:
    """Where a question is shown while a hook waits: not beside a status line of the user's own."""
    setup = host.facts.setup
    if not setup.line or target.scope != "user" or not wait_of(host, loaded.config):
        return
    try:
        file = HooksFile(hooks_text(found_at(target.path, target.root)), setup)
    except (SetupError, JsoncError, OSError):
        return
    if file.has_others_line(is_ours(host.facts.name)):
        program = loaded.places.state / "hooks" / f"{host.facts.name}{LINE_PROGRAM}"
        told = f"{target.path} has a `{setup.line}` of its own, so a question is not shown there while its hook waits"
        yield HostCheck("status line", "note", f"{told}; to see it, let yours run {program} with the same input")


def _as_written(target: InstallTarget, record: Installed | None, loaded: Loaded) -> bool:
    """Whether everything is there to the byte as `install` writes it."""
    try:
        return not plan_install(target, loaded, fail_open=record is not None and record.fail_open).changed
    except SetupError:
        return False


def _answers(host: Host, target: InstallTarget, record: Installed | None, loaded: Loaded) -> Iterator[HostCheck]:
    """INVARIANT: a person's doctor runs only what `install` writes. A repository may bring a file with another command
    that looks like ours, and what runs in a person's terminal may answer for that person."""
    seconds = seconds_of(host, loaded.config) + _GRACE
    commands = _commands(host, target)
    if not commands:
        yield HostCheck("asks", "open", "there is no hook of ours that would be asked about a call")
        return
    if not _as_written(target, record, loaded):
        yield HostCheck("asks", "open", "the hook was not tried: it is not the one that `interpose install` writes")
        commands = []
    for words in commands:
        _warm_up(host, words, loaded.config.hooks.socket, seconds)
        yield _expected("refuses", sent(host, words, REFUSED, seconds), "refused")
        yield _expected("allows", sent(host, words, ALLOWED, seconds), "allowed")
        yield from _crashed(host, words, seconds)
    alone = [sys.executable, "-I", "-m", "interpose", "hook", host.facts.name, "--in-process"]
    yield _expected("without a server", sent(host, alone, REFUSED, seconds), "refused")


def _warm_up(host: Host, words: list[str], socket: str, seconds: float) -> None:
    """Let the hook start its server, and the server decide once: what is measured is how long an agent's calls take,
    and not its first one. Without a server nothing is warmed: each call is a new process, also of an agent."""
    is_cold = not listening(socket).pid
    if sent(host, words, ALLOWED, seconds).answer != "allowed" or not is_cold:
        return
    begun, seen = monotonic(), False
    while not listening(socket).pid and (waited := monotonic() - begun) < _STARTING_SECONDS:
        was_seen, seen = seen, bool(started_server(socket))
        if (was_seen and not seen) or (not seen and waited > _SEEN_SECONDS):  # it ended, or there never was one
            break
        sleep(0.05)
    sent(host, words, ALLOWED, seconds)


def _expected(name: str, heard: CanaryAnswer, wanted: str) -> HostCheck:
    took = f"in {heard.milliseconds:.0f} ms"
    if heard.answer == wanted:
        return HostCheck(name, "ok", f"{wanted} {took}", heard.milliseconds)
    said = f": {heard.said}" if heard.said else ""
    return HostCheck(name, "open", f"should be {wanted}, but is {heard.answer}{said}", heard.milliseconds)


def _crashed(host: Host, words: list[str], seconds: float) -> Iterator[HostCheck]:
    """What the host would make of a hook whose program is gone."""
    setup = host.facts.setup
    if setup.layout == "plugin":
        yield HostCheck("if it crashes", "ok", "the plugin throws, and the call does not run")
        return
    line = Path(words[0]).read_text(encoding="utf-8") if setup.layout == "scripts" else words[-1]
    gone = line.replace(f"/interpose/hooks/{host.facts.name}", "/interpose/hooks/gone")
    heard = sent(host, ["/bin/sh", "-c", gone], REFUSED, seconds)
    if heard.answer == "refused":
        yield HostCheck("if it crashes", "ok", "its command line still refuses")
    elif setup.fail_closed:
        switch = json.dumps(setup.fail_closed)
        yield HostCheck("if it crashes", "ok", f"{host.facts.title} refuses, told so by {switch}")
    else:
        yield HostCheck("if it crashes", "open", f"{host.facts.title} lets the call run (exit code {heard.exit_code})")
    for reason in setup.opens_on:
        yield HostCheck("lets through", "note", reason)


def _safe_files(target: InstallTarget, record: Installed | None) -> Iterator[HostCheck]:
    files = [target.path, *(Path(name) for name in (record.files if record else ()))]
    for path in dict.fromkeys(place for file in files for place in (file, file.parent)):
        try:
            about = path.stat()
        except OSError as error:
            again = f"run `{_install(target)}`"
            yield HostCheck("files", "open", f"{path}: {text_of(error)}", file=str(path), todo=again)
            continue
        place = shlex.quote(str(path))
        if about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX:
            less = f"run `chmod o-w {place}`"
            yield HostCheck("files", "open", f"everybody can write to {path}", file=str(path), todo=less)
        if about.st_uid not in (os.geteuid(), 0):
            mine = f"run `sudo chown {os.geteuid()} {place}`"
            yield HostCheck("files", "open", f"{path} belongs to user {about.st_uid}", file=str(path), todo=mine)


def _version(host: Host) -> Iterator[HostCheck]:
    setup = host.facts.setup
    found = host_version(setup)
    if not found.program:
        return
    since = setup.fail_closed_since
    if found.problem:
        yield HostCheck("version", "note", found.problem)
    elif since and found.is_before(since):
        yield HostCheck(
            "version", "open", f"{found.version} does not know {json.dumps(setup.fail_closed)}; {since} does",
            file=found.program, todo=f"update {host.facts.title} to {since} or later",
        )  # fmt: skip
    else:
        yield HostCheck("version", "ok", found.version or "unknown")


def _trust(target: InstallTarget) -> Iterator[HostCheck]:
    if not target.facts.setup.trusts_in:
        return
    config = target_of(target.facts, "user", target.root).path.parent / target.facts.setup.trusts_in
    try:
        hooks = tomllib.loads(config.read_text(encoding="utf-8")).get("hooks", {})
        trusted = hooks.get("state", {}) if isinstance(hooks, Mapping) else {}
    except (OSError, ValueError):
        trusted = {}
    if trusted:
        yield HostCheck(
            "trust",
            "note",
            f"{config} trusts {plural(len(trusted), 'hook')}; /hooks in Codex shows whether ours are among",
        )
    else:
        yield HostCheck(
            "trust", "open", f"{config} trusts no hooks", file=str(config), todo=target.facts.setup.afterwards
        )


def _named(found: Iterable[Unguarded]) -> list[HostCheck]:
    return [HostCheck(each.name, each.level, each.text, file=each.file) for each in found]


def _heard_of(seen: LastHeard | None) -> Iterator[HostCheck]:
    if seen is None or not seen.heard_ns:
        yield HostCheck("last event", "note", "none yet")
    elif not seen.asked_ns:
        yield HostCheck("last event", "note", f"{seen.event}, {ago(seen.heard_ns)}; no call was ever asked about")
    else:
        yield HostCheck("last event", "ok", f"{seen.event}, {ago(seen.heard_ns)}, session {seen.session or '-'}")
