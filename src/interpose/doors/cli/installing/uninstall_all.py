"""`interpose uninstall --all` and `--purge`: every agent clean, and nothing of Interpose left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from interpose.core.config.load import Loaded, load, usual
from interpose.core.errors import ConfigError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.installing.install_shared import EXIT_REFUSED, said_yes, show
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.doors.hooks.install.own_places import OwnEntry
from interpose.doors.hooks.install.places import spoken_path
from interpose.doors.hooks.install.removal import Remaining, Removal, carry_out, organisation_settings, plan_removal
from interpose.doors.hooks.install.running_agents import running_agents
from interpose.effects.environment.facts import installer_at

_HELD_UP = "So that no agent asks a program that is gone, nothing else was removed. See to that, and try again."


def uninstall_all(args: argparse.Namespace) -> int:
    """Show what would go, ask, and remove it. 1 if something of ours is left."""
    loaded, unknown = _loaded()
    removal = plan_removal(loaded, Path(args.cwd).absolute(), purge=args.purge)
    if not args.json:
        _show(removal, args)
    if args.dry_run or not (removal.plans or removal.gateways or removal.entries or removal.servers):
        return _told(args, removal, [], [*removal.remaining, *removal.elsewhere], ended=False)
    if not _agreed(args):
        print("Nothing was changed.")
        return EXIT_REFUSED
    asked = {plan.target.facts.name for plan in removal.plans}
    backups, remaining = carry_out(removal, loaded, purge=args.purge)
    if unknown and args.purge:
        remaining.append(Remaining(unknown, "it can't be loaded, so nobody knows what it puts elsewhere"))
    code = _told(args, removal, backups, remaining, ended=True)
    for line in _afterwards(asked, remaining, purged=args.purge) if not args.json else ():
        print(visible(line))
    return code


def _loaded() -> tuple[Loaded, str]:
    """The configuration; if it can't be loaded the usual one, and which file is to blame."""
    try:
        return load(), ""
    except ConfigError:
        instead = usual()
        return instead, str(instead.file)


def _show(removal: Removal, args: argparse.Namespace) -> None:
    ink = Ink(colours_wanted())
    for plan in removal.plans:
        if args.diff:
            show(plan)
        said = "hooks go" if plan.changed else "is forgotten: there is nothing any more"
        _row(ink, "agent", f"{plan.target.facts.title}, {spoken_path(plan.target.path)} ({plan.target.scope}): {said}")
    for record in removal.gateways:
        _row(ink, "agent", f"{record.host}, {spoken_path(record.path)}: its own MCP servers come back")
    for server in () if removal.held_up else removal.servers:
        _row(ink, "stops", f"the local server, process {server.pid}")
    for entry in () if removal.held_up else removal.entries:
        _row(ink, "removes", f"{spoken_path(entry.path):44} {entry.what}{_size(entry)}")
    for each in (*removal.remaining, *removal.elsewhere):
        _row(ink, "stays", f"{spoken_path(each.path)}: {each.why}", "33")


def _row(ink: Ink, word: str, text: str, colour: str = "2") -> None:
    print(f"{ink(f'{word:8}', colour)} {visible(text)}")


def _size(entry: OwnEntry) -> str:
    if entry.files < 2 and entry.bytes < 1 << 20:
        return ""
    size = f"{entry.bytes / (1 << 20):.1f} MB" if entry.bytes >= 1 << 20 else f"{max(1, entry.bytes >> 10)} KB"
    return f" ({entry.files} {'file' if entry.files == 1 else 'files'}, {size})"


def _agreed(args: argparse.Namespace) -> bool:
    if args.yes or args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    lost = " Keys, rules and the ledger can't be brought back." if args.purge else ""
    return said_yes(f"Remove all of this?{lost}")


def _told(
    args: argparse.Namespace, removal: Removal, backups: list[Path], remaining: list[Remaining], *, ended: bool
) -> int:
    left = EXIT_REFUSED if remaining else 0
    if args.json:
        print_json({
            "ok": not remaining, "done": ended and not args.dry_run,
            "agents": [
                {"host": plan.target.facts.name, "scope": plan.target.scope, "path": str(plan.target.path)}
                for plan in removal.plans
            ],
            "gateways": [{"host": record.host, "path": record.path} for record in removal.gateways],
            "servers": [server.pid for server in removal.servers],
            "removes": [str(entry.path) for entry in removal.entries],
            "stays": [{"path": each.path, "why": each.why} for each in remaining],
            "backups": [str(path) for path in backups],
        })  # fmt: skip
        return left
    if not ended:
        if removal.held_up and args.purge:
            print(
                "Nothing that Interpose keeps would go: an agent that stays as it is would ask a program that is gone."
            )
        why = "this was a dry run" if args.dry_run else "there is nothing of Interpose to remove"
        print(f"Nothing was changed: {why}.")
        return left
    ink = Ink(colours_wanted())
    for each in remaining:
        _row(ink, "LEFT", f"{spoken_path(each.path)}: {each.why}", "1;31")
    for path in backups:
        print(f"What was there before is kept in {visible(spoken_path(path))}.")
    return left


def _afterwards(asked: set[str], remaining: list[Remaining], *, purged: bool) -> Iterator[str]:
    """What a person has to know when all is done."""
    if any(each.asks for each in remaining):
        yield _HELD_UP if purged else "The other agents don't ask Interpose any more."
        return
    running = [each for each in running_agents() if each.host in asked]
    if running:
        named = ", ".join(f"{each.host} (process {each.pid})" for each in running)
        yield f"Start again what runs now, as it read its hooks at its start and is refused every call: {named}."
    if not purged:
        yield "No agent asks Interpose any more. `interpose uninstall --all --purge` removes what it kept, too."
        return
    if organisation := organisation_settings():
        yield f"Settings in {organisation} are for everybody on this machine, and stay."
    gone = "Nothing else of Interpose is left" if not remaining else "The rest of Interpose is gone"
    yield f"{gone} but the program itself: {_program()}"


def _program() -> str:
    """How the program itself is removed, by how it was installed."""
    match installer_at(sys.prefix):
        case "pipx":
            return "pipx uninstall interpose"
        case "uv":
            return "uv tool uninstall interpose"
        case "pip":
            return f"{spoken_path(sys.executable)} -m pip uninstall interpose"
