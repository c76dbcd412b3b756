"""What `interpose mcp gateway` and `interpose mcp wrap` share: the client's streams and a gateway between."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping
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
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, version
from interpose.doors.cli.explaining.verdict_text import visible_lines

if TYPE_CHECKING:
    from interpose.core.config.gateway_servers import GatewayServer
    from interpose.core.config.settings import Config

EXIT_UNAVAILABLE = 69


def run_gateway(
    verb: str,
    load: Callable[[], Config],
    servers: Callable[[Config], Mapping[str, GatewayServer]],
    *,
    transparent: bool,
    serve: Callable[[Config, Callable[[Config], Mapping[str, GatewayServer]]], int] | None = None,
) -> int:
    """Serve the client that started us, or those that `serve` serves. People are spoken to on the standard error.

    INVARIANT: what a project puts into its agent's environment sets nothing here. A setting of ours would loosen what
    is decided, and whoever starts us is the agent's host.
    """
    for name in [name for name in os.environ if name.startswith("INTERPOSE_")]:
        del os.environ[name]
    try:
        return serve(load(), servers) if serve is not None else _served(load(), servers, transparent=transparent)
    except (ConfigError, PolicyError, PluginError) as error:
        return refused(verb, error, EXIT_CONFIG)
    except (ServerError, LedgerError, StoreError) as error:
        return refused(verb, error, EXIT_UNAVAILABLE)
    except ImportError as error:
        missing = InterposeError(f"a package is missing ({error}): pip install 'interpose[server]'")
        return refused(verb, missing, EXIT_INTERNAL)


def refused(verb: str, error: InterposeError, code: int) -> int:
    """Say why it was not started."""
    print(f"interpose {verb}: not started\n{visible_lines(str(error))}", file=sys.stderr)
    return code


def _served(config: Config, servers: Callable[[Config], Mapping[str, GatewayServer]], *, transparent: bool) -> int:
    from interpose.composition.build import open_service
    from interpose.composition.observability.program_log import logging_to
    from interpose.core.config.places import places_of
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.mcp.clients.stdio_client import own_streams
    from interpose.doors.mcp.opening import open_gateway, serve_stdio
    from interpose.rules.policy.startup_memory import Memory

    wanted = servers(config)
    reads, writes = own_streams()
    # An agent waits for its servers: rules that were checked before are not checked again.
    memory = Memory(places_of().state / "cache" / "rules", version=version())
    with logging_to(config.logging), open_service(config, memory=memory) as service:
        memory.save()

        async def main() -> None:
            gateway = open_gateway(service, wanted, version=version(), transparent=transparent)
            await serve_stdio(gateway, reads, writes)

        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking for garbage in it would make calls wait
        gc.set_threshold(100_000, 50, 100)
        run_on_loop(main())
    return 0
