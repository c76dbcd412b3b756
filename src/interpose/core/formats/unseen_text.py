"""Text that a model reads and a person does not see, and codes that steer the terminal that it is shown in.

Only what has no honest use in a text: flags, emoji, joined scripts and ideographs with a variant are left as they are.
"""

from __future__ import annotations

import re

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f"
"""England, Scotland and Wales: a black flag, then its name in tags."""
_UNSEEN = re.compile(
    f"(?P<flag>{_FLAG})"
    "|[\U000e0000-\U000e007f]+"  # tags: the alphabet once more, unseen
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"  # variation selectors: one is a style, several are data
    "|[\u200b-\u200d\u2060-\u2064\ufeff\u180e]{4,}"  # of no width: one joins or parts words, many are data
    # What steers a terminal. A sequence that does not end is one letter: the rest stays to be seen.
    "|\x1b\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\\]PX^_][^\x07\x1b\u009c]{0,4096}(?:\x07|\x1b\\\\|\u009c)|\x1b[ -/]?[0-~]?"
    "|\u009b[0-?]{0,64}[ -/]{0,8}[@-~]|[\u0080-\u0084\u0086-\u009f]"
)


def without_unseen(text: str) -> tuple[str, int]:
    """The text as a person sees it, and how many letters were taken out."""
    if text.isascii() and "\x1b" not in text:
        return text, 0
    seen = _UNSEEN.sub(lambda found: found["flag"] or "", text)
    return (seen, len(text) - len(seen)) if len(seen) < len(text) else (text, 0)
