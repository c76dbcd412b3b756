"""`interpose mcp interceptor-server`: our pipeline for MCP clients and gateways that speak the interceptor protocol."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

from interpose.core.errors import (
    ConfigError,
    InterposeError,
    LedgerError,
    PluginError,
    PolicyError,
    ServerError,
    StoreError,
)
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE, version
from interpose.doors.cli.gateways.gateway_running import EXIT_UNAVAILABLE, refused

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import Config
    from interpose.rules.interceptor_protocol.offering import OfferedInterceptor

VERB = "mcp interceptor-server"

_EPILOG = """It offers interpose/decide (validation) and interpose/rewrite (mutation) for tools/call, prompts/get,
resources/read and llm/completion, before and after. A client that speaks the protocol starts it, or connects to it:

  interpose mcp interceptor-server                     over its standard input and output
  interpose mcp interceptor-server --http 8090         on http://127.0.0.1:8090/mcp

exit codes: 0 stopped, 64 wrong usage, 69 it can't listen there or the ledger can't be used, 70 internal error, 78 a
configuration, rules or a plugin that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `interceptor-server` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help="listen there instead (default host: 127.0.0.1); 0 takes any free port"
    )
    parser.add_argument(
        "--offer", metavar="PLUGIN", action="append", default=[],
        help="offer the interceptors of this installed plugin, too; may be given several times",
    )  # fmt: skip
    parser.add_argument("--only-offered", action="store_true", help="offer those of plugins, and not our own")
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")


def run(args: argparse.Namespace) -> int:
    """Run `interpose mcp interceptor-server`."""
    where = _address(args.http)
    if isinstance(where, str):
        print(f"interpose {VERB}: {where}", file=sys.stderr)
        return EXIT_USAGE
    if args.only_offered and not args.offer:
        print(f"interpose {VERB}: --only-offered needs --offer PLUGIN, or there is nothing to offer", file=sys.stderr)
        return EXIT_USAGE
    # INVARIANT: what a project puts into its agent's environment sets nothing here, as in the gateway.
    for name in [name for name in os.environ if name.startswith("INTERPOSE_")]:
        del os.environ[name]
    try:
        from interpose.core.config.load import load

        return _served(load(args.config).config, where, args)
    except (ConfigError, PolicyError, PluginError) as error:
        return refused(VERB, error, EXIT_CONFIG)
    except (ServerError, LedgerError, StoreError) as error:
        return refused(VERB, error, EXIT_UNAVAILABLE)
    except ImportError as error:
        missing = InterposeError(f"a package is missing ({error}): pip install 'interpose[server]'")
        return refused(VERB, missing, EXIT_INTERNAL)


def _address(text: str | None) -> tuple[str, int] | str | None:
    """The address of `--http`; None without it, or what is wrong with it."""
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65535:
        return f"--http takes a port, or host:port, not {text!r}"
    return host.strip("[]") or "127.0.0.1", int(port)


def _served(config: Config, where: tuple[str, int] | None, args: argparse.Namespace) -> int:
    from interpose.composition.build import open_service
    from interpose.composition.observability.program_log import logging_to
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.mcp.clients.stdio_client import own_streams
    from interpose.doors.mcp.interceptors.interceptor_methods import InterceptorMethods
    from interpose.doors.mcp.interceptors.interceptor_serving import serve_http, serve_stdio

    streams = own_streams() if where is None else None
    with logging_to(config.logging), open_service(config) as service:
        methods = InterceptorMethods(_offered(service, args), version=version())

        async def main() -> None:
            if where is None:
                assert streams is not None  # noqa: S101 - taken above
                await serve_stdio(methods, *streams)
            else:
                await serve_http(service, methods, *where, _show)

        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking for garbage in it would make calls wait
        gc.set_threshold(100_000, 50, 100)
        run_on_loop(main())
    return 0


def _offered(service: Service, args: argparse.Namespace) -> tuple[OfferedInterceptor, ...]:
    from interpose.composition.plugins import load_offered
    from interpose.doors.mcp.interceptors.interceptor_pipeline import PipelineInterceptors
    from interpose.rules.interceptor_protocol.offering import checked_offers

    own = () if args.only_offered else PipelineInterceptors(service).offered(version())
    return tuple(checked_offers((*own, *load_offered(args.offer))))


def _show(address: str) -> None:
    print(f"interpose {version()} offers its interceptors on {address}. Ctrl-C stops it.")
    sys.stdout.flush()
