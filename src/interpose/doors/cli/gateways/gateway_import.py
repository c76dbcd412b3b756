"""`interpose mcp gateway import`: the MCP servers of your agents in your own configuration."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from interpose.core.config.load import Loaded
from interpose.core.errors import SetupError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.installing.install_shared import EXIT_REFUSED, carried_out, difference
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.doors.hooks.install.gateway_plan import (
    GatewayPlan,
    carry_out_gateway,
    places_of_host,
    places_with_servers,
    plan_import,
    secret_texts,
)
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS, McpHost, McpPlace, mcp_host, mcp_place
from interpose.doors.hooks.install.places import spoken_path
from interpose.doors.hooks.install.plan import FileChange
from interpose.effects.agents.agent import McpScope, ToolServers

_KEYS = ("mcpServers", "servers", "mcp", "mcp_servers")


def run_import(args: argparse.Namespace) -> int:
    """Run `interpose mcp gateway import`."""

    def act(loaded: Loaded) -> int:
        sources = _sources(args.source, scope_of(args), Path(args.cwd).absolute())
        plan = plan_import(sources, loaded)
        told = dict.fromkeys(f"read from {spoken_path(place.path)}" for place in sources)
        return done(plan, loaded, args, [*told, *_to_set(plan)])

    return carried_out("gateway import", args, act)


def done(plan: GatewayPlan, loaded: Loaded, args: argparse.Namespace, advice: Iterable[str]) -> int:
    """Show a plan, ask, and carry it out."""
    told = [*advice, *_remarks(plan)]
    if not args.json:
        _show(plan)
    agreed = args.dry_run or _agreed(plan, args)
    really = agreed and not args.dry_run and (bool(plan.changed) or plan.was != plan.record)
    backups = carry_out_gateway(plan, loaded) if really else []
    if args.json:
        print_json({
            "ok": True, "done": really,
            "servers": {each.name: each.server for each in plan.imported},
            "present": plan.present, "variables": sorted(plan.variables),
            "left": {each.name: each.why for each in plan.untranslated},
            "changes": [{"path": str(change.path), "diff": "\n".join(_lines(change, plan))} for change in plan.changed],
            "backups": [str(path) for path in backups], "advice": told,
        })  # fmt: skip
        return 0
    if not agreed:
        print("Nothing was changed.")
        return EXIT_REFUSED
    if args.dry_run:
        print("Nothing was changed: this was a dry run.")
    elif not plan.changed:
        print("Nothing was changed: it is so already.")
    else:
        for change in plan.changed:
            print(f"{'removed' if change.after is None else 'wrote'} {visible(spoken_path(change.path))}")
    for path in backups:
        print(f"What was there before is kept in {visible(spoken_path(path))}.")
    for line in told:
        print(f"- {visible(line)}")
    return 0


def scope_of(args: argparse.Namespace) -> McpScope:
    """Whose file is meant. What a repository brings is taken only if somebody says so."""
    return "project" if args.project else "local" if getattr(args, "local", False) else "user"


def _sources(source: str, scope: McpScope, project: Path) -> list[McpPlace]:
    if not source:
        found = places_with_servers(scope, project)
        if not found:
            raise SetupError("no agent's file with MCP servers was found; name one: interpose mcp gateway import FILE")
        return found
    host = mcp_host(source)
    if host is None or Path(source).is_file():
        path = Path(source)
        if not path.is_file():
            raise SetupError(f"{source} is no file, and no agent; known are {', '.join(MCP_HOSTS)}")
        return [_of_file(path.absolute())]
    there = places_of_host(host, scope, project)
    if not there:
        expected = mcp_place(host, scope, project).path
        raise SetupError(f"{host.title} has no MCP servers here: there is no {spoken_path(expected)}")
    return there


def _of_file(path: Path) -> McpPlace:
    """A file that somebody named: whose it is shows by its name, else by its key."""
    for host in MCP_HOSTS.values():
        for file in host.files:
            if str(path).endswith(file.path.removeprefix("~")):
                return McpPlace(host, file.scope, path, path.parent, (file.key,))
    toml = path.suffix == ".toml"
    text = path.read_text(encoding="utf-8", errors="replace")[: 1 << 20]
    key = next((key for key in _KEYS if (key if toml else f'"{key}"') in text), _KEYS[0])
    servers = ToolServers(files=(), style="opencode" if key == "mcp" else "codex" if toml else "common", toml=toml)
    host = McpHost(name="", title=path.name, servers=servers)
    return McpPlace(host, "user", path, path.parent, (key,))


def _to_set(plan: GatewayPlan) -> Iterable[str]:
    for server in plan.imported:
        for name, text in server.variables.items():
            whence = f"{server.was} of {server.host}" if server.host else server.was
            what = "its value stands in that file" if text else "it came from the agent's own environment"
            yield f"set ${name} where `interpose mcp gateway` is started: {whence} needs it; {what}"


def _remarks(plan: GatewayPlan) -> Iterable[str]:
    for server in plan.imported:
        if server.name != server.was:
            yield f"{server.was} is called {server.name} here"
        yield from (f"{server.name}: {remark}" for remark in server.remarks)
    for name in plan.present:
        yield f"{name} is in your configuration already"
    for left in plan.untranslated:
        yield f"{left.name} stays with the agent, past the gateway: {left.why}"


def _show(plan: GatewayPlan) -> None:
    ink = Ink(colours_wanted())
    for change in plan.changed:
        for line in _lines(change, plan):
            colour = {"+": "32", "-": "31", "@": "36"}.get(line[:1], "")
            print(ink(visible(line), colour) if colour else visible(line))


def _lines(change: FileChange, plan: GatewayPlan) -> Iterable[str]:
    """The difference, without the secrets that an agent's file may have."""
    secrets = sorted(secret_texts(plan).items(), key=lambda item: -len(item[0]))
    for line in difference(change, visible(spoken_path(change.path))):
        for text, name in secrets:
            line = line.replace(text, f"<value of {name}>")
        yield line


def _agreed(plan: GatewayPlan, args: argparse.Namespace) -> bool:
    if args.yes or args.json or not plan.changed or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    return input("Write this? [y/N] ").strip().lower() in ("y", "yes")
