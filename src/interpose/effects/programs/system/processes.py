"""Ending processes: which ones, and how many at once."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import NOTHING, RANGE, UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.paths import held
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs
from interpose.effects.programs.shared.watchers import (
    AT_OUR_PORT,
    KEEPER,
    LISTENERS,
    OURS,
    WATCHER,
    names_keeper,
    names_our_port,
    names_our_process,
    names_watcher,
    watched_by,
)

_EVERY = frozenset({"every-process"})
_BY_BROAD_NAME = frozenset({"broad-name"})
"""Taints the numbers of processes that were found by a name under which more runs than the agent started."""
_BROAD = words(
    """
    python python2 python3 node java ruby perl php bun deno sh bash zsh fish dash ksh ssh sshd tmux screen nginx apache2
    httpd postgres mysqld mariadbd mongod redis-server docker dockerd containerd kubelet systemd init launchd cron crond
    chrome chromium firefox safari code electron xorg xwayland gnome-shell kwin finder dock windowserver sudo login
    networkmanager dbus-daemon pulseaudio pipewire rsyslogd auditd claude codex gemini cursor
    """
)
"""Names under which more runs than the agent started."""


_HARD = frozenset({"-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "9"})


@command("kill")
def kill(inv: Invocation, low: Lowering) -> None:
    """`-1` as a target is every process; as an option it is a signal."""
    args = list(inv.args)
    hard = any(word.text.upper() in _HARD for word in args[:2])
    if args and args[0].text in ("-l", "-L", "-t", "--list", "--table", "-0", "--help", "--version"):
        return
    if args and args[0].text in ("-s", "-n", "-q", "--signal", "-q"):
        if len(args) > 1 and args[1].text in ("0", "EXIT"):
            return
        args = args[2:]
    elif args and args[0].text.startswith("-") and len(args) > 1:
        args = args[1:]
    for word in args:
        if word.text != "--":
            _kill(word, low, hard=hard)


def _kill(target: Word, low: Lowering, *, hard: bool) -> None:
    text = target.text
    if text == "-1":
        low.emit("process.kill", text, at=target, rule="kill-all", wide=True)
    elif text == "1":
        low.emit(
            "process.kill", text, at=target, rule="kill-init", reason="Ends the first process, and the machine with it."
        )
    elif target.taints & WATCHER or (text.lstrip("-").isdecimal() and int(text.lstrip("-")[:18]) in held().processes):
        _state_watcher(target, low, ours=not target.taints & WATCHER or bool(target.taints & OURS))
    elif target.taints & AT_OUR_PORT:
        _state_port(target, low)
    elif target.taints & (_EVERY | RANGE) or any(mark in text for mark in "*?["):
        low.emit("process.kill", "all", at=target, rule="kill-all", wide=True)
    elif target.taints & _BY_BROAD_NAME:
        low.emit("process.kill", text, at=target, rule="kill-by-name",
                 reason="Ends every process of a name that more has than what was started here.")  # fmt: skip
    elif UNKNOWN in text:
        low.emit("process.kill", text, certainty="unknown", at=target, recoverable=True)
    elif hard and text.isdecimal():
        low.emit("process.kill", text, at=target, rule="kill-hard", instead=f"kill {text}",
                 reason="Ends a process at once, so that it cannot save or clean up")  # fmt: skip
    else:
        low.emit("process.kill", text, at=target, recoverable=True)


@command("ps")
def ps(inv: Invocation, low: Lowering) -> None:
    """`e` among the options without a dash shows the environment of every process."""
    first = inv.args[0].text if inv.args else ""
    opts = parse(inv.args, values=("-o", "-p", "-u", "-U", "-C", "-t", "-g", "-q", "-G"), aliases={"--format": "-o"})
    columns = [word.text.partition("=")[0] for word in opts.values("-o")]
    for names in opts.values("-C"):  # finds processes by their names, as pgrep does
        low.output(Stream(taints=watched_by(names.text)))
    if columns == ["pid"] and opts.has("-e", "-A", "-a", "-x", "-u", "-U") and not opts.has("-p", "-C", "--ppid", "-g"):
        low.output(Stream(taints=_EVERY))
    if first.isalpha() and "e" in first and set(first) <= _PS_LETTERS:
        low.output(Stream(taints=frozenset({"env", "secret"})))
        low.emit("secret.read", "environment", certainty="possible", rule="environment-dump",
                 reason="Prints the environment of processes, with the tokens and passwords in it")  # fmt: skip


@command("pgrep", "pidof", "pidwait")
def find_process(inv: Invocation, low: Lowering) -> None:
    """Prints the numbers of processes. Whose they are is remembered, for whoever ends them."""
    opts = parse(inv.args, values=_PKILL_VALUES)
    said = " ".join(word.text for word in opts.operands)
    taints = watched_by(said) | (KEEPER if names_keeper(said) else NOTHING)
    whole_lines = opts.has("--full") or any(name[:2] != "--" and "f" in name for name, _ in opts.given)
    if whole_lines and any(_could_be_ours(word.text) for word in opts.operands):
        taints |= WATCHER | OURS
    if any(_is_broad(word) for word in opts.operands) or (not opts.operands and opts.given):
        taints |= _BY_BROAD_NAME
    low.output(Stream(taints=taints))


@command("lsof", "ss", "netstat")
def lsof(inv: Invocation, low: Lowering) -> None:
    """Shows who has what open. Who listens where our server does is remembered, for whoever ends it."""
    here = any(names_our_port(word.text.rstrip(" )")) for word in inv.args if ":" in word.text)
    low.output(Stream(taints=AT_OUR_PORT if here else LISTENERS))


def _state_watcher(target: Word, low: Lowering, *, ours: bool) -> None:
    low.emit("guard.tamper", target.text, at=target, ours=ours, rule="guard-kill",
             reason="Ends or stops what watches over the agent.")  # fmt: skip


def _state_port(target: Word, low: Lowering) -> None:
    # Another program may have the port, unless this process is the server.
    low.emit("guard.tamper", target.text, certainty="proven" if held().processes else "possible", at=target, ours=True,
             rule="guard-kill", reason="Ends what listens at the port of the guard's server.")  # fmt: skip


_PS_LETTERS = frozenset("aceflmjrsTuvwxX")

_PKILL_VALUES = words(
    """
    -u -U -g -G -P -s -t -F -r --signal --euid --uid --group --parent --session --terminal --pidfile --ns --runstates
    --cgroup -O --older -d -o -y -Z --user -n -N
    """
)


@command("pkill", "killall", "skill", "slay", "killall5", "xkill", "fuser")
def by_name(inv: Invocation, low: Lowering) -> None:
    """Ends all processes of a name or of a user."""
    values = tuple(v for v in _PKILL_VALUES if v not in _FLAGS.get(inv.name, ()))
    opts = parse(inv.args, values=values, bundle=inv.name != "fuser")
    if informs(opts) or opts.has("-l", "--list", "-V"):
        return
    if inv.name == "fuser":
        if opts.has("-k", "--kill") or any(name.startswith("-k") for name, _ in opts.given):
            mounted = any(name[1:2] != "-" and "m" in name.lower() for name, _ in opts.given)
            low.emit("process.kill", opts.word(0), recoverable=not mounted, rule="kill-users" if mounted else "",
                     reason="Ends every process that has a file open there." if mounted else "")  # fmt: skip
            for port in opts.operands:
                if names_our_port(port.text):
                    _state_port(port, low)
        return
    if not opts.operands or inv.name == "slay":
        _by_user(inv, opts, low)
        return
    gentle = any(word.text in _GENTLE for word in inv.args)
    harmless = any(word.text in _HARMLESS for word in inv.args)
    for pattern in opts.operands:
        if not gentle or (not harmless and names_watcher(_bare(pattern))):
            _by_pattern(pattern, opts, low)
        else:
            low.emit("process.kill", pattern.text, at=pattern, recoverable=True)


_FLAGS = {
    "pkill": ("-n", "-o", "-N", "-y"),
    "killall": ("-g", "-r", "-d", "-v", "-P", "-t"),
    "fuser": ("-n", "-u", "-s"),
}


def _by_user(inv: Invocation, opts: Options, low: Lowering) -> None:
    if inv.name == "killall5":
        low.emit("process.kill", "all", rule="kill-all", wide=True)
    elif opts.has("-F", "--pidfile"):
        low.emit("process.kill", "", recoverable=True)
    elif opts.given or inv.name == "slay":
        low.emit("process.kill", "", rule="kill-user", reason="Ends every process of a user, group or terminal.")


_GENTLE = words("-0 -HUP -SIGHUP -USR1 -SIGUSR1 -USR2 -SIGUSR2 -CONT -SIGCONT -WINCH -SIGWINCH")
"""Signals that ask a program to look at its settings or to go on, and end nothing that listens to them."""
_HARMLESS = words("-0 -HUP -SIGHUP -CONT -SIGCONT -WINCH -SIGWINCH")
"""Those that do not end a program which does not listen, or that ours does listen to."""
_OUR_LINES = (
    "interpose serve", "python3 -m interpose serve --on-demand", "python -i -m interpose serve --on-demand",
    "interpose serve --port 8080",
)  # fmt: skip
_PLAIN_PATTERN = re.compile(r"\^?(?:[\w /:=-]|\[[^\]\\]{1,20}\]|\.\*|\.)+\$?")
"""Patterns that can be tried without taking long: nothing is repeated but any letter."""
_MOST_REPEATS = 4


def _bare(pattern: Word) -> str:
    return pattern.text.strip("^$.*").lower()


def _could_be_ours(pattern: str) -> bool:
    """Whether a pattern for whole command lines finds our server's."""
    pattern = pattern.lower()
    if pattern.count(".*") > _MOST_REPEATS or not _PLAIN_PATTERN.fullmatch(pattern):
        return False
    return any(re.search(pattern, line) for line in _OUR_LINES)


def _is_broad(pattern: Word) -> bool:
    """Whether more processes have such a name than those that were started here."""
    name = _bare(pattern)
    if len(name) < 3 or name.rstrip("0123456789.") in _BROAD or name in _BROAD:
        return True
    plain = pattern.text.count(".*") <= _MOST_REPEATS and _PLAIN_PATTERN.fullmatch(pattern.text) is not None
    special = any(mark in pattern.text for mark in "[.^$")
    return plain and special and any(re.fullmatch(pattern.text, each) for each in _INTERPRETERS)


_INTERPRETERS = ("python", "python3", "node", "interpose")


def _by_pattern(pattern: Word, opts: Options, low: Lowering) -> None:
    text, name = pattern.text, _bare(pattern)
    whole_lines = opts.has("--full") or any(option[:2] != "--" and "f" in option for option, _ in opts.given)
    if whole_lines and not names_watcher(name) and _could_be_ours(text):
        low.emit("guard.tamper", text, certainty="possible", at=pattern, ours=True, rule="guard-kill",
                 reason="This pattern also finds the guard's own server.")  # fmt: skip
    if names_watcher(name):
        _state_watcher(pattern, low, ours=names_our_process(name))
    elif _is_broad(pattern):
        low.emit("process.kill", text, at=pattern, rule="kill-by-name",
                 reason=f"Ends every process called {text}, not only those that were started here.")  # fmt: skip
    elif UNKNOWN in text:
        low.emit("process.kill", text, certainty="unknown", at=pattern, recoverable=not opts.has("-9"))
    else:
        low.emit("process.kill", text, at=pattern, recoverable=True)
