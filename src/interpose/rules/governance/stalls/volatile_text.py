"""What changes in a text although nothing has changed: times, ids, temporary names, and counters.

INVARIANT: the texts are an agent's or a tool's. Every pattern is bounded in length and can begin only where a word
does, so that the time is linear in the text whatever it holds. That it is a word's beginning is looked at behind its
first letter: a pattern that begins with a letter or a digit is found many times faster.
"""

from __future__ import annotations

from interpose.effects.late_patterns import late

NUMBER = late(r"[0-9]+")
"""A run of digits."""
_VERBOSE = 0x40
"""`re.VERBOSE`, without what its import costs."""
_TIMES = late(
    r"""
    [0-9](?<![0-9A-Za-z][0-9])(?:
        [0-9]{3}-[0-9]{2}-[0-9]{2}[T\ ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?
        (?:Z|[+-][0-9]{2}:?[0-9]{2})?                                                # a time with its date
      | [0-9]?:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?                                  # a time of the clock
      | [0-9]{0,8}\.[0-9]{1,9}\ ?(?:s|ms|secs?|seconds?|minutes?)(?![A-Za-z])        # how long it took
      | [0-9]{0,8}\ ?(?:ms|[mµu]s|ns)(?![A-Za-z])
      | (?<=1)[0-9]{9}(?:[0-9]{3})?(?![0-9])                                         # seconds since 1970
      | (?<=0)x[0-9a-fA-F]{4,16}(?![0-9a-fA-F])                                      # an address in memory
    )
    """,
    _VERBOSE,
)
_UUID = late(r"-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9A-Za-z])")
"""All but its first eight digits."""
_TEMPORARY = late(r"t(?<![0-9A-Za-z]t)e?mp[._-]?(?=[A-Za-z0-9_]{0,40}[0-9A-Z])[A-Za-z0-9_]{4,40}")
_PYTEST = late(r"pytest-[0-9]{1,9}")
_OF_HOSTS = late(r"(?:[Cc]hunk ID|PGID|[Ss]hellId|[Ss]ession ID|[Ww]all time): ?[0-9A-Za-z.]{1,40}")
"""What hosts write around a result."""
_HASH = late(r"(?<![0-9A-Za-z])(?=[a-f]{0,63}[0-9])[0-9a-f]{12,64}(?![0-9A-Za-z])")
_HEX = frozenset("0123456789abcdefABCDEF")


def untimed(text: str) -> str:
    """A text without times, ids and temporary names. Its other numbers stay."""
    if "-" in text:
        text = _PYTEST.sub("~", _without_uuids(text))
    if "ID" in text or "shellId" in text or "all time" in text:
        text = _OF_HOSTS.sub("~", text)
    return _TIMES.sub("~", _TEMPORARY.sub("~", text))


def _without_uuids(text: str) -> str:
    parts, done = [], 0
    for found in _UUID.finditer(text):
        start = found.start() - 8
        if start >= done and _HEX.issuperset(text[start : start + 8]):
            parts += [text[done:start], "~"]
            done = found.end()
    return "".join((*parts, text[done:])) if parts else text


def unnumbered(text: str) -> str:
    """A text without any of these, and without its numbers."""
    return NUMBER.sub("#", _HASH.sub("~", untimed(text)))
