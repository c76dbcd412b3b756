"""`interpose gateway`: all MCP servers of the configuration behind the pipeline, as one server."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from interpose.cli import gateway_http
from interpose.cli.gateway_running import run_gateway

if TYPE_CHECKING:
    from interpose.config.gateway_servers import GatewayServer
    from interpose.config.settings import Config

HELP = "put all MCP servers of the configuration behind the rules, as one server"

_EPILOG = """The servers stand in interpose.yaml:

  gateway:
    servers:
      files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv]}
      github: {command: github-mcp, env: {GITHUB_TOKEN: "${GITHUB_TOKEN}"}}

Your agent starts `interpose gateway` as its only MCP server, and sees files__read_file, github__create_issue ...
With --http it serves clients at http://127.0.0.1:8090/mcp, each with a token of its own (`interpose token add`).

exit codes: 0 the client went, 64 wrong usage, 69 the ledger can't be used, 70 internal error, 78 a configuration or
rules that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `gateway` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    gateway_http.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose gateway`."""

    def load() -> Config:
        from interpose.config.load import load

        return load(args.config, flags=gateway_http.flags_of(args)).config

    return run_gateway("gateway", load, _servers, transparent=False, serve=gateway_http.serve if args.http else None)


def _servers(config: Config) -> Mapping[str, GatewayServer]:
    from interpose.errors import ConfigError

    if not any(server.enabled for server in config.gateway.servers.values()):
        raise ConfigError(
            ("gateway.servers: there are none; name them in interpose.yaml, or wrap one: interpose wrap -- COMMAND",)
        )
    return config.gateway.servers
