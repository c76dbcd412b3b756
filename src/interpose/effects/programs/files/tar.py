"""tar: what goes in, where it comes out, and the programs it can be told to run."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.listed_files import read_listed
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.remote_operands import is_remote, upload
from interpose.effects.programs.shared.streams import informs, standard_input
from interpose.effects.programs.shared.unpacking import unpack_members
from interpose.effects.streams import joined

_VALUES = words(
    """
    -f -C -T -X -I -F -b -g -H -K -L -N -V --transform --to-command --checkpoint-action --rsh-command --rmt-command
    --exclude --owner --group --mode --mtime --strip-components --suffix --index-file --volno-file --one-top-level
    --checkpoint --sort --exclude-tag --quoting-style --warning --xattrs-include --pax-option --occurrence --level
    """
)
_ALIASES = {
    "--create": "-c",
    "--extract": "-x",
    "--get": "-x",
    "--list": "-t",
    "--append": "-r",
    "--update": "-u",
    "--delete": "--delete",
    "--concatenate": "-A",
    "--catenate": "-A",
    "--diff": "-d",
    "--compare": "-d",
    "--file": "-f",
    "--directory": "-C",
    "--cd": "-C",
    "--files-from": "-T",
    "--exclude-from": "-X",
    "--use-compress-program": "-I",
    "--info-script": "-F",
    "--new-volume-script": "-F",
    "--to-stdout": "-O",
    "--absolute-names": "-P",
    "--listed-incremental": "-g",
    "--xform": "--transform",
}
_LONG = ("--help", "--version", "--remove-files", "--recursive-unlink", "--overwrite", "--no-recursion", "--wildcards")
_OPTIONAL = frozenset({"--checkpoint", "--one-top-level", "--occurrence"})
"""Long options whose value, if any, follows an equals sign."""


@command("tar", "gtar", "bsdtar", "star")
def tar(inv: Invocation, low: Lowering) -> None:
    args = inv.args
    for name, value in inv.env:
        if name == "TAR_OPTIONS":
            args = (*(Word(part, value.span, taints=value.taints) for part in value.text.split()), *args)
        elif name == "TAPE":
            args = (
                (*args, Word("-f"), value) if not any(word.text.startswith(("-f", "--file")) for word in args) else args
            )
    opts = parse(
        _modern(args), values=tuple(name for name in _VALUES if name not in _OPTIONAL), aliases=_ALIASES, long=_LONG
    )
    if informs(opts):
        return
    _programs(opts, low)
    for listed in opts.values("-X", "-g"):
        low.read(listed)
    names = [low.read(listed) if listed.text != "-" else standard_input(inv) for listed in opts.values("-T")]
    archive = opts.value("-f")
    base = opts.value("-C")
    if opts.has("-x"):
        _extract(inv, opts, archive, base, low)
    elif opts.has("-t", "-d"):
        low.output(Stream(None, _archived(inv, archive, low).taints))
    elif opts.has("--delete"):
        if archive is not None:
            low.write(archive, in_place=True)
    else:
        for listed_names in names:
            read_listed(listed_names, low)
        _create(opts, archive, base, low)


def _modern(args: tuple[Word, ...]) -> tuple[Word, ...]:
    """`tar czf a.tgz dir`: the first word may be a bundle without a dash, whose values follow it in order."""
    if not args or args[0].text.startswith("-") or not args[0].text.isalpha() or not set("cxtruAd") & set(args[0].text):
        return args
    bundle, rest = args[0], list(args[1:])
    modern: list[Word] = []
    for letter in bundle.text:
        option = Word(f"-{letter}", bundle.span)
        modern.append(option)
        if f"-{letter}" in _VALUES and rest:
            modern.append(rest.pop(0))
    return (*modern, *rest)


def _programs(opts: Options, low: Lowering) -> None:
    for action in opts.values("--checkpoint-action"):
        word, _, code = action.text.partition("=")
        if word == "exec" and code:
            low.shell(Word(code, action.span, taints=action.taints), via="tar --checkpoint-action")
    for option in ("--to-command", "-F", "-I", "--rsh-command", "--rmt-command"):
        for program in opts.values(option):
            low.shell(program, via=f"tar {option}")


def _under(base: Word | None, path: Word) -> Word:
    if base is None or path.text.startswith(("/", "~")):
        return path
    return Word(
        f"{base.text.rstrip('/')}/{path.text}",
        path.span,
        path.glob or base.glob,
        path.quoted,
        path.taints | base.taints,
    )


def _archived(inv: Invocation, archive: Word | None, low: Lowering) -> Stream:
    if archive is None or archive.text == "-":
        return inv.stdin or Stream()
    if is_remote(archive):
        low.emit("net.download", archive.text, at=archive)
        return Stream(None, frozenset({"remote"}))
    return low.read(archive)


def _extract(inv: Invocation, opts: Options, archive: Word | None, base: Word | None, low: Lowering) -> None:
    content = Stream(None, _archived(inv, archive, low).taints)
    if opts.has("-O"):
        low.output(content)
        return
    if opts.has("--to-command"):
        return
    target = base or Word(".")
    low.write(target, content, extracted=True)
    renamed = opts.has("--strip-components", "--transform", "-T")
    unpack_members(target, opts.operands, content, low, renamed=renamed)
    for top in opts.values("--one-top-level"):
        low.fill(_under(base, top), everything=True)
        low.plant(_under(base, top))
    if opts.has("--recursive-unlink"):
        low.delete(target, recursive=True, forced=True)
    if opts.has("-P") and not any(word.known and not word.glob for word in opts.operands):
        # Names in the archive may begin with a slash: it decides where it is written.
        low.emit("fs.write", "/", certainty="possible", extracted=True)


def _create(opts: Options, archive: Word | None, base: Word | None, low: Lowering) -> None:
    sources = [_under(base, word) for word in opts.operands]
    content = Stream(None, joined(low.read(source, recursive=True) for source in sources).taints)
    if archive is None or archive.text == "-":
        low.output(content)
    elif is_remote(archive):
        upload(archive, content, low)
    else:
        low.write(archive, content)
    if opts.has("--remove-files"):
        for source in sources:
            low.delete(source, recursive=True, moved=archive is not None and archive.text != "/dev/null")
