"""Copying, moving and linking: what is read, what is overwritten, and what is gone afterwards."""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.handler_table import command
from interpose.effects.invocation import EMPTY_STREAM, MOVED, Invocation, Lowering, Stream, Word
from interpose.effects.programs.files.deletion import TREE
from interpose.effects.programs.files.modes import state_mode
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, says_nothing

_ALIASES = {
    "--target-directory": "-t",
    "--no-target-directory": "-T",
    "--suffix": "-S",
    "--recursive": "-r",
    "-R": "-r",
    "-a": "-r",
    "--archive": "-r",
    "--force": "-f",
    "--symbolic": "-s",
    "--symbolic-link": "-s",
    "--directory": "-d",
    "--mode": "-m",
    "--owner": "-o",
    "--group": "-g",
    "--dry-run": "--dry-run",
}
_LONG = ("--help", "--version", "--backup", "--update", "--verbose", "--no-clobber", "--interactive", "--parents")


class Transfer(Struct, frozen=True):
    """Sources and where each of them lands."""

    pairs: tuple[tuple[Word, Word], ...]
    opts: Options


def _transfer(inv: Invocation, low: Lowering, values: tuple[str, ...] = ("-t", "-S")) -> Transfer:
    aliases = dict(_ALIASES)
    if inv.name in ("cp", "gcp"):
        # For cp, -d keeps links and has nothing to do with directories.
        aliases["-d"] = "--no-dereference"
    opts = parse(inv.args, values=values, aliases=aliases, long=_LONG)
    if informs(opts):
        return Transfer((), opts)
    says_nothing(opts, low)
    into = opts.value("-t")
    operands = opts.operands
    whole = opts.has("--parents")
    if into is not None:
        return Transfer(tuple((source, _inside(into, source, whole=whole)) for source in operands), opts)
    if len(operands) < 2:
        return Transfer(tuple((source, _inside(Word("."), source)) for source in operands), opts)
    *sources, target = operands
    if len(sources) > 1 or whole or (_names_directory(target, low) and not opts.has("-T")):
        return Transfer(tuple((source, _inside(target, source, whole=whole)) for source in sources), opts)
    return Transfer(((sources[0], target),), opts)


def _names_directory(target: Word, low: Lowering) -> bool:
    return (
        target.text.endswith(("/", "/.", "/.."))
        or target.text in (".", "..", "~")
        or low.path(target) in (low.home, low.cwd)
    )


def _inside(directory: Word, source: Word, *, whole: bool = False) -> Word:
    """Where a source lands in a directory. `whole`: with all of its path."""
    name = source.text.strip("/") if whole else source.text.rstrip("/").rpartition("/")[2]
    text = f"{directory.text.rstrip('/')}/{name}" if name not in ("", ".", "..") else directory.text
    return Word(text, directory.span, directory.glob, directory.quoted, directory.taints | source.taints)


def _is_null(path: str) -> bool:
    return path == "/dev/null"


def _read(source: Word, low: Lowering, *, recursive: bool) -> Stream:
    return EMPTY_STREAM if _is_null(low.path(source)) else low.read(source, recursive=recursive)


def _write(target: Word, source: Word, content: Stream, low: Lowering, *, tree: bool, merged: bool = False) -> None:
    """`tree`: the source may be a directory. `merged`: what lies in it then lands in the target itself."""
    if _is_null(low.path(target)):
        return
    if _is_null(low.path(source)):
        low.write(target, content, emptied=True)
    else:
        low.write(target, content)
        if TREE in source.taints:
            # What was found is here by the name of where it was found.
            low.fill(f"{low.path(target)}/*")
            low.fill(low.path(target).rpartition("/")[0])
        # Directories need no slash at their end: `cp settings.json .claude` may put it inside.
        # A directory that is named lands in a home under its name; with a dot at its end all lands that is in it.
        everything = tree and (merged or source.text.endswith(("/.", "/..")) or source.text in (".", ".."))
        low.fill(target, name="" if tree else _name_inside(target, source), everything=everything)
        if tree:
            found = TREE in source.taints
            low.plant(target, None if everything or found else _name_inside(target, source) or None)
            if found:
                low.plant(low.path(target).rpartition("/")[0] or "/")


def _name_inside(target: Word, source: Word) -> str:
    """The name of a single file if its target is a directory; nothing if the name is not known."""
    name = source.text.rpartition("/")[2]
    return name if source.known and not source.glob and not target.glob else ""


@command("cp", "gcp")
def cp(inv: Invocation, low: Lowering) -> None:
    transfer = _transfer(inv, low)
    for source, target in transfer.pairs:
        tree = transfer.opts.has("-r")
        if transfer.opts.has("-l", "--link"):
            low.write(target, linked=low.path(source))
        _write(target, source, _read(source, low, recursive=tree), low, tree=tree, merged=transfer.opts.has("-T"))


@command("ditto")
def ditto(inv: Invocation, low: Lowering) -> None:
    """What lies in the sources, or in an archive (`-x`), lands in the target itself."""
    opts = parse(inv.args, values=("--arch", "--bom", "--zlibCompressionLevel"))
    for source in opts.operands[:-1]:
        content = _read(source, low, recursive=True)
        _write(opts.operands[-1], source, content, low, tree=True, merged=True)


@command("mv", "gmv")
def mv(inv: Invocation, low: Lowering) -> None:
    transfer = _transfer(inv, low)
    for source, target in transfer.pairs:
        if _is_null(low.path(target)) or low.path(target).startswith("/dev/null/"):
            low.delete(source, recursive=True, forced=True)
            continue
        before = low.known(source)
        content = low.read(source, moved=True)
        # Within /etc a file gets another name, and can have its own back.
        renamed = all(low.path(word).startswith("/etc/") for word in (source, target))
        low.delete(source, recursive=True, moved=True, renamed=renamed)
        if before is None and source.known:
            # Another name does not make it less worth: deleting it there is deleting what lay here.
            content = Stream(content.text, content.taints | {MOVED + low.path(source)})
        _write(target, source, content, low, tree=True)


@command("rename", "prename", "file-rename", "mmv")
def rename(inv: Invocation, low: Lowering) -> None:
    """The first operand is a Perl expression or a literal to replace; the files only change their names."""
    opts = parse(inv.args, values=("-e",))
    files = opts.operands if opts.has("-e") else opts.operands[1:]
    for path in files:
        low.write(path, renamed=True)


@command("ln", "gln", "link", "symlink")
def ln(inv: Invocation, low: Lowering) -> None:
    transfer = _transfer(inv, low)
    for source, link in transfer.pairs:
        symbolic = transfer.opts.has("-s")
        path = low.path(source)
        if symbolic and not source.text.startswith(("/", "~")) and source.known:
            # A symbolic link is resolved from where it lies.
            path = low.path(f"{low.path(link).rpartition('/')[0]}/{source.text}")
        # Through a link to a directory all that is below it is read by names that say nothing.
        content = (
            EMPTY_STREAM if _is_null(path) else low.read(path if symbolic else source, linked=True, recursive=symbolic)
        )
        details = {"link": path} if symbolic else {"linked": path}
        if source.glob or not source.known:
            # Before the link is there: afterwards its name leads elsewhere.
            low.fill(link)
        low.plant(link, _name_inside(link, source) or None)
        low.write(link, content, emptied=_is_null(path), **details)


_INSTALL_VALUES = ("-t", "-S", "-m", "-o", "-g", "--strip-program", "--context")


@command("install", "ginstall")
def install(inv: Invocation, low: Lowering) -> None:
    transfer = _transfer(inv, low, _INSTALL_VALUES)
    if informs(transfer.opts):
        return
    mode = transfer.opts.value("-m")
    strip = transfer.opts.value("--strip-program")
    if transfer.opts.has("-d"):
        for directory in transfer.opts.operands:
            low.emit("fs.write", low.path(directory), at=directory, directory=True)
            _state_mode(directory, mode, low)
        return
    for source, target in transfer.pairs:
        _write(target, source, _read(source, low, recursive=TREE in source.taints), low, tree=False)
        _state_mode(target, mode, low)
        if strip is not None:
            low.run((strip, target), via="install --strip-program")


def _state_mode(target: Word, mode: Word | None, low: Lowering) -> None:
    if mode is not None:
        state_mode(target, mode, low, recursive=False)
