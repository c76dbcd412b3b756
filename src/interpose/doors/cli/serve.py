"""`interpose serve`: the decision server."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpose.core.errors import (
    ConfigError,
    InterposeError,
    LedgerError,
    PluginError,
    PolicyError,
    ServerError,
    StoreError,
)
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, version
from interpose.doors.cli.explaining.verdict_text import Ink, visible, visible_lines
from interpose.doors.cli.shared.last_resort import GRACE, end_within
from interpose.doors.cli.shared.terminal import colours_wanted

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.load import Loaded

EXIT_UNAVAILABLE = 69

_EPILOG = """SIGTERM and Ctrl-C stop it when every accepted request is answered, or 10 seconds after
server.shutdown_timeout, whatever hangs. SIGHUP reads the configuration, the rules, the tokens and the certificates
again.

exit codes: 0 stopped, 64 wrong usage, 69 it can't listen there or the ledger can't be used, 70 internal error, 78 a
configuration or rules that can't be loaded, or a package that is missing"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `serve` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8080); 0 takes any free one")
    parser.add_argument("--socket", metavar="PATH", help="Unix socket to listen on; empty for none")
    parser.add_argument("--on-demand", action="store_true", help=argparse.SUPPRESS)  # as hooks start it
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")


def run(args: argparse.Namespace) -> int:
    """Run `interpose serve`."""
    try:
        return _serve(_loading(args), on_demand=args.on_demand)
    except (ConfigError, PolicyError, PluginError) as error:
        return _refused(error, EXIT_CONFIG)
    except (ServerError, LedgerError, StoreError) as error:
        return _refused(error, EXIT_UNAVAILABLE)


def _refused(error: InterposeError, code: int) -> int:
    print(f"interpose serve: not started\n{visible_lines(str(error))}", file=sys.stderr)
    return code


def _loading(args: argparse.Namespace) -> Callable[[], Loaded]:
    from interpose.core.config.load import load

    given = {"server.host": args.host, "server.port": args.port, "server.socket": args.socket}
    flags = {name: value for name, value in given.items() if value is not None}
    return lambda: load(args.config, flags=flags)


def _serve(load: Callable[[], Loaded], *, on_demand: bool) -> int:
    from interpose.composition.build import open_service
    from interpose.composition.observability.program_log import logging_to
    from interpose.doors.http_server.listener import run as run_on_loop
    from interpose.doors.server.decision_server import DecisionServer

    loaded = load()
    with logging_to(loaded.config.logging), open_service(loaded.config, serving=True) as service:

        async def main() -> None:
            server = DecisionServer(service, lambda: load().config, version=version(), on_demand=on_demand)
            await server.serve(
                lambda addresses: _show(addresses, service),
                stopping=lambda: end_within(service.config.server.shutdown_timeout + GRACE),
            )

        _settle()
        run_on_loop(main())
    return 0


def _settle() -> None:
    """What is loaded by now stays: looking for garbage in it again and again would make calls wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def _show(addresses: tuple[str, ...], service: Service) -> None:
    ink = Ink(colours_wanted())
    config, status = service.config, service.policy_status()[0]
    store = "PostgreSQL" if config.store.url else "SQLite"
    lines: list[tuple[str, Any]] = [
        *(("listens", address) for address in addresses),
        ("policy", f"revision {status.revision}, {plural(status.rules, 'rule')}"),
        ("ledger", f"{_short(config.ledger.directory)} ({config.ledger.level}, {store})"),
        (
            "tokens",
            _short(config.server.tokens_file) if config.server.tokens_file else "none: nobody may read or approve",
        ),
    ]
    print(f"interpose {version()} decides. Ctrl-C stops it.")
    for word, text in lines:
        print(f"  {ink(f'{word:8}', '2')} {visible(str(text))}")
    sys.stdout.flush()


def _short(path: str) -> str:
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path.startswith(f"{home}/") else path
