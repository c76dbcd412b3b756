"""Commands that act as another user: sudo, doas, su and their kin."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.running.launchers import joined
from interpose.effects.programs.running.shells import root_shell
from interpose.effects.programs.shared.environment import run_with
from interpose.effects.programs.shared.peel import Wrapper, assignments, peel, run_inner

_SUDO = Wrapper(
    flags="AbBEeHiKklnNPSsVv",
    values="CDghpRrtTUuac",
    long=("askpass", "background", "bell", "preserve-env", "edit", "set-home", "login", "remove-timestamp", "list",
          "reset-timestamp", "no-update", "non-interactive", "preserve-groups", "stdin", "shell", "validate"),
    long_values=("close-from", "chdir", "group", "host", "prompt", "chroot", "role", "type", "command-timeout",
                 "other-user", "user", "auth-type", "login-class"),
    only=("-K", "-k", "-l", "-V", "-v", "--remove-timestamp", "--list", "--validate"),
)  # fmt: skip
_DOAS = Wrapper(flags="Lns", values="Cu", only=("-C", "-L"))
_SU = Wrapper(
    flags="flmpP", values="cgGswT",
    long=("login", "preserve-environment", "fast", "pty", "no-pty"),
    long_values=("command", "group", "supp-group", "shell", "session-command", "whitelist-environment"),
)  # fmt: skip
_RUNUSER = Wrapper(
    flags="flmpP", values="cgGsuwT",
    long=("login", "preserve-environment", "fast", "pty"),
    long_values=("command", "group", "supp-group", "shell", "session-command", "user", "whitelist-environment"),
)  # fmt: skip
_PKEXEC = Wrapper(long=("disable-internal-agent", "keep-cwd"), long_values=("user",))
_GOSU = Wrapper(skip=1)


def _rights(low: Lowering, who: str) -> None:
    low.emit("privilege", who, grants=True, rule="root-rights",
             reason="Looks up, renews or asks for the right to act as somebody else")  # fmt: skip


@command("sudo", "sudo-rs", "sudoedit", "run0", "please")
def sudo(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _SUDO, low)
    options = peeled.options
    user = options.value("-u", "--user")
    name = user.text if user else "root"
    only = options.has(*_SUDO.only) and not peeled.inner
    if only or options.has("--help", "--version"):
        if options.has("-l", "--list", "-v", "--validate"):
            _rights(low, name)
        return
    if inv.name == "sudoedit" or options.has("-e", "--edit"):
        low.emit("privilege", name)
        for path in peeled.inner:
            low.write(path)
        return
    given, inner = assignments(peeled.inner)
    if not inner:
        if options.has("-s", "-i", "--shell", "--login"):
            root_shell(low, name)
        elif inv.name != "sudoedit":
            _rights(low, name)
        return
    low.emit("privilege", name)
    if host := options.value("-h", "--host"):
        _rights(low, host.text)
    if options.has("-i", "--login"):
        root_shell(low, name)
    cwd = low.cwd
    if directory := options.value("-D", "--chdir"):
        low.set_cwd(directory)
    run_with(given, inner, low, inv.name)
    if low.cwd != cwd:
        low.set_cwd(cwd)


@command("doas")
def doas(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _DOAS, low)
    user = peeled.options.value("-u")
    name = user.text if user else "root"
    if peeled.informs:
        return
    if peeled.inner:
        low.emit("privilege", name)
        run_inner(peeled.inner, low, "doas")
    elif peeled.options.has("-s"):
        root_shell(low, name)


@command("su", "runuser")
def su(inv: Invocation, low: Lowering) -> None:
    """`su [options] [-] [user [arguments]]`: options may also follow the user, where they are su's as well."""
    login = tuple(word for word in inv.args if word.text != "-")
    peeled = peel(login, _RUNUSER if inv.name == "runuser" else _SU, low)
    if peeled.informs:
        return
    code = peeled.options.value("-c", "--command", "--session-command")
    user = peeled.options.value("-u", "--user")
    if user is not None:
        low.emit("privilege", user.text)
        run_inner(peeled.inner, low, inv.name)
        return
    rest = peeled.inner[1:]
    name = peeled.inner[0].text if peeled.inner else "root"
    arguments: tuple[Word, ...] = ()
    for index, word in enumerate(rest):
        if word.text in ("-c", "--command", "--session-command") and index + 1 < len(rest):
            code, arguments = rest[index + 1], rest[index + 2 :]
            break
        if word.text.startswith(("--command=", "--session-command=")):
            code = Word(word.text.partition("=")[2], word.span, taints=word.taints)
            break
        if word.text.startswith("-c") and len(word.text) > 2:
            code = Word(word.text[2:], word.span, taints=word.taints)
            break
    if code is None:
        root_shell(low, name)
        return
    low.emit("privilege", name)
    low.shell(code, via=inv.name, args=arguments)


@command("pkexec")
def pkexec(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _PKEXEC, low)
    if peeled.informs:
        return
    user = peeled.options.value("--user")
    name = user.text if user else "root"
    if not peeled.inner:
        root_shell(low, name)
        return
    low.emit("privilege", name)
    run_inner(peeled.inner, low, "pkexec")


_GKSU = Wrapper(flags="lkSwgma", values="umpd", loose=True, long_values=("user", "message", "description"))


@command("gksu", "gksudo", "kdesu", "kdesudo", "beesu")
def graphical(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _GKSU, low)
    if peeled.inner:
        low.emit("privilege", "root")
        low.shell(joined(peeled.inner), via=inv.name)


@command("gosu", "su-exec", "setuidgid")
def gosu(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _GOSU, low)
    if peeled.inner:
        low.emit("privilege", peeled.kept[0].text if peeled.kept else "root")
        run_inner(peeled.inner, low, inv.name)
