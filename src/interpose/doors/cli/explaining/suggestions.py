"""What somebody probably meant who typed a word that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 60
"""No word that we know is longer; longer ones are not compared."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The word that was probably meant, or none if nothing comes near."""
    from difflib import get_close_matches

    if not 0 < len(word) <= _LONGEST:
        return ""
    spelled = {name.casefold(): name for name in known}
    beginning = [name for low, name in spelled.items() if len(word) > 2 and low.startswith(word.casefold())]
    if len(beginning) == 1:
        return beginning[0]
    return next((spelled[low] for low in get_close_matches(word.casefold(), spelled, 1)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean deny?`, to put behind a sentence about the word; or nothing."""
    meant = nearest(word, known)
    return f" Did you mean {meant}?" if meant else ""


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """One line about a word that nobody knows: `there is no decision 'dney'. Did you mean deny? Known are ...`"""
    words = list(known)
    known = f"Known {'is' if len(words) == 1 else 'are'} {', '.join(words)}."
    return f"there is no {what} {shown(word)}.{did_you_mean(word, words)} {known}"


def shown(word: str) -> str:
    """A word as it was typed, in quotes: short, and with nothing in it that a terminal obeys."""
    return repr(word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…")
