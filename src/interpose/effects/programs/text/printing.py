"""Commands that print files as they are, in part, or in another spelling."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.paths import secret_of
from interpose.effects.programs.shared import text_filters as filters
from interpose.effects.programs.shared.disk_space import ENDLESS, passes_endless
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, inputs, mapped, written

_LONG = ("--help", "--version")


@command(*words("cat gcat zcat gzcat bzcat xzcat zstdcat lzcat zless zmore tac gtac rev"))
def cat(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-s", "--separator") if inv.name == "tac" else (), long=_LONG)
    if informs(opts):
        return
    content = inputs(inv, opts.operands, low)
    match inv.name:
        case "cat" | "gcat":
            # Numbers and marks change the text; what they are put in front of is lost for us.
            low.output(Stream(None, content.taints) if opts.given and not opts.has("-u", "-s") else content)
        case "tac" | "gtac":
            low.output(mapped(content, filters.reversed_order))
        case "rev":
            low.output(mapped(content, filters.reversed_lines, "decoded"))
        case _:
            low.output(Stream(None, content.taints | {"decoded"}))


@command("head", "ghead", "tail", "gtail")
def head(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-n", "-c", "-s", "--pid", "--max-unchanged-stats"),
        aliases={"--lines": "-n", "--bytes": "-c", "--sleep-interval": "-s", "--follow": "-f", "--retry": "-F"},
        long=(*_LONG, "--quiet", "--verbose"),
    )
    if informs(opts):
        return
    content = inputs(inv, opts.operands, low)
    if not passes_endless(inv):
        content = Stream(content.text, content.taints - {ENDLESS})
    change = _part(opts, tail="tail" in inv.name)
    if change is None or len(opts.operands) > 1:
        low.output(Stream(None, content.taints))
    else:
        low.output(mapped(content, change))


def _part(opts: Options, *, tail: bool) -> filters.Change | None:
    count = opts.value("-n")
    size = opts.value("-c")
    if size is not None:
        return filters.last_characters(size.text) if tail else filters.first_characters(size.text)
    digits = "".join(name[1:] for name, _ in opts.given if name[1:].isdecimal())
    number = count.text if count is not None else digits or "10"
    return filters.last_lines(number) if tail else filters.first_lines(number)


@command(*words("base64 gbase64 base32 gbase32 basenc base58 uudecode uuencode"))
def base64(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-w", "-b", "-i", "-o") if _is_bsd(inv) else ("-w",),
        aliases={"--decode": "-d", "-D": "-d", "--wrap": "-w", "--break": "-b", "--input": "-i", "--output": "-o"},
        long=(*_LONG, "--ignore-garbage", "--base64", "--base32", "--base16", "--base64url"),
    )
    if informs(opts):
        return
    bits = 32 if "32" in inv.name or opts.has("--base32") else 64
    content = inputs(inv, (*opts.operands, *opts.values("-i")), low)
    plain = bits == 32 or not opts.has("--base16", "--base64url")
    if opts.has("-d") or inv.name == "uudecode":
        result = mapped(content, lambda text: filters.from_base(text, bits) if plain else None, "decoded")
    else:
        result = mapped(content, lambda text: filters.to_base(text, bits) if plain else None)
    if not written(opts.value("-o"), low, result):
        low.output(result)


def _is_bsd(inv: Invocation) -> bool:
    """macOS reads `-i file` and `-o file` where GNU has the flag `-i`: told apart by what follows."""
    texts = [word.text for word in inv.args]
    return any(
        text in ("-o", "--output", "--input") or (text == "-i" and at + 1 < len(texts) and texts[at + 1][:1] != "-")
        for at, text in enumerate(texts)
    )


_XXD_VALUES = words("-c -cols -g -groupsize -l -len -o -s -seek -n -name -R")


@command("xxd")
def xxd(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_XXD_VALUES, bundle=False)
    flags = {name.lstrip("-") for name, _ in opts.given}
    # Short flags may stand together here although long options have one dash: `-rp`.
    revert = bool(flags & {"r", "revert", "rp", "pr"})
    plain = bool(flags & {"p", "ps", "postscript", "plain", "rp", "pr"})
    if flags & {"v", "version", "h", "help"}:
        return
    content = inputs(inv, opts.operands[:1], low)
    if revert:
        result = mapped(content, lambda text: filters.from_hex(text) if plain else None, "decoded")
    else:
        result = mapped(content, lambda text: filters.to_hex(text) if plain and len(text) <= 30 else None)
    if not written(opts.operands[1] if len(opts.operands) > 1 else None, low, result):
        low.output(result)


_PAGER_VALUES = {
    "less": words("-b -h -j -k -o -O -p -P -t -T -x -y -z --lesskey-file --log-file"),
    "more": ("-n", "--lines"),
    "bat": words(
        """
        -H -l -r -m --highlight-line --language --line-range --map-syntax --style --theme --pager --paging --wrap
        --tabs --color --decorations --file-name --diff-context
        """
    ),
}


@command("less", "more", "most", "pg", "bat", "batcat")
def pager(inv: Invocation, low: Lowering) -> None:
    """Pagers read files, and they can run commands: at start, in front of a file, and as their own pager."""
    name = "bat" if inv.name == "batcat" else inv.name
    opts = parse(inv.args, values=_PAGER_VALUES.get(name, ()), long=_LONG)
    if informs(opts):
        return
    for variable, value in inv.env:
        if variable in ("LESSOPEN", "LESSCLOSE"):
            low.shell(_part_of_preprocessor(value.text), via=variable)
        elif variable in ("BAT_PAGER", "PAGER") and name == "bat":
            low.shell(value, via=variable)
    own = opts.value("--pager")
    if own is not None:
        low.shell(own, via="bat --pager")
    for file in opts.values("-k", "--lesskey-file"):
        low.read(file)
    for log in opts.values("-o", "-O", "--log-file") if name == "less" else ():
        low.write(log, inv.stdin)
    for word in opts.operands:
        code = word.text.lstrip("+")
        if word.text.startswith("+") and code.startswith(("!", "|", "#")):
            low.shell(code[1:], via=f"{inv.name} +!")
    content = inputs(inv, [word for word in opts.operands if not word.text.startswith("+")], low)
    low.output(content if not opts.given else Stream(None, content.taints))


def _part_of_preprocessor(text: str) -> str:
    return text.lstrip("|-").replace("%s", UNKNOWN)


_READER_VALUES = {
    "nl": words("-b -d -f -h -i -l -n -s -v -w"),
    "od": ("-A", "-j", "-N", "-S", "-t", "-w"),
    "hexdump": ("-e", "-n", "-s"),
    "strings": words("-n -t -e -T -s --bytes --radix --encoding --target"),
    "fold": ("-w",),
    "fmt": ("-w", "-p", "-g"),
    "pr": ("-h", "-l", "-n", "-o", "-w", "-s"),
    "expand": ("-t",),
    "cksum": ("-a", "--algorithm"),
    "shasum": ("-a", "--algorithm"),
    "column": ("-s", "-o", "-N", "-c", "-R", "-H"),
    "tsort": (),
}


@command(
    *words(
        """
    nl od god hexdump hd strings fold fmt pr expand unexpand column col colrm tsort wc gwc md5sum md5 sha1sum
    sha224sum sha256sum sha384sum sha512sum shasum b2sum b3sum cksum sum crc32 gsha256sum gmd5sum hexyl glow mdcat
    ccat pygmentize highlight vis ul paste comm join cmp look ptx
    """
    ),
)
def reader(inv: Invocation, low: Lowering) -> None:
    values = _READER_VALUES.get(inv.name.removeprefix("g"), ())
    opts = parse(inv.args, values=(*values, "--files0-from"), long=_LONG)
    if informs(opts):
        return
    for listed in opts.values("--files0-from"):
        low.read(listed)
    content = inputs(inv, opts.operands, low)
    low.output(Stream(None, content.taints))


@command(
    *words(
        """
    ls gls dir vdir exa eza lsd tree stat gstat file du gdu df gdf dust duf ncdu realpath grealpath readlink
    greadlink basename dirname pathchk lsattr getfacl namei locate mlocate plocate mdfind mdls lsblk blkid
    findmnt getfattr
    """
    ),
)
def lister(inv: Invocation, low: Lowering) -> None:
    """They tell about files but show nothing of what is inside."""
    below = inv.name in _OF_TREES or any(word.text in ("-R", "--recursive", "--tree") for word in inv.args)
    taints = NOTHING
    for word in inv.args or (Word("."),):
        if inv.name in _INDEXES:  # they find names that hold the word, wherever
            word = Word(f"~/*{word.text.strip('*/').rpartition('/')[2]}*", word.span, taints=frozenset({"output"}))
        if not word.text.startswith("-"):
            taints |= low.list_names(word, below=below)
    if any(low.path(word) == "/proc" for word in inv.args if word.text[:1] == "/"):
        low.output(Stream(taints=taints | {"every-process"}))
    if inv.name == "tree":
        opts = parse(
            inv.args,
            values=words("-L -P -I -o -H -T --charset --filelimit --sort"),
        )
        written(opts.value("-o"), low)
    if inv.name in ("du", "gdu"):
        opts = parse(inv.args, values=("-X", "-d", "-B", "-t", "--files0-from"), aliases={"--exclude-from": "-X"})
        for listed in opts.values("-X", "--files0-from"):
            low.read(listed)
    if inv.name == "file":
        opts = parse(
            inv.args, values=("-f", "-m", "-F", "-e", "-P"), aliases={"--files-from": "-f", "--magic-file": "-m"}
        )
        for listed in opts.values("-f", "-m"):
            low.read(listed)
    if inv.name in _INDEXES and not taints:
        found = [f"{low.home}/{word.text.strip('*/')}" for word in inv.args if word.text[:1] != "-"]
        if any(secret_of(path, low.home) for path in found):  # found where it lies, by its name
            low.output(Stream("".join(f"{path}\n" for path in found), taints))
    if inv.name in ("realpath", "grealpath", "readlink", "greadlink", "basename", "dirname", "pwd"):
        named = _name(inv, low)
        low.output(named if named.text is not None else Stream(None, named.taints | taints))


_INDEXES = frozenset({"locate", "mlocate", "plocate", "mdfind"})
_OF_TREES = frozenset({"du", "gdu", "tree", "dust"})


def _name(inv: Invocation, low: Lowering) -> Stream:
    opts = parse(inv.args)
    if len(opts.operands) != 1 or opts.given:
        return Stream(low.cwd + "\n") if inv.name == "pwd" and not opts.operands else Stream()
    word = opts.operands[0]
    match inv.name.removeprefix("g"):
        case "basename":
            text = word.text.rstrip("/").rpartition("/")[2]
        case "dirname":
            text = word.text.rstrip("/").rpartition("/")[0] or ("/" if word.text.startswith("/") else ".")
        case "realpath":
            text = low.path(word)
        case _:
            return Stream(None, word.taints)
    return Stream(text + "\n", word.taints) if word.known and not word.glob else Stream(None, word.taints)
