"""One pass over a text says which sorts of secrets could be in which part of it; only those are then looked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from interpose.reading.secrets.assignment import Assignments, Flags, Pairs
from interpose.reading.secrets.effort import FINDER, TEXT, Effort, SpentError, searching, spend
from interpose.reading.secrets.encoded import Base64, UrlEncoded
from interpose.reading.secrets.fold import folded
from interpose.reading.secrets.hits import Finder, Hit
from interpose.reading.secrets.http import (
    Authorization,
    CommandPasswords,
    Cookies,
    CurlUsers,
    DockerAuth,
    Netrc,
    UrlParameters,
    UrlPasswords,
)
from interpose.reading.secrets.kinds import SHAPED, Kind
from interpose.reading.secrets.kinds.needed import NEEDED
from interpose.reading.secrets.multiline import KubernetesSecrets, PrivateKeys, PuttyKeys
from interpose.reading.secrets.patterns import Gate, pattern
from interpose.reading.secrets.plain_names import PlainKeys
from interpose.reading.secrets.recognised import Recognised
from interpose.reading.secrets.secret_values import has
from interpose.reading.secrets.services import NearServices
from interpose.reading.secrets.tables import TableColumns

BLOCK = 16 * 1024
"""How much text one look at the gate covers."""
MARGIN = 4 * 1024
"""How far a secret may reach over the end of a block that has no line end to cut at."""
TOO_COMPLEX = "too-complex"
"""The kind of what was withheld because a search of it would take too long."""
LAYERS = 3
"""How many encodings around a secret are opened."""

_FILLED = r"(?i).*(?:x{10}|\*{6}|\.{4}).*"
_MAY_BE_FILLED = frozenset({"artifactory-key", "artifactory-password"})
"""Kinds that are short and almost any letters: images and programs in base64 have them by chance."""


AnyFinder = Finder | Base64 | UrlEncoded


class Shaped:
    """Finds one kind by its shape."""

    spans_lines = False

    def __init__(self, kind: Kind) -> None:
        core = kind.pattern if "(?P<secret>" in kind.pattern else f"(?P<secret>{kind.pattern})"
        self._kind, self.name = kind, kind.name
        self._pattern = core if kind.anywhere else rf"\b{core}"
        self.gate = kind.gate or self._pattern

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The secrets of this kind."""
        kind = self._kind
        for match in pattern(self._pattern).matches(data, start, end):
            secret = match["secret"]
            if kind.needs and not has(secret, kind.needs):
                continue
            if kind.unless and pattern(kind.unless).covers(secret):
                continue
            at = match.span("secret")[0]
            if kind.name in _MAY_BE_FILLED:
                if data[at - 1 : at] in (b"+", b"/"):
                    continue
            elif pattern(_FILLED).covers(secret):
                continue
            yield Hit(*match.span("secret"), kind.name, secret)


_SHORT, _MOST_CLEAN = 256, 4096


class Scanner:
    """Finds all secrets of a text. All that it keeps are short texts without any, so everybody shares one."""

    def __init__(self) -> None:
        self._clean: set[bytes] = set()
        # Some gates instead of one: the states of unlike patterns multiply.
        self._rooms: tuple[tuple[Gate, tuple[AnyFinder, ...]], ...] = tuple(
            (
                Gate([finder.gate for finder in finders], [NEEDED.get(name_of(finder), ()) for finder in finders]),
                finders,
            )
            for finders in (
                tuple(Shaped(kind) for kind in SHAPED),
                (Assignments(), Flags(), Pairs(), PlainKeys(), NearServices()),
                (
                    PrivateKeys(),
                    PuttyKeys(),
                    KubernetesSecrets(),
                    UrlPasswords(),
                    UrlParameters(),
                    Authorization(),
                    DockerAuth(),
                    Cookies(),
                    CurlUsers(),
                    CommandPasswords(),
                    Netrc(),
                    TableColumns(),
                    Base64(),
                    UrlEncoded(),
                ),
            )
        )

    def find(self, data: bytes, effort: Effort | None = None, known: Recognised | None = None) -> list[Hit]:
        """The secrets, in order and without overlaps. What could not be searched to its end counts as one.

        What is found here is hidden all over this text, and `known` from then on.
        """
        if data in self._clean:
            return []
        found: list[Hit] = []
        text, searched = data, 0
        effort = Effort() if effort is None else effort
        with searching(effort):
            try:
                text = folded(data)
                for searched in self._search(text, found, LAYERS):  # noqa: B007 - where it was when the steps were spent
                    pass
            except SpentError:
                # INVARIANT: all that is not known to be searched is withheld.
                found.append(_withheld(searched, data))
        if not found:
            self._remember(data)
            return found
        here = Recognised()
        for one in (here,) if known is None else (here, known):
            if (one_too_many := one.add(text, found)) is not None:
                found.append(_withheld(one_too_many.start, data))
        return disjoint([*found, *self._known(text, here, {hit.start: hit.end for hit in found})])

    def _remember(self, clean: bytes) -> None:
        """One call's texts are searched again and again: for its result, for the record, for whoever is asked.

        INVARIANT: whether a text holds a secret depends on the text alone. One that does is not kept here.
        """
        if len(clean) <= _SHORT:
            if len(self._clean) >= _MOST_CLEAN:
                self._clean.clear()
            self._clean.add(clean)

    def find_known(self, data: bytes, known: Recognised) -> list[Hit]:
        """Only what is known already."""
        return disjoint(self._known(folded(data), known, {}))

    def _known(self, text: bytes, known: Recognised, found: Mapping[int, int]) -> list[Hit]:
        with searching(Effort()):
            try:
                return list(known.find(text, found))
            except SpentError:
                return [_withheld(0, text)]

    def _inside(self, data: bytes, layers: int) -> list[Hit]:
        """The secrets of a text that was encoded."""
        found: list[Hit] = []
        for _ in self._search(folded(data), found, layers):
            pass
        return disjoint(found)

    def _search(self, text: bytes, found: list[Hit], layers: int) -> Iterator[int]:
        """Add what is found, block by block. Says up to where the text has been searched."""
        whole: set[AnyFinder] = set()
        for start, end in blocks(text):
            block = text[start:end]
            hits = [finders[number] for gate, finders in self._rooms for number in gate.hits(block)]
            spend(TEXT + FINDER * len(hits))
            for finder in hits:
                if finder.spans_lines and finder not in whole:
                    yield 0  # it looks at what came before, too
                    whole.add(finder)
                    found.extend(self._hits(finder, text, 0, len(text), layers))
            yield start
            for finder in hits:
                if not finder.spans_lines:
                    found.extend(self._hits(finder, text, start, end, layers))

    def _hits(self, finder: AnyFinder, text: bytes, start: int, end: int, layers: int) -> Iterable[Hit]:
        match finder:
            case Base64() | UrlEncoded():
                return finder.find(text, start, end, lambda inner: self._inside(inner, layers - 1)) if layers else ()
            case _:
                return finder.find(text, start, end)


def _withheld(start: int, data: bytes) -> Hit:
    return Hit(start, len(data), TOO_COMPLEX, TOO_COMPLEX.encode())


def _gate(finders: Sequence[AnyFinder]) -> Gate:
    return Gate([finder.gate for finder in finders], [NEEDED.get(name_of(finder), ()) for finder in finders])


def name_of(finder: AnyFinder) -> str:
    """What it is called in the table of what gates need."""
    return finder.name if isinstance(finder, Shaped) else type(finder).__name__


@cache
def scanner() -> Scanner:
    """The scanner, made when it is first needed."""
    return Scanner()


def blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Parts of the text that end with a line. Where a line is longer than a block, parts overlap."""
    start, size = 0, len(data)
    while start < size:
        end = start + BLOCK
        if end >= size:
            yield start, size
            return
        newline = data.rfind(b"\n", start + MARGIN, end)
        if newline >= 0:
            yield start, newline + 1
            start = newline + 1
        else:
            yield start, end
            start = end - MARGIN


def disjoint(hits: list[Hit]) -> list[Hit]:
    """Overlapping hits become one, over all of them, with the name of the surest."""
    merged: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.rank)):
        if merged and hit.start < merged[-1].end:
            last = merged[-1]
            best = min(last, hit, key=lambda one: (one.rank, one.start, -one.end))
            merged[-1] = Hit(last.start, max(last.end, hit.end), best.kind, best.secret, best.rank)
        else:
            merged.append(hit)
    return merged
