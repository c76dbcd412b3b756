"""What changes in a text although nothing has changed: times, ids, temporary names, and counters.

INVARIANT: the texts are an agent's or a tool's. Every pattern is bounded in length and can begin only where a word
does, so that the time is linear in the text whatever it holds.
"""

from __future__ import annotations

from interpose.late_patterns import late

NUMBER = late(r"[0-9]+")
"""A run of digits."""

_TIMES = late(
    r"""
    (?<![0-9A-Za-z])(?:
        [0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}        # a UUID
      | [0-9]{4}-[0-9]{2}-[0-9]{2}[T\ ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?
        (?:Z|[+-][0-9]{2}:?[0-9]{2})?                                                      # a time with its date
      | [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?                                    # a time of the clock
      | [0-9]{1,9}\.[0-9]{1,9}\ ?(?:s|ms|secs?|seconds?|minutes?)(?![A-Za-z])              # how long it took
      | [0-9]{1,9}\ ?(?:ms|[mµu]s|ns)(?![A-Za-z])
      | 1[0-9]{9}(?:[0-9]{3})?(?![0-9])                                                    # seconds since 1970
      | 0x[0-9a-fA-F]{4,16}(?![0-9a-fA-F])                                                 # an address in memory
      | te?mp[._-]?(?=[A-Za-z0-9_]{0,40}[0-9A-Z])[A-Za-z0-9_]{4,40}                        # a name of mktemp
      | pytest-[0-9]{1,9}(?![0-9])
      | (?:[Cc]hunk\ ID|PGID|[Ss]hellId|[Ss]ession\ ID|[Ww]all\ time):\ ?[0-9A-Za-z.]{1,40}  # what hosts add
    )
    """,
    0x40,  # re.VERBOSE
)
_HASH = late(r"(?<![0-9A-Za-z])(?=[0-9a-f]{0,63}[0-9])[0-9a-f]{12,64}(?![0-9A-Za-z])")


def untimed(text: str) -> str:
    """A text without times, ids and temporary names. Its other numbers stay."""
    return _TIMES.sub("~", text)


def unnumbered(text: str) -> str:
    """A text without any of these, and without its numbers."""
    return NUMBER.sub("#", _HASH.sub("~", untimed(text)))
