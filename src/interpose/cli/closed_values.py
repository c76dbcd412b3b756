"""Words of which only some mean anything: any other is an error that names those."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from interpose.cli.suggestions import unknown


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
