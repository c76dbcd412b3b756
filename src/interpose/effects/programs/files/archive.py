"""Packing and unpacking: compressors, zip and its relatives."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.listed_files import read_listed
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, inputs, standard_input
from interpose.effects.programs.shared.unpacking import unpack_members
from interpose.effects.streams import joined

_LONG = ("--help", "--version")


class Compressor(Struct, frozen=True):
    """A tool that replaces a file by its compressed form, or back."""

    suffix: str
    unpacks: bool = False
    keeps: bool = False
    """Whether the input stays by default."""


_COMPRESSORS = {
    "gzip": Compressor(".gz"),
    "pigz": Compressor(".gz"),
    "gunzip": Compressor(".gz", unpacks=True),
    "unpigz": Compressor(".gz", unpacks=True),
    "uncompress": Compressor(".Z", unpacks=True),
    "compress": Compressor(".Z"),
    "bzip2": Compressor(".bz2"),
    "pbzip2": Compressor(".bz2"),
    "bunzip2": Compressor(".bz2", unpacks=True),
    "xz": Compressor(".xz"),
    "pixz": Compressor(".xz"),
    "unxz": Compressor(".xz", unpacks=True),
    "lzma": Compressor(".lzma"),
    "unlzma": Compressor(".lzma", unpacks=True),
    "zstd": Compressor(".zst", keeps=True),
    "unzstd": Compressor(".zst", unpacks=True, keeps=True),
    "lz4": Compressor(".lz4", keeps=True),
    "unlz4": Compressor(".lz4", unpacks=True, keeps=True),
    "lzop": Compressor(".lzo", keeps=True),
    "brotli": Compressor(".br", keeps=True),
}
_ALIASES = {
    "--stdout": "-c",
    "--to-stdout": "-c",
    "--decompress": "-d",
    "--uncompress": "-d",
    "--keep": "-k",
    "--test": "-t",
    "--list": "-l",
    "--force": "-f",
    "--recursive": "-r",
    "--suffix": "-S",
    "--threads": "-T",
    "--output": "-o",
}


@command(*_COMPRESSORS)
def compress(inv: Invocation, low: Lowering) -> None:
    spec = _COMPRESSORS[inv.name]
    opts = parse(
        inv.args,
        values=("-S", "-o", "-D", "--files", "-T") if inv.name in ("zstd", "xz", "brotli", "unzstd") else ("-S",),
        aliases=_ALIASES,
        long=(*_LONG, "--rm", "--verbose"),
    )
    if informs(opts) or opts.has("-h", "-V") or opts.has("-l"):
        return
    unpacks = spec.unpacks or opts.has("-d")
    content = inputs(inv, opts.operands, low)
    result = Stream(None, content.taints | {"decoded"} if unpacks else content.taints)
    if opts.has("-t"):
        return
    if opts.has("-c") or not opts.operands:
        low.output(result)
        return
    target = opts.value("-o")
    for source in opts.operands:
        low.write(target or _renamed(source, spec.suffix, unpacks=unpacks), result)
        if opts.has("--rm") or not (spec.keeps or opts.has("-k")):
            # Its content lives on under the other name.
            low.delete(source, moved=True, recoverable=True)


def _renamed(source: Word, suffix: str, *, unpacks: bool) -> Word:
    text = source.text.removesuffix(suffix) if unpacks else source.text + suffix
    return Word(text, source.span, source.glob, source.quoted, source.taints)


@command("zip")
def zip_(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        _without_patterns(inv.args),
        values=words("-b -n -P -s -t -tt -TT --unzip-command --out -O --temp-path --suffixes --password --split-size"),
        aliases={"--test": "-T", "--move": "-m", "--delete": "-d", "--recurse-paths": "-r", "--names-stdin": "-@"},
        long=_LONG,
    )
    tester = next((inv.args[at + 1] for at, word in enumerate(inv.args[:-1]) if word.text == "-TT"), None)
    tester = tester or opts.value("--unzip-command")
    if tester is not None:
        low.shell(tester, via="zip -TT")
    if informs(opts) or opts.has("-h") or not opts.operands:
        return
    archive, *members = opts.operands
    sources = [word for word in members if word is not tester]
    if opts.has("-d") or opts.has("-sf"):
        low.write(archive, in_place=True)
        return
    read = joined(low.read(source, recursive=opts.has("-r")) for source in sources)
    listed = (
        read_listed(standard_input(inv), low)
        if opts.has("-@") or "-@" in (word.text for word in inv.args)
        else Stream()
    )
    content = Stream(None, read.taints | listed.taints)
    if archive.text == "-":
        low.output(content)
    else:
        low.write(
            archive if "." in archive.text.rpartition("/")[2] else _renamed(archive, ".zip", unpacks=False), content
        )
    if opts.has("-m"):
        for source in sources:
            low.delete(source, recursive=True, moved=True)


def _without_patterns(args: tuple[Word, ...]) -> list[Word]:
    """What stands behind -x and -i, up to the next option, chooses files by name and is left out."""
    kept: list[Word] = []
    inside = False
    for word in args:
        if word.text.startswith("-"):
            inside = word.text in ("-x", "-i", "--exclude", "--include")
        if not inside:
            kept.append(word)
    return kept


@command("unzip", "funzip", "unar", "zipinfo", "lsar")
def unzip(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-d", "-P", "-x", "-O", "-I", "-o") if inv.name == "unar" else ("-d", "-P", "-O", "-I"),
        long=_LONG,
    )
    if informs(opts) or opts.has("-h") or not opts.operands:
        return
    content = Stream(None, low.read(opts.operands[0]).taints)
    if inv.name in ("zipinfo", "lsar") or opts.has("-l", "-t", "-Z", "-z", "-v"):
        return
    if opts.has("-p", "-c") or inv.name == "funzip":
        low.output(content)
        return
    chosen = [] if inv.name == "unar" else _chosen(inv.args, opts.operands[1:])
    target = opts.value("-d") if inv.name == "unzip" else opts.value("-o")
    _unpack(target, content, low, chosen, flat=opts.has("-j"))


def _chosen(args: tuple[Word, ...], members: tuple[Word, ...]) -> list[Word]:
    """What stands behind -x is left out."""
    end = next((at for at, word in enumerate(args) if word.text == "-x"), len(args))
    return [member for member in members if any(member is word for word in args[:end])]


def _unpack(
    target: Word | None, content: Stream, low: Lowering, members: Sequence[Word] = (), *, flat: bool = False
) -> None:
    """`members`: all that is unpacked, if any are named. `flat`: without their directories."""
    place = target or Word(".")
    low.write(place, content, extracted=True)
    unpack_members(place, members, content, low, flat=flat)


_SEVEN_READS = frozenset({"l", "t", "h", "i", "b"})


@command("7z", "7za", "7zr", "7zz", "p7zip", "rar", "unrar")
def seven_zip(inv: Invocation, low: Lowering) -> None:
    """The first word is a command letter, options start with a dash and carry their value."""
    words = [word for word in inv.args if not word.text.startswith("-")]
    switches = [word for word in inv.args if word.text.startswith("-")]
    if len(words) < 2:
        return
    letter, archive, *members = words
    kind = letter.text[:1]
    if kind in _SEVEN_READS or letter.text in ("lb", "lt", "v", "vb", "vt"):
        low.read(archive)
    elif kind in ("x", "e"):
        content = Stream(None, low.read(archive).taints)
        place = next(
            (Word(word.text[2:], word.span) for word in switches if word.text.startswith("-o") and len(word.text) > 2),
            None,
        )
        named = members[-1] if inv.name in ("rar", "unrar") and members and members[-1].text.endswith("/") else None
        if any(word.text == "-so" for word in switches) or kind == "p":
            low.output(content)
        else:
            chosen = members if named is None else members[:-1]
            _unpack(place or named, content, low, chosen, flat=kind == "e")
    elif kind in tuple("aumfdcrs"):
        content = Stream(None, joined(low.read(member, recursive=True) for member in members).taints)
        low.write(archive, content)
        if letter.text == "m" or any(word.text in ("-sdel", "-df") for word in switches):
            for member in members:
                low.delete(member, recursive=True, moved=True)


@command("cpio", "pax")
def cpio(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-F -D -E -R -H -I -O -f --rsh-command --directory --pattern-file"),
        aliases={"--extract": "-i", "--create": "-o", "--pass-through": "-p", "--list": "-t", "--file": "-F"},
        long=_LONG,
    )
    if informs(opts):
        return
    shell = opts.value("--rsh-command")
    if shell is not None:
        low.shell(shell, via="cpio --rsh-command")
    archive = opts.value("-F", "-I", "-O", "-f")
    if opts.has("-t"):
        return
    if inv.name == "pax" and opts.has("-r") and opts.has("-w"):  # copies from tree to tree
        read = joined(low.read(word, recursive=True) for word in opts.operands[:-1])
        _unpack(opts.operands[-1] if opts.operands else None, Stream(None, read.taints), low)
    elif opts.has("-i", "-r"):
        content = standard_input(inv) if archive is None else low.read(archive)
        _unpack(opts.value("-D", "--directory"), Stream(None, content.taints), low)
    elif opts.has("-p"):
        read = read_listed(standard_input(inv), low)
        _unpack(opts.operands[-1] if opts.operands else None, Stream(None, read.taints), low)
    elif opts.has("-o", "-w"):
        named = opts.operands if inv.name == "pax" else ()
        read = (
            joined(low.read(word, recursive=True) for word in named) if named else read_listed(standard_input(inv), low)
        )
        if archive is None:
            low.output(Stream(None, read.taints))
        else:
            low.write(archive, Stream(None, read.taints))


@command("ar", "gcc-ar", "llvm-ar", "ranlib")
def ar(inv: Invocation, low: Lowering) -> None:
    words = [word for word in inv.args if not word.text.startswith("--")]
    if inv.name == "ranlib":
        for word in words:
            low.write(word, in_place=True)
        return
    if len(words) < 2:
        return
    letters, archive, *members = words
    kind = letters.text.lstrip("-")[:1]
    if kind in "tp":
        low.read(archive)
    elif kind == "x":
        content = Stream(None, low.read(archive).taints)
        for member in members:
            low.write(member, content)
        if not members:
            _unpack(None, content, low)
    else:
        low.write(archive, Stream(None, joined(low.read(member) for member in members).taints))
