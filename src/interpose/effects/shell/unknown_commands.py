"""Commands that nobody knows: computed names, patterns, tools without a handler that may run another command."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.effects.handler_table import HANDLERS, Handler, handler_of
from interpose.effects.invocation import NOTHING, UNKNOWN, Invocation, Stream, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs import load
from interpose.effects.shell import tool_variables
from interpose.effects.shell.disguises import doubt_about
from interpose.effects.shell.found_files import run_found
from interpose.effects.shell.last_look import look_at_arguments
from interpose.effects.shell.lowering import CommandLowering
from interpose.effects.streams import joined
from interpose.effects.values import Effect

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker

SUBCOMMANDS = frozenset({
    "init", "view", "script", "command", "ex", "reg", "halt", "reboot", "shutdown", "poweroff", "delete", "drop",
    "grant", "alter", "update", "format", "erase", "batch", "trap", "export",
})  # fmt: skip
"""Commands whose names other tools use for their own: `hexo init site` runs no init."""
_VERBS_TOO = frozenset({
    "exec", "env", "time", "timeout", "watch", "nice", "nohup", "setsid", "xargs", "parallel", "entr", "strace",
    "chroot", "screen", "eval",
})  # fmt: skip
"""Commands that run others, and whose names are verbs of other tools, too (`shopctl exec --env dev`).

Behind a tool that nobody knows only what they are seen to run counts, not what is odd about their options."""
PROGRAM = "program:"
"""The taint of a variable in front that by convention names the program behind the colon."""
TEMPLATE = "template"
"""The taint of `${{ ... }}`, which is filled in before a shell sees it, and which no shell takes."""
_MAX_GLOB_MATCHES = 8
_MAX_WRAPPED = 6
_MATCHING = 100
"""Steps that it takes to try a glob on all commands that we know."""


def base_name(text: str) -> str:
    """A command's name without directory and `.exe`."""
    if "/" in text:
        text = text.rpartition("/")[2]
    elif "\\" in text:
        text = text.rpartition("\\")[2]
    return text[:-4] if text[-4:].lower() == ".exe" else text


def run_unknown(inv: Invocation, low: CommandLowering, general: Handler) -> None:
    """A command without a handler. Where file systems ignore case, `RM` is `rm`."""
    low.emit("process.exec", inv.argv0.text, at=inv.argv0, unknown=True)
    plain = inv.name.lstrip("-@+")
    if plain and plain != inv.name and handler_of(plain) is not None:
        # In front of a line of a recipe these say what `make` does with it.
        low.walker.doubt += 1
        low.run((replace(inv.argv0, text=plain), *inv.args), via="make")
        low.walker.doubt -= 1
    elif (reason := doubt_about(inv.name, inv.argv0.text)) and not (
        low.walker.doubt and (inv.name[0] == "-" or "=" in inv.name)
    ):
        low.emit("opaque", inv.name, certainty="possible", at=inv.argv0, rule="odd-command", reason=reason)
    folded = handler_of(inv.name.lower())
    if folded is not None:
        low.walker.doubt += 1
        folded(replace(inv, name=inv.name.lower()), low)
        low.walker.doubt -= 1
    else:
        general(inv, low)
    look_at_arguments(inv, low)
    _wrapped(low.walker, inv, low)
    run_found(inv, low)
    if low.nested is not None:
        # INVARIANT: what may run inside says nothing for certain about what the program prints.
        low.nested = Stream(None, low.nested.taints)


def is_pattern(name: str) -> bool:
    return name != "[" and not {"*", "?", "["}.isdisjoint(name)


def _wrapped(walker: Walker, inv: Invocation, low: CommandLowering) -> None:
    """A command that we do not know may be a wrapper: if a whole command stands in its arguments, it may run."""
    from interpose.effects.programs.shared.verb_tables import CLIS
    from interpose.effects.programs.shared.verbs import TEXT_TOOLS

    if inv.name in TEXT_TOOLS:
        return
    for place in _starts(inv.args):
        word = inv.args[place]
        name = base_name(word.text)
        if (name not in HANDLERS and name not in CLIS) or name in SUBCOMMANDS or word.quoted:
            continue
        if len(inv.args) > place + 1 or inv.stdin is not None:
            first, known = len(walker.effects), len(walker.problems)
            walker.doubt += 1
            low.run(inv.args[place:], via=inv.name)
            walker.doubt -= 1
            if name in _VERBS_TOO:
                walker.effects[first:] = [effect for effect in walker.effects[first:] if not _is_oddity(effect)]
                walker.problems[known:] = [each for each in walker.problems[known:] if each.rule.startswith("too-")]


def _is_oddity(effect: Effect) -> bool:
    rule = str(effect.details.get("rule", ""))
    return rule == "environment-dump" or (effect.kind == "opaque" and not rule.startswith("too-"))


def _starts(args: tuple[Word, ...]) -> range | list[int]:
    """Where the command of a wrapper may begin: among its first words, or behind `--`."""
    if len(args) <= _MAX_WRAPPED:
        return range(len(args))
    marks = [index + 1 for index, word in enumerate(args[:-1]) if word.text == "--"][:1]
    return [*range(_MAX_WRAPPED), *marks]


def run_computed(walker: Walker, inv: Invocation, words: tuple[Word, ...], via: tuple[str, ...]) -> Stream:
    """The command word is not known. What is known of it may still be the whole of it."""
    first = inv.argv0
    low = CommandLowering(walker, inv, via)
    if not first.text and (first.quoted or not first.taints):
        return Stream()
    program = next((taint.removeprefix(PROGRAM) for taint in first.taints if taint.startswith(PROGRAM)), "")
    if {"remote", "decoded"} & first.taints:
        low.emit("code.remote", first.text, at=first, rule="remote-code")
    elif not (
        (program and not any(word.known and tool_variables.leads_out(low.path(word), low.cwd) for word in inv.args))
        or TEMPLATE in first.taints
        or _is_no_program(walker, first)
    ):
        low.emit("opaque", first.text, certainty="unknown", at=first, rule="computed-command",
                 reason="Which command runs is only known when it runs")  # fmt: skip
    walker.doubt += 1
    outs = [Stream(None, low.taints)]
    if program:
        named = tuple(Word(text, first.span) for text in program.split())
        outs.append(
            walker.invoke(
                (*named, *words[1:]), span=inv.span, stdin=inv.stdin, via=via, env=inv.env, piped=inv.piped_out,
                external=True,
            )
        )  # fmt: skip
    if UNKNOWN in first.text:
        rest = replace(first, text=first.text.replace(UNKNOWN, ""), glob=False, taints=NOTHING)
        remaining = (rest, *words[1:]) if rest.text else words[1:]
        if remaining and UNKNOWN not in remaining[0].text:
            outs.append(
                walker.invoke(remaining, span=inv.span, stdin=inv.stdin, via=via, env=inv.env, piped=inv.piped_out)
            )
    else:
        walker.budget.spend(_MATCHING)
        for name in _matching(inv.name):
            known = replace(first, text=name, glob=False)
            outs.append(
                walker.invoke(
                    (known, *words[1:]),
                    span=inv.span,
                    stdin=inv.stdin,
                    via=via,
                    env=inv.env,
                    piped=inv.piped_out,
                    external=True,
                )
            )
    walker.doubt -= 1
    return Stream(None, joined(outs).taints)


_FILE_NAME = late(r"(?=.*\w)[\w./~%?!^\[\]-]{1,40}", re.ASCII)


def _is_no_program(walker: Walker, word: Word) -> bool:
    """A directory is no program; a short pattern that nothing we know fits is the name of a file of the user's own."""
    if walker.state.files or walker.state.functions or not _FILE_NAME.fullmatch(word.text):
        return False
    return word.text.endswith("/") or not _matching(base_name(word.text))


@lru_cache(maxsize=256)
def _matching(pattern: str) -> list[str]:
    """The commands we know that a glob in command position may stand for."""
    if not pattern or pattern.count("*") > 3 or len(pattern) > 40:
        return []
    compiled = re.compile(translate(pattern))
    load()
    matching = [name for name in HANDLERS if compiled.match(name)]
    # Not in the order of the table: that is the order in which files happen to be imported.
    return sorted(matching, key=lambda name: (len(name), name))[:_MAX_GLOB_MATCHES]
