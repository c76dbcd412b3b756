"""Simple commands: expand the words, find out what the command is, let its handler speak, place what it prints."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.shell import tool_variables
from interpose.shell.builtin_changes import CHANGES, LOCALS, remember_locals
from interpose.shell.commands import load
from interpose.shell.commands.shared import environment
from interpose.shell.commands.shared.handler_table import HANDLERS, Handler, handler_of
from interpose.shell.commands.shared.shell_setup import prints_setup
from interpose.shell.disguises import doubt_about
from interpose.shell.endless import calls_itself
from interpose.shell.invocation import EMPTY_STREAM, NOTHING, UNKNOWN, Invocation, Stream, Word
from interpose.shell.lowering import CommandLowering
from interpose.shell.own_files import state_touched
from interpose.shell.redirects import Descriptors, opened
from interpose.shell.state import Variable
from interpose.shell.streams import either, joined
from interpose.shell.syntax import parse
from interpose.shell.syntax.budget import CHARACTERS, ExhaustedError
from interpose.shell.syntax.tree import Assignment, RawWord, Simple, Span

if TYPE_CHECKING:
    from interpose.shell.walk import Walker

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "rbash", "busybox"})
LEAVING = frozenset({"exit", "return", "break", "continue"})
SUCCEEDING = frozenset({"true", ":", "export", "declare", "local", "readonly", "alias", "set", "echo", "printf"})
"""Commands that succeed, so that what follows `&&` happens."""
LIKELY = frozenset({"cd", "pushd", "popd", "mkdir", "touch"})
"""Commands that are taken to succeed as far as the directory of what follows goes."""
WRAPPED = frozenset({"rm", "dd", "shred", "wipefs", "mkfs", "sudo", "bash", "sh", "zsh", "chmod", "chown"})
"""Commands that are looked for in the arguments of a command we do not know."""
PROGRAM = "program:"
"""The taint of a variable in front that by convention names the program behind the colon."""
TEMPLATE = "template"
"""The taint of `${{ ... }}`, which is filled in before a shell sees it, and which no shell takes."""
_MAX_GLOB_MATCHES = 8
_MAX_WRAPPED = 6
_MATCHING = 100
"""Steps that it takes to try a glob on all commands that we know."""
MAX_RECURSION = 3


class Ran(Struct, frozen=True):
    """One command that would run."""

    name: str
    args: tuple[str, ...]
    span: Span
    via: tuple[str, ...]
    program: str = ""
    """The program as it is called, with its directory if one is given."""
    on_terminal: bool = False
    """Whether nothing stands in for the terminal that it reads from."""


def run(walker: Walker, node: Simple, stdin: Stream | None, piped: bool) -> Stream:
    """What a simple command prints."""
    walker.count()
    words = node.words
    if len(words) and words[0].plain in walker.state.aliases:
        return _alias(walker, node, stdin, piped)
    return walker.each_alternative(lambda: _once(walker, node, stdin, piped))


def _once(walker: Walker, node: Simple, stdin: Stream | None, piped: bool) -> Stream:
    mark = walker.waiting
    fields: list[Word] = []
    expander = walker.expander
    for raw in node.words:
        if raw.plain is not None:
            fields.append(Word(raw.plain, raw.span))
        elif raw is node.words[0] and (program := tool_variables.program_of(raw, walker.state)):
            fields.append(Word(UNKNOWN, raw.span, taints=frozenset({"env", PROGRAM + program})))
        else:
            fields.extend(expander.fields(raw))
    walker.budget.spend(len(fields))
    if not (node.redirects or node.assignments or walker.state.fds or node.declared):
        out = (
            walker.invoke(tuple(fields), span=node.span, stdin=stdin, via=walker.via, piped=piped)
            if fields
            else EMPTY_STREAM
        )
    else:
        out = _redirected(walker, node, fields, stdin, piped)
    if walker.waiting > mark:
        walker.drain(out, mark)
    return out


def _redirected(walker: Walker, node: Simple, fields: list[Word], stdin: Stream | None, piped: bool) -> Stream:
    opening = opened(walker, node.redirects, stdin, node.span)
    if not fields:
        for assignment in node.assignments:
            assign(walker, assignment)
            _environment(walker, assignment.name, opening)
        walker.success = True
        return opening.finish(EMPTY_STREAM, opening.lowering)
    env = tuple((item.name, walker.expander.single(item.value)) for item in node.assignments)
    if len(fields) == 1 and fields[0].text == "exec":
        walker.state.fds = opening.channels
        out = opening.finish(EMPTY_STREAM, opening.lowering)
        for channel in opening.files:
            # What is written later through the descriptor is not known yet.
            walker.feed(channel.target.text, Stream())
        return out
    _reverse_shell(fields[0], opening)
    for name, value in env:
        environment.assign(name, value, opening.lowering, base_name(fields[0].text))
    out = walker.invoke(tuple(fields), span=node.span, stdin=opening.stdin, via=walker.via, env=env, piped=piped)
    for assignment in node.declared:
        assign(walker, assignment)
    if opening.files and walker.success:
        walker.success, walker.likely = None, True
    return opening.finish(out, opening.lowering)


def _environment(walker: Walker, name: str, opening: Descriptors) -> None:
    variable = walker.state.variables.get(name)
    if variable is not None and (variable.exported or name in environment.SHELL_OWN):
        environment.assign(name, Word(variable.text, taints=variable.taints), opening.lowering)


def _reverse_shell(word: Word, opening: Descriptors) -> None:
    if opening.remote and base_name(word.text) in SHELLS:
        opening.lowering.emit("process.exec", word.text, at=word, rule="reverse-shell", wide=True,
                              reason="Hands a shell on this machine to whoever is at the other end")  # fmt: skip


def assign(walker: Walker, assignment: Assignment) -> None:
    """Set a variable or the elements of an array."""
    expander = walker.expander
    before = walker.state.variables.get(assignment.name)
    if assignment.items is not None:
        items = list(before.items or ()) if before is not None and assignment.append else []
        taints = before.taints if before is not None and assignment.append else NOTHING
        for key, raw in assignment.items:
            if key is not None:
                value = expander.single(raw)
                index = expander.single(key).text
                items.append((index, value.text))
                taints |= value.taints
                continue
            for field in expander.fields(raw):
                items.append((str(len(items)), field.text))
                taints |= field.taints
        walker.assign(assignment.name, Variable(items[0][1] if items else "", taints, tuple(items)))
        return
    value = expander.single(assignment.value)
    if assignment.subscript is not None:
        _assign_element(walker, assignment, before, value)
        return
    text, taints = value.text, value.taints
    if assignment.append:
        old = expander.variable(assignment.name)
        text, taints = old.text + text, taints | old.taints
    walker.assign(assignment.name, Variable(text, taints))


def _assign_element(walker: Walker, assignment: Assignment, before: Variable | None, value: Word) -> None:
    subscript = assignment.subscript or RawWord((), (0, 0), "")
    key = walker.expander.single(subscript).text
    if walker.table_of(assignment.name):
        walker.set_entry(assignment.name, key, value)
        return
    number = walker.expander.arithmetic(key)
    walker.budget.spend(1 + len(before.items or ()) // CHARACTERS * 4 if before is not None else 1)
    items = dict((before.items if before.items is not None else (("0", before.text),)) if before is not None else ())
    items[key if number is None else str(number)] = value.text
    taints = value.taints | (before.taints if before is not None else NOTHING)
    walker.assign(assignment.name, Variable(items.get("0", ""), taints, tuple(items.items())))


def _alias(walker: Walker, node: Simple, stdin: Stream | None, piped: bool) -> Stream:
    """An alias is replaced by its text; what stood behind it is appended to the last command of that text.

    Shells that are not interactive leave aliases alone, so the command itself is looked at as well.
    """
    name = node.words[0].plain or ""
    text = walker.state.aliases.pop(name)
    before = walker.state.copy()
    parsed = parse(text, walker.budget, fixed=node.words[0].span)
    items = list(parsed.script.items)
    if items and isinstance(last := items[-1], Simple):
        items[-1] = Simple(
            (*last.words, *node.words[1:]), node.span, (*node.assignments, *last.assignments),
            (*last.redirects, *node.redirects), (*last.declared, *node.declared),
        )  # fmt: skip
    elif len(node.words) > 1:
        items.append(replace(node, words=node.words[1:]))
    out = joined([walker.run(item, stdin, piped=piped) for item in items])
    replaced, walker.state = walker.state, before
    plain = run(walker, node, stdin, piped)
    walker.state.merge(replaced)
    walker.state.aliases.setdefault(name, text)
    walker.success = None
    return either([out, plain])


def base_name(text: str) -> str:
    """A command's name without directory and `.exe`."""
    if "/" in text:
        text = text.rpartition("/")[2]
    elif "\\" in text:
        text = text.rpartition("\\")[2]
    return text[:-4] if text[-4:].lower() == ".exe" else text


def invoke(
    walker: Walker,
    words: tuple[Word, ...],
    span: Span,
    stdin: Stream | None,
    via: tuple[str, ...],
    env: tuple[tuple[str, Word], ...],
    piped: bool,
    external: bool,
) -> Stream:
    """Run a command given as words. `external`: a wrapper runs it, so functions are out of its reach."""
    first = words[0]
    name = base_name(first.text)
    if not walker.deeper(span):
        return Stream()
    walker.success = True if name in SUCCEEDING else False if name == "false" else None
    walker.likely = name in LIKELY
    inv = Invocation(name, words[1:], span, first, stdin, env, piped)
    if external:
        walker.count()
    functions = walker.state.functions.get(first.text) if not external else None
    if functions is not None:
        out = _call(walker, first.text, inv)
        if None in functions:
            out = either([out, _handle(walker, inv, via)])
    elif first.text in walker.state.hashed:
        out = _hashed(walker, inv, words, via, external=external)
    elif UNKNOWN in name or (first.glob and not first.quoted and _is_pattern(name)) or not name:
        out = _computed(walker, inv, words, via)
    else:
        out = _handle(walker, inv, via)
        if name in LEAVING and not external:
            walker.left = True
        if walker.state.functions and not external and "/" not in first.text:
            _not_found(walker, inv)
    walker.depth -= 1
    return out


def _hashed(
    walker: Walker, inv: Invocation, words: tuple[Word, ...], via: tuple[str, ...], *, external: bool
) -> Stream:
    """The shell was told where this command lies: that program runs, unless it is a builtin after all."""
    name = inv.argv0.text
    path = walker.state.hashed.pop(name)
    program = replace(inv.argv0, text=path, glob=False)
    out = invoke(walker, (program, *words[1:]), inv.span, inv.stdin, via, inv.env, inv.piped_out, True)
    plain = invoke(walker, words, inv.span, inv.stdin, via, inv.env, inv.piped_out, external)
    walker.state.hashed.setdefault(name, path)
    return either([out, plain])


NOT_FOUND = ("command_not_found_handle", "command_not_found_handler")
"""What bash and zsh call when there is no such command, with all of its words."""


def _not_found(walker: Walker, inv: Invocation) -> None:
    """A command that nobody here knows may not be there; one that we know may not be installed."""
    name = next((name for name in NOT_FOUND if name in walker.state.functions), None)
    if name is None or inv.name in CHANGES or inv.name in SUCCEEDING or inv.name in LEAVING:
        return
    known = handler_of(inv.name) is not None
    outer, walker.state = walker.state, walker.state.copy()
    walker.doubt += known
    _call(walker, name, replace(inv, name=name, args=(inv.argv0, *inv.args)))
    walker.doubt -= known
    walker.keep_files(outer)
    walker.state = outer


def _handle(walker: Walker, inv: Invocation, via: tuple[str, ...]) -> Stream:
    args = tuple([word.text for word in inv.args])
    walker.commands.append(Ran(inv.name, args, inv.span, via, inv.argv0.text, inv.stdin is None))
    low = CommandLowering(walker, inv, via)
    if "/" in inv.argv0.text and walker.state.files and low.path(inv.argv0) in walker.state.files:
        low.run_file(inv.argv0, via=inv.name)
        return low.result
    general = _general()
    # Outside of the `try`: a family that can't be imported is our fault, and must not pass for a question.
    handler = handler_of(inv.name)
    change = CHANGES.get(inv.name)
    if inv.name in LOCALS:
        remember_locals(walker, inv)
    outer_via, depth, first = walker.via, walker.depth, len(walker.effects)
    walker.via = via
    try:
        if handler is None:
            _unknown(inv, low, general)
            _wrapped(walker, inv, low)
        else:
            handler(inv, low)
    except (ExhaustedError, RecursionError, ImportError):
        # An ImportError is never the command's: a module of ours, or what it stands on, is missing.
        raise
    except Exception:  # noqa: BLE001 - one handler's fault must neither hide its command nor stop the analysis
        walker.depth = depth
        walker.give_up("analysis-failed", f"The command {inv.name} could not be analysed", inv.span)
    walker.via = outer_via
    state_touched(inv, low, first)
    if change is not None:
        change(walker, inv)
    if inv.piped_out and low.printed is None and not low.taints and prints_setup(inv):
        return EMPTY_STREAM
    return low.result


def _unknown(inv: Invocation, low: CommandLowering, general: Handler) -> None:
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


def _is_pattern(name: str) -> bool:
    return name != "[" and not {"*", "?", "["}.isdisjoint(name)


def _wrapped(walker: Walker, inv: Invocation, low: CommandLowering) -> None:
    """A command that we do not know may be a wrapper: if a whole command stands in its arguments, it may run."""
    for index, word in enumerate(inv.args[:_MAX_WRAPPED]):
        if base_name(word.text) in WRAPPED and not word.quoted and len(inv.args) > index + 1:
            walker.doubt += 1
            low.run(inv.args[index:], via=inv.name)
            walker.doubt -= 1
            return


def _call(walker: Walker, name: str, inv: Invocation) -> Stream:
    """Call a function. One that calls itself is entered again, at last with any arguments; if it forks: a bomb."""
    # By body, not by name: a function may define itself anew while it runs.
    bodies = walker.state.functions[name]
    key = tuple(id(body) for body in bodies)
    running = walker.active.setdefault(key, [])
    if running:
        if walker.forks > running[0]:
            low = walker.lowering(inv.span)
            low.emit("system", name, rule="fork-bomb", wide=True,
                     reason="A function that starts itself until nothing else can run")  # fmt: skip
            return Stream()
        if len(running) >= MAX_RECURSION:
            if any(body is not None and calls_itself(name, body) for body in bodies):
                walker.lowering(inv.span).emit("opaque", name, certainty="possible", rule="endless-recursion",
                                               reason="A function that calls itself without an end")  # fmt: skip
            return Stream()
    outer = walker.state.arguments
    running.append(walker.forks)
    walker.locals.append({})
    outs: list[Stream] = []
    before = walker.state.copy() if len(bodies) > 1 else None
    for body in bodies:
        if body is None:
            continue
        walker.state.arguments = inv.args if len(running) < MAX_RECURSION else None
        for variable, value in inv.env:
            walker.assign(variable, Variable(value.text, value.taints))
        outs.append(walker.run(body, inv.stdin, piped=inv.piped_out))
        if before is not None:
            walker.state.merge(before)
    walker.left = False
    for variable, value_before in walker.locals.pop().items():
        if value_before is None:
            walker.state.variables.pop(variable, None)
        else:
            walker.state.variables[variable] = value_before
    running.pop()
    if not running:
        walker.active.pop(key, None)
    walker.state.arguments = outer
    return joined(outs)


def _computed(walker: Walker, inv: Invocation, words: tuple[Word, ...], via: tuple[str, ...]) -> Stream:
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
        outs.append(invoke(walker, (*named, *words[1:]), inv.span, inv.stdin, via, inv.env, inv.piped_out, True))
    if UNKNOWN in first.text:
        rest = replace(first, text=first.text.replace(UNKNOWN, ""), glob=False, taints=NOTHING)
        remaining = (rest, *words[1:]) if rest.text else words[1:]
        if remaining and UNKNOWN not in remaining[0].text:
            outs.append(invoke(walker, remaining, inv.span, inv.stdin, via, inv.env, inv.piped_out, False))
    else:
        walker.budget.spend(_MATCHING)
        for name in _matching(inv.name):
            known = replace(first, text=name, glob=False)
            outs.append(invoke(walker, (known, *words[1:]), inv.span, inv.stdin, via, inv.env, inv.piped_out, True))
    walker.doubt -= 1
    return Stream(None, joined(outs).taints)


_FILE_NAME = re.compile(r"(?=.*\w)[\w./~%?!^\[\]-]{1,40}", re.ASCII)


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


@cache
def _general() -> Handler:
    """The rule for commands without a handler. It comes with the families: they are imported when one is needed."""
    load()
    from interpose.shell.commands.shared.verbs import general

    return general
