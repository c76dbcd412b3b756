"""patch, and apply_patch, which agents bring along: files are changed as a text says that comes from somewhere else."""

from __future__ import annotations

import posixpath

from msgspec.structs import replace

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.patch_text import apply_text
from interpose.effects.programs.shared.streams import informs, inputs, standard_input

_ALIASES = {
    "--strip": "-p",
    "--directory": "-d",
    "--input": "-i",
    "--output": "-o",
    "--reject-file": "-r",
    "--fuzz": "-F",
    "--prefix": "-B",
    "--suffix": "-z",
    "--ifdef": "-D",
    "--version-control": "-V",
    "--basename-prefix": "-Y",
}


@command("apply_patch", "applypatch", "apply-patch")
def apply_patch(inv: Invocation, low: Lowering) -> None:
    """The patch is an argument or standard input. Codex applies it itself when it sees this in a shell command."""
    apply_text(Stream(inv.args[0].text, inv.args[0].taints) if inv.args else standard_input(inv), low)


@command("patch", "gpatch")
def patch(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=tuple(dict.fromkeys(_ALIASES.values())),
        aliases=_ALIASES,
        long=(
            "--help",
            "--version",
            "--dry-run",
            "--batch",
            "--force",
            "--reverse",
            "--forward",
            "--unified",
            "--normal",
        ),
    )
    if informs(opts) or opts.has("--dry-run"):
        return
    inside = opts.value("-d")
    directory = "" if inside is None else inside.text
    named = opts.value("-i")
    given = [named] if named is not None else opts.operands[1:]
    text = inputs(inv, [_in(directory, word) for word in given], low)
    target = opts.value("-o") or next(iter(opts.operands), None)
    if target is not None:
        low.write(_in(directory, target), in_place=True)
    elif text.text is None:
        low.plant(directory or ".")
    strip = opts.value("-p")
    apply_text(text, low, directory, _count(strip))


def _in(directory: str, word: Word) -> Word:
    return replace(word, text=posixpath.join(directory, word.text)) if directory and word.text != "-" else word


def _count(word: Word | None) -> int:
    return min(int(word.text), 100) if word is not None and word.text.isascii() and word.text.isdigit() else 0
