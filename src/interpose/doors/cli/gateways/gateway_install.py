"""`interpose mcp gateway install` and `uninstall`: the gateway as an agent's only MCP server, and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from interpose.core.config.load import Loaded
from interpose.core.errors import SetupError
from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.gateways.gateway_import import done, scope_of
from interpose.doors.cli.installing.install_shared import carried_out
from interpose.doors.hooks.install.gateway_plan import (
    GatewayPlan,
    installed_for,
    plan_gateway_install,
    plan_gateway_uninstall,
)
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS, McpHost, mcp_host, mcp_place


def run_install(args: argparse.Namespace) -> int:
    """Run `interpose mcp gateway install`."""
    host = _host(args, "install")
    if host is None:
        return EXIT_USAGE

    def act(loaded: Loaded) -> int:
        plan = plan_gateway_install(mcp_place(host, scope_of(args), Path(args.cwd).absolute()), loaded)
        return done(plan, loaded, args, _advice(plan, host, loaded))

    return carried_out("gateway install", args, act)


def run_uninstall(args: argparse.Namespace) -> int:
    """Run `interpose mcp gateway uninstall`."""
    host = _host(args, "uninstall")
    if host is None:
        return EXIT_USAGE

    def act(loaded: Loaded) -> int:
        place = mcp_place(host, scope_of(args), Path(args.cwd).absolute())
        found = [
            record
            for record in installed_for(host, loaded)
            if record.scope == place.scope
            and record.keys == place.keys
            and (place.scope == "user" or record.path == str(place.path.resolve()))
        ]
        if not found:
            raise SetupError(f"{host.title} does not start the gateway by {place.path}: nothing to take back")
        names = ", ".join(found[0].moved) or "none"
        advice = [f"servers that stay in your configuration, too: {names}", _RESTART.format(host.title)]
        return done(plan_gateway_uninstall(found[0]), loaded, args, advice)

    return carried_out("gateway uninstall", args, act)


_NO_SERVERS = (
    "no server is behind the gateway yet, and without one it does not start: name one as gateway.servers in "
    "interpose.yaml; `interpose help gateway` says how"
)
_RESTART = "start {} again: it reads its MCP servers when it starts"


def _advice(plan: GatewayPlan, host: McpHost, loaded: Loaded) -> Iterator[str]:
    if not (plan.imported or plan.present or loaded.config.gateway.servers):
        yield _NO_SERVERS
    if plan.changed:
        yield _RESTART.format(host.title)
    if plan.variables:
        yield (
            f"{', '.join(sorted(plan.variables))}: kept in the agent's file, as variables of the gateway; your "
            "configuration has their names only"
        )
    yield "what its servers show first is trusted, what they change later waits for you: interpose mcp pins"


def _host(args: argparse.Namespace, verb: str) -> McpHost | None:
    host = mcp_host(args.host)
    if host is None:
        known = ", ".join(MCP_HOSTS)
        print(f"interpose mcp gateway {verb}: no agent {visible(args.host)!r}; known are {known}.", file=sys.stderr)
    return host
