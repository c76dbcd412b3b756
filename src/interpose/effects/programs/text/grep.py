"""Searching text. Search tools read files; a few of their options name files and programs."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, SETTINGS_NAMES, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, inputs
from interpose.effects.programs.shared.watchers import AT_OUR_PORT, LISTENERS, finds_our_port, watched_by

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
        listed = NOTHING
        for path in paths:
            low.read(path, recursive=recursive, matched=True)
            listed |= low.list_names(path, below=recursive) & {SETTINGS_NAMES}
        low.output(Stream(None, listed))
        return
    content = inputs(inv, paths, low, recursive=recursive) if recursive else inputs(inv, paths, low)
    pattern = opts.value(*spec.pattern) or (opts.operands[0] if opts.operands else Word(""))
    ours = watched_by(pattern.text) if not paths else NOTHING
    if not content.taints.isdisjoint(LISTENERS) and finds_our_port(pattern.text):
        ours |= AT_OUR_PORT
    low.output(Stream(None, content.taints | ours))
    if not paths and "secret" in content.taints:
        _state_harvest(pattern, low)


def _state_harvest(pattern: Word, low: Lowering) -> None:
    """The environment or the history is searched for what is secret in it."""
    wanted = pattern.text.lower()
    if any(word in wanted for word in _SECRET_WORDS):
        low.emit("secret.read", pattern.text, certainty="possible", at=pattern, rule="secret-search",
                 reason="Looks for passwords, keys or tokens")  # fmt: skip


_SECRET_WORDS = ("pass", "secret", "token", "key", "cred", "auth", "aws_")


def _split(program: Word) -> tuple[Word, ...]:
    return tuple(Word(part, program.span, taints=program.taints) for part in program.text.split()) or (program,)
