"""Words of which only some mean anything: any other is an error that names those."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from interpose.cli.verdict_text import visible

_LONGEST = 64
"""Letters that are compared: nobody mistypes more, and comparing takes longer the more there are."""


def one_of(what: str, known: Iterable[str], *, empty: bool = False) -> Callable[[str], str]:
    """What argparse calls to read such a word. `empty`: nothing may be said, too."""
    words = tuple(known)

    def read(text: str) -> str:
        if text in words or (empty and not text):
            return text
        raise argparse.ArgumentTypeError(unknown(what, text, words))

    read.__name__ = what
    return read


def unknown(what: str, text: str, known: Iterable[str]) -> str:
    """What is said to a word that means nothing."""
    words = tuple(known)
    near = get_close_matches(text[:_LONGEST].lower(), words, 1)
    meant = f". Did you mean {near[0]}?" if near else "."
    return f"there is no {what} {visible(text[:_LONGEST])!r}{meant} Known are {', '.join(words)}."
