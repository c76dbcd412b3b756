"""Commands that run others in their own way: given to a shell, repeated, recorded, traced, put into a sandbox."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.peel import Wrapper, peel, run_inner

_WATCH = Wrapper(flags="bcegptwxrCf", attached="d", values="nqs", long=("beep", "color", "no-color", "differences",
    "errexit",
                 "chgexit", "precise", "no-title", "no-wrap", "exec", "no-rerun", "follow"),
                 long_values=("interval", "equexit", "shotsdir"))  # fmt: skip


@command("watch", "viddy", "hwatch")
def watch(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _WATCH, low)
    if peeled.informs or not peeled.inner:
        return
    if peeled.options.has("-x", "--exec"):
        run_inner(peeled.inner, low, inv.name)
    else:
        low.shell(joined(peeled.inner), via=inv.name, dialect="sh")


@command("script")
def script(inv: Invocation, low: Lowering) -> None:
    """`script -c code file` records a shell command, and on BSD `script file command ...` does."""
    options = parse(inv.args, values=("-c", "-E", "-I", "-O", "-B", "-T", "-m", "-o", "-t", "-F", "--command",
                                      "--log-in", "--log-out", "--log-io", "--log-timing", "--logging-format",
                                      "--output-limit"),
                    stop=True)  # fmt: skip
    if options.has("--help", "--version", "-V", "-h", "-p"):
        return
    code = options.value("-c", "--command")
    rest = options.operands
    for index, word in enumerate(rest[1:], 1):
        if word.text in ("-c", "--command") and index + 1 < len(rest):
            code = rest[index + 1]
    low.write(rest[0] if rest else "typescript", append=options.has("-a", "--append"))
    if code is not None:
        low.shell(code, via="script")
    else:
        run_inner(rest[1:], low, "script")


@command("gdb", "lldb", "rust-gdb", "rust-lldb")
def debugger(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, bundle=False, stop=False, values=("-ex", "-iex", "-eval-command", "--eval-command", "-x",
        "-command", "--command", "-o",
                    "-O", "-s", "-S", "-p", "-pid", "--pid", "-cd", "--cd", "-d", "-c", "-core", "--core"))  # fmt: skip
    for line in options.values("-ex", "-iex", "-eval-command", "--eval-command", "-o", "-O"):
        _debugger_line(line, low, inv.name)
    for script in (*options.values("-x", "-command", "--command", "-s", "-S"),):
        for text in (low.read(script).text or "").splitlines():
            _debugger_line(Word(text, script.span), low, inv.name)
    for text in (inv.stdin.text or "").splitlines() if inv.stdin is not None else ():
        _debugger_line(Word(text, inv.span), low, inv.name)
    told = [
        line.text.split(None, 1)[0]
        for line in options.values("-ex", "-iex", "-eval-command", "-o")
        if line.text.strip()
    ]
    if options.value("-p", "-pid", "--pid") is not None and any(word in _CHANGES_PROCESS for word in told):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="process-control",
                 reason="Makes another process run something that it would not run by itself")  # fmt: skip
    for index, word in enumerate(inv.args):
        if word.text in ("--args", "-args", "--"):
            run_inner(inv.args[index + 1 :], low, inv.name)
            break


_CHANGES_PROCESS = frozenset(
    {
        "call",
        "print",
        "p",
        "inspect",
        "expr",
        "expression",
        "e",
        "set",
        "jump",
        "return",
        "compile",
        "po",
        "kill",
        "dump",
    }
)


def _debugger_line(line: Word, low: Lowering, via: str) -> None:
    text = line.text.strip()
    word, _, rest = text.partition(" ")
    if text.startswith("!"):
        low.shell(Word(text[1:], line.span, taints=line.taints), via=via)
    elif word in ("shell", "make", "platform") or (word == "pipe" and "|" in rest):
        code = rest.rpartition("|")[2] if word == "pipe" else rest.removeprefix("shell ")
        low.shell(Word(code, line.span, taints=line.taints), via=via)
    elif word in ("python", "py", "script", "pi", "python-interactive"):
        low.code("python", Word(rest, line.span, taints=line.taints), via=via)


_PERF = Wrapper(flags="adgvABDIRSTqnPbNW", values="eFcopstuCkKmxGrjJ", loose=True,
                long_values=("event", "output", "call-graph", "pid", "tid", "uid", "cpu", "freq", "count", "repeat",
                             "delay", "field-separator", "interval-print", "mmap-pages", "cgroup",
                             "timeout"))  # fmt: skip


@command("perf")
def perf(inv: Invocation, low: Lowering) -> None:
    if not inv.args or inv.args[0].text not in ("record", "stat", "trace", "mem", "c2c", "kvm", "lock", "sched"):
        return
    peeled = peel(inv.args[1:], _PERF, low)
    if not peeled.informs and not peeled.options.has("-p", "--pid", "-t", "--tid"):
        run_inner(peeled.inner, low, "perf")


_BWRAP_ARITY = {
    **dict.fromkeys(("--bind", "--ro-bind", "--dev-bind", "--bind-try", "--ro-bind-try", "--dev-bind-try", "--setenv",
                     "--symlink", "--file", "--bind-data", "--ro-bind-data", "--chmod"), 2),
    **dict.fromkeys(("--proc", "--dev", "--tmpfs", "--dir", "--mqueue", "--chdir", "--unsetenv", "--uid", "--gid",
                     "--hostname", "--args", "--userns", "--pidns", "--seccomp", "--add-seccomp-fd", "--sync-fd",
                     "--block-fd", "--info-fd", "--json-status-fd", "--lock-file", "--remount-ro", "--perms", "--size",
                     "--exec-label", "--file-label", "--cap-add", "--cap-drop", "--argv0"), 1),
}  # fmt: skip


@command("bwrap")
def bwrap(inv: Invocation, low: Lowering) -> None:
    index = 0
    while index < len(inv.args) and inv.args[index].text.startswith("--"):
        text = inv.args[index].text
        index += 1
        if text == "--":
            break
        index += _BWRAP_ARITY.get(text, 0)
    run_inner(inv.args[index:], low, "bwrap")


_ENTR = Wrapper(flags="acdnprsxz")


@command("entr")
def entr(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _ENTR, low)
    if peeled.options.has("-s") and peeled.inner:
        low.shell(peeled.inner[0], via="entr", dialect="sh")
    else:
        run_inner(peeled.inner, low, "entr")


@command("hyperfine")
def hyperfine(inv: Invocation, low: Lowering) -> None:
    code = ("-p", "--prepare", "-c", "--cleanup", "-s", "--setup", "-C", "--conclude", "--reference")
    options = parse(inv.args, values=(*code, "-w", "--warmup", "-m", "--min-runs", "-M", "--max-runs", "-r", "--runs",
                                      "-P",
                    "--parameter-scan", "-L", "--parameter-list", "-D", "--parameter-step-size", "-S", "--shell", "-u",
                    "--time-unit", "-n", "--command-name", "--style", "--sort", "--export-json", "--export-csv",
                    "--export-markdown", "--export-asciidoc", "--export-orgmode", "--output", "--input"))  # fmt: skip
    for path in options.values("--export-json", "--export-csv", "--export-markdown", "--export-asciidoc"):
        low.write(path)
    for text in (*options.values(*code), *options.operands):
        low.shell(text, via="hyperfine", dialect="sh")


_RTK_MODES = frozenset({"proxy", "err", "test", "summary", "log", "run"})
_RTK = Wrapper(flags="vu", long=("verbose", "ultra-compact", "skip-env"))


@command("rtk")
def rtk(inv: Invocation, low: Lowering) -> None:
    """`rtk git status` shortens what `git status` prints; some of its modes stand in front of any command."""
    peeled = peel(inv.args, _RTK, low)
    words = peeled.inner[1:] if peeled.inner and peeled.inner[0].text in _RTK_MODES else peeled.inner
    if not peeled.informs:
        run_inner(words, low, "rtk")


@command("sandbox-exec")
def sandbox_exec(inv: Invocation, low: Lowering) -> None:
    options = parse(inv.args, values=("-f", "-n", "-p", "-D"), stop=True)
    run_inner(options.operands, low, "sandbox-exec")


def joined(words: tuple[Word, ...]) -> Word:
    """Words as a tool puts them together before it gives them to a shell."""
    return Word(
        " ".join(word.text for word in words), words[0].span, taints=frozenset().union(*(w.taints for w in words))
    )
