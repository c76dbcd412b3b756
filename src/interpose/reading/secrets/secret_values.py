"""Is this value a secret, or a placeholder, a name, a version, a path?"""

from __future__ import annotations

from itertools import pairwise
from math import log2

from interpose.reading.secrets.patterns import pattern

_TEMPLATE = (
    r"(?is)(?:.*(?:\$\{|\$\(|\{\{|\}\}|<%|%\(|\.\.\.|\*{3}|x{5}|redacted|\{[a-z_][0-9a-z_.:]*\}).*|<.*>|\[.*\]|\{.*\}|%[a-z_]+%|%[sdrv]"
    r"|\$[a-z_][0-9a-z_.:]*|#\{.*|@[a-z_.]+@?)"
)
_FILLER = (
    r"(?is)(?:.*(?:your[_-]?|example|change[_-]?me|placeholder|dummy|insert|replace|sample|goes[_-]?here|123456|abcdef|qwerty|"
    r"foobar|foo[_-]?bar|lorem|deadbeef|test[_-]?(?:token|key|secret|pass)|fake|mock|todo|undefined).*"
    r"|(?:my|the|new|old|some|test|user|db|super|top|admin|root)?[_-]?(?:pass(?:word|wd|phrase)?|secret|token|pwd|key)s?[0-9!@#$_:?-]{0,4})"
)
_NAME = (
    r"(?:[A-Za-z]+(?:[_-][A-Za-z]+)*[_-]?v?[0-9]{1,4}"  # word, word_2, some-word-2024
    r"|[A-Z][0-9A-Z]*(?:_[0-9A-Z]+)+)"  # CONSTANT_NAMES
)
_CODE = (
    r"(?:[A-Za-z_][0-9A-Za-z_]*(?:(?:\.|::|->|/)[A-Za-z_][0-9A-Za-z_]*)+\.?"  # a.b.c, a::b, a/b
    r"|v?[0-9]+(?:[.,_:/-][0-9]+)*(?:[A-Za-z]{1,5}[0-9]{0,2})?"  # numbers, versions, dates, sizes
    r"|[A-Za-z][0-9A-Za-z]*(?:-[A-Za-z][0-9A-Za-z]*)*-v?[0-9]+(?:\.[0-9]+)+.*"  # a package with its version
    r"|0[xX][0-9A-Fa-f]{1,16}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T?.*"
    r"|.*(?:\(|\)|::|=>|->|\+=|==).*"
    r"|(?:\.{0,2}|~|[A-Za-z]:)[/\\].*"
    r"|[a-z][a-z0-9+.-]*:.*"  # a url or an image's name
    r"|[^@\s]+@[0-9A-Za-z-]+(?:\.[A-Za-z]+)+"  # a mail address
    r"|.*\.(?:py|js|ts|go|rs|rb|java|json|ya?ml|toml|txt|md|sh|conf|cfg|ini|pem|crt|cer|key|p12|html?|xml|com|org|net|io)"
    r"|arn:.*|ocid1\..*|projects/.*)"
)
_BUILT = (
    r"(?:.*[._/-])?[A-Za-z]?[a-z]{3,}[._/+=-].*|.*[._/-][A-Za-z]?[a-z]{3,}"  # a word and then something
    r"|(?:.*[._/-])?[A-Z]{4,}[._/-].*|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|(?:MFkw|MII|AAAA|ssh-|eyJ|commit|sha|rev|md5).*"
)
UUID = r"(?i)\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?"
_HASH = r"(?i)(?:sha(?:1|256|384|512)|md5|blake2b|crc32c?)[-:=].*"

_DIGITS, _LOWER, _UPPER = b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CLASSES = bytes.maketrans(_DIGITS + _LOWER + _UPPER, b"d" * 10 + b"l" * 26 + b"u" * 26)
_SYMBOL = r"[^0-9A-Za-z_. -]"


def has(value: bytes, classes: str) -> bool:
    """Whether the value has at least one character of each class: `d`, `l`, `u`."""
    chars = set(value)
    return all(not chars.isdisjoint({"d": _DIGITS, "l": _LOWER, "u": _UPPER}[name]) for name in classes)


def entropy(value: bytes) -> float:
    """Bits a character, by how often each one occurs."""
    total = len(value)
    return -sum((n := value.count(char)) / total * log2(n / total) for char in set(value)) if total else 0.0


def is_template(value: bytes) -> bool:
    """Whether this is where a secret will be put, or was taken out."""
    return len(set(value)) <= 2 or pattern(_TEMPLATE).covers(value)


def is_filler(value: bytes) -> bool:
    """Whether somebody wrote this to have something there: `changeme`, `your-token`, `123456`."""
    return pattern(_FILLER).covers(value)


def is_code(value: bytes) -> bool:
    """Whether this is a number, a path, an address or a piece of a program rather than a random text."""
    return pattern(_CODE).covers(value) or pattern(_HASH).covers(value)


def is_name(value: bytes) -> bool:
    """Whether this is words, perhaps with a number at the end."""
    return pattern(_NAME).covers(value)


def digit_groups(value: bytes) -> int:
    """How many runs of digits the value has. Names have one or two; a random text has many."""
    return sum(1 for _ in pattern(r"[0-9]+").matches(value))


def is_restless(value: bytes) -> bool:
    """Whether the case changes as often as by chance. In `camelCase` words keep it for a while."""
    changes = sum(1 for _ in pattern(r"[a-z]+|[A-Z]+|[0-9]+").matches(value))
    return len(value) >= 20 and has(value, "lu") and changes >= 0.42 * len(value)


def is_random(value: bytes) -> bool:
    """Whether the value was drawn, not written."""
    if len(value) < 10 or entropy(value) < 2.9 or is_name(value) or b" " in value:
        return False
    if not (has(value, "l") or has(value, "u")):
        return False
    groups = digit_groups(value)
    return groups >= 3 or (groups == 2 and (len(value) >= 16 or has(value, "lu"))) or is_restless(value)


def is_password(value: bytes, *, quoted: bool) -> bool:
    """Whether a value that a password's name is given could be the password. Only a quoted one may read like a name."""
    if len(value) < 6 or entropy(value) < 2.2 or b" " in value or (is_name(value) and not quoted):
        return False
    classes = sum((has(value, "d"), has(value, "l"), has(value, "u"), pattern(_SYMBOL).occurs(value)))
    return (
        classes >= 3
        or (classes == 2 and has(value, "d") and (quoted or len(value) >= 8))
        or (quoted and has(value[1:], "lu"))
    )


def is_drawn(value: bytes) -> bool:
    """Whether the value was surely drawn: its letters and digits change as often as by chance, all over it.

    For places where `is_random` would say too much: names of models, builds and files have many digits, too.
    """
    plain = value.translate(None, b"-_.+/=")
    size = len(plain)
    if size < 16 or not plain.isalnum() or len(value) - size > len(value) // 6 or not has(plain, "d"):
        return False
    mixed = has(plain, "lu")
    if not mixed and not (has(plain, "l") or has(plain, "u")):
        return False
    if len(set(plain)) < min(10, size // 2) or pattern(_BUILT).covers(value):
        return False
    classes = plain.translate(_CLASSES)
    runs = 1 + sum(one != other for one, other in pairwise(classes))
    if mixed:
        return runs >= 0.55 * size or (runs >= 0.42 * size and sum(map(bool, classes.split(b"d"))) > 1)
    return runs >= 0.28 * size


def is_hex(value: bytes) -> bool:
    """Whether this is hexadecimal digits or a UUID, as hashes and ids are."""
    return has(value, "d") and not value.translate(None, b"0123456789abcdefABCDEF-{}")
