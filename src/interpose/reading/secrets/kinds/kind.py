"""How a kind of secret is described."""

from __future__ import annotations

from msgspec import Struct


class Kind(Struct, frozen=True):
    """A secret that its own shape gives away.

    `pattern` is RE2 over bytes. Where only a part of the match is secret, that part is the group `secret`. A match must
    begin at the start of a word, unless the pattern itself says what stands before it (`anywhere`).
    """

    name: str
    pattern: str
    needs: str = ""
    """Classes that the secret must have at least one character of: `d` digits, `l` and `u` lower and upper case."""
    unless: str = ""
    """A match of which this is the whole is no secret."""
    anywhere: bool = False
    gate: str = ""
    """What occurs in every match, where the pattern begins with a run: looking for literals first is far cheaper."""


class Named(Struct, frozen=True):
    """A secret that looks like many harmless things, and is known by the name that it is given to.

    `words` are looked for in the name, in lower case and without punctuation; a `^` ties one to the name's beginning.
    `shape` is RE2 over the whole value, in either case.
    """

    name: str
    words: tuple[str, ...]
    shape: str
    letters: bool = False
    """Whether a value without a digit counts. Elsewhere it is a name, not a key."""


def named(name: str, words: str, shape: str, *, letters: bool = False) -> Named:
    """A row of a table: words are given with spaces between them."""
    return Named(name, tuple(words.split()), shape, letters)
