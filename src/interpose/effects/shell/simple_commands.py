"""Simple commands: expand the words, find out what the command is, let its handler speak, place what it prints."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import Handler, handler_of
from interpose.effects.invocation import EMPTY_STREAM, NOTHING, UNKNOWN, Invocation, Stream, Word
from interpose.effects.programs import load
from interpose.effects.programs.shared import environment
from interpose.effects.shell import tool_variables, vanishing
from interpose.effects.shell.builtin_changes import CHANGES, LOCALS, remember_locals
from interpose.effects.shell.endless import calls_itself
from interpose.effects.shell.found_files import FINDERS, run_found
from interpose.effects.shell.lowering import CommandLowering
from interpose.effects.shell.noticed import passed_on, state_noticed
from interpose.effects.shell.own_files import state_touched
from interpose.effects.shell.protected_places import state_named
from interpose.effects.shell.redirects import Descriptors, opened
from interpose.effects.shell.second_looks import on_search_path
from interpose.effects.shell.state import MORE_BODIES, Variable
from interpose.effects.shell.unknown_commands import PROGRAM, base_name, is_pattern, run_computed, run_unknown
from interpose.effects.streams import either, joined
from interpose.effects.syntax import parse
from interpose.effects.syntax.budget import ExhaustedError
from interpose.effects.syntax.tree import Assignment, Node, RawWord, Simple, Span

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker

SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash", "fish", "rbash", "busybox"})
LEAVING = frozenset({"exit", "return", "break", "continue"})
SUCCEEDING = frozenset({"true", ":", "export", "declare", "local", "readonly", "alias", "set", "echo", "printf"})
"""Commands that succeed, so that what follows `&&` happens."""
LIKELY = frozenset({"cd", "pushd", "popd", "mkdir", "touch"})
"""Commands that are taken to succeed as far as the directory of what follows goes."""
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
    mark = walker.feeds.waiting
    fields: list[Word] = []
    computed = False
    expander = walker.expander
    for raw in node.words:
        if raw.plain is not None:
            fields.append(Word(raw.plain, raw.span))
        elif raw is node.words[0] and (program := tool_variables.program_of(raw, walker.state)):
            computed = True
            fields.append(Word(UNKNOWN, raw.span, taints=frozenset({"env", PROGRAM + program})))
        else:
            computed = True
            fields.extend(expander.fields(raw))
    walker.budget.spend(len(fields))
    words = tuple(fields)
    if computed:
        out = vanishing.judge(walker, words, lambda words: _placed(walker, node, words, stdin, piped))
    else:
        out = _placed(walker, node, words, stdin, piped)
    if walker.feeds.waiting > mark:
        walker.feeds.drain(out, mark)
    if fields:
        walker.last_word = fields[-1]
    return out


def _placed(walker: Walker, node: Simple, fields: tuple[Word, ...], stdin: Stream | None, piped: bool) -> Stream:
    if node.redirects or node.assignments or walker.state.fds or node.declared:
        return _redirected(walker, node, fields, stdin, piped)
    return walker.invoke(fields, span=node.span, stdin=stdin, via=walker.via, piped=piped) if fields else EMPTY_STREAM


def _redirected(walker: Walker, node: Simple, fields: tuple[Word, ...], stdin: Stream | None, piped: bool) -> Stream:
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
            walker.feeds.keep(channel.target.text)
        return out
    _reverse_shell(fields[0], opening)
    for name, value in env:
        environment.assign(name, value, opening.lowering, base_name(fields[0].text))
    outer, walker.state.fds = walker.state.fds, {**walker.state.fds, **opening.inner()}
    out = walker.invoke(fields, span=node.span, stdin=opening.stdin, via=walker.via, env=env, piped=piped)
    walker.state.fds = outer
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
    before = expander.changed(assignment.name) if assignment.append else None
    if assignment.items is not None:
        items = list(before.items or ()) if before is not None else []
        taints = before.taints if before is not None else NOTHING
        for key, raw in assignment.items:
            if key is not None:
                value = expander.single(raw)
                index = expander.single(key).text
                items.append((index, value.text))
                taints |= value.taints
                continue
            for field in expander.fields(raw):
                items.append((_next_key(items), field.text))
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
        if not (old.outside and assignment.name.islower()):
            # A name in small letters that nobody set begins empty: that is what whoever appends to it means.
            text, taints = old.text + text, taints | old.taints
    walker.assign(assignment.name, Variable(text, taints))


def _next_key(items: list[tuple[str, str]]) -> str:
    """The index behind the last one."""
    last = items[-1][0] if items else "-1"
    return str(int(last[:9]) + 1) if last == "-1" or last.isdecimal() else str(len(items))


def _assign_element(walker: Walker, assignment: Assignment, before: Variable | None, value: Word) -> None:
    key = walker.expander.single(assignment.subscript or RawWord((), (0, 0), "")).text
    if assignment.append and before is not None:
        old = dict(before.items or (("0", before.text),)).get(key, "")
        value = replace(value, text=old + value.text)
    walker.assign_element(assignment.name, key, value)


def _alias(walker: Walker, node: Simple, stdin: Stream | None, piped: bool) -> Stream:
    """An alias is replaced by its text; what stood behind it is appended to the last command of that text.

    Shells that are not interactive leave aliases alone, so the command itself is looked at as well.
    """
    name = node.words[0].plain or ""
    texts = walker.state.aliases.pop(name)
    before = walker.state.copy()
    outs = [run(walker, node, stdin, piped)]
    for text in texts:
        plain, walker.state = walker.state, before.copy()
        outs.append(joined([walker.run(item, stdin, piped=piped) for item in _replaced(walker, text, node)]))
        walker.state.merge(plain)
    walker.state.aliases.setdefault(name, texts)
    walker.success = None
    return either(outs)


def _replaced(walker: Walker, text: str, node: Simple) -> list[Node]:
    """What an alias stands for, with what stood behind it."""
    parsed = parse(text, walker.budget, fixed=node.words[0].span)
    items = list(parsed.script.items)
    if items and isinstance(last := items[-1], Simple):
        items[-1] = Simple(
            (*last.words, *node.words[1:]), node.span, (*node.assignments, *last.assignments),
            (*last.redirects, *node.redirects), (*last.declared, *node.declared),
        )  # fmt: skip
    elif len(node.words) > 1:
        items.append(replace(node, words=node.words[1:]))
    return items


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
        # Each wrapper looks at all words that are left.
        walker.budget.spend(len(words) // 8)
    functions = walker.state.functions.get(first.text) if not external else None
    if functions is not None:
        out = _call(walker, first.text, inv)
        if None in functions:
            out = either([out, _handle(walker, inv, via)])
    elif first.text in walker.state.hashed:
        out = _hashed(walker, inv, words, via, external=external)
    elif UNKNOWN in name or (first.glob and not first.quoted and is_pattern(name)) or not name:
        out = run_computed(walker, inv, words, via)
    else:
        out = _handle(walker, inv, via)
        if name in LEAVING and not external:
            walker.left = _leaves(walker, inv)
        if walker.state.functions and not external and "/" not in first.text:
            _not_found(walker, inv)
    walker.depth -= 1
    return out


def _leaves(walker: Walker, inv: Invocation) -> bool:
    """Whether nothing behind this command runs for certain: outside of a loop `break` does nothing."""
    if len(inv.args) > 1 or any(not word.text.isdecimal() or int(word.text[:9]) == 0 for word in inv.args):
        # `return $?` and `exit 0` leave; whatever else stands there may be an error, and what follows runs.
        return inv.name in ("exit", "return") and len(inv.args) == 1 and _can_leave(walker, inv.name)
    return _can_leave(walker, inv.name)


def _can_leave(walker: Walker, name: str) -> bool:
    match name:
        case "exit":
            return True
        case "return":
            return walker.returns > 0
        case _:
            return walker.loops > 0


def _hashed(
    walker: Walker, inv: Invocation, words: tuple[Word, ...], via: tuple[str, ...], *, external: bool
) -> Stream:
    """The shell was told where this command lies: that program runs, unless it is a builtin after all."""
    name = inv.argv0.text
    paths = walker.state.hashed.pop(name)
    programs = [replace(inv.argv0, text=path, glob=False) for path in paths]
    outs = [
        invoke(walker, (program, *words[1:]), inv.span, inv.stdin, via, inv.env, inv.piped_out, True)
        for program in programs
    ]
    outs.append(invoke(walker, words, inv.span, inv.stdin, via, inv.env, inv.piped_out, external))
    walker.state.hashed.setdefault(name, paths)
    return either(outs)


def _with_each_input(inv: Invocation, low: CommandLowering, handler: Handler) -> None:
    """Let a handler speak. Parts of its input that may be nothing are also left out."""
    text = inv.stdin.text if inv.stdin is not None else None
    if inv.stdin is None or text is None or UNKNOWN not in text or not (bare := text.replace(UNKNOWN, "").strip()):
        handler(inv, low)
        return
    other = replace(inv, stdin=Stream(bare, inv.stdin.taints))

    def heard(inv: Invocation) -> Stream:
        low.inv = inv
        handler(inv, low)
        return EMPTY_STREAM

    vanishing.either_way(low.walker, lambda: heard(inv), [lambda: heard(other)])


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
    if walker.state.files and "/" not in inv.argv0.text:
        changed = "PATH" in walker.state.variables or any(name == "PATH" for name, _ in inv.env)
        for content in on_search_path(walker, inv.name, changed=changed):
            low.suspect(content, via=inv.name, certain=True)
        if inv.name in FINDERS:
            run_found(inv, low)
    general = _general()
    # Outside of the `try`: a family that can't be imported is our fault, and must not pass for a question.
    handler = handler_of(inv.name)
    change = CHANGES.get(inv.name)
    if inv.name in LOCALS:
        remember_locals(walker, inv)
    outer_via, depth, first, ran = walker.via, walker.depth, len(walker.effects), len(walker.commands)
    walker.via = via
    try:
        if handler is None:
            run_unknown(inv, low, general)
        else:
            _with_each_input(inv, low, handler)
    except (ExhaustedError, RecursionError, ImportError):
        # An ImportError is never the command's: a module of ours, or what it stands on, is missing.
        raise
    except Exception:  # noqa: BLE001 - one handler's fault must neither hide its command nor stop the analysis
        walker.depth = depth
        walker.give_up("analysis-failed", f"The command {inv.name} could not be analysed", inv.span)
    walker.via = outer_via
    state_touched(inv, low, first)
    said = "\n".join(args)
    if inv.args or inv.env:
        state_named(inv, low, said, first, ran, known=handler is not None)
    state_noticed(inv, low, said, known=handler is not None)
    if change is not None:
        change(walker, inv)
    if inv.piped_out and low.printed is None and not low.taints and _prints_setup(inv):
        return EMPTY_STREAM
    out = low.result
    return out if inv.stdin is None or low.nested is not None else passed_on(inv, out, inv.stdin.taints)


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
    loops, walker.loops = walker.loops, 0
    walker.returns += 1
    walker.locals.append({})
    outs: list[Stream] = []
    before = walker.state.copy() if len(bodies) > 1 else None
    for body in bodies:
        if body is None:
            continue
        if body is MORE_BODIES:
            walker.give_up("too-many-ways", "A function has more bodies than are looked at", inv.span)
        walker.state.arguments = (inv.args if len(running) < MAX_RECURSION else None,)
        for variable, value in inv.env:
            walker.assign(variable, Variable(value.text, value.taints))
        outs.append(walker.run(body, inv.stdin, piped=inv.piped_out))
        if before is not None:
            walker.state.merge(before)
    walker.left = False
    walker.loops = loops
    walker.returns -= 1
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


@cache
def _general() -> Handler:
    """The rule for commands without a handler. It comes with the families: they are imported when one is needed."""
    load()
    from interpose.effects.programs.shared.verbs import general

    return general


_PRINTS_SETUP = words(
    "ssh-agent gpg-agent keychain dircolors gdircolors register-python-argcomplete thefuck tset lesspipe lesspipe.sh"
)
"""Programs whose output is made to be evaluated."""

_SETUP_WORDS = words(
    "completion completions shellenv activate init hook env docker-env shell-init docker-daemon-env shell.bash"
    " shell.zsh --completion --completions --bash --zsh --fish shell-hook generate-shell-completion"
    " --generate-completion"
)
"""Words with which a program prints what it wants the shell to know about it."""

_PRINTS_OTHER_THINGS = words(
    "cat echo printf curl wget git docker npm cargo go terraform ssh python python3 node base64 aws"
)


def _prints_setup(inv: Invocation) -> bool:
    """Whether what this command prints is its own setup code: evaluating it trusts the program no further."""
    if inv.name in _PRINTS_SETUP:
        return True
    if not inv.args or inv.name in _PRINTS_OTHER_THINGS:
        return False
    return any(word.text in _SETUP_WORDS for word in inv.args[:2])
