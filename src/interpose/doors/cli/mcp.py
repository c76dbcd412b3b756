"""`interpose mcp`: the MCP servers that the gateway is configured for. The verbs below it do the rest."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import urlsplit

from interpose.core.config.gateway_servers import GatewayServer
from interpose.core.config.load import load
from interpose.core.errors import ConfigError
from interpose.doors.cli import EXIT_CONFIG
from interpose.doors.cli.explaining.verdict_text import visible, visible_lines
from interpose.doors.cli.shared.json_output import print_json

_EPILOG = """Without a subcommand it lists gateway.servers of interpose.yaml: names, and the program or host of each.
Nothing is started. `interpose mcp pins` shows what they offer.

exit codes: 0 done, 64 wrong usage, 70 internal error, 78 a configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `mcp` understands."""
    parser.epilog = _EPILOG
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose mcp`."""
    try:
        servers = load(args.config).config.gateway.servers
    except ConfigError as error:
        print(f"interpose mcp: a configuration that can't be loaded\n{visible_lines(str(error))}", file=sys.stderr)
        return EXIT_CONFIG
    if args.json:
        rows = [{"name": name, "at": _place(one), "enabled": one.enabled} for name, one in servers.items()]
        print_json({"servers": rows})
        return 0
    width = max(map(len, servers), default=0)
    for name, one in servers.items():
        off = "" if one.enabled else "  (switched off)"
        print(f"{visible(name):{width}}  {visible(_place(one))}{off}")
    if not servers:
        print("no MCP servers are configured: `interpose mcp gateway import` copies those of your agents, and "
              "`interpose mcp wrap` needs none", file=sys.stderr)  # fmt: skip
    return 0


def _place(server: GatewayServer) -> str:
    """The program or the host. Arguments and addresses may have secrets in them."""
    return server.command or urlsplit(server.url).hostname or server.url.partition("://")[0]
