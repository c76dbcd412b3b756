"""The parser of the command line, for every verb but `hook`."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

EXIT_USAGE = 64


class Parser(argparse.ArgumentParser):
    """Wrong usage has one exit code everywhere."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")
