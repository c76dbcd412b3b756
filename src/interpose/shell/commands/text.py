"""Searching, sorting and cutting text. They read files; a few of their options write files or run programs."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from interpose.shell.commands import filters
from interpose.shell.commands.admin import words
from interpose.shell.commands.creating import written
from interpose.shell.commands.options import Options, parse
from interpose.shell.commands.streams import informs, inputs, mapped, standard_input
from interpose.shell.commands.table import command
from interpose.shell.commands.verbs import general
from interpose.shell.model import Invocation, Lowering, Stream, Word

_LONG = ("--help", "--version")


class Searcher(Struct, frozen=True):
    """How a search tool reads its arguments."""

    values: Collection[str] = ()
    pattern: Collection[str] = ("-e", "--regexp", "-f", "--file")
    """With one of these, the first operand is a file and no pattern."""
    files: Collection[str] = ("-f", "--file", "--exclude-from", "--ignore-file", "--path-to-ignore")
    """Options that name a file to read."""
    runs: Collection[str] = ()
    """Options that name a program to run."""
    recursive: bool = False
    listing: Collection[str] = ()
    """Options with which there is no pattern and nothing is read."""


_GREP_VALUES = words(
    """
    -e -f -m -A -B -C -d -D --regexp --file --max-count --after-context --before-context --context --include
    --exclude --exclude-from --exclude-dir --label --binary-files --directories --devices --group-separator
    """
)
_GREP = Searcher(values=_GREP_VALUES)
_SEARCHERS = {
    "rg": Searcher(
        values=words(
            """
            -e -f -m -A -B -C -g -t -T -E -M -d -j -r --regexp --file --max-count --after-context --before-context
            --context --glob --iglob --type --type-not --type-add --type-clear --encoding --max-columns --max-depth
            --maxdepth --threads --replace --pre --pre-glob --hostname-bin --ignore-file --sort --sortr --color
            --colors --engine --max-filesize --path-separator --field-match-separator --dfa-size-limit
            """
        ),
        runs=("--pre", "--hostname-bin"),
        recursive=True,
        listing=("--files", "--type-list"),
    ),
    "ag": Searcher(
        values=words(
            """
            -A -B -C -G -m -p -W --depth --ignore --ignore-dir --pager --workers --after --before --context
            --file-search-regex --max-count --path-to-ignore --width
            """
        ),
        pattern=(),
        files=("-p", "--path-to-ignore"),
        runs=("--pager",),
        recursive=True,
        listing=("--list-file-types",),
    ),
    "ack": Searcher(
        values=words(
            """
            -A -B -C -m --type --output --pager --ackrc --match --files-from --ignore-dir --ignore-file -t -T
            --after-context --before-context --context --max-count
            """
        ),
        pattern=("--match",),
        files=("--ackrc", "--files-from"),
        runs=("--pager",),
        recursive=True,
        listing=("-f", "--help-types", "--create-ackrc", "--dump"),
    ),
}


@command(
    *words(
        """
    grep egrep fgrep ggrep zgrep zegrep bzgrep xzgrep pcregrep pcre2grep ugrep rg ag ack ack-grep ripgrep
    """
    )
)
def search(inv: Invocation, low: Lowering) -> None:
    name = {"ack-grep": "ack", "ripgrep": "rg"}.get(inv.name, inv.name)
    spec = _SEARCHERS.get(name, _GREP)
    opts = parse(inv.args, values=spec.values, long=(*_LONG, "--recursive", "--dereference-recursive"))
    if informs(opts):
        return
    for program in opts.values(*spec.runs):
        target = opts.operands[-1] if len(opts.operands) > 1 else Word(".")
        low.run((*_split(program), target), via=f"{name} --pre")
    for file in opts.values(*spec.files):
        low.read(file)
    if opts.has(*spec.listing):
        return
    paths = opts.operands if opts.has(*spec.pattern) else opts.operands[1:]
    recursive = spec.recursive or opts.has("-r", "-R", "--recursive", "--dereference-recursive")
    # Names and counts only: nothing of the content is shown.
    quiet = opts.has("-q", "--quiet", "-l", "--files-with-matches", "-L", "--files-without-match", "-c", "--count")
    if not paths and recursive and inv.stdin is None:
        paths = (Word("."),)
    if quiet:
        low.output(Stream())
        for path in paths:
            low.read(path, recursive=recursive, matched=True)
        return
    content = inputs(inv, paths, low, recursive=recursive) if recursive else inputs(inv, paths, low)
    low.output(Stream(None, content.taints))


def _split(program: Word) -> tuple[Word, ...]:
    return tuple(Word(part, program.span, taints=program.taints) for part in program.text.split()) or (program,)


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
            low.write(path, in_place=True)
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
    if len(opts.operands) > 2 or (len(opts.operands) == 2 and not opts.given and opts.word(0).isalpha()):
        # coreutils' split takes a file and a prefix; what takes more is a service's tool of the same name.
        general(inv, low)
        return
    code = opts.value("--filter")
    content = inputs(inv, opts.operands[:1], low)
    if code is not None:
        low.shell(code, via="split --filter")
        return
    prefix = opts.word(1) or "x"
    low.write(f"{prefix}aa", Stream(None, content.taints))


@command("csplit", "gcsplit")
def csplit(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-f", "-b", "-n"), aliases={"--prefix": "-f", "--suffix-format": "-b"}, long=_LONG)
    if informs(opts):
        return
    content = inputs(inv, opts.operands[:1], low)
    prefix = opts.value("-f")
    low.write(f"{prefix.text if prefix else 'xx'}00", Stream(None, content.taints))


_JQ_VALUES = ("-f", "--from-file", "-L", "--indent", "--tab-width")


@command(*words("jq gojq jaq fx jello dasel htmlq pup xq tomlq"))
def jq(inv: Invocation, low: Lowering) -> None:
    args, files, prints_environment = _without_named(inv.args)
    opts = parse(args, values=_JQ_VALUES, long=_LONG)
    if informs(opts):
        return
    for file in (*files, *opts.values("-f", "--from-file")):
        low.read(file)
    operands = opts.operands if opts.has("-f", "--from-file") else opts.operands[1:]
    content = Stream(text="") if opts.has("-n", "--null-input") and not operands else inputs(inv, operands, low)
    taints = content.taints | ({"env"} if prints_environment else set())
    low.output(Stream(None, frozenset(taints)))


_JQ_NAMED = {"--arg": 2, "--argjson": 2, "--rawfile": 2, "--slurpfile": 2, "--argfile": 2}


def _without_named(args: tuple[Word, ...]) -> tuple[list[Word], list[Word], bool]:
    """jq's options with two values, taken out; the files among them; and whether the filter shows the environment."""
    kept: list[Word] = []
    files: list[Word] = []
    index = 0
    while index < len(args):
        text = args[index].text
        if text in ("--args", "--jsonargs"):
            # What follows the filter is data.
            kept.extend(args[index + 1 : index + 2])
            break
        taken = _JQ_NAMED.get(text, 0)
        if taken:
            if text.endswith("file") and index + 2 < len(args):
                files.append(args[index + 2])
            index += taken + 1
            continue
        kept.append(args[index])
        index += 1
    return kept, files, any(word.text.strip() in ("env", "$ENV", "[env]", "env|keys") for word in kept)


_YQ_VALUES = words("-I -o -p --indent --output-format --input-format --from-file -s --split-exp --arg")


@command("yq")
def yq(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_YQ_VALUES, long=_LONG)
    if informs(opts):
        return
    operands = opts.operands
    if operands and operands[0].text in ("eval", "e", "eval-all", "ea"):
        operands = operands[1:]
    for file in opts.values("--from-file"):
        low.read(file)
    paths = operands if opts.has("--from-file") else operands[1:]
    content = inputs(inv, paths, low)
    if opts.has("-i", "--inplace", "--in-place"):
        for path in paths:
            low.write(path, Stream(None, content.taints), in_place=True)
        return
    low.output(Stream(None, content.taints))


@command("sd", "rpl", "sad", "fastmod", "codemod", "ruplacer")
def replace(inv: Invocation, low: Lowering) -> None:
    """Search and replace in place: the first two operands are texts, the rest are files."""
    opts = parse(inv.args, values=("-n", "-f", "--flags", "--max-replacements"), long=_LONG)
    if informs(opts) or opts.has("-p", "--preview", "--dry-run"):
        return
    for path in opts.operands[2:]:
        low.write(path, in_place=True)
