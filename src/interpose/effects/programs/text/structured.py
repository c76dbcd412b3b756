"""Filters over JSON, YAML and the like: the program is an argument, the rest are files."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.environment import show_environment
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, inputs

_LONG = ("--help", "--version")

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
    low.output(Stream(None, content.taints))
    if prints_environment:
        show_environment(inv, low)


_ENVIRONMENT = re.compile(
    r"\$ENV\b(?! *(?:\.|\[\"|\| *(?:\.[A-Za-z_]|keys|has|length)))|^ *\[? *env\b *(?:\]|$|\| *(?!\.|keys|has|length))"
)
"""All of `$ENV` or `env`; `$ENV.HOME` is one variable, and `env | keys` are their names."""
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
    return kept, files, any(_ENVIRONMENT.search(word.text) for word in kept)


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
