"""Commands that run another command given as words: `timeout 5 rm x` is `rm x`. Data first; odd ones have a handler."""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.environment import run_with, show_environment
from interpose.effects.programs.shared.peel import Peeled, Wrapper, assignments, peel, run_inner

_NONE = Wrapper()
_LOOSE = Wrapper(loose=True)
_LOOSE_ONE = Wrapper(loose=True, skip=1)

WRAPPERS: dict[str, Wrapper] = {
    "nohup": _NONE,
    "timeout": Wrapper(flags="vfp", values="sk", long=("foreground", "preserve-status", "verbose"),
                       long_values=("signal", "kill-after"), skip=1),
    "gtimeout": Wrapper(flags="vfp", values="sk", long=("foreground", "preserve-status", "verbose"),
                        long_values=("signal", "kill-after"), skip=1),
    "nice": Wrapper(flags="0123456789", values="n", long_values=("adjustment",)),
    "ionice": Wrapper(flags="t", values="cnpPu", long=("ignore",), only=("-p", "-P", "-u", "--pid"),
                      long_values=("class", "classdata", "pid", "pgid", "uid")),
    "chrt": Wrapper(flags="abdfiormvR", values="TPDp", skip=1, only=("-m", "-p", "--pid", "--max"),
                    long=("batch", "deadline", "fifo", "idle", "other", "rr", "all-tasks", "max", "verbose",
                          "reset-on-fork"),
                    long_values=("sched-runtime", "sched-period", "sched-deadline", "pid")),
    "setsid": Wrapper(flags="cfw", long=("ctty", "fork", "wait")),
    "stdbuf": Wrapper(values="ioe", long_values=("input", "output", "error")),
    "unbuffer": Wrapper(flags="p"),
    "choom": Wrapper(values="np", long_values=("adjust", "pid"), only=("-p", "--pid")),
    "prlimit": Wrapper(flags="v", values="p", attached="cdefilmnqrstuvxyC", only=("-p", "--pid"),
                       long=("verbose", "noheadings", "raw", "as", "core", "cpu", "data", "fsize", "locks", "memlock",
                             "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"),
                       long_values=("pid", "output")),
    "time": Wrapper(flags="apqvl", values="fo", long=("append", "portability", "quiet", "verbose"),
                    long_values=("format", "output")),
    "gtime": Wrapper(flags="apqv", values="fo", long=("append", "portability", "quiet", "verbose"),
                     long_values=("format", "output")),
    "chroot": Wrapper(flags="nu", skip=1, long=("skip-chdir",), values="gG", long_values=("userspec", "groups")),
    "unshare": Wrapper(flags="rfc", attached="muinpUCT", values="RSGw",
                       long=("mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "fork", "map-root-user",
                             "map-current-user", "map-auto", "mount-proc", "keep-caps", "kill-child"),
                       long_values=("map-user", "map-group", "map-users", "map-groups", "propagation", "setgroups",
                                    "root", "wd", "setuid", "setgid", "monotonic", "boottime")),
    "nsenter": Wrapper(flags="aFZe", attached="muinpCTUrwW", values="tSG",
                       long=("all", "mount", "uts", "ipc", "net", "pid", "cgroup", "user", "time", "root", "wd", "wdns",
                             "preserve-credentials", "no-fork", "follow-context", "env", "join-cgroup"),
                       long_values=("target", "setuid", "setgid")),
    "strace": Wrapper(flags="fFcCdhiknqrTtvVwxyYzZD", values="oepPsuabEIOSUX",
                      long=("follow-forks", "quiet", "summary", "summary-only", "timestamps", "debug", "no-abbrev",
                            "output-append-mode", "string-limit", "syscall-times", "decode-fds", "tips", "stack-traces",
                            "seccomp-bpf", "failed-only", "successful-only", "output-separately", "strings-in-hex",
                            "color"),
                      long_values=("output", "trace", "attach", "expr", "user", "env", "trace-path", "status",
                                   "columns", "abbrev", "verbose", "raw", "signal", "inject", "fault",
                                   "const-print-style")),
    "ltrace": Wrapper(flags="bcCfhiLSrtTVw", values="aAdDeFlnopsux",
                      long_values=("align", "output", "where", "library", "config", "indent")),
    "valgrind": _LOOSE,
    "systemd-inhibit": Wrapper(long=("list", "no-pager", "no-legend"), long_values=("what", "who", "why", "mode"),
                               only=("--list",)),
    "systemd-cat": Wrapper(values="tp", long_values=("identifier", "priority", "stderr-priority", "level-prefix",
                                                     "namespace")),
    "firejail": _LOOSE,
    "proot": Wrapper(flags="0SwVh", values="rbqwvkiRS", long_values=("rootfs", "bind", "qemu", "pwd", "cwd", "verbose",
                     "kernel-release", "change-id"), long=("root-id", "kill-on-exit", "link2symlink")),
    "fakeroot": Wrapper(flags="uh", values="lfsib", long=("unknown-is-real",), long_values=("lib", "faked", "fd-base")),
    "xvfb-run": Wrapper(flags="ahlw", values="efnps", long=("auto-servernum", "listen-tcp"),
                        long_values=("error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait")),
    "dbus-run-session": Wrapper(long_values=("config-file", "dbus-daemon")),
    "dbus-launch": _LOOSE,
    "caffeinate": Wrapper(flags="dimsu", values="tw"),
    "arch": Wrapper(loose=True, bundle=False),
    "linux32": _LOOSE, "linux64": _LOOSE, "i386": _LOOSE, "x86_64": _LOOSE,
    "numactl": Wrapper(flags="lsHc", values="NmiCpP", long=("localalloc", "hardware", "show", "all"), only=("-s", "-H"),
                       long_values=("cpunodebind", "physcpubind", "membind", "interleave", "preferred")),
    "setpriv": Wrapper(flags="d", long=("dump", "no-new-privs", "nnp", "clear-groups", "keep-groups", "init-groups",
                                        "reset-env", "list-caps"),
                       long_values=("reuid", "regid", "ruid", "euid", "rgid", "egid", "groups", "inh-caps",
                                    "ambient-caps", "bounding-set", "securebits", "pdeathsig", "selinux-label",
                                    "apparmor-profile", "landlock-access", "landlock-rule")),
    "cgexec": Wrapper(flags="s", values="g", long=("sticky",)),
    "torify": _LOOSE, "torsocks": _LOOSE, "tsocks": _LOOSE, "chronic": _LOOSE, "ifne": _LOOSE, "eatmydata": _LOOSE,
    "catchsegv": _LOOSE, "dumb-init": _LOOSE, "nocache": _LOOSE, "trickle": Wrapper(flags="sv", values="dutlLnpwN"),
    "proxychains": Wrapper(flags="q", values="f"), "proxychains4": Wrapper(flags="q", values="f"),
    "tini": Wrapper(flags="sgvw", values="pe"),
    "faketime": Wrapper(flags="m", values="fp", skip=1),
    "retry": Wrapper(values="dtb", long_values=("delay", "times", "until", "while"), long=("backoff",)),
    "envdir": _LOOSE_ONE,
    "runcon": Wrapper(flags="c", values="turl", skip=1, long_values=("type", "user", "role", "range")),
    "setlock": _LOOSE_ONE,
    "daemonize": Wrapper(flags="av", values="ceolpuE"),
    "rlwrap": Wrapper(loose=True),
    "daemon": Wrapper(flags="frisvU", loose=True,
                      values="nXPDMEulbodeF", long_values=("name", "command", "pidfile", "output", "stdout", "stderr",
                                                           "errlog", "user", "chdir", "umask", "env", "attempts",
                                                           "delay", "limit")),
    "kde-inhibit": _LOOSE,
    "cpulimit": Wrapper(flags="bfikmqrsvz", values="celpP", long=("background", "foreground", "include-children",
                        "kill", "monitor-forks", "quiet", "restore", "signal", "verbose", "lazy"),
                        long_values=("cpu", "exe", "limit", "pid", "path")),
    **dict.fromkeys(("run-one", "run-this-one", "run-one-constantly", "run-one-until-success",
                     "run-one-until-failure", "keep-one-running"), _NONE),
    **dict.fromkeys(("gamemoderun", "mangohud", "optirun", "primusrun", "prime-run", "niceload", "heaptrack",
                     "rootlesskit", "softlimit", "noglob", "nocorrect", "memusage",
                     "systemd-nspawn", "pty-run", "proxychains-ng", "usewithtor", "withproxy"), _LOOSE),
    **dict.fromkeys(("lckdo", "with-lock-ex", "envuidgid", "repeat"), _LOOSE_ONE),
    "chpst": Wrapper(flags="PvV012", values="uUbenmodcfrpt/"),
    "schroot": Wrapper(flags="qvap", values="cnudsof", long=("preserve-environment", "quiet", "verbose", "all",
                       "run-session", "begin-session", "end-session", "list", "info", "automatic-session"),
                       long_values=("chroot", "user", "directory", "shell", "option", "session-name"),
                       only=("-l", "--list", "-i", "--info", "--end-session", "--begin-session")),
    "runlim": _LOOSE,
    "systemd-run": Wrapper(flags="dGPqrtS", values="HMpuE", loose=True,
                           long_values=("unit", "property", "description", "slice", "uid", "gid", "nice", "host",
                                        "machine", "working-directory", "setenv", "on-active", "on-boot", "on-calendar",
                                        "service-type")),
}  # fmt: skip


def _wrapper(name: str, spec: Wrapper) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        peeled = peel(inv.args, spec, low)
        if not peeled.informs:
            run_inner(peeled.inner, low, name)

    return run


for _name, _spec in WRAPPERS.items():
    command(_name)(_wrapper(_name, _spec))


_TASKSET = Wrapper(flags="acp", long=("all-tasks", "cpu-list", "pid"), only=("-p", "--pid"))


@command("taskset")
def taskset(inv: Invocation, low: Lowering) -> None:
    """The mask or list of processors is an operand, unless it is attached to `--cpu-list`."""
    peeled = peel(inv.args, _TASKSET, low)
    if not peeled.informs:
        run_inner(peeled.inner[0 if peeled.options.values("--cpu-list") else 1 :], low, "taskset")


_ARCHITECTURES = ("linux", "i386", "i486", "i586", "i686", "x86_64", "amd64", "athlon", "arm", "aarch64", "ppc", "s390",
                  "mips", "sparc", "riscv", "ia64", "alpha", "parisc", "uname26")  # fmt: skip


@command("setarch")
def setarch(inv: Invocation, low: Lowering) -> None:
    """Options stand in front of the architecture, which may be left out, and behind it."""
    inner = peel(inv.args, _LOOSE, low).inner
    if inner and inner[0].text.startswith(_ARCHITECTURES):
        inner = peel(inner[1:], _LOOSE, low).inner
    run_inner(inner, low, "setarch")


_ENV = Wrapper(flags="i0v", values="uCPSa", long=("ignore-environment", "null", "debug", "list-signal-handling",
               "block-signal", "default-signal", "ignore-signal"), long_values=("unset", "chdir", "split-string",
                   "argv0"))  # fmt: skip


@command("env", "genv")
def env(inv: Invocation, low: Lowering) -> None:
    peeled = peel(tuple(word for word in inv.args[:1] if word.text != "-") + inv.args[1:], _ENV, low)
    if peeled.informs:
        return
    cwd = low.cwd
    if directory := peeled.options.value("-C", "--chdir"):
        low.set_cwd(directory)
    _env_run(inv, peeled, low)
    if low.cwd != cwd:
        low.set_cwd(cwd)


def _env_run(inv: Invocation, peeled: Peeled, low: Lowering) -> None:
    split = peeled.options.value("-S", "--split-string")
    if split is not None:
        _env_split(split, peeled.inner, low)
        return
    given, inner = assignments(peeled.inner)
    if inner and inner[0].text == "--":
        inner = inner[1:]
    if inner:
        run_with(given, inner, low, "env")
    elif not peeled.options.has("-i", "--ignore-environment"):
        show_environment(inv, low)


def _env_split(text: Word, rest: tuple[Word, ...], low: Lowering) -> None:
    try:
        words = tuple(Word(part, text.span, taints=text.taints) for part in shlex.split(text.text))
    except ValueError:
        low.emit("opaque", text.text, certainty="unknown", at=text, rule="unclear-wrapper")
        return
    if words:
        low.run((Word("env"), *words, *rest), via="env")


@command("printenv")
def printenv(inv: Invocation, low: Lowering) -> None:
    if any(not word.text.startswith("-") for word in inv.args):
        low.output(Stream(taints=frozenset({"env"})))
    elif not any(word.text in ("--help", "--version") for word in inv.args):
        show_environment(inv, low)


@command("busybox", "toybox", "coreutils")
def applet(inv: Invocation, low: Lowering) -> None:
    if inv.args and not inv.args[0].text.startswith("-"):
        low.run(inv.args, via=inv.name)
    elif inv.args and inv.args[0].text.startswith("--coreutils-prog"):
        name = replace(inv.args[0], text=inv.args[0].text.partition("=")[2])
        low.run((name, *inv.args[1:]), via=inv.name)


@command(*(f"zf_{name}" for name in ("rm", "rmdir", "mv", "ln", "chmod", "chown", "chgrp", "mkdir", "sync")))
def of_zsh(inv: Invocation, low: Lowering) -> None:
    """The commands of the module `zsh/files`."""
    low.run((replace(inv.argv0, text=inv.name[3:]), *inv.args), via=inv.name)


_COMMAND = Wrapper(flags="pvV")


@command("command")
def command_builtin(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _COMMAND, low)
    if not peeled.options.has("-v", "-V"):
        run_inner(peeled.inner, low, "command")
    elif any(word.text.startswith("-") for word in peeled.inner):
        low.emit("opaque", "command", certainty="unknown", rule="unclear-wrapper",
                 reason="`command -v` only looks names up, but this reads like a command to be run")  # fmt: skip
    elif peeled.options.has("-v"):
        low.run((Word("which"), *peeled.inner), via="command")


@command("capsh")
def capsh(inv: Invocation, low: Lowering) -> None:
    """What stands behind `--` are the arguments of a shell."""
    texts = [word.text for word in inv.args]
    if "--" in texts:
        low.run((Word("bash"), *inv.args[texts.index("--") + 1 :]), via="capsh")


@command("builtin")
def builtin(inv: Invocation, low: Lowering) -> None:
    words = inv.args[1:] if inv.args and inv.args[0].text == "--" else inv.args
    run_inner(words, low, "builtin")


_EXEC = Wrapper(flags="cl", values="a")


@command("exec")
def exec_builtin(inv: Invocation, low: Lowering) -> None:
    run_inner(peel(inv.args, _EXEC, low).inner, low, "exec")


_FLOCK = Wrapper(flags="senxuoFv", values="wEc", skip=1, long=("shared", "exclusive", "nonblock", "nb", "unlock",
    "close",
                 "no-fork", "verbose"), long_values=("timeout", "wait", "conflict-exit-code", "command"))  # fmt: skip


@command("flock")
def flock(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _FLOCK, low)
    if peeled.informs:
        return
    code = peeled.options.value("-c", "--command")
    if peeled.inner and peeled.inner[0].text in ("-c", "--command"):
        code = peeled.inner[1] if len(peeled.inner) > 1 else None
    if code is not None:
        low.shell(code, via="flock", dialect="sh")
    else:
        run_inner(peeled.inner, low, "flock")
