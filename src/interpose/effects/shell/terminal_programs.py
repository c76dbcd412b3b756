"""Programs that take their orders from the terminal: what they do stands in no command, it is typed afterwards.

A shell without a script, an interpreter without a program, a client of a database without a statement. One row says how
a program is told what to do on its command line; told nothing of that, it waits for somebody to type. Editors, pagers
and debuggers are here because each of them runs a command that is typed (`:!`, `!`, `shell`).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.shell.simple_commands import Ran

_INFORMS = ("--help", "--version")
"""Short ones mean other things to many: `bash -h` is a shell, `vim -V` an editor that says more."""
_TERMINAL = frozenset({"-", "/dev/stdin", "/dev/tty", "/dev/fd/0", "/proc/self/fd/0"})
"""A script of one of these names is what is typed."""


class TerminalProgram(Struct, frozen=True, kw_only=True):
    """When a program waits for what is typed: without any of `told`, and with no operand beyond `operands`."""

    told: tuple[str, ...] = ()
    """Options that say what to do."""
    values: tuple[str, ...] = ()
    """Other options with a value."""
    stays: tuple[str, ...] = ()
    """Options with which it waits whatever it was told."""
    listens: tuple[str, ...] = ()
    """First operands with which it waits."""
    operands: int = 0
    """Operands that say where, not what: a database, a host. -1: any number."""
    least: int = 0
    """Operands without which it only says how it is used."""
    quits: tuple[str, ...] = ()
    """Commands after which it ends."""
    informs: tuple[str, ...] = _INFORMS
    escapes: tuple[str, ...] = ()
    """Texts in what it is told that open a shell all the same."""
    bundle: bool = True

    def waits(self, args: Iterable[str]) -> bool:
        """Whether it waits for what is typed, started with these arguments."""
        words = [Word(text) for text in args]
        took = parse(words, values=(*self.values, *self.told), stop=True, bundle=self.bundle, plus=True)
        # A word that only shows when it runs may be empty: it is nothing that the program was told.
        operands = [word.text for word in took.operands if word.text.replace(UNKNOWN, "")]
        given = [*(value.text for value in took.values(*self.told)), *operands]
        if took.has(*self.informs) or len(operands) < self.least:
            return False
        commands = [*(value.text for value in took.values("-c")), *(w.text for w in words if w.text.startswith("+"))]
        if any(text.lstrip("+:") in self.quits for text in commands):
            return False
        if took.has(*self.stays) or any(text in self.listens for text in operands[:2]):
            return True
        if any(text in _TERMINAL or any(escape in text for escape in self.escapes) for text in given):
            return True
        if took.has(*self.told):
            return False
        return self.operands < 0 or len(operands) <= self.operands


class TerminalVerb(Struct, frozen=True):
    """A tool with commands of its own, of which these wait. `alone`: so does the tool without any."""

    verbs: frozenset[str]
    alone: bool = False
    never: frozenset[str] = frozenset()
    """Options with which it goes to the background, or says something and ends."""

    def waits(self, args: Iterable[str]) -> bool:
        """Whether it waits for what is typed, started with these arguments."""
        given = list(args)
        if not self.never.isdisjoint(given):
            return False
        words = [text for text in given if not text.startswith("-")]
        return any(word in self.verbs for word in words[:3]) if words else self.alone and not given


def _program(
    told: str = "", *, values: str = "", stays: str = "", listens: str = "", operands: int = 0, bundle: bool = True,
    informs: str = "", escapes: tuple[str, ...] = (), least: int = 0, quits: str = "",
) -> TerminalProgram:  # fmt: skip
    return TerminalProgram(
        told=tuple(told.split()), values=tuple(values.split()), stays=tuple(stays.split()), operands=operands,
        listens=tuple(listens.split()), bundle=bundle, informs=(*_INFORMS, *informs.split()), escapes=escapes,
        least=least, quits=tuple(quits.split()),
    )  # fmt: skip


def _verbs(verbs: str, *, alone: bool = False, never: str = "") -> TerminalVerb:
    return TerminalVerb(frozenset(verbs.split()), alone, frozenset(never.split()))


def _named(names: str, row: TerminalProgram | TerminalVerb) -> dict[str, TerminalProgram | TerminalVerb]:
    return dict.fromkeys(names.split(), row)


# `-i` beside `-c` only reads the files of an interactive shell.
_SHELL = _program("-c", values="-o -O +o +O --rcfile --init-file --emulate", stays="-s")
_OTHER_SHELL = _program("-c --command --commands", values="-C --init-command -o -d -D")
_PYTHON = _program(
    "-c -m", values="-W -X -Q --check-hash-based-pycs", stays="-i", listens="shell shell_plus dbshell", informs="-V -h",
    escapes=("code.interact", "InteractiveConsole", "pty.spawn", "pdb.", "breakpoint()", "IPython"),
)  # fmt: skip
_PYTHON_MODULES = frozenset({"code", "pdb", "asyncio", "IPython", "bpython", "ptpython", "ptipython", "sqlite3"})
_NODE = _program(
    "-e --eval -p --print -c --check --test --run --watch-path --build-snapshot",
    values="-r --require --import -C --conditions --loader --experimental-loader --env-file --input-type --title",
    stays="-i --interactive", listens="inspect debug", informs="-v -h --v8-options",
    escapes=("'repl'", '"repl"', "node:repl"),
)  # fmt: skip
_SQL = _program(
    "-c --command -f --file -l --list -e --execute --query -q --queries-file --eval",
    values="-h --host -p --port -U --username -d --dbname -u --user -P -S --socket -D --database -v --set -o --output",
    operands=-1, informs="-V -?", escapes=("\\!", "system "),
)  # fmt: skip
_FILE_SQL = _program("-c -s", values="-cmd -init -separator -nullvalue -newline", operands=1, bundle=False,
                     informs="-version -help", escapes=(".shell", ".system"))  # fmt: skip
_TEXT = _program("-es -Es --headless --batch -batch", values="-u -t -T -c", operands=-1, bundle=False,
                 quits="q qa q! qa! wq wqa wq! x xa ZZ quit quitall")  # fmt: skip
_ALWAYS = _program(operands=-1)
_SCRIPTED = _program("-e --eval -E --expr --print --script --non-interactive", stays="-i --interactive", informs="-v")
_REMOTE = _program("-N -W -Q -G -O -f", values=" ".join(f"-{letter}" for letter in "BbcDEeFIiJLlmopPRSw"), operands=1,
                   least=1)  # fmt: skip

_PROGRAMS: dict[str, TerminalProgram | TerminalVerb] = {
    **_named("sh bash zsh dash ksh ash mksh rbash rzsh ksh93 pdksh yash oksh hush osh", _SHELL),
    **_named("fish csh tcsh xonsh nu elvish", _OTHER_SHELL),
    **_named("pwsh powershell pwsh-preview", _program("-c -Command -command -f -File -file -e -EncodedCommand",
                                                      bundle=False)),
    **_named("cmd command.com", _program(operands=0)),
    **_named("node nodejs tsx ts-node babel-node", _NODE),
    **_named("deno bun", _verbs("repl", alone=True)),
    **_named("ruby jruby truffleruby mruby perl perl5 raku", _program("-e -E", informs="-v")),  # `-i` edits files
    **_named("lua luajit lua5.1 lua5.2 lua5.3 lua5.4 tclsh wish",
             _SCRIPTED),
    **_named("scala clisp ecl racket ocaml octave gnuplot groovy elixir janet", _SCRIPTED),
    **_named("julia", _program("-e --eval -E --print", values="-L --load -J -C -O -p -t", stays="-i")),
    **_named("guile", _program("-c -s -e", values="-L -l -x")),
    **_named("clojure clj", _program("-e --eval -M -X -T -m", values="-J -A")),
    **_named("sbcl", _program("--script --non-interactive --quit", values="--eval --load", operands=-1)),
    **_named("swipl", _program("-t --goal", values="-g -l -s", operands=-1)),
    **_named("iex erl", _program("-noshell -noinput", operands=-1, bundle=False)),
    **_named("irb pry ghci utop jshell groovysh maxima gp bpython ptpython cling evcxr", _program("-e --eval")),
    **_named("R", _program("-e -f --file", values="--args -g -d")),
    **_named("php php-cli", _program("-r --run -f --file -S -l -m -i", values="-d -c -z", stays="-a --interactive",
                                     listens="tinker")),
    **_named("artisan", _verbs("tinker")),
    **_named("psql pgcli mysql mariadb mycli cqlsh clickhouse-client mongo mongosh sqlplus influx", _SQL),
    **_named("sqlite3 sqlite litecli duckdb", _FILE_SQL),
    **_named("redis-cli valkey-cli", _program("--eval --scan --bigkeys --pipe --stat --latency",
                                              values="-h -p -a -n -u -s --user --pass")),
    **_named("ssh autossh slogin dbclient tsh mosh", _REMOTE),
    **_named("sftp", _program("-b", values="-B -c -D -F -i -J -l -o -P -R -S -s -X", operands=-1)),
    **_named("ftp lftp telnet rlogin rsh", _program("-c -e -f", operands=2)),
    **_named("gdb lldb dlv", _program("--batch -batch -b", values="-ex --ex -eval-command -x -o", operands=-1,
                                      bundle=False)),
    **_named("dc ed ex", _program("-e -f --expression --file", operands=1)),
    **_named("vi vim nvim view vimdiff gvim kak hx emacs", _TEXT),
    **_named("less more most man", _ALWAYS),
    **_named("tmux", _verbs("new new-session attach a at attach-session", alone=True, never="-d -V")),
    **_named("screen", _program("-ls -list -wipe -X -dm -dmS -Q", values="-S -c -t", stays="-r -x -R",
                                bundle=False)),
    **_named("script", _program("-c --command", operands=1)),
    **_named("byobu zellij dtach abduco", _program(operands=0)),
    **_named("chroot", _program(values="--userspec --groups", operands=1)),
    **_named("unshare nsenter newgrp login", _program(operands=1)),
    **_named("npx npm pnpm yarn bunx", _verbs("explore")),
    **_named("poetry pipenv hatch pdm pixi devbox flask manage.py django-admin",
             _verbs("shell shell_plus dbshell")),
    **_named("rails", _verbs("console c dbconsole db")),
    **_named("nix", _verbs("develop shell repl", never="-c --command")),
    **_named("nix-shell", _program("--run --command", values="-p -A -I", operands=-1)),
    **_named("sbt", _verbs("console", alone=True)),
    **_named("docker podman nerdctl kubectl oc", _verbs("attach debug")),
    **_named("vagrant multipass lxc incus", _verbs("ssh shell console")),
}  # fmt: skip


def waits_for_typing(ran: Ran) -> bool:
    """Whether a command that would run takes its orders from what is typed into the terminal afterwards."""
    if not ran.on_terminal:
        return False
    if ran.name.startswith(("python", "pypy", "ipython")) or ran.name == "py":
        return _PYTHON.waits(ran.args) or _module_of(ran.args) in _PYTHON_MODULES
    if ran.name == "ssh" and any(arg.startswith("git@") for arg in ran.args):
        return False  # a server of repositories, which gives nobody a shell
    row = _PROGRAMS.get(ran.name)
    return row is not None and row.waits(ran.args)


def _module_of(args: Iterable[str]) -> str:
    """What `python -m` runs."""
    took = parse([Word(text) for text in args], values=("-c", "-m", "-W", "-X"), stop=True)
    module = took.value("-m")
    return "" if module is None else module.text
