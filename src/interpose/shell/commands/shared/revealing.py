"""Secrets by what is printed: whatever program prints one, it then is in the agent's memory and logs.

A secret that goes into a variable, a file descriptor or another program is not printed. It carries a taint instead, and
if what is left of it comes out at the end, it is printed after all: `x=$(env); echo "$x"`.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from interpose.shell.commands.shared import reveal_tables
from interpose.shell.commands.shared.environment import show_environment
from interpose.shell.commands.shared.verbs import only_talks
from interpose.shell.commands.shared.word_sets import words
from interpose.shell.invocation import DUMP, PRINTABLE, SHOWN, Invocation, Lowering, Stream, Word

_SECRET = frozenset({"secret", SHOWN})
_ONLY_SECRET = frozenset({"secret"})
_MANY_LINES = 50

_WHOLE = words(
    """
    base64 bash bat batcat cat column echo eval expand fmt fold gcat gsort hexdump less mapfile more nl od paste pr
    printf pv read readarray rev sh shuf sort strings tac tee tr unexpand uniq xargs xxd zsh
    """
)
"""Programs that pass on all that they read, in one form or another."""
_PARTS = words(
    """
    awk cut egrep fgrep gawk gjq gojq grep head jaq jq mawk perl python python3 rg ruby sed tail yq
    """
)
"""Programs that pass on a part of what they read."""


class Revealing(Struct, frozen=True):
    """One way in which a program prints a secret."""

    path: tuple[str, ...]
    ends: bool
    options: frozenset[str]
    excused: frozenset[str]
    texts: tuple[str, ...]
    faint: bool


def _rows(table: str) -> Iterator[Revealing]:
    for line in [line for line in table.replace(";", "\n").splitlines() if line.strip()] or [""]:
        given = line.split()
        yield Revealing(
            tuple(word for word in given if word[0] not in "+!%~."),
            "." in given,
            _after("+", given),
            _after("!", given),
            tuple(sorted(_after("%", given))),
            "~" in given,
        )


def _after(sign: str, given: list[str]) -> frozenset[str]:
    return frozenset(part for word in given if word[0] == sign for part in word[1:].split("|"))


def _table(entries: dict[str, str]) -> dict[str, tuple[Revealing, ...]]:
    return {name: tuple(_rows(table)) for names, table in entries.items() for name in names.split()}


_SECRETS = _table(reveal_tables.STORES) | _table(reveal_tables.CLOUDS) | _table(reveal_tables.FORGES)
_ENVIRONMENTS = _table(reveal_tables.ENVIRONMENTS)
_HELPERS = _table({"get": "get\nlist\nfill"})["get"]
_HELPER_NAMES = ("docker-credential-", "git-credential-")


def state_revealed(inv: Invocation, low: Lowering) -> None:
    """State it if this command prints a secret, whatever else its handler said."""
    name = inv.name
    rows = _SECRETS.get(name)
    if rows is None and name.startswith(_HELPER_NAMES):
        rows = _HELPERS
    if rows is not None and (row := _fitting(rows, inv)) is not None:
        what = " ".join((name, *row.path))
        if row.faint:
            low.output(Stream(None, _ONLY_SECRET))
            low.emit("secret.read", what, rule="secret-tool", strength="faint",
                     reason=f"`{what}` prints what a store of secrets holds")  # fmt: skip
        else:
            reveal(inv, low, what, rule="secret-tool", reason=f"`{what}` prints a password, key or token")
    rows = _ENVIRONMENTS.get(name)
    if rows is not None and _fitting(rows, inv) is not None:
        show_environment(inv, low)


def reveal(inv: Invocation, low: Lowering, what: str, *, rule: str, reason: str, at: Word | None = None) -> None:
    """The command prints a secret: for everybody to read, or into a variable or another program."""
    low.output(Stream(None, _SECRET if inv.piped_out else _ONLY_SECRET))
    if not inv.piped_out:
        low.emit("secret.read", what, at=at, rule=rule, reason=reason)


def state_printed(out: Stream, low: Lowering) -> None:
    """State it if a secret that was read before is among what the whole text prints."""
    if DUMP in out.taints:
        low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                 reason="Prints the environment that it took, with the tokens and passwords in it")  # fmt: skip
    elif SHOWN in out.taints:
        low.emit("secret.read", "secret", certainty="possible", rule="secret-tool",
                 reason="Prints a password, key or token that it took from a store of secrets")  # fmt: skip


def still_printable(inv_name: str, args: tuple[Word, ...], taints: frozenset[str]) -> frozenset[str]:
    """The taints of what a program reads, as far as it prints it again."""
    if inv_name in _WHOLE:
        return taints
    if inv_name not in _PARTS:
        return taints - PRINTABLE
    return taints if _takes_all(inv_name, args) else taints - {DUMP}


def _takes_all(name: str, args: tuple[Word, ...]) -> bool:
    """Whether a filter lets a whole environment pass: without a pattern, without a column."""
    texts = [word.text for word in args]
    given = "".join(texts)
    match name:
        case "grep" | "egrep" | "fgrep" | "rg":
            pattern = next((text for text in texts if text[:1] != "-"), "")
            return pattern in ("", ".", ".*", "=", "^", "$", "_", "[A-Z]") or any(
                text[:1] == "-" and text[:2] != "--" and "v" in text for text in texts
            )
        case "sed":
            program = next((text for text in texts if text[:1] != "-"), "")
            return program in ("", "p") or (program[:1] == "s" and "=" not in program)
        case "awk" | "gawk" | "mawk":
            return not any(sign in given for sign in ("/", "=", "~", "$1", "F"))
        case "head" | "tail":
            return any(digits.isdecimal() and int(digits[:9]) >= _MANY_LINES for digits in
                       (text.lstrip("-nc=lbytes") for text in texts))  # fmt: skip
        case "cut":
            return "=" not in given
        case _:
            return False


def _fitting(rows: tuple[Revealing, ...], inv: Invocation) -> Revealing | None:
    """The last row that fits: a closer one stands behind a looser one."""
    found = None
    options = _option_names(inv.args)
    lowered: str | None = None
    for row in rows:
        if row.options and row.options.isdisjoint(options):
            continue
        if not row.excused.isdisjoint(options) or not _leads(row, inv.args):
            continue
        if row.texts:
            lowered = "\n".join([word.text for word in inv.args]).lower() if lowered is None else lowered
            if not any(text in lowered for text in row.texts):
                continue
        found = row
    return None if found is None or only_talks(inv.args) else found


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


def _leads(row: Revealing, args: tuple[Word, ...]) -> bool:
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
