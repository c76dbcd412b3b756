"""`interpose mcp gateway`: all MCP servers of the configuration behind the pipeline, as one server."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from interpose.doors.cli.gateways import gateway_http
from interpose.doors.cli.gateways.gateway_acts import add_acts, run_act
from interpose.doors.cli.gateways.gateway_running import run_gateway

if TYPE_CHECKING:
    from interpose.core.config.gateway_servers import GatewayServer
    from interpose.core.config.settings import Config

_EPILOG = """The servers stand in interpose.yaml:

  gateway:
    servers:
      files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv]}
      github: {command: github-mcp, env: {GITHUB_TOKEN: "${GITHUB_TOKEN}"}}

Your agent starts `interpose mcp gateway` as its only MCP server, and sees files__read_file, github__create_issue ...
With --http it serves clients at http://127.0.0.1:8090/mcp, each with a token of its own: `interpose serve token new
NAME`.

exit codes: 0 the client went, 64 wrong usage, 69 the ledger can't be used, 70 internal error, 78 a configuration or
rules that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `gateway` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("--servers", metavar="A,B", help="only these servers of the configuration")
    gateway_http.add_arguments(parser)
    add_acts(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose mcp gateway`."""
    if args.act:
        return run_act(args)

    def load() -> Config:
        from interpose.core.config.load import load

        return load(args.config, flags=gateway_http.flags_of(args)).config

    servers = partial(_servers, _named(args.servers))
    return run_gateway("mcp gateway", load, servers, transparent=False, serve=gateway_http.serve if args.http else None)


def _named(text: str | None) -> list[str]:
    return [name for name in (text or "").split(",") if name]


def _servers(named: Sequence[str], config: Config) -> Mapping[str, GatewayServer]:
    from interpose.core.errors import ConfigError

    if not any(server.enabled for server in config.gateway.servers.values()):
        raise ConfigError(
            ("gateway.servers: there are none; name them in interpose.yaml, or use `interpose mcp wrap -- COMMAND`",)
        )
    unknown = [name for name in named if name not in config.gateway.servers]
    if unknown:
        raise ConfigError((f"--servers: gateway.servers has no {', '.join(unknown)}",))
    return {name: one for name, one in config.gateway.servers.items() if not named or name in named}
