"""Making files and directories, and changing how long they are."""

from __future__ import annotations

from typing import Any

from interpose.effects.handler_table import command
from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.paths import names_environment, ours_of
from interpose.effects.programs.files.modes import state_mode
from interpose.effects.programs.shared.disk_space import fills_disk, is_huge
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, says_nothing

_LONG = ("--help", "--version")
_TEMPORARY = "/tmp"  # noqa: S108 - the name a command would get, not a file of ours


def _create(path: Word, low: Lowering, **details: Any) -> None:
    """A new name with nothing in it. Python imports even that, so in our own environment it is a change."""
    where = low.path(path)
    if names_environment(where.lower()) and (mark := ours_of(where)) is not None and mark.ours:
        low.write(path, **details)
    else:
        low.emit("fs.write", where, at=path, **details)


@command("touch", "gtouch")
def touch(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("-d", "-r", "-t", "--time"), aliases={"--date": "-d", "--reference": "-r"}, long=_LONG
    )
    if informs(opts):
        return
    says_nothing(opts, low)
    for path in opts.operands:
        _create(path, low, touched=True)


@command("mkdir", "gmkdir")
def mkdir(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-m",), aliases={"--mode": "-m", "--parents": "-p", "--verbose": "-v"}, long=_LONG)
    if informs(opts):
        return
    mode = opts.value("-m")
    for path in opts.operands:
        _create(path, low, directory=True)
        if mode is not None:
            state_mode(path, mode, low, recursive=False)


@command("mkfifo", "mknod")
def mkfifo(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-m",), aliases={"--mode": "-m"}, long=_LONG)
    if informs(opts):
        return
    for path in opts.operands if inv.name == "mkfifo" else opts.operands[:1]:
        low.write(path)


@command("mktemp", "gmktemp")
def mktemp(inv: Invocation, low: Lowering) -> None:
    """Its output is a new name. A made-up one stands for it, so that what happens to the file can be followed."""
    opts = parse(
        inv.args,
        values=("-p", "--suffix"),
        aliases={"--directory": "-d", "--dry-run": "-u", "--quiet": "-q"},
        long=(*_LONG, "--tmpdir"),
    )
    if informs(opts):
        return
    template = opts.word(0) or "tmp.XXXXXXXXXX"
    directory = opts.value("-p", "--tmpdir")
    default = "" if opts.operands and not opts.has("-t", "--tmpdir") else _TEMPORARY
    head = directory.text.rstrip("/") if directory else default
    name = template.rstrip("X") + f"{inv.span[0]:06d}"
    suffix = opts.value("--suffix")
    path = low.path(f"{head}/{name}" if head else name) + (suffix.text if suffix else "")
    if not opts.has("-u"):
        low.write(path, None if opts.has("-d") else EMPTY_STREAM, created=True, directory=opts.has("-d"))
    low.output(Stream(f"{path}\n"))


def _empties(opts: Options) -> bool:
    size = opts.value("-s")
    return size is not None and size.text.lstrip("=<%") in ("0", "0K", "0M", "0G", UNKNOWN)


@command("truncate", "gtruncate")
def truncate(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-s", "-r"),
        aliases={"--size": "-s", "--reference": "-r", "--no-create": "-c", "--io-blocks": "-o"},
        long=_LONG,
    )
    if informs(opts):
        return
    if not opts.has("-s", "-r"):
        # The tool demands a size. Without one this is SQL at the wrong prompt, and means what SQL means.
        low.code("sql", " ".join((inv.name, *(word.text for word in inv.args))), via="truncate")
        return
    size = opts.value("-s")
    for path in opts.operands:
        if _empties(opts):
            low.write(path, EMPTY_STREAM, emptied=True)
        else:
            low.write(path)
            if size is not None and is_huge(size.text.lstrip("+=")):
                fills_disk(low, path)


@command("fallocate")
def fallocate(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-l", "-o"), aliases={"--length": "-l", "--offset": "-o"}, long=_LONG)
    if informs(opts):
        return
    length = opts.value("-l")
    for path in opts.operands:
        low.write(path)
        if length is not None and is_huge(length.text):
            fills_disk(low, path)


@command("mkfile")
def mkfile(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, long=_LONG)
    for path in opts.operands[1:]:
        low.write(path)
        if is_huge(opts.word(0)):
            fills_disk(low, path)


_MANY = 2000


@command("seq", "gseq")
def seq(inv: Invocation, low: Lowering) -> None:
    """Counts, which has an end unless it counts to infinity."""
    endless = any(word.text.lower() in ("inf", "infinity") for word in inv.args)
    # So many numbers are those of all processes, for whoever takes them for that.
    many = any(word.text.isdecimal() and int(word.text[:9]) >= _MANY for word in inv.args)
    low.output(
        Stream(None, frozenset({"endless"}) if endless else frozenset({"every-process"}) if many else frozenset())
    )


@command("yes", "gyes")
def yes(inv: Invocation, low: Lowering) -> None:
    """Says the same line until somebody stops it."""
    if not any(word.text in _LONG for word in inv.args):
        low.output(Stream(taints=frozenset({"endless"})))


@command("tee", "gtee", "sponge")
def tee(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, aliases={"--append": "-a", "--ignore-interrupts": "-i"}, long=(*_LONG, "--output-error"))
    if informs(opts):
        return
    empties = inv.stdin is not None and inv.stdin.text == "" and not opts.has("-a")
    for path in opts.operands:
        low.write(path, inv.stdin, append=opts.has("-a"), emptied=empties)
    if inv.stdin is not None:
        low.output(inv.stdin)
