"""Peeling a wrapper off the command it runs, exactly: an option that is not understood must not hide what is inside."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from interpose.effects.handler_table import HANDLERS
from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.shared.options import Options, parse

INFORM = ("--help", "--version")


class Wrapper(Struct, frozen=True, kw_only=True):
    """How one wrapper reads its arguments up to the inner command."""

    flags: str = ""
    """Short options without a value."""
    values: str = ""
    """Short options with a value."""
    attached: str = ""
    """Short options whose value is optional and attached."""
    long: tuple[str, ...] = ()
    """Long options without a value, or with an optional one after `=`; without their dashes."""
    long_values: tuple[str, ...] = ()
    """Long options with a value; without their dashes."""
    skip: int = 0
    """Operands in front of the inner command (a duration, a lock file, a root directory)."""
    only: tuple[str, ...] = ()
    """Options with which no command is run (`-p pid`)."""
    loose: bool = False
    """Every option is a flag or carries its value after `=`: nothing can be misunderstood."""
    bundle: bool = True


class Peeled(Struct, frozen=True):
    """A wrapper's own options, the operands it keeps, and the command that it runs."""

    options: Options
    kept: tuple[Word, ...]
    inner: tuple[Word, ...]
    informs: bool


def peel(args: tuple[Word, ...], spec: Wrapper, low: Lowering) -> Peeled:
    """Split a wrapper's arguments. Options that the wrapper does not have are stated as `opaque`."""
    values, flags, attached = _names(spec)
    options = parse(args, values=values, long=flags, stop=True, bundle=spec.bundle, attached=attached)
    informs = options.has(*INFORM, *spec.only)
    kept, inner = options.operands[: spec.skip], options.operands[spec.skip :]
    if not spec.loose and not informs:
        known = values | flags | attached
        unclear = [name for name, value in options.given if name not in known or (value is not None and not value.text)]
        if unclear:
            low.emit("opaque", unclear[0], certainty="unknown", rule="unclear-wrapper",
                     reason="An option in front of the command is not understood: what runs is unclear")  # fmt: skip
            inner = _likely(options.operands, inner)
    return Peeled(options, kept, inner, informs)


def run_inner(inner: tuple[Word, ...], low: Lowering, via: str, env: tuple[tuple[str, Word], ...] = ()) -> None:
    """Run what a wrapper wraps. A computed first word may vanish or be an option: what follows is tried too."""
    if not inner:
        return
    head = inner[0]
    input_as_code(head, low)
    low.run(inner, via=via, env=env)
    if not head.known and not head.quoted and len(inner) > 1 and base_name(inner[1]) in HANDLERS:
        low.run(inner[1:], via=via, env=env)


def input_as_code(word: Word, low: Lowering) -> None:
    """A command or program text that is an item of a list: what the list holds is run, whatever it is."""
    if "input" in word.taints and word.known:
        low.emit("opaque", word.text, certainty="possible", at=word, rule="input-as-code",
                 reason="Items of a list are run as commands")  # fmt: skip


def base_name(word: Word) -> str:
    """The name of a command word without its directory."""
    return word.text.rpartition("/")[2]


def is_assignment(word: Word) -> bool:
    """Whether `env` and `sudo` take this word as NAME=VALUE."""
    name, equals, _ = word.text.partition("=")
    return bool(equals and name) and not name.startswith("-") and "/" not in name


def assignments(words: tuple[Word, ...]) -> tuple[tuple[tuple[str, Word], ...], tuple[Word, ...]]:
    """The leading NAME=VALUE words, and the rest."""
    found: list[tuple[str, Word]] = []
    for index, word in enumerate(words):
        if not is_assignment(word):
            return tuple(found), words[index:]
        name, _, value = word.text.partition("=")
        found.append((name, Word(value, word.span, taints=word.taints)))
    return tuple(found), ()


def _likely(operands: tuple[Word, ...], inner: tuple[Word, ...]) -> tuple[Word, ...]:
    for index, word in enumerate(operands[:4]):
        if base_name(word) in HANDLERS:
            return operands[index:]
    return inner


@cache
def _names(spec: Wrapper) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    return (
        frozenset({f"-{letter}" for letter in spec.values} | {_dashed(name) for name in spec.long_values}),
        frozenset({f"-{letter}" for letter in spec.flags} | {_dashed(name) for name in spec.long} | set(INFORM)),
        frozenset(f"-{letter}" for letter in spec.attached),
    )


def _dashed(name: str) -> str:
    return name if name.startswith("-") else f"--{name}"
