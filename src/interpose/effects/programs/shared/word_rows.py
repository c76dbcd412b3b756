"""Tables of what programs do, by their words: a row is a line of text.

    item get +--reveal|--fields     these leading words, and at least one of these options (`--name=value` is one, too)
    show !--masked                  none of these options
    config get %token|password      one of these texts in some argument, or in a variable before it (`_` is a blank)
    env .                           no other word
    wlan * key                      `*` is any word
    =+                              this very word among the arguments
    ~ kv get                        a faint row: what it does is everyday work

Rows stand on lines of their own or between semicolons. The last row that fits is the one that counts. An empty table
fits always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from interpose.effects.invocation import Invocation, Word
from interpose.effects.programs.shared.verbs import only_talks


class WordRow(Struct, frozen=True):
    """One row: what must be there, and what must not."""

    path: tuple[str, ...]
    ends: bool
    options: frozenset[str]
    excused: frozenset[str]
    texts: tuple[tuple[str, ...], ...]
    exact: frozenset[str]
    faint: bool


def _rows(lines: str) -> Iterator[WordRow]:
    for line in [line for line in lines.replace(";", "\n").splitlines() if line.strip()] or [""]:
        given = line.split()
        yield WordRow(
            tuple(word for word in given if word[0] not in "+!%~.="),
            "." in given,
            _after("+", given),
            _after("!", given),
            tuple(tuple(word[1:].split("|")) for word in given if word[0] == "%"),
            _after("=", given),
            "~" in given,
        )


def _after(sign: str, given: list[str]) -> frozenset[str]:
    return frozenset(part for word in given if word[0] == sign for part in word[1:].split("|"))


class WordTable(Mapping[str, tuple[WordRow, ...]]):
    """The rows of each program, read when a program is met: most are never met."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines, self._rows = lines, dict[str, tuple[WordRow, ...]]()

    def __getitem__(self, name: str) -> tuple[WordRow, ...]:
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = tuple(_rows(self._lines[name]))
        return rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, name: object) -> bool:
        return name in self._lines


def table(*parts: Mapping[str, str]) -> WordTable:
    """The rows of each program. What is said later of a program takes the place of what was said before."""
    return WordTable({name: lines for entries in parts for names, lines in entries.items() for name in names.split()})


def fitting(rows: tuple[WordRow, ...], inv: Invocation) -> WordRow | None:
    """The last row that fits: a closer one stands behind a looser one."""
    found = None
    given = {word.text.lower() for word in inv.args}
    options: set[str] | None = None
    for row in rows:
        # Most rows are of other subcommands: one look says so.
        if row.path and row.path[0] not in given and row.path[0] != "*":
            continue
        if options is None and (row.options or row.excused):
            options = _option_names(inv.args)
        if _fits(row, inv, options or set()):
            found = row
    return None if found is None or only_talks(inv.args) else found


def _fits(row: WordRow, inv: Invocation, options: set[str]) -> bool:
    if (row.options and row.options.isdisjoint(options)) or not row.excused.isdisjoint(options):
        return False
    if row.exact and not any(word.text in row.exact for word in inv.args):
        return False
    if row.texts:
        said = _said(inv)
        if not all(any(text in said for text in texts) for texts in row.texts):
            return False
    return _leads(row, inv.args)


def _said(inv: Invocation) -> str:
    given = [f"{name}={value.text}" for name, value in inv.env]
    return "\n".join([*given, *[word.text for word in inv.args]]).lower().replace(" ", "_")


def _option_names(args: tuple[Word, ...]) -> set[str]:
    """The options that are given, by name; bundled letters count one by one, and `-o=value` as a whole as well."""
    names: set[str] = set()
    for before, word in zip((None, *args), args, strict=False):
        text = word.text
        if before is not None and before.text[:1] == "-":
            names.add(f"{before.text}={text}")
        if text[:1] != "-":
            continue
        names.add(text)
        names.add(text.partition("=")[0])
        if text[1:2] != "-" and len(text) > 2:
            names.update(f"-{letter}" for letter in text[1:] if letter.isalpha())
    return names


def _leads(row: WordRow, args: tuple[Word, ...]) -> bool:
    """Whether the words of a row lead, among options and what may be their values."""
    position, wanted = 0, row.path
    after_option = False
    for word in args:
        text = word.text
        if text[:1] == "-":
            after_option = "=" not in text
            continue
        if position < len(wanted) and wanted[position] in ("*", text.lower()):
            position += 1
        elif position == len(wanted) and not row.ends:
            return True
        elif not after_option:
            return False
        after_option = False
    return position == len(wanted)
