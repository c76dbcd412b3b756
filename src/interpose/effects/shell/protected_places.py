"""Words that name what guards an agent, given to a command that is not known to only read it.

Hundreds of programs can write a file, each by its own option, and no table has them all. So the rule is the other way
round: a word that names an agent's settings, our own files, a terminal of a person, or a directory above them, is a
question, unless the program is in the table below of which it is known what it does with each of its words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interpose.effects.agents.known_agents import MOVERS
from interpose.effects.frozen_values import words
from interpose.effects.handler_table import handler_of
from interpose.effects.invocation import SETTINGS_NAMES, Invocation, Word
from interpose.effects.late_patterns import late
from interpose.effects.paths import (
    TELLING_NAMES,
    is_one_name,
    is_terminal,
    is_wild,
    names_environment,
    order_of,
    protected_place_of,
    reaches_us,
)
from interpose.effects.shell.file_lowering import SAY_WHAT_LANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from interpose.effects.shell.lowering import CommandLowering
    from interpose.effects.shell.simple_commands import Ran

READERS = words(
    """
    . : [ [[ ack actionlint ag alias aspell b2sum base32 base64 basename bat batcat cat cd chdir cksum cloc cmp
    codespell column comm cspell cut declare delta diff diff3 dir dirname dscl du echo egrep exa export eza false fd
    fdfind fgrep file find findmnt fold getfacl getfattr glow grep hadolint head hexdump icdiff jless jq
    jsonlint less let local locate look ls lsattr lsof markdownlint md5sum mdcat more namei nl od pathchk popd
    printf pushd pwd readlink readonly realpath rg rgrep scc set sha1sum sha224sum sha256sum sha384sum sha512sum
    shasum shellcheck source stat strings sum tac tail test tokei tr tree true type typeset typos umask unset wc
    whereis which yamllint zcat zgrep
    """
)
"""Programs that read each file they name, or only handle names."""
EXACT = words(
    """
    awk chgrp chmod chown cp dd gawk gcp gln gmv grm gsed gtar install interpose ln mawk mkdir mktemp mv nah nawk rm
    rmdir sed sort tar tee touch truncate unlink unzip
    """
)
"""Programs whose handlers know which of their words are files, and what is done to each."""
_WRITING = ("out", "write", "save", "log-file", "compile", "report", "fix", "in-place", "inplace", "multi", "dump")
"""Parts of the names of long options by which even a reader would write a file."""
_WRITING_LETTERS: dict[str, tuple[str, ...]] = {
    "base32": ("-o",), "base64": ("-o",), "less": ("-o", "-O"), "scc": ("-o",), "tokei": ("-o",), "tree": ("-o",),
}  # fmt: skip
"""Letters with which a reader writes the file that is named behind them."""
_CHANGES: dict[str, frozenset[str]] = {
    "aspell": words("-c check --check"),
    "bat": words("--pager"),
    "batcat": words("--pager"),
    "codespell": words("-w --write-changes -i --interactive"),
    "dscl": words("-create -append -merge -delete -change -passwd create append merge delete change passwd"),
    "file": words("-C --compile"),
    "markdownlint": words("-f --fix"),
    "typos": words("-w --write-changes"),
}
"""Words with which a reader changes the files that it names, wherever the word is."""
_READING_VERBS: dict[str, frozenset[str]] = {
    "git": words(
        """
        add annotate blame cat-file check-attr check-ignore commit describe diff diff-files diff-index diff-tree
        fsck grep hash-object log ls-files ls-tree rev-list rev-parse shortlog show stage status update-index
        whatchanged
        """
    ),
}
"""Verbs of programs that read the files they name."""
_BEFORE_VERBS: dict[str, tuple[str, ...]] = {"git": ("-C", "-c", "--git-dir", "--work-tree")}
"""Options with a value that may come before a program's verb."""
_FLOODS = words(
    "ab hey wrk wrk2 siege oha bombardier autocannon h2load slowhttptest httperf vegeta slowloris goldeneye"
)
"""Programs that send as many requests as they can."""
_MANY = 100_000
_NO_TARGETS = ("exclude", "ignore", "skip", "omit", "prune", "except", "without")
"""Parts of the names of options whose values are what a program leaves alone."""
_SEPARATORS = late(r"[=@:,;]|(?<=^-[A-Za-z])")
_LONGEST = 4096
_MOST_WORDS = 400
_HINTS = late(
    r"(?:^|[/=@:,;]|^-[a-z])\.(?:[a-z*?\[]|\./*$)|~|/dev/(?:pts|tty|input|vcs|uinput|hidraw|console|[*?\[])"
    r"|/(?:tmp|run)/.{0,60}(?:tmux|kitty|nvim|kak|zellij|wezterm|ydotool|screen)"
    r"|" + "|".join(sorted(map(re.escape, TELLING_NAMES))) + r"|[*?\[]|://(?:localhost|127|0|\[)"
    r"|(?:/home|/users)/?[^/\n]{0,64}/?$|/root/?$|/run/user(?:/[^/\n]{1,64})?/?(?:$|:)",
    re.MULTILINE,
)
"""Without any of these, a word names nothing that is protected: most words have none."""


def state_named(inv: Invocation, low: CommandLowering, said: str, first: int, ran: int, *, known: bool) -> None:
    """State it if a word names a protected place and the command is not known to only read it.

    `said` are all of its words, one on each line. `first` and `ran` are how many effects and commands there were
    before this one. `known`: it has a handler, so the commands that it runs are those that it would run, and no guess.
    """
    # A reader without an option writes nothing.
    plain = inv.name in READERS and "-" not in said and inv.name not in _CHANGES
    inside = not plain and (bool(low.walker.links) or _is_inside(low.cwd))
    if inv.name in EXACT:
        _look_at_options(inv, low, first)
    elif inside or _hints(said) or any(SETTINGS_NAMES in word.taints for word in inv.args):
        _look_at_all(inv, low, first, ran if known else None, inside=inside)
    for name, value in inv.env:
        _look_at_variable(name, value, low, first)
    if inv.name in ("export", "declare", "typeset"):
        for word in inv.args:
            name, equals, text = word.text.partition("=")
            if equals:
                _look_at_variable(name, Word(text, word.span, taints=word.taints), low, first)


def _look_at_all(inv: Invocation, low: CommandLowering, first: int, ran: int | None, *, inside: bool) -> None:
    before, looked = inv.argv0, 0
    for word in inv.args:
        if inside or SETTINGS_NAMES in word.taints or _hints(word.text):
            looked += 1
            if looked > _MOST_WORDS:  # INVARIANT: many words before one hide nothing
                if not _only_reads(inv, ""):
                    _state(low, first, word, word.text, f"{inv.name} is given more names than are looked at")
                return
            _look_at(before, word, inv, low, first, ran)
        before = word


def _hints(text: str) -> bool:
    """Whether a text may name a protected place. Most don't, and are not looked at."""
    folded = text.lower()
    return _HINTS.search(folded) is not None or names_environment(folded)


def _is_inside(cwd: str) -> bool:
    """Whether a command could name a protected place by a plain name, for where it runs."""
    return len(cwd) <= _LONGEST and _hints(cwd)


_MOST_FOLLOWED = 24
"""Words of a call whose links on the disk are followed."""


def words_to_follow(commands: Iterable[Ran]) -> tuple[str, ...]:
    """Words of commands that may be paths and that may be changed: where links on the disk lead, others look up."""
    found: dict[str, None] = {}
    commands = tuple(commands)
    for ran in commands:
        if ran.name in READERS or ran.name in EXACT or ran.name in _READING_VERBS:
            continue
        started = _started_by(ran, commands)
        for arg in ran.args:
            if (arg[:1] != "-" or "=" in arg) and arg != started:
                for piece in _pieces(arg):
                    if not is_wild(piece) and "://" not in piece and piece[:1] not in ("-", "+"):
                        found.setdefault(piece)
    return tuple(found)[:_MOST_FOLLOWED]


def _started_by(ran: Ran, commands: tuple[Ran, ...]) -> str:
    """The program that a command is known to only start: all of its last words are that command (`timeout 9 X -V`)."""
    if handler_of(ran.name) is None:
        return ""
    for each in commands:
        words = (each.program, *each.args)
        if each.via[-1:] == (ran.name,) and ran.args[-len(words) :] == words and each.program not in each.args:
            return "" if each.program in ran.args[: -len(words)] else each.program
    return ""


_KNOWN_OPTIONS = words(
    """
    --add-file --backup --context --directory --file --files-from --files0-from --from-file --one-top-level --output
    --parents --reference --suffix --target-directory --to-command --tmpdir
    """
)
"""Options of exact programs whose values their handlers know, or that name no place."""


_MORE_OPTIONS = words("--index-file --listed-incremental --transform --xform -g")
"""Options of theirs that take a value behind a blank as well, and that no handler knows."""


def _look_at_options(inv: Invocation, low: CommandLowering, first: int) -> None:
    """No handler knows every long option: what stands in one counts as with any other program."""
    for before, word in zip((inv.argv0, *inv.args), inv.args, strict=False):
        name, equals, value = word.text.partition("=")
        if before.text in _MORE_OPTIONS:
            name, value = before.text, word.text
        elif name[:2] != "--" or not equals or name in _KNOWN_OPTIONS or any(part in name for part in _NO_TARGETS):
            continue
        for piece in _pieces(value):
            where = low.place(piece)
            mark = protected_place_of(where, low.home, above=False) if _hints(piece) else None
            if mark is not None and not mark.private:
                _state(low, first, word, where, f"{inv.name} may write there with {name}, and it {mark.reason}")
                return


def _look_at(before: Word, word: Word, inv: Invocation, low: CommandLowering, first: int, ran: int | None) -> None:
    """`ran`: how many commands there were before this one; None if those that it may run are only guessed."""
    option = _option(before, word)
    if (
        any(part in option for part in _NO_TARGETS)
        or _only_reads(inv, option)
        or (ran is not None and _is_judged_inside(low, word, ran))
    ):
        return
    if SETTINGS_NAMES in word.taints and not word.known:
        _state(low, first, word, word.text, f"{inv.name} gets names that may be those of an agent's settings")
        return
    if "://" in word.text:
        order = order_of(word.text[max(word.text.find("http"), 0) :])
        if order is not None:
            _state(low, first, word, word.text, order.reason, rule="guard-orders")
            return
        if inv.name in _FLOODS and reaches_us(word.text) and _sends_many(inv):
            _state(low, first, word, word.text, "Sends the guard's server more than it can answer", rule="guard-orders")
            return
    for piece in _pieces(word.text):
        where = low.place(piece)
        if is_terminal(where):
            _state(low, first, word, where, f"{inv.name} is given a terminal or a keyboard of a person, or a way to it")
            return
        if _says_nothing(piece, where, low):
            continue
        # What is read of ours is stated elsewhere, and so is what lands in a directory.
        mark = protected_place_of(where, low.home, above=inv.name not in SAY_WHAT_LANDS)
        if (
            mark is not None
            and not mark.private
            and (ran is None or _names_output(option) or not _is_run(low, where, first))
        ):
            _state(low, first, word, where, f"{inv.name} is not known to only read this, and it {mark.reason}")
            return


def _sends_many(inv: Invocation) -> bool:
    """Whether a program that sends requests is told to send more than a test of an own server would."""
    return inv.name.startswith("slow") or any(
        word.text.isdecimal() and int(word.text[:18]) >= _MANY for word in inv.args
    )


def _says_nothing(piece: str, where: str, low: CommandLowering) -> bool:
    """Whether a pattern says too little to name anything: a regular expression, more often than not."""
    if not is_wild(piece):
        return False
    parent, _, name = where.rpartition("/")
    if any(letter.isalnum() for letter in name) and ("/" in piece or _is_inside(low.cwd)):
        return False
    return protected_place_of(parent, low.home, above=False) is None


def _look_at_variable(name: str, value: Word, low: CommandLowering, first: int) -> None:
    """Variables name files that programs write, too: `GIT_TRACE`. Those that move settings are judged by where to."""
    if name in MOVERS:
        return
    for piece in _pieces(value.text):
        if _HINTS.search(piece.lower()):
            where = low.place(piece)
            mark = protected_place_of(where, low.home, above=False)
            if mark is not None:
                _state(low, first, value, where, f"{name} may make a program write there, and it {mark.reason}")
                return


def _only_reads(inv: Invocation, option: str) -> bool:
    """Whether the command is known to only read what it is given behind this option, or behind none."""
    if inv.name in READERS:
        if (changes := _CHANGES.get(inv.name)) is not None and any(_changes(word.text, changes) for word in inv.args):
            return False
        if option.startswith("--"):
            return not any(part in option for part in _WRITING)
        return option not in _WRITING_LETTERS.get(inv.name, ())
    verbs = _READING_VERBS.get(inv.name)
    return verbs is not None and _verb(inv) in verbs and not any(part in option for part in _WRITING)


def _changes(text: str, changes: frozenset[str]) -> bool:
    return text.partition("=")[0] in changes or (text[:1] == "-" and text[1:2] != "-" and text[:2] in changes)


def _names_output(option: str) -> bool:
    """Whether a long option is called like one behind which a program writes, and runs nothing."""
    return option[:2] == "--" and any(part in option for part in (*_WRITING, "file", "dir", "log"))


def _verb(inv: Invocation) -> str:
    behind = _BEFORE_VERBS.get(inv.name, ())
    before = ""
    for word in inv.args:
        if word.text[:1] != "-" and before not in behind:
            return word.text
        before = word.text
    return ""


def _option(before: Word, word: Word) -> str:
    """The option that a word is, or that is before it and has no value yet."""
    if word.text[:1] == "-":
        return word.text.partition("=")[0] if word.text[:2] == "--" else word.text[:2]
    return before.text if before.text[:1] == "-" and "=" not in before.text else ""


def _is_judged_inside(low: CommandLowering, word: Word, ran: int) -> bool:
    """Whether a command that this one runs gets the same word: it is judged there."""
    return any(word.text in each.args or word.text == each.program for each in low.walker.commands[ran:])


def _is_run(low: CommandLowering, where: str, first: int) -> bool:
    """Whether the command runs what lies there as a program, and does not write it."""
    return any(
        effect.kind == "process.exec" and effect.resource == where and effect.details.get("script")
        for effect in low.walker.effects[first:]
    )


def _pieces(text: str) -> Iterator[str]:
    """What of a word may be a path: all of it, and the parts between `=`, `@`, `:` and `,` or behind a letter."""
    if len(text) > _LONGEST or not is_one_name(text):
        return  # prose, or a program text
    yield text
    if "://" not in text:
        pieces = _SEPARATORS.split(text)
        yield from [piece for piece in pieces if piece] if len(pieces) > 1 else ()


def _state(
    low: CommandLowering, first: int, word: Word, where: str, reason: str, *, rule: str = "guarded-place"
) -> None:
    if not any(effect.kind == "guard.tamper" for effect in low.walker.effects[first:]):
        low.emit("guard.tamper", where, certainty="possible", at=word, rule=rule, reason=reason)
