"""`interpose doctor`: do the hooks that are installed really hold?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import time
from typing import Any

from msgspec.structs import replace

from interpose.core.config.load import Loaded, load
from interpose.core.errors import ConfigError
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import Ink, visible, visible_lines
from interpose.doors.cli.installing.status_text import ledger_line, policy_of, problem_text, server_line
from interpose.doors.cli.shared.closed_values import directory
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.doors.hooks.clients.fail_open_log import spool_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named
from interpose.doors.hooks.install.believed_files import loose_files
from interpose.doors.hooks.install.doctor import (
    Around,
    Examined,
    examine,
    installed_targets,
    since_when,
    started_elsewhere,
)
from interpose.doors.hooks.install.own_environment import environment_checks
from interpose.doors.hooks.install.places import spoken_path, target_of
from interpose.doors.hooks.install.remedies import HostCheck, remedied
from interpose.doors.hooks.install.running_agents import running_agents
from interpose.doors.hooks.install.situation import Situation, ledger_flaw, listening, situation
from interpose.people.presence.proof import proof_note

EXIT_OPEN = 1

_EPILOG = """Each hook's own command line is run as the agent would run it: with an event that must be refused, with one
that must be let through, and with its program gone. Hooks only decide: what the events ask for is never done. The
answers are recorded under the session `interpose-doctor`. The files that Interpose runs with are compared with the
hashes that their installer recorded.

exit codes: 0 everything holds, 1 something is open, 64 wrong usage, 70 internal error, 78 a configuration that can't
be loaded"""

_MARKS = {"ok": ("ok  ", "32"), "note": ("note", "33"), "open": ("OPEN", "1;31")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `doctor` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("host", nargs="?", metavar="HOST", help="this agent only")
    parser.add_argument(
        "--cwd", type=directory, default="", metavar="DIR", help="the project's directory (default: here)"
    )
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose doctor`."""
    host = host_named(args.host) if args.host else None
    if args.host and host is None:
        print(f"interpose doctor: {unknown('agent', args.host, HOSTS)}", file=sys.stderr)
        return EXIT_USAGE
    try:
        loaded = load()
    except ConfigError as error:
        print(f"interpose doctor: a configuration that can't be loaded\n{visible_lines(str(error))}", file=sys.stderr)
        return EXIT_CONFIG
    return _examined(args, loaded, host.facts.name if host else "")


def _examined(args: argparse.Namespace, loaded: Loaded, only: str) -> int:
    project = Path(args.cwd).absolute()
    targets = installed_targets(loaded, project, only)
    now = situation(loaded.config, since_when(targets))
    where = Around(
        directory=project,
        managed=frozenset(target.facts.name for target, _ in targets if target.scope == "managed"),
        unheard=now.unheard,
        running=tuple(running_agents()),
    )
    found = [examine(target, record, loaded, now.seen.get(target.facts.name), where) for target, record in targets]
    now = replace(now, hooks=listening(loaded.config.hooks.socket))  # the hooks that were tried may have started one
    around = _around(now, loaded, project)
    around += [*loose_files(loaded.config), *environment_checks()]
    for other in started_elsewhere(targets):
        around += environment_checks(other)
    if loaded.config.server.loopback == "open":
        around.append(HostCheck("loopback", "note", "server.loopback is open: any user of this machine may ask as you"))
    if not found:
        at = target_of(HOSTS[only].facts, "user", project).path if only else loaded.places.state / "installs"
        around.append(HostCheck("hooks", "open", f"nothing is installed{f' for {only}' if only else ''}", file=str(at)))
    around = [remedied(check, now.ledger.place, host=only or "HOST") for check in around]
    holds = all(each.holds for each in found) and all(check.level != "open" for check in around)
    if args.json:
        print_json({"ok": holds, "hosts": found, "around": around})
    else:
        _show(found, around, Ink(colours_wanted()))
    return 0 if holds else EXIT_OPEN


def _around(now: Situation, loaded: Loaded, project: Path) -> list[HostCheck]:
    """What all hooks stand on."""
    flaw, ledger = ledger_flaw(loaded.config), now.ledger
    policy = policy_of(str(project))
    problems: list[dict[str, Any]] = policy["problems"]
    config = str(loaded.places.config / "interpose.yaml")
    checks = [
        HostCheck("policy", "open", problem_text(each), file=str(each.get("file") or config)) for each in problems
    ] or [
        HostCheck(
            "policy", "ok", f"revision {policy['policy']['revision']}, {plural(policy['policy']['rules'], 'rule')}"
        )
    ]
    checks += [
        HostCheck("ledger", "open" if ledger.problem else "ok", ledger_line(ledger), todo=ledger.todo),
        HostCheck("chain", "note", "not looked at here: interpose audit verify")
        if flaw is None
        else HostCheck("chain", "open" if flaw else "ok", flaw or "the ledger is whole", todo=ledger.todo),
        HostCheck(
            "server", "open" if now.hooks.problem else "ok", server_line(now.hooks, time()), file=now.hooks.socket
        ),
    ]
    if note := proof_note(loaded.config.approvals):
        checks.append(HostCheck("approvals", "note", note))
    checks += [HostCheck("off switch", "note", text) for text in now.warned]
    if now.unapproved.count:
        checks.append(HostCheck("unapproved", "open", now.unapproved.text))
    checks += [HostCheck("grants", "open", alarm) for alarm in now.alarms]
    checks += [HostCheck("paused", "note", text) for text in now.pauses]
    checks += [HostCheck("notifications", "note", text) for text in now.notifications]
    if now.opened:
        told = f"{plural(now.opened, 'call')} ran undecided, as --fail-open wants it"
        checks.append(HostCheck("let through", "open", told, file=str(spool_of(loaded.config))))
    return checks


def _show(found: list[Examined], around: list[HostCheck], ink: Ink) -> None:
    for each in found:
        print(f"{ink(each.title, '1')}  {visible(spoken_path(each.path))} ({each.scope})")
        for check in each.checks:
            _line(check, ink)
    print(ink("Around them", "1"))
    for check in around:
        _line(check, ink)


def _line(check: HostCheck, ink: Ink) -> None:
    word, colour = _MARKS[check.level]
    print(hanging(f"  {ink(word, colour)}  {check.name:16} ", visible(check.text)))
    if check.todo:
        file = ink(visible(spoken_path(check.file)), "2")
        print(hanging(" " * 25, f"{file}: {visible(check.todo)}"))
