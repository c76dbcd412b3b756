"""Removing files: rm and its relatives."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, says_nothing

TREE = "tree"
"""A word with this taint stands for everything below the path it names, as `find` hands it to `-exec`."""

_RM_ALIASES = {
    "--recursive": "-r",
    "-R": "-r",
    "--force": "-f",
    "--interactive": "-i",
    "--dir": "-d",
    "--verbose": "-v",
}
_RM_LONG = ("--no-preserve-root", "--preserve-root", "--one-file-system", "--help", "--version")


@command("rm", "grm")
def rm(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, aliases=_RM_ALIASES, long=_RM_LONG)
    if informs(opts):
        return
    says_nothing(opts, low)
    recursive = opts.has("-r") or any(_may_be_options(word) for word in inv.args)
    for target in opts.operands:
        low.delete(target, recursive=recursive or TREE in target.taints, forced=opts.has("-f"))


def _may_be_options(word: Word) -> bool:
    return word.text == UNKNOWN and not word.quoted


@command("unlink")
def unlink(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, long=("--help", "--version"))
    if informs(opts):
        return
    for target in opts.operands:
        low.delete(target, recursive=TREE in target.taints)


@command("rmdir")
def rmdir(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, aliases={"--parents": "-p"}, long=("--help", "--version"))
    if informs(opts):
        return
    for target in opts.operands:
        # Only an empty directory goes away.
        low.delete(target, recoverable=True, empty=True)


_SHRED_VALUES = ("-n", "-s", "--random-source")
_SHRED_ALIASES = {"--iterations": "-n", "--size": "-s", "--force": "-f", "--zero": "-z", "--exact": "-x"}


@command("shred", "gshred", "srm", "wipe", "scrub")
def shred(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_SHRED_VALUES, aliases=_SHRED_ALIASES, attached=("-u",), long=("--help", "--version"))
    if informs(opts):
        return
    for target in opts.operands:
        path = low.path(target)
        if path.startswith("/dev/"):
            low.write(target, overwritten=True)
            continue
        low.delete(
            target, forced=True, shredded=True, recursive=TREE in target.taints or opts.has("-r", "-R", "--recursive")
        )
        low.emit(
            "data.destroy",
            path,
            at=target,
            rule="shred",
            reason="The file's content is overwritten, so that it cannot be recovered",
            instead=f"rm {target.text}" if target.known else "",
        )


@command("trash", "trash-put", "gtrash", "trashy", "rmtrash")
def trash(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args)
    for target in opts.operands:
        low.delete(target, recoverable=True)


@command("trash-empty", "trash-rm")
def trash_empty(inv: Invocation, low: Lowering) -> None:
    if informs(parse(inv.args)):
        return
    low.emit(
        "data.destroy", "trash", rule="empty-trash", reason="What lies in the trash cannot be brought back afterwards"
    )
