"""What git's subcommands share: the call after global options, option reading by git's rules, and their table."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.forges import is_usual_forge
from interpose.effects.programs.shared.options import Options, parse


class GitCall(Struct, frozen=True):
    """One git subcommand with its arguments, after global options and aliases were resolved."""

    inv: Invocation
    name: str
    args: tuple[Word, ...]
    config: tuple[tuple[str, Word], ...] = ()
    """What `-c` and `GIT_CONFIG_*` set for this call; keys in lower case."""
    directory: str = ""
    """Where `-C` moved, relative to the shell's directory."""
    work_tree: str = ""

    def setting(self, key: str) -> str | None:
        """The last value given to a configuration key on this command line."""
        found = [value.text for name, value in self.config if name == key]
        return found[-1] if found else None

    def at(self, word: Word) -> Word:
        """A path argument as the shell's directory sees it."""
        return replace(word, text=posixpath.join(self.directory, word.text)) if self.directory else word


def copied_name(address: Word) -> str:
    """The name of the directory in which git puts a copy of a repository when nobody gives another."""
    name = address.text.rstrip("/").removesuffix("/.git").rpartition("/")[2]
    return name.rpartition(":")[2].removesuffix(".git")


def remember_copy(call: GitCall, address: Word, place: tuple[Word, ...], low: Lowering) -> None:
    """A copy of another repository lies in `place` from now on, or in a directory of its name."""
    if not is_usual_forge(address.text) and ("://" in address.text or "@" in address.text.partition(":")[0]):
        # INVARIANT: code from a place that nobody knows is not the project's own, whatever runs it.
        directory = place[0] if place else replace(address, text=copied_name(address))
        low.write(call.at(directory), Stream(None, frozenset({"cloned"})), directory=True)


GitHandler = Callable[[GitCall, Lowering], None]

SUBCOMMANDS: dict[str, GitHandler] = {}


def subcommand(*names: str) -> Callable[[GitHandler], GitHandler]:
    """Register what git subcommands of these names do."""

    def register(handler: GitHandler) -> GitHandler:
        for name in names:
            if name in SUBCOMMANDS:
                raise ValueError(f"two handlers for the git subcommand {name!r}")
            SUBCOMMANDS[name] = handler
        return handler

    return register


class GitOptions(Struct, frozen=True):
    """The options of one subcommand. `names` are all long ones, most harmful first."""

    names: tuple[str, ...]
    values: frozenset[str]
    attached: frozenset[str]
    aliases: Mapping[str, str]


def options(*, flags: str = "", values: str = "", attached: str = "", aliases: str = "") -> GitOptions:
    """Describe a subcommand's options in words; an alias is written `-f=--force`."""
    pairs = dict(pair.split("=") for pair in aliases.split())
    names = [name for name in (*flags.split(), *pairs.values(), *pairs, *values.split()) if name.startswith("--")]
    names += [f"--no-{name[2:]}" for name in names]
    return GitOptions(tuple(names), frozenset(values.split()), frozenset(attached.split()), pairs)


NO_OPTIONS = options()


def read_options(call: GitCall, known: GitOptions = NO_OPTIONS) -> Options:
    """Sort a subcommand's arguments.

    Git completes abbreviated long options. Where several would fit, the first is taken: they are listed most harmful
    first, so that an abbreviation can only be overestimated.
    """
    words = [_completed(word, known.names) for word in call.args]
    return parse(words, values=known.values, aliases=known.aliases, attached=known.attached, long=known.names)


def _completed(word: Word, names: tuple[str, ...]) -> Word:
    name, equals, value = word.text.partition("=")
    if len(name) < 3 or not name.startswith("--") or name in names or name in ("--help", "--no-help"):
        return word
    for known in names:
        if known.startswith(name):
            return replace(word, text=known + equals + value)
    return word


def informs(opts: Options) -> bool:
    """Whether the call only prints help, or fails on an option that git does not have there."""
    return opts.has("--help", "--version", "-h")


def switched(opts: Options, name: str) -> bool | None:
    """Whether a switch ends up on or off, or None when it was not given: the last of `--x` and `--no-x` wins."""
    result: bool | None = None
    off = f"--no-{name[2:]}"
    for given, _ in opts.given:
        if given == name:
            result = True
        elif given == off:
            result = False
    return result


def texts(words: Collection[Word]) -> str:
    """Words as one resource text."""
    return " ".join(word.text for word in words)


def suggest(command: str, words: Collection[Word] = ()) -> str:
    """A safer command for `instead`, or nothing when an argument is not known."""
    if not all(word.known for word in words):
        return ""
    return " ".join((command, *(word.text if word.glob else shlex.quote(word.text) for word in words)))
