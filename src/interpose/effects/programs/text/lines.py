"""Searching, sorting and cutting text. They read files; a few of their options write files or run programs."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream
from interpose.effects.programs.shared import text_filters as filters
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs, inputs, mapped, standard_input, written
from interpose.effects.programs.shared.verbs import general

_LONG = ("--help", "--version")


_COMPRESSORS = frozenset({"gzip", "bzip2", "xz", "zstd", "lz4", "lzop", "pigz", "pbzip2", "lzma", "cat"})


@command("sort", "gsort")
def sort(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-k -t -o -S -T --compress-program --files0-from --random-source --parallel --batch-size"),
        aliases={
            "--key": "-k",
            "--field-separator": "-t",
            "--output": "-o",
            "--buffer-size": "-S",
            "--temporary-directory": "-T",
            "--unique": "-u",
            "--reverse": "-r",
            "--check": "-c",
        },
        long=(*_LONG, "--numeric-sort", "--merge", "--stable", "--version-sort", "--ignore-case"),
    )
    if informs(opts):
        return
    for file in opts.values("--files0-from", "--random-source"):
        low.read(file)
    program = opts.value("--compress-program")
    if program is not None:
        low.run((program,), via="sort --compress-program")
        if program.text.rpartition("/")[2] not in _COMPRESSORS:
            low.emit(
                "opaque",
                program.text,
                certainty="unknown",
                at=program,
                rule="sort-compress-program",
                reason="sort runs this program on its temporary files",
            )
    content = inputs(inv, opts.operands, low)
    result = mapped(content, _sorted) if not opts.given else Stream(None, content.taints)
    if not written(opts.value("-o"), low, result):
        low.output(result)


def _sorted(text: str) -> str:
    return "".join(sorted(line if line.endswith("\n") else line + "\n" for line in filters.lines(text)))


@command("uniq", "guniq")
def uniq(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-f", "-s", "-w"),
        aliases={"--skip-fields": "-f", "--skip-chars": "-s", "--check-chars": "-w", "--count": "-c"},
        long=_LONG,
    )
    if informs(opts):
        return
    content = inputs(inv, opts.operands[:1], low)
    if not written(opts.operands[1] if len(opts.operands) > 1 else None, low, Stream(None, content.taints)):
        low.output(Stream(None, content.taints))


@command(*words("shuf gshuf iconv xmllint xsltproc tidy csvtool recode dos2unix unix2dos numfmt"))
def filter_with_output(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-o -n -i -f -t --random-source --xpath --schema --dtdvalid --encode --path"),
        aliases={"--output": "-o", "--head-count": "-n", "--input-range": "-i", "--from-code": "-f", "--to-code": "-t"},
        long=_LONG,
    )
    if informs(opts) or opts.has("-l", "--list"):
        return
    if inv.name in ("dos2unix", "unix2dos", "recode"):
        for path in opts.operands:
            low.write(path, in_place=True, added="")
        return
    echoes = inv.name in ("shuf", "gshuf") and opts.has("-e", "--echo", "-i")
    content = standard_input(inv) if echoes else inputs(inv, opts.operands, low)
    if not written(opts.value("-o"), low, Stream(None, content.taints)):
        low.output(Stream(None, content.taints))


@command("cut", "gcut")
def cut(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-b", "-c", "-d", "-f", "--output-delimiter"),
        aliases={
            "--bytes": "-b",
            "--characters": "-c",
            "--delimiter": "-d",
            "--fields": "-f",
            "--only-delimited": "-s",
        },
        long=(*_LONG, "--complement"),
    )
    if informs(opts):
        return
    content = inputs(inv, opts.operands, low)
    change = None if opts.has("--complement", "-s") else _cut(opts)
    low.output(mapped(content, change) if change else Stream(None, content.taints))


def _cut(opts: Options) -> filters.Change | None:
    characters = opts.value("-c", "-b")
    if characters is not None:
        return filters.cut_characters(characters.text)
    fields, delimiter, joiner = opts.value("-f"), opts.value("-d"), opts.value("--output-delimiter")
    if fields is None:
        return None
    return filters.cut_fields(fields.text, delimiter.text if delimiter else "\t", joiner.text if joiner else None)


@command("tr", "gtr")
def tr(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        aliases={
            "--delete": "-d",
            "--complement": "-c",
            "-C": "-c",
            "--squeeze-repeats": "-s",
            "--truncate-set1": "-t",
        },
        long=_LONG,
    )
    if informs(opts):
        return
    content = standard_input(inv)
    words = opts.operands
    known = bool(words) and all(word.known for word in words) and not opts.has("-t")
    second = words[1].text if len(words) > 1 else None
    change = filters.translation({name for name, _ in opts.given}, words[0].text, second) if known else None
    scrambles = "decoded" if second is not None and len(words[0].text) > 8 else ""
    low.output(mapped(content, change or (lambda _: None), *([scrambles] if scrambles else [])))


@command("rot13", "caesar", "rot47")
def rot13(inv: Invocation, low: Lowering) -> None:
    content = standard_input(inv)
    low.output(mapped(content, filters.rot13 if inv.name == "rot13" else lambda _: None, "decoded"))


@command(*words("diff gdiff colordiff sdiff diff3 wdiff delta difft diffstat icdiff"))
def diff(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words(
            """
            -U -C -I -x -X -W -F -o -S --label -L --exclude --exclude-from --ignore-matching-lines --diff-program
            --width --starting-file --pager --to-file --from-file --output
            """
        ),
        long=(*_LONG, "--recursive"),
    )
    if informs(opts):
        return
    for program in opts.values("--diff-program", "--pager"):
        low.shell(program, via=f"{inv.name} --diff-program")
    for file in opts.values("-X", "--exclude-from", "--from-file", "--to-file"):
        low.read(file)
    content = inputs(inv, opts.operands, low, recursive=opts.has("-r", "--recursive"))
    if inv.name != "sdiff" or not written(opts.value("-o", "--output"), low):
        low.output(Stream(None, content.taints))


@command("split", "gsplit")
def split(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=words("-a -b -C -l -n -t --additional-suffix --filter"),
        aliases={
            "--bytes": "-b",
            "--lines": "-l",
            "--number": "-n",
            "--suffix-length": "-a",
            "--line-bytes": "-C",
            "--separator": "-t",
        },
        long=(*_LONG, "--numeric-suffixes", "--hex-suffixes", "--elide-empty-files", "--verbose"),
    )
    if informs(opts):
        return
    prefix = opts.word(1) or "x"
    bare = not opts.given and opts.word(0).isalpha() and "/" not in prefix
    if len(opts.operands) > 2 or (len(opts.operands) == 2 and bare):
        # coreutils' split takes a file and a prefix; what takes more is a service's tool of the same name.
        general(inv, low)
        return
    code = opts.value("--filter")
    content = inputs(inv, opts.operands[:1], low)
    if code is not None:
        low.shell(code, via="split --filter")
        return
    low.write(f"{prefix}aa", Stream(None, content.taints))
    _fill_beside(prefix, low)


def _fill_beside(prefix: str, low: Lowering) -> None:
    """One of many suffixes, or one that is chosen, completes whatever name is wanted."""
    if "/" in prefix:
        low.fill(prefix.rpartition("/")[0] or "/")


@command("csplit", "gcsplit")
def csplit(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-f", "-b", "-n"), aliases={"--prefix": "-f", "--suffix-format": "-b"}, long=_LONG)
    if informs(opts):
        return
    content = inputs(inv, opts.operands[:1], low)
    prefix = opts.value("-f")
    low.write(f"{prefix.text if prefix else 'xx'}00", Stream(None, content.taints))
    _fill_beside(prefix.text if prefix else "", low)


@command("sd", "rpl", "sad", "fastmod", "codemod", "ruplacer")
def replace(inv: Invocation, low: Lowering) -> None:
    """Search and replace in place: the first two operands are texts, the rest are files."""
    opts = parse(inv.args, values=("-n", "-f", "--flags", "--max-replacements"), long=_LONG)
    if informs(opts) or opts.has("-p", "--preview", "--dry-run"):
        return
    for path in opts.operands[2:]:
        low.write(path, in_place=True, added=opts.operands[1].text)
