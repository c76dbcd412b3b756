"""Secrets that span lines: private keys, and the data of a Kubernetes Secret."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.reading.secrets.effort import LINE, spend
from interpose.reading.secrets.hits import NAMED, SHAPED, Hit
from interpose.reading.secrets.patterns import PatternMatch, pattern
from interpose.reading.secrets.secret_values import is_template

# What may stand between two lines of a key: the break, then indentation, a comment's or a quotation's mark, a line
# number as `cat -n`, `grep -n` and agents' tools put it, or the end and the start of a literal.
_BREAK = (
    r"(?:[\\ \t]*\r?\n(?:[\"'][ \t]*[+.\\]?[ \t]*\r?\n[ \t]*[\"'])?"
    r"(?:[ \t]*L?[0-9]{1,7}(?:\xe2\x86\x92|[\t:|]))?[ \t>#*|/-]*)"
)
_HEADERS = rf"(?:{_BREAK}[A-Za-z-]+: [^\r\n\\]*)*"
_BODY = rf"(?:(?:{_BREAK}|[ \t])+[0-9A-Za-z+/=]{{16,}})+"
_END = rf"(?:(?:(?:{_BREAK}|[ \t])*=?[0-9A-Za-z+/=]{{1,15}})?(?:{_BREAK}|[ \t])*-{{4,5}} ?END [0-9A-Z ]+-{{4,5}})?"

_TYPES = {
    b"RSA": "rsa-private-key",
    b"EC": "ec-private-key",
    b"DSA": "dsa-private-key",
    b"OPENSSH": "openssh-private-key",
    b"ENCRYPTED": "encrypted-private-key",
    b"PGP": "pgp-private-key",
    b"SSH2 ENCRYPTED": "ssh2-private-key",
}
_OTHER = "private-key"
_PUTTY = "putty-private-key"
KEY_KINDS = (*_TYPES.values(), _OTHER, _PUTTY)


class PrivateKeys:
    """A key between its BEGIN and END lines; one that is cut off is taken as far as it goes."""

    spans_lines = True
    gate = r"BEGIN [0-9A-Z ]*PRIVATE KEY"
    _pattern = (
        rf"-{{4,5}} ?BEGIN (?P<type>[0-9A-Z ]*?) ?PRIVATE KEY(?: BLOCK)? ?-{{4,5}}{_HEADERS}{_BREAK}*{_BODY}{_END}"
    )

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The private keys. One digest for a key, however its lines are broken."""
        for match in pattern(self._pattern).matches(data, start, end):
            kind = _TYPES.get(match["type"].strip(), _OTHER)
            yield Hit(*match.span(), kind, _joined(match.text()), SHAPED)


class PuttyKeys:
    """The private part of a PuTTY key file."""

    spans_lines = True
    gate = r"Private-Lines: [0-9]"
    _pattern = rf"Private-Lines: [0-9]+(?P<body>{_BODY})(?:{_BREAK}(?P<last>[0-9A-Za-z+/=]{{1,15}})\r?\n)?"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The private lines."""
        for match in pattern(self._pattern).matches(data, start, end):
            body = match["body"]
            at, stop = match.span("body")
            stop = max(stop, match.span("last")[1])
            yield Hit(at + len(body) - len(body.lstrip()), stop, _PUTTY, _joined(body), SHAPED)


def _joined(key: bytes) -> bytes:
    return b"".join(run.text() for run in pattern(r"[0-9A-Za-z+/=]{16,}").matches(key))


class KubernetesSecrets:
    """All values under `data` and `stringData` of a `kind: Secret`, whatever they look like."""

    spans_lines = True
    gate = r"(?i)\bkind[ ]?[\"']?[ \t]*:[ \t]*[\"']?secret\b"
    _document = r"(?:^|\n)---[ \t]*(?:\r?\n|$)"
    _yaml = r"(?m:^)(?P<indent>[ \t]*)[\"']?(?:data|stringData)[\"']?:[ \t]*\r?\n"
    _json = r"\"(?:data|stringData)[\\ ]*\"\s*:\s*\{(?P<body>[^{}]*)\}"
    _json_value = r":\s*\\*\"(?P<value>[^\s\"\\]{4,})"
    _yaml_value = r"(?:^|[ \t:>|]|[\"'])(?P<value>[^\s\"':>|{#][^\s\"'{]{5,})[\"']?[ \t]*$"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The values of every Secret among the documents of the text."""
        for first, last in self._documents(data, start, end):
            if not pattern(self.gate).occurs(data, first, last):
                continue
            for match in pattern(self._json).matches(data, first, last):
                for value in pattern(self._json_value).matches(data, *match.span("body")):
                    yield _value_hit(value)
            for match in pattern(self._yaml).matches(data, first, last):
                yield from self._entries(data, match.span()[1], last, len(match["indent"]))

    def _documents(self, data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
        at = start
        for match in pattern(self._document).matches(data, start, end):
            yield at, match.span()[0]
            at = match.span()[1]
        yield at, end

    def _entries(self, data: bytes, start: int, end: int, indent: int) -> Iterator[Hit]:
        at = start
        while at < end:
            spend(LINE)
            newline = data.find(b"\n", at, end)
            stop = end if newline < 0 else newline
            line = data[at:stop].rstrip()
            stripped = line.lstrip()
            if stripped and len(line) - len(stripped) <= indent:
                return
            if stripped and not stripped.startswith(b"#"):
                value = next(pattern(self._yaml_value).matches(line), None)
                if value is not None and not is_template(value["value"]):
                    yield _value_hit(value, at)
            at = stop + 1


def _value_hit(match: PatternMatch, base: int = 0) -> Hit:
    start, end = match.span("value")
    return Hit(base + start, base + end, "kubernetes-secret", match["value"], NAMED)
