"""The shell's own commands: those that run code, change the state of the shell, or print what is known."""

from __future__ import annotations

from itertools import pairwise

from interpose.effects.agents.known_agents import AGENT_OF
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, UNKNOWN, VARIABLE_NAMES, Invocation, Lowering, Stream, Word
from interpose.effects.programs.running.printf import MAX_TEXT, echo, printf
from interpose.effects.programs.shared.environment import HISTORY_OFF, assign, history_off, show_environment
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.peel import input_as_code


@command("cd", "chdir", "pushd", "popd")
def change_directory(inv: Invocation, low: Lowering) -> None:
    operands = parse(inv.args).operands
    first = operands[0].text if operands else ""
    if inv.name == "popd" or first == "-" or (inv.name == "pushd" and (not first or first.startswith("+"))):
        low.set_cwd(Word(UNKNOWN))
    else:
        low.set_variable("OLDPWD", Word(low.cwd))
        low.set_cwd(operands[0] if operands else low.home)


@command("pwd")
def pwd(_inv: Invocation, low: Lowering) -> None:
    low.output(Stream(low.cwd + "\n"))


@command("echo")
def echo_builtin(inv: Invocation, low: Lowering) -> None:
    low.output(Stream(echo([word.text for word in inv.args]), _taints(inv.args)))


@command("printf")
def printf_builtin(inv: Invocation, low: Lowering) -> None:
    args = inv.args
    target: Word | None = None
    if args and args[0].text.startswith("-v"):
        target = args[0] if len(args[0].text) > 2 else (args[1] if len(args) > 1 else None)
        args = args[1:] if len(args[0].text) > 2 else args[2:]
    if args and args[0].text == "--":
        args = args[1:]
    low.spend(args[0].text.count("%") // 2 + len(args) // 2 if args else 0)
    text = printf(args[0].text, [word.text for word in args[1:]]) if args else ""
    if target is None:
        low.output(Stream(text, _taints(args)))
        return
    name = target.text.removeprefix("-v")
    subscript(Word(name, target.span), low)
    low.set_variable(name, Word(text, target.span, taints=_taints(args)))


@command("eval")
def eval_builtin(inv: Invocation, low: Lowering) -> None:
    words = inv.args[1:] if inv.args and inv.args[0].text == "--" else inv.args
    if words:
        code = Word(" ".join(word.text for word in words), inv.span, taints=_taints(words))
        input_as_code(code, low)
        low.shell(code, via="eval")


@command("source", ".")
def source(inv: Invocation, low: Lowering) -> None:
    words = inv.args[1:] if inv.args and inv.args[0].text == "--" else inv.args
    if not words:
        return
    if words[0].text in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
        low.shell(inv.stdin or Stream(taints=frozenset({"input"})), via="source", args=words[1:])
    else:
        low.run_file(words[0], via="source")
        directory, _, name = low.path(words[0]).rpartition("/")
        if name.partition(".")[0] == "activate" and directory.endswith("/bin"):
            low.set_variable("VIRTUAL_ENV", Word(directory.removesuffix("/bin"), words[0].span))


@command("export", "declare", "typeset", "local", "readonly")
def declare(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, plus=True)
    if options.has("-f", "-F"):
        return
    if not options.operands:
        if inv.name in ("export", "declare", "typeset"):
            show_environment(inv, low)
        return
    if options.has("-p"):
        return
    for word in options.operands:
        name, equals, text = word.text.partition("=")
        subscript(Word(name, word.span), low)
        if not equals:
            continue
        value = Word(text, word.span, taints=word.taints)
        if options.has("-i"):
            arithmetic(value, low)
        if options.has("-n"):
            subscript(value, low)
        assign(name.removesuffix("+"), value, low)


@command("unset")
def unset(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args)
    for word in options.operands:
        subscript(word, low)
        if word.text in HISTORY_OFF and not options.has("-f"):
            history_off(low, word)
        elif word.text.startswith("INTERPOSE_"):
            assign(word.text, Word("", word.span), low)


@command("let")
def let(inv: Invocation, low: Lowering) -> None:
    for word in inv.args:
        arithmetic(word, low)


@command("test", "[")
def test(inv: Invocation, low: Lowering) -> None:
    for flag, word in pairwise(inv.args):
        if flag.text in ("-v", "-R"):
            subscript(word, low)
    low.output(Stream(""))


@command("read", "mapfile", "readarray")
def read(inv: Invocation, low: Lowering) -> None:
    if inv.name == "read":
        _read(inv, low)
        return
    options = parse(inv.args, values=("-d", "-n", "-O", "-s", "-u", "-C", "-c"))
    if callback := options.value("-C"):
        low.shell(callback, via=inv.name)
    stream = _input(inv, known=not options.has("-u"))
    name = options.operands[0] if options.operands else Word("MAPFILE")
    subscript(name, low)
    low.set_variable(name.text, _as_word(stream.text, stream, inv))


def _read(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"))
    stream = _input(inv, known=not options.has("-u"))
    names = [*options.values("-a"), *options.operands] or [Word("REPLY")]
    line: str | None = None
    if stream.text is not None:
        line = stream.text if options.has("-d") else stream.text.partition("\n")[0]
    # INVARIANT: with an unknown IFS the split is a guess, so it is only made for plain text.
    parts = (line or "").split(None, len(names) - 1) if line is not None else []
    for index, name in enumerate(names):
        subscript(name, low)
        text = None if line is None else (parts[index].rstrip() if index < len(parts) else "")
        low.set_variable(name.text, _as_word(text, stream, inv))


@command("trap")
def trap(inv: Invocation, low: Lowering) -> None:
    words = inv.args[1:] if inv.args and inv.args[0].text == "--" else inv.args
    if len(words) < 2 or words[0].text in ("-", "-l", "-p", "") or words[0].text.isdecimal():
        return
    low.shell(words[0], via="trap")


@command("alias")
def alias(inv: Invocation, low: Lowering) -> None:
    for word in inv.args:
        name, equals, text = word.text.partition("=")
        if equals and not name.startswith("-"):
            low.shell(Word(text, word.span, taints=word.taints), via="alias")
    if any(word.text in ("-s", "--save") for word in inv.args):
        _state_shadowed(inv, low)


@command("funcsave", "funced")
def save_function(inv: Invocation, low: Lowering) -> None:
    """fish keeps a function for all shells that are opened later."""
    _state_shadowed(inv, low)


def _state_shadowed(inv: Invocation, low: Lowering) -> None:
    """A name that guards the agent, or starts one, means something else in every shell from now on."""
    for word in inv.args:
        name = word.text.partition("=")[0]
        if name == "interpose" or name in AGENT_OF:
            low.emit("guard.tamper", name, certainty="possible", at=word, rule="guard-shadowed",
                     reason="Gives this name another meaning in every shell that is opened later")  # fmt: skip


@command("set")
def set_builtin(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    for flag, value in pairwise(texts):
        if flag == "+o" and value == "history":
            history_off(low)
    if not texts:
        show_environment(inv, low)


@command("history")
def history(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-d", "-a", "-n", "-r", "-w"))
    if options.has("-c", "-d"):
        history_off(low)
    if path := options.value("-w", "-a"):
        low.write(path)
    low.output(Stream(taints=frozenset({"secret"})))


@command("fc")
def fc(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-e",))
    editor = options.value("-e")
    if editor is not None and editor.text != "-":
        low.shell(editor, via="fc")
    if options.has("-s") or (editor is not None and editor.text == "-"):
        low.emit("opaque", "history", certainty="unknown", rule="history-command",
                 reason="This runs a command out of the shell history, which is not known here")  # fmt: skip


@command("bind")
def bind(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-x", "-f", "-m", "-q", "-u", "-r"))
    for binding in options.values("-x"):
        low.shell(Word(binding.text.partition(":")[2].strip(" \"'"), binding.span), via="bind")


@command("complete", "compgen")
def complete(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-o", "-A", "-G", "-W", "-F", "-C", "-X", "-P", "-S", "-V"))
    for code in options.values("-C"):
        low.shell(code, via=inv.name)
    for words in options.values("-W"):
        if "$" in words.text or "`" in words.text:
            low.shell(Word(f"printf %s {words.text}", words.span, taints=words.taints), via=inv.name)
    kind = options.value("-A")
    if inv.name == "compgen" and (options.has("-v", "-e") or (kind and kind.text in ("variable", "export"))):
        low.output(Stream(None, frozenset({VARIABLE_NAMES})))


@command("enable")
def enable(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-f",))
    if library := options.value("-f"):
        low.emit("opaque", low.path(library), certainty="possible", at=library, rule="environment-code",
                 reason="A library would be loaded into the shell as a builtin")  # fmt: skip


@command("true", "false", ":", "break", "continue", "return", "exit", "logout", "shift", "times", "dirs", "type",
         "hash", "shopt", "ulimit", "umask", "getopts", "wait", "jobs", "bg", "fg", "disown", "suspend", "unalias",
         "caller", "help", "whereis", "setopt", "unsetopt")  # fmt: skip
def harmless(inv: Invocation, low: Lowering) -> None:
    """Changes only the shell itself, or asks it something."""
    if inv.name == "wait" and (name := parse(inv.args, values=("-p",)).value("-p")):
        subscript(name, low)
    if inv.name in ("true", "false", ":", "shift", "wait"):
        low.output(Stream(""))


@command("which", "gwhich")
def which(inv: Invocation, low: Lowering) -> None:
    """Prints where a program lies. It is the program of that name, wherever that is."""
    names = [word for word in parse(inv.args).operands if word.known and "/" not in word.text]
    if len(names) == 1:
        low.output(Stream(f"/usr/bin/{names[0].text}\n", names[0].taints))


def subscript(word: Word, low: Lowering) -> None:
    """A variable name that a builtin takes as text: bash evaluates its subscript, so quotes do not make it inert."""
    if "[" in word.text and ("$" in word.text or "`" in word.text):
        arithmetic(word, low)


def arithmetic(word: Word, low: Lowering) -> None:
    """Text that is evaluated as an arithmetic expression, command substitutions in subscripts included."""
    if "$" in word.text or "`" in word.text:
        low.shell(Word(f"(( {word.text} ))", word.span, taints=word.taints), via="arithmetic")


def _input(inv: Invocation, *, known: bool) -> Stream:
    if inv.stdin is not None and known:
        return inv.stdin
    return Stream(taints=frozenset({"input"}))


def _as_word(text: str | None, stream: Stream, inv: Invocation) -> Word:
    if text is None or len(text) > MAX_TEXT:
        return Word(UNKNOWN, inv.span, taints=stream.taints or frozenset({"input"}))
    return Word(text, inv.span, taints=stream.taints)


def _taints(words: tuple[Word, ...]) -> frozenset[str]:
    return NOTHING.union(*(word.taints for word in words))
