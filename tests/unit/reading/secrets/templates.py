"""Made-up secrets, built when a test runs: nothing in this repository looks like a credential of anybody.

A template is text with classes in braces: `ghp_{alnum:36}`, `{hex:32}-us{digit:2}`.
"""

from __future__ import annotations

import random
import re
import string
from collections import Counter

CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "base32": string.ascii_lowercase + "234567",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base64": string.ascii_letters + string.digits + "+/",
    "bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "digit": string.digits,
    "hex": string.digits + "abcdef",
    "letter": string.ascii_letters,
    "lower": string.ascii_lowercase,
    "lowernum": string.ascii_lowercase + string.digits,
    "uppernum": string.ascii_uppercase + string.digits,
    "word": string.ascii_letters + string.digits + "_-",
}
_CLASS = re.compile(r"\{(\w+):(\d+)\}")
_KINDS_OF_CHARACTERS = (string.digits, string.ascii_lowercase, string.ascii_uppercase)


def filled(template: str) -> str:
    """The text that a template stands for. The first `{hex:32}` is the same text in every template."""
    seen: Counter[str] = Counter()

    def draw(match: re.Match[str]) -> str:
        alphabet, length = CLASSES[match[1]], int(match[2])
        seen[match[0]] += 1
        dice = random.Random(f"{match[0]} {seen[match[0]]}")
        while True:
            text = "".join(dice.choices(alphabet, k=length))
            if length < 8 or _has_every_kind(text, alphabet):
                return text

    return _CLASS.sub(draw, template)


def _has_every_kind(text: str, alphabet: str) -> bool:
    """Long texts have a digit and both cases if they can, and begin and end with a letter or digit, as tokens do."""
    return (text[0] + text[-1]).isalnum() and all(
        set(text) & set(chars) for chars in _KINDS_OF_CHARACTERS if set(alphabet) & set(chars)
    )
