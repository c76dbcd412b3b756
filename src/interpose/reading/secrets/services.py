"""Drawn values near the name of a service: in the same line or in the one before."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.reading.secrets.effort import LINE, spend
from interpose.reading.secrets.hits import GUESSED, Hit
from interpose.reading.secrets.kinds import SERVICES
from interpose.reading.secrets.patterns import pattern
from interpose.reading.secrets.secret_values import UUID, is_drawn, is_hex, is_template

KIND = "service-key"
NEAR = 60
"""How far before a value the name may end."""
_SHORTEST, _LONGEST = 16, 130
_NAME_LENGTH = 24
NAMES = rf"(?i)(?:\b|_)(?:{'|'.join(sorted(SERVICES))})(?:[^a-z]|[a-z]*(?:key|token|secret|api|auth)|$)"
_ALONE = rf"(?i)(?:^|[^\w-])(?:{'|'.join(sorted(SERVICES))})(?:[^\w-]|$)"
"""The name by itself: `sentry_report` says nothing of a key."""
_ABOUT_KEYS = r"(?i)(?:key|token|secret|auth|\bapi|api\b|passw|\bpwd|cred|bearer|access|login)"
_GIVEN = rb"=:>({|\"'`,["
_AFTER = frozenset(b"\"'` \t\r\n,;<)}]|&.")
_SOMETHING_ELSE = (
    r"(?i)(?:sha-?(?:1|256|384|512)?|md5|digest|checksum|integrity|hash|etag|commit|fingerprint|\bids?|_id|uuid|guid|\bref|"
    r"\brev|revision|version|branch|tag|image|layer|trace|span|request|build|cursor|node|resolved|pub(?:lic)?[_ -]?key|"
    r"(?:cache|primary|object|partition|sort|idempotency|host)[_ -]?key|\bh1)[\s\"']*[:=]?[\s\"'`@]*$"
)

_ABOUT_HASHES = r"(?i)(?:cache|commit|\bsha|digest|checksum|trace|artifact|docker|image)"


class NearServices:
    """`abuseipdb '...'`, `the stripe key ...`, a log line after one that names the service."""

    spans_lines = False
    gate = r"[0-9][A-Za-z_-]{1,9}[0-9][0-9A-Za-z_-]{5}"
    _pattern = r"[0-9A-Za-z_-]*[0-9][A-Za-z_-]+[0-9][0-9A-Za-z_-]*={0,2}"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The values that look drawn where a key is spoken of, or that nothing else could be."""
        if not pattern(NAMES).occurs(data, max(0, start - NEAR - _NAME_LENGTH), end):
            return
        for first, last in pattern(self._pattern).spans(data, start, end):
            if not _SHORTEST <= last - first <= _LONGEST or (last < len(data) and data[last] not in _AFTER):
                continue
            before = data[max(0, first - NEAR - _NAME_LENGTH) : first]
            if _stands_free(before) and pattern(NAMES).occurs(before):
                spend(LINE)
                value = data[first:last]
                if _is_key(before, value):
                    yield Hit(first, last, KIND, value, GUESSED)


def _stands_free(before: bytes) -> bool:
    return before[-1:].isspace() or before[-1:] in _GIVEN


def _is_key(before: bytes, value: bytes) -> bool:
    if is_template(value) or pattern(_SOMETHING_ELSE).occurs(before):
        return False
    spoken = pattern(_ABOUT_KEYS).occurs(before)
    given = before.rstrip(b" \t\"'`{(")[-1:] in _GIVEN or before[-1:] in _GIVEN
    if is_hex(value):
        drawn = pattern(UUID).covers(value) or is_drawn(value)
        return spoken and given and drawn and not pattern(_ABOUT_HASHES).occurs(before)
    return (spoken or (given and pattern(_ALONE).occurs(before))) and is_drawn(value)
