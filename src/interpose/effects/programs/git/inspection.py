"""git commands that look, pack or test: the files they read and write, and their options that run programs."""

from __future__ import annotations

from itertools import dropwhile

from msgspec.structs import replace

from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.git.calls import GitCall, informs, options, read_options, subcommand
from interpose.effects.programs.git.programs import runs_program
from interpose.effects.programs.shared.options import parse

_LOOKING = """
    log show diff diff-tree diff-index diff-files whatchanged format-patch cat-file archive bundle blame annotate
    hash-object
"""
_LOOK_VALUES = ("--output", "-o", "--output-directory", "--exec", "--remote", "--contents", "-L", "-n", "-G")


@subcommand(*_LOOKING.split())
def look(call: GitCall, low: Lowering) -> None:
    opts = parse(call.args, values=_LOOK_VALUES)
    if informs(opts) and call.name != "hash-object":
        return
    for target in opts.values("--output"):
        low.write(call.at(target))
    if call.name in ("archive", "format-patch"):
        for target in opts.values("-o", "--output-directory"):
            low.write(call.at(target))
    if call.name == "archive":
        for code in opts.values("--exec"):
            runs_program(low, code, what="git archive --exec")
    if call.name == "bundle" and opts.word(0) == "create" and len(opts.operands) > 1:
        low.write(call.at(opts.operands[1]))
    if call.name == "hash-object":
        for file in opts.operands:
            low.read(call.at(file))
    for file in opts.values("--contents"):
        low.read(call.at(file))
    if call.name in _SHOWING and not opts.has(*_NAMES_ONLY):
        _reads_paths(call, opts.operands, low)
    if call.name in ("show", "cat-file"):
        _reads_versions(call, low)
    if call.name == "diff" and opts.has("--no-index"):
        for file in opts.operands:
            low.read(call.at(file))


_SHOWING = frozenset({"log", "show", "diff", "blame", "annotate", "whatchanged", "archive"})
_NAMES_ONLY = ("--stat", "--name-only", "--name-status", "--numstat", "--shortstat", "--quiet", "--oneline")


def _reads_paths(call: GitCall, operands: tuple[Word, ...], low: Lowering) -> None:
    """Content of the files that are named. A revision is no file, but also keeps no secrets."""
    for word in operands:
        name = word.text.rpartition("/")[2]
        if "." in name and ".." not in word.text and ":" not in word.text:
            low.read(call.at(word))


@subcommand("add", "stage")
def add(call: GitCall, low: Lowering) -> None:
    """What is added is kept for good and goes wherever the repository goes: a secret that is named is read."""
    opts = parse(call.args, values=("--chmod", "--pathspec-from-file"))
    if not informs(opts) and not opts.has("-n", "--dry-run"):
        _reads_paths(call, opts.operands, low)


def _reads_versions(call: GitCall, low: Lowering) -> None:
    """`git show HEAD:.env` prints a file as surely as `cat` does."""
    for word in call.args:
        revision, colon, path = word.text.partition(":")
        closed = revision.count("{") == revision.count("}")  # `stash@{0}:.env`, and not `HEAD^{/fix: typo}`
        if colon and path and not path.startswith(("/", "(")) and not revision.startswith("-") and closed:
            low.read(call.at(replace(word, text=path)))


@subcommand("grep")
def grep(call: GitCall, low: Lowering) -> None:
    opts = parse(call.args, values=("-e", "-f", "-m", "-A", "-B", "-C", "--max-depth", "--threads"), attached=("-O",))
    for code in opts.values("-O", "--open-files-in-pager"):
        runs_program(low, code, what="git grep -O")
    for file in opts.values("-f"):
        low.read(call.at(file))
    paths = opts.operands if opts.has("-e", "-f") else opts.operands[1:]
    if opts.has("--no-index", "--untracked", "--no-exclude-standard"):
        for path in paths:
            low.read(call.at(path), recursive=True)
    elif not opts.has("-l", "--files-with-matches", "--name-only", "-q", "--quiet", "-c", "--count"):
        _reads_paths(call, paths, low)


@subcommand("bisect")
def bisect(call: GitCall, low: Lowering) -> None:
    if len(call.args) > 1 and call.args[0].text == "run":
        low.run(call.args[1:], via="git bisect run")


_EXTERNAL_DIFF_OPTIONS = options(
    flags="--tool-help --prompt --gui --dir-diff",
    values="-t --tool -x --extcmd -O",
)


@subcommand("difftool", "mergetool")
def external_diff(call: GitCall, low: Lowering) -> None:
    opts = read_options(call, _EXTERNAL_DIFF_OPTIONS)
    for code in opts.values("-x", "--extcmd"):
        runs_program(low, code, what="git difftool --extcmd")


@subcommand("merge-index", "for-each-repo", "hook")
def run_for_each(call: GitCall, low: Lowering) -> None:
    if call.name == "merge-index":
        words = tuple(dropwhile(lambda word: word.text in ("-o", "-q"), call.args))
        if words:
            low.run(words, via="git merge-index")
    elif call.name == "for-each-repo":
        opts = parse(call.args, values=("--config",), stop=True)
        low.run((call.inv.argv0, *opts.operands), via="git for-each-repo")
