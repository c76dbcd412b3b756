"""`interpose mcp gateway --http`: the gateway for clients that come over HTTP."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from interpose.doors.cli import version
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.terminal import colours_wanted

if TYPE_CHECKING:
    from interpose.core.config.gateway_servers import GatewayServer
    from interpose.core.config.settings import Config


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What belongs to it."""
    parser.add_argument(
        "--http", action="store_true", help="serve clients over HTTP instead of the one that started us"
    )
    parser.add_argument("--host", help="with --http: address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="with --http: port to listen on (default: 8090); 0 takes any free one")


def flags_of(args: argparse.Namespace) -> dict[str, object]:
    """The settings that the command line names."""
    given = {"gateway.http.host": args.host, "gateway.http.port": args.port}
    return {name: value for name, value in given.items() if value is not None}


def serve(config: Config, servers: Callable[[Config], Mapping[str, GatewayServer]]) -> int:
    """Serve until we are told to stop."""
    from interpose.composition.build import open_service
    from interpose.composition.observability.program_log import logging_to
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.mcp.clients.http_serving import serve_http

    wanted = servers(config)
    with logging_to(config.logging), open_service(config) as service:

        async def main() -> None:
            await serve_http(service, wanted, lambda addresses: _show(addresses, config, wanted), version=version())

        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking for garbage in it would make calls wait
        gc.set_threshold(100_000, 50, 100)
        run_on_loop(main())
    return 0


def _show(addresses: tuple[str, ...], config: Config, servers: Mapping[str, GatewayServer]) -> None:
    ink = Ink(colours_wanted())
    there = ", ".join(name for name, server in servers.items() if server.enabled)
    if config.gateway.oauth.issuer:
        tokens = f"{config.server.tokens_file or 'none'}, and those of {config.gateway.oauth.issuer}"
    else:
        tokens = config.server.tokens_file or "none"
    if config.server.loopback == "open":
        tokens += " (none needed on this machine: server.loopback is open)"
    home = str(Path.home())
    print(f"interpose {version()} stands before {visible(there)}. Ctrl-C stops it.")
    for word, text in (*(("clients", one) for one in addresses), ("tokens", tokens.replace(f"{home}/", "~/"))):
        print(f"  {ink(f'{word:8}', '2')} {visible(text)}")
    sys.stdout.flush()
