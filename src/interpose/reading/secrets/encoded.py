"""Secrets in base64 and in URL encoding: decoded, searched, and the encoded text is what gets hidden."""

from __future__ import annotations

from binascii import Error, a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from interpose.reading.secrets.hits import Hit
from interpose.reading.secrets.patterns import pattern

Search = Callable[[bytes], Sequence[Hit]]
"""Searches decoded text."""

# Four characters of base64 that stand for three of ASCII: the top bit of each byte is 0, which leaves half of the
# alphabet for each of the first three. So only encoded text is decoded, and hashes, paths and names are not.
_QUARTET = r"[A-Za-f][0-3A-HQ-Xg-nw-z][014589ABEFIJMNQRUVYZcdghklopstwx][0-9A-Za-z+/_-]"
_WRAP = r"(?:[\\ \t]*\r?\n[ \t]*)?"
_NOT_DATA = r"[^0-9A-Za-z+/_-]"
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-"
_PART = 4096
_SHORTEST = 6
_HEX = "0123456789abcdefABCDEF"
_BYTES = {(high + low).encode(): bytes([int(high + low, 16)]) for high in _HEX for low in _HEX}
"""What two hexadecimal digits stand for."""


class Base64:
    """Runs of base64 that hold ASCII, over wrapped lines too."""

    spans_lines = True
    gate = rf"(?:{_QUARTET}){{{_SHORTEST}}}"
    _pattern = rf"(?:{_QUARTET}){{{_SHORTEST},}}(?:{_WRAP}(?:{_QUARTET})+)*[0-9A-Za-z+/_-]{{0,3}}={{0,2}}"

    def find(self, data: bytes, start: int, end: int, search: Search) -> Iterator[Hit]:
        """The runs in which a secret was found."""
        hidden = start
        for match in pattern(self._pattern).matches(data, start, end):
            if match.span()[0] < hidden:
                continue  # its run goes as a whole already; to look at it again for each part would cost its square
            decoded = _decoded(pattern(_NOT_DATA).without(match.text()))
            hits = search(decoded) if decoded else ()
            if hits:
                first, hidden = _whole_run(data, *match.span())
                yield Hit(first, hidden, hits[0].kind, hits[0].secret, hits[0].rank)


def _decoded(run: bytes) -> bytes:
    run = run.translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return a2b_base64(run[: len(run) - (len(run) % 4 == 1)] + b"==")
    except Error:
        return b""


def _whole_run(data: bytes, start: int, end: int) -> tuple[int, int]:
    """What is encoded before and after the readable part belongs to the run, too."""
    while start > 0 and (part := data[max(0, start - _PART) : start]):
        start -= len(part) - len(rest := part.rstrip(_LETTERS))
        if rest:
            break
    while part := data[end : end + _PART]:
        end += len(part) - len(rest := part.lstrip(_LETTERS + b"="))
        if rest:
            break
    return start, end


class UrlEncoded:
    """Text with `%XX` in it. Only the secret inside is hidden, not the URL."""

    spans_lines = False
    gate = r"[0-9A-Za-z_.-]%[2-7][0-9A-Fa-f][^\s\"'<>`]{3}"
    _pattern = r"[^\s\"'<>`\\]*%[2-7][0-9A-Fa-f][^\s\"'<>`\\]*"

    def find(self, data: bytes, start: int, end: int, search: Search) -> Iterator[Hit]:
        """The secrets, where they stand in the encoded text."""
        for match in pattern(self._pattern).matches(data, start, end):
            decoded, places = _unquoted(match.text())
            base = match.span()[0]
            for hit in search(decoded):
                first, last = _place(places, hit.start), _place(places, hit.end)
                yield Hit(base + first, base + last, hit.kind, hit.secret, hit.rank)


def _unquoted(text: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    """The decoded text, and pairs of positions (decoded, encoded) from which both run in step."""
    first, *rest = text.split(b"%")
    out = bytearray(first)
    places = [(0, 0)]
    at = len(first)
    for part in rest:
        code = _BYTES.get(part[:2])
        if code is None:
            out += b"%" + part
        else:
            out += code
            places.append((len(out), at + 3))
            out += part[2:]
        at += 1 + len(part)
    return bytes(out), places


def _place(places: list[tuple[int, int]], decoded: int) -> int:
    at = bisect_right(places, (decoded, 1 << 62)) - 1
    base, encoded = places[at]
    return encoded + decoded - base
