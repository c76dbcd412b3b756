"""How a benchmark is started: its options, and how it ends when a check fails or it is interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from bench.checks import CheckFailedError

SMOKE = "play it briefly, for whether it is right and not for its figures; installs no peers"


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the option that every benchmark has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help=SMOKE)
    return parser


def run_main(main: Callable[[], None]) -> NoReturn:
    """Run a benchmark as a program: 0 if all its checks hold, 1 with the message of the one that does not.

    A signal becomes an exception, so that the processes and directories of the benchmark are removed on the way out.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        main()
    except CheckFailedError as error:
        sys.stdout.flush()
        sys.exit(f"failed: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    sys.exit(0)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)  # a second one must not interrupt the removing
    raise SystemExit(128 + number)
