"""Drawn values under plain names: `Key=...`, `stripe_key: ...`, `--key ...`, `the API key is ...`.

A name like `key` is given to many harmless things. So the value must be drawn beyond doubt, and one that could be a
hash or an id must have something else before it that speaks of access.
"""

from __future__ import annotations

from collections.abc import Iterator

from interpose.reading.secrets.hits import GUESSED, Hit
from interpose.reading.secrets.patterns import pattern
from interpose.reading.secrets.secret_values import UUID, is_drawn, is_hex, is_template
from interpose.reading.secrets.services import NAMES

KIND = "generic-api-key"
NEAR = 80
"""How far before a value something may speak of access."""
SPEAKS_OF_ACCESS = (
    r"(?i)(?:\bapi|api\b|[a-z]API\b|token|secret|credential|passw|\bauth|oauth|bearer|\bbasic_?auth|access[_ -]?key"
    r"|subscription|licen[cs]e|webhook)"
)
_OTHER_KEYS = (
    r"(?i)(?:public|pub|cache|primary|foreign|sort|partition|object|row|restore|idempotency|dedup\w*|lookup|hash|map|host|"
    r"storage|s3|bucket|registry|reg|translation|i18n|react|group|item|index|idx|sub|super|mon|tur|don|hot|hoc|joc|"
    r"entry|range|event|routing|range|cluster|composite|candidate|column|unique|natural|metadata|meta|signing|gpg|pgp|"
    r"ssh|host|verify\w*|verification|site|data|search|nav\w*|order|query|file|path|content|artifact|blob|node|route|"
    r"request|response|checksum|integrity|fingerprint|commit|build|image|layer|chunk|module|asset|record|state|"
    r"message|msg|trace|span|correlation|session|user|sample|test|known|bar|wrong|invalid|short|long|expected|derived|"
    r"block|round|ephemeral|shared|ecdh|curve|point|rsa|dsa|ec|ed25519|x25519|aes|des|hmac|mac|cipher|crypto\w*)"
    r"[\s_.-]*keys?"
)
_VARIABLE = r"(?:\b[A-Z][0-9A-Z]*(?:_[0-9A-Z]+)*_KEY|\s--?key)$"
_SAID = r"(?:[ \t]*[\"'`]?\]?[ \t]*(?::?=>?|:|<-|->|\||>)[ \t]*|[ \t]+(?:is|was|are)[ \t:]+)"
_VALUE = r"[\"'`{(]?(?P<value>[0-9A-Za-z][0-9A-Za-z_.+/-]{15,127}={0,2})"
_HARMLESS_BEFORE = r"(?i)(?:sha-?(?:1|256|384|512)?|md5|digest|checksum|integrity|hash|etag|commit|fingerprint)\W*$"


class PlainKeys:
    """`key` as the name of something, or as its last word; as an option; in a sentence."""

    spans_lines = False
    _names = r"(?:key|auth|pat|cred|creds|apitoken|access|passkey|authkey|webhook)"
    gate = rf"(?i){_names}{_SAID}[\"'`{{(]?[0-9A-Za-z_.+/-]{{16}}|-key[ \t=]+[\"']?[0-9A-Za-z_.+/-]{{16}}"
    _pattern = rf"(?i)(?P<name>[\w.$-]*{_names})(?:{_SAID}|[ \t]+){_VALUE}"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The values that were surely drawn."""
        for match in pattern(self._pattern).matches(data, start, end):
            value, (at, stop) = match["value"].rstrip(b"."), match.span("value")
            name_at, name_end = match.span("name")
            said = data[name_end:at].strip(b" \t\"'`{(")
            if not said and not match["name"].startswith(b"-"):
                continue
            if data[stop : stop + 1] in (b"(", b"[", b":", b"@") or is_template(value):
                continue
            before = data[max(0, name_at - NEAR) : name_end]
            if is_secret_value(value, before):
                yield Hit(at, at + len(value), KIND, value, GUESSED)


def is_secret_value(value: bytes, before: bytes) -> bool:
    """Whether a value that is called a key is a secret, by itself and by what stands before it."""
    if pattern(rf"{_OTHER_KEYS}$").occurs(before) or pattern(_HARMLESS_BEFORE).occurs(before):
        return False
    if is_hex(value):
        spoken = pattern(SPEAKS_OF_ACCESS).occurs(before) or pattern(NAMES).occurs(before)
        drawn = pattern(UUID).covers(value) or is_drawn(value)
        return drawn and (spoken or pattern(_VARIABLE).occurs(before))
    return is_drawn(value)
