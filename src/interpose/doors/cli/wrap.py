"""`interpose mcp wrap -- COMMAND ...`: one MCP server behind the pipeline, with nothing to configure."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.gateways.gateway_running import run_gateway

if TYPE_CHECKING:
    from interpose.core.config.gateway_servers import GatewayServer
    from interpose.core.config.settings import Config

_EPILOG = """Put it in front of the command in your agent's MCP configuration:

  before   "command": "npx",       "args": ["-y", "@modelcontextprotocol/server-everything"]
  after    "command": "interpose", "args": ["wrap", "--", "npx", "-y", "@modelcontextprotocol/server-everything"]

The server gets our environment, its names stay as they are, and rules know its tools as mcp__NAME__tool.

exit codes: 0 the client went, 64 wrong usage, 69 the ledger can't be used, 70 internal error, 78 a configuration or
rules that can't be loaded"""

_RUNNERS = frozenset({
    "npx", "bunx", "pnpx", "uvx", "pipx", "npm", "pnpm", "yarn", "bun", "deno", "uv", "node", "python", "python3",
    "docker", "podman", "sudo", "env",
})  # fmt: skip
_STEPS = frozenset({"run", "exec", "dlx", "tool", "x"})
_AFFIX = re.compile(r"^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-server|-mcp)$")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `wrap` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "interpose mcp wrap [--name NAME] [--config FILE] -- COMMAND [ARG ...]"
    parser.epilog = _EPILOG
    parser.add_argument("--name", help="what rules and the ledger call the server (default: made from the command)")
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the server")


def run(args: argparse.Namespace) -> int:
    """Run `interpose mcp wrap`."""
    words = args.command[1:]
    if args.command[:1] != ["--"] or not words:
        print("interpose mcp wrap: give the server behind `--`: interpose mcp wrap -- npx some-server", file=sys.stderr)
        return EXIT_USAGE
    name = args.name or name_of(words)

    def load() -> Config:
        from interpose.core.config.load import load

        return load(args.config).config

    def servers(_config: Config) -> Mapping[str, GatewayServer]:
        from interpose.core.config.gateway_servers import GatewayServer, wrong_servers
        from interpose.core.errors import ConfigError

        # What the client gives its server in `env` is in our environment, and is meant for it.
        ours = {key: value for key, value in os.environ.items() if not key.startswith("INTERPOSE_")}
        one = {name: GatewayServer(command=words[0], args=tuple(words[1:]), env=ours)}
        if why := wrong_servers(one):
            raise ConfigError((f"--name {why}",))
        return one

    return run_gateway("mcp wrap", load, servers, transparent=True)


def name_of(words: Sequence[str]) -> str:
    """A name for what a command starts: `npx -y @scope/server-files@1.2 /srv` is `files`."""
    found = ""
    for word in words:
        base = word.rpartition("/")[2]
        if word.startswith("-") or "=" in word or base in _RUNNERS or word in _STEPS:
            continue
        found = base
        break
    found = found or words[0].rpartition("/")[2]
    plain = re.sub(r"(?<=.)@[^@]*$|\.(?:py|js|mjs|cjs|ts|sh|exe)$", "", found).split(":")[0].split("==")[0]
    short = plain
    while (cut := _AFFIX.sub("", short)) != short and cut:
        short = cut
    return re.sub(r"_+$", "", re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9.-]+", "_", short)).lstrip("_.-"))[:64] or "server"
