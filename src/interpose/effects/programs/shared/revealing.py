"""Secrets by what is printed: whatever program prints one, it then is in the agent's memory and logs.

A secret that goes into a variable, a file descriptor or another program is not printed. It carries a taint instead, and
if what is left of it comes out at the end, it is printed after all: `x=$(env); echo "$x"`.
"""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.invocation import DUMP, PRINTABLE, SHOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared import reveal_tables
from interpose.effects.programs.shared.environment import show_environment
from interpose.effects.programs.shared.word_rows import WordTable, fitting, table

_SECRET = frozenset({"secret", SHOWN})
_ONLY_SECRET = frozenset({"secret"})
_MANY_LINES = 50

_WHOLE = words(
    """
    base32 base64 bash bat batcat bzip2 cat column echo eval expand fmt fold gcat gsort gzip hexdump less mapfile more
    nl od openssl paste pr printf pv read readarray rev sh shuf sort strings tac tee tr unexpand uniq xargs xxd zsh
    """
)
"""Programs that pass on all that they read, in one form or another."""
_PARTS = words(
    """
    awk cut egrep fgrep gawk gjq gojq grep head jaq jq mawk perl python python3 rg ruby sed tail yq
    """
)
"""Programs that pass on a part of what they read."""
SHOW_NOTHING = words(
    """
    7z 7za ar b2sum borg bsdtar buildah chmod cksum cp cpio ditto docker docker-compose finch gtar install ln md5sum mv
    nerdctl pax podman rclone restic rsync scp sha1sum sha256sum sha512sum shasum sum tar test wc zip
    """
)
"""Programs that copy, mount or count what they read, and show nothing of it."""


_SECRETS = table(reveal_tables.STORES, reveal_tables.CLOUDS, reveal_tables.FORGES)
_ENVIRONMENTS = table(reveal_tables.ENVIRONMENTS)
_HELPERS = table({"get": "get\nlist\nfill"})["get"]
_HELPER_NAMES = ("docker-credential-", "git-credential-")


NAMES = frozenset({*_SECRETS, *_ENVIRONMENTS})
_LEARNED: dict[str, WordTable] = {}
"""The rows of programs that are described as data."""


def learn_secrets(names: tuple[str, ...], lines: str) -> None:
    """Keep under which words these programs print a secret. A program has its rows in one place."""
    for name in names:
        if name in _SECRETS:
            raise ValueError(f"shared/reveal_tables.py has the program {name!r}, too")
    rows = table(dict.fromkeys(names, lines))
    _LEARNED.update(dict.fromkeys(names, rows))


def reveals(name: str) -> bool:
    """Whether a program of this name is in the tables."""
    return name in NAMES or name in _LEARNED or name.startswith(_HELPER_NAMES)


def state_revealed(inv: Invocation, low: Lowering) -> None:
    """State it if this command prints a secret, whatever else its handler said."""
    name = inv.name
    rows = _LEARNED[name][name] if name in _LEARNED else _SECRETS.get(name)
    if rows is None and name.startswith(_HELPER_NAMES):
        rows = _HELPERS
    if rows is not None and (row := fitting(rows, inv)) is not None:
        what = " ".join((name, *row.path))
        if row.faint:
            low.output(Stream(None, _ONLY_SECRET))
            low.emit("secret.read", what, rule="secret-tool", strength="faint",
                     reason=f"`{what}` prints what a store of secrets holds")  # fmt: skip
        else:
            reveal(inv, low, what, rule="secret-tool", reason=f"`{what}` prints a password, key or token")
    rows = _ENVIRONMENTS.get(name)
    if rows is not None and fitting(rows, inv) is not None:
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
                 reason="Prints a password, key or token out of a store of secrets or the environment")  # fmt: skip


def still_printable(inv_name: str, args: tuple[Word, ...], taints: frozenset[str]) -> frozenset[str]:
    """The taints of what a program reads, as far as it prints it again."""
    if inv_name in _WHOLE:
        return taints
    if inv_name not in _PARTS:
        return taints - PRINTABLE
    if _is_glimpse(inv_name, args):
        return taints - PRINTABLE
    return taints if _takes_all(inv_name, args) else taints - {DUMP}


def _is_glimpse(name: str, args: tuple[Word, ...]) -> bool:
    """Whether only the first characters are shown, or none: `head -c 8`, `cut -c1-4`, `grep -c .`."""
    texts = [word.text for word in args]
    match name:
        case "head" | "tail" | "cut":
            given = "".join(texts)
            return given.startswith("-c") and given[2:].rpartition("-")[2].strip("=").isdecimal() and len(given) <= 6
        case "grep" | "egrep" | "fgrep" | "rg":
            return any(text in ("-q", "-c", "--quiet", "--count", "-qi", "-ci") for text in texts)
        case "jq":
            return "keys" in texts or any("keys" in text for text in texts)
        case _:
            return False


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
        case "jq" | "gojq" | "jaq":
            return bool(texts) and texts[-1] == "."
        case _:
            return False
