"""Words of which only some mean anything: any other is an error that says so."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

from interpose.doors.cli.explaining.suggestions import shown, unknown


class OneOf:
    """What argparse calls to read such a word."""

    def __init__(self, what: str, known: Iterable[str], *, empty: bool = False) -> None:
        self.known = tuple(known)
        """What is offered by completion and listed in the manual."""
        self._what, self._empty = what, empty
        self.__name__ = what

    def __call__(self, text: str) -> str:
        """The word, if it is one of them."""
        if text in self.known or (self._empty and not text):
            return text
        raise argparse.ArgumentTypeError(unknown(self._what, text, self.known))


def one_of(what: str, known: Iterable[str], *, empty: bool = False) -> OneOf:
    """A reader of such words. `empty`: nothing may be said, too."""
    return OneOf(what, known, empty=empty)


def directory(text: str) -> str:
    """What argparse calls to read a directory that is there. Nothing said is the working directory."""
    if os.path.isdir(text or "."):  # noqa: PTH112 - a path that no system takes is no directory, and no error
        return text
    raise argparse.ArgumentTypeError(f"there is no directory {shown(text)}")
