"""sed and awk: programs over text, given as an argument or in a file."""

from __future__ import annotations

import re

from interpose.effects.handler_table import command
from interpose.effects.invocation import EMPTY_STREAM, NOTHING, Invocation, Lowering, Stream, Word
from interpose.effects.languages import awk as awk_language
from interpose.effects.languages import sed as sed_language
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, inputs, mapped, standard_input
from interpose.effects.programs.shared.watchers import watched_by

_SED_ALIASES = {
    "--expression": "-e",
    "--file": "-f",
    "--in-place": "-i",
    "--quiet": "-n",
    "--silent": "-n",
    "--regexp-extended": "-E",
    "-r": "-E",
    "--line-length": "-l",
    "--null-data": "-z",
    "--separate": "-s",
}


@command("sed", "gsed", "ssed")
def sed(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-e", "-f", "-l"),
        aliases=_SED_ALIASES,
        attached=("-i",),
        long=("--help", "--version", "--sandbox", "--posix", "--debug", "--unbuffered", "--follow-symlinks"),
    )
    if informs(opts):
        return
    scripts = list(opts.values("-e"))
    files = opts.operands
    in_place = opts.has("-i")
    for file in opts.values("-f"):
        _run_program(file, "sed", inv, low)
    if not scripts and not opts.has("-f") and files:
        scripts, files = [files[0]], files[1:]
        if in_place and scripts[0].text == "" and files:
            # The empty word is the suffix that BSD's -i demands.
            scripts, files = [files[0]], files[1:]
    code = "\n".join(script.text for script in scripts)
    sandboxed = opts.has("--sandbox")
    if not sandboxed:
        for script in scripts:
            if not script.known:
                low.code("sed", script, via="sed")
        sed_language.lower(code, low, "sed")
    content = inputs(inv, files, low)
    change = sed_language.change_of(code, quiet=opts.has("-n", "-z"))
    taints = content.taints.union(*(script.taints for script in scripts), NOTHING if files else watched_by(code))
    result = mapped(content, change) if change is not None else Stream(None, taints)
    if not in_place:
        low.output(result)
        return
    empties = code.strip() in _EMPTYING or _EMPTIES.fullmatch(code.strip()) is not None
    added = None if opts.has("-f") else sed_language.added_by(code)
    for file in files:
        if empties:
            low.write(file, EMPTY_STREAM, emptied=True)
            continue
        low.write(file, result if len(files) == 1 else Stream(None, taints), in_place=True, added=added)


_EMPTYING = frozenset({"d", "1,$d", "0,$d", "/.*/d", "/^/d", "/$/d", "//d", "Q", "1Q", "1,$ d"})
"""Programs that leave nothing of a file."""
_EMPTIES = re.compile(r"(?:1,\$|0,\$|/\^?\.[*+]?\$?/)?[ \t]*(?:d|s([/|,#])\^?\.\*\$?\1\1[gms]{0,3})")


def _run_program(file: Word, language: str, inv: Invocation, low: Lowering) -> None:
    if file.text == "-":
        low.code(language, standard_input(inv), via=f"{inv.name} -f -")
    else:
        low.read(file)
        low.run_file(file, via=f"{inv.name} -f", language=language)


_AWK_ALIASES = {
    "--field-separator": "-F",
    "--assign": "-v",
    "--file": "-f",
    "--source": "-e",
    "--exec": "-E",
    "--include": "-i",
    "--load": "-l",
}


@command("awk", "gawk", "mawk", "nawk", "original-awk", "goawk")
def awk(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-F", "-v", "-f", "-e", "-E", "-i", "-l", "-W"),
        aliases=_AWK_ALIASES,
        long=("--help", "--version", "--sandbox", "--posix", "--csv"),
        attached=("-d", "-o", "-p", "-D", "-L"),
        stop=True,
    )
    if informs(opts):
        return
    files = opts.operands
    programs = list(opts.values("-e"))
    for file in opts.values("-f", "-E"):
        _run_program(file, "awk", inv, low)
    if not programs and not opts.has("-f", "-E") and files:
        programs, files = [files[0]], files[1:]
    variables: dict[str, str | None] = {}
    for given in (*opts.values("-v"), *(word for word in files if _assigns(word))):
        name, _, value = given.text.partition("=")
        variables[name] = value if given.known else None
    content = inputs(inv, [word for word in files if not _assigns(word)], low)
    # `ps | awk '/name/'` finds processes, as grep does.
    found = (
        NOTHING if any(not _assigns(word) for word in files) else watched_by(" ".join(each.text for each in programs))
    )
    low.output(Stream(None, content.taints | found))
    in_place = any(word.text == "inplace" for word in opts.values("-i"))
    if in_place:
        for file in files:
            low.write(file, in_place=True)
    for program in programs:
        if not program.known:
            low.code("awk", program, via=inv.name)
        if not opts.has("--sandbox", "-S"):
            awk_language.lower_with(program.text, low, inv.name, content, variables)


def _assigns(word: Word) -> bool:
    name, equals, _ = word.text.partition("=")
    return bool(equals) and name.isidentifier()
