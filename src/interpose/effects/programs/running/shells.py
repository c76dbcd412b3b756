"""Shells: code after `-c`, a script file, or whatever flows in through stdin."""

from __future__ import annotations

import base64
import binascii
from itertools import pairwise

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.running.launchers import joined
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.peel import Wrapper, input_as_code, peel, run_inner

POSIX_SHELLS = (
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "mksh",
    "rbash",
    "rzsh",
    "ksh93",
    "pdksh",
    "yash",
    "oksh",
    "hush",
    "osh",
)

_INFORM = ("--help", "--version")


@command(*POSIX_SHELLS)
def posix_shell(inv: Invocation, low: Lowering) -> None:
    options = parse(
        inv.args, values=("-o", "-O", "+o", "+O", "--rcfile", "--init-file", "--emulate"), stop=True, plus=True
    )
    if options.has(*_INFORM):
        return
    for path in options.values("--rcfile", "--init-file"):
        low.run_file(path, via=inv.name)
    if _only_checks(inv.args):
        return
    dialect = inv.name if inv.name in ("zsh", "ksh") else ("bash" if inv.name in ("bash", "rbash") else "sh")
    operands = options.operands
    if options.has("-c"):
        if operands:
            input_as_code(operands[0], low)
            low.shell(operands[0], via=inv.name, args=operands[1:], dialect=dialect)
            if len(operands) > 1 and operands[0].text.isalpha():
                # Only the first word is code. Whoever writes `sh -c rm -rf x` means all of it: so do we.
                low.run(operands, via=inv.name)
    elif options.has("-s") or not operands or operands[0].text == "-":
        if inv.stdin is not None:
            low.shell(inv.stdin, via=inv.name, args=(Word(inv.name), *operands), dialect=dialect)
        elif _as_another_user(low.via):
            root_shell(low, "root")
    else:
        low.run_file(operands[0], via=inv.name)
        code_behind(operands, ("-c", "-lc", "-ec"), low, inv.name, "bash")


def code_behind(operands: tuple[Word, ...], options: tuple[str, ...], low: Lowering, via: str, language: str) -> None:
    """A first operand that is not known may be an option, and then what follows is no argument but code."""
    if operands and not operands[0].known:
        for before, word in pairwise(operands):
            if before.text in options:
                low.suspect(word, via=via, language=language)


def _as_another_user(via: tuple[str, ...]) -> bool:
    """Whether a shell opened through these wrappers is one of another user on this machine."""
    names = [wrapper.partition(" ")[0] for wrapper in via]
    return not _PRIVILEGED.isdisjoint(names) and _ELSEWHERE.isdisjoint(names)


_PRIVILEGED = frozenset({"sudo", "sudo-rs", "run0", "please", "doas", "pkexec", "su", "runuser", "gosu", "su-exec"})
_ELSEWHERE = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "ssh", "lxc", "incus", "vagrant", "multipass"})


def root_shell(low: Lowering, user: str) -> None:
    """State that a shell of another user is opened."""
    low.emit(  # noqa: S604 - a detail of an effect, nothing is run
        "privilege",
        user,
        shell=True,
        rule="root-shell",
        reason="This opens a shell of another user in which anything can run",
    )


def _only_checks(args: tuple[Word, ...]) -> bool:
    """`-n` reads commands without running them, unless a later `+n` takes that back or the shell is interactive."""
    only = False
    for word in args:
        text = word.text
        if text[:1] not in ("-", "+") or text == "--":
            break
        if text in ("--no-exec", "--noexec"):
            only = True
        elif not text.startswith("--") and "n" in text:
            only = text[0] == "-"
    return only


@command("fish", "csh", "tcsh", "xonsh", "nu", "elvish", "rc", "es", "ion", "murex", "scsh")
def other_shell(inv: Invocation, low: Lowering) -> None:
    options = parse(
        inv.args, values=("-c", "--command", "--commands", "-C", "--init-command", "-o", "-d", "-D", "-f"), stop=True
    )
    if options.has(*_INFORM, "-v", "-n", "--no-execute"):
        return
    code = options.values("-C", "--init-command", "-c", "--command", "--commands")
    for text in code:
        if inv.name == "nu":  # a caret only says that a program is meant
            text = Word(text.text.replace("^", ""), text.span, taints=text.taints)
        low.shell(text, via=inv.name, args=options.operands, dialect=inv.name)
    if code:
        return
    if options.operands and options.operands[0].text != "-":
        low.run_file(options.operands[0], via=inv.name)
    elif inv.stdin is not None:
        low.shell(inv.stdin, via=inv.name, dialect=inv.name)


_POWERSHELL_VALUES = ("executionpolicy", "ep", "windowstyle", "inputformat", "outputformat", "version",
                      "workingdirectory", "wd", "psconsolefile", "configurationname", "custompipename", "settingsfile",
                      "configurationfile")  # fmt: skip


@command("powershell", "pwsh", "powershell_ise", "pwsh-preview")
def powershell(inv: Invocation, low: Lowering) -> None:
    """PowerShell takes any unambiguous beginning of an option's name, in any case, after `-` or `/`."""
    index = 0
    while index < len(inv.args):
        word = inv.args[index]
        rest = inv.args[index + 1 :]
        name = word.text.lower().lstrip("-/")
        if word.text[:1] not in ("-", "/") or not name:
            _powershell_operand(inv, inv.args[index:], low)
            return
        index += 1
        if name == "c" or (len(name) > 2 and "command".startswith(name)) or name == "commandwithargs" or name == "cwa":
            _powershell_code(inv, rest, low)
            return
        if name in ("e", "ec") or (len(name) > 1 and "encodedcommand".startswith(name)):
            _powershell_encoded(rest, low)
            return
        if len(name) > 0 and "file".startswith(name):
            if rest and rest[0].text != "-":
                low.run_file(rest[0], via=inv.name, language="powershell")
                return
            _powershell_code(inv, (), low)
            return
        if any(known.startswith(name) for known in _POWERSHELL_VALUES) and not "version".startswith(name):
            index += 1
        elif name in ("help", "?", "h", "version", "v"):
            return
    _powershell_code(inv, (), low)


def _powershell_operand(inv: Invocation, words: tuple[Word, ...], low: Lowering) -> None:
    if words[0].text.lower().endswith(".ps1"):
        low.run_file(words[0], via=inv.name, language="powershell")
    else:
        low.code("powershell", joined(words), via=inv.name)


def _powershell_code(inv: Invocation, words: tuple[Word, ...], low: Lowering) -> None:
    if words and words[0].text != "-":
        low.code("powershell", joined(words), via=inv.name)
    elif inv.stdin is not None:
        low.code("powershell", inv.stdin, via=inv.name)


def _powershell_encoded(words: tuple[Word, ...], low: Lowering) -> None:
    if not words:
        return
    low.emit("opaque", "encoded command", certainty="possible", at=words[0], rule="encoded-command",
             reason="The command is encoded so that a reader cannot see what runs")  # fmt: skip
    try:
        text = base64.b64decode(words[0].text, validate=False).decode("utf-16-le", "replace")
    except (ValueError, binascii.Error):
        return
    low.code("powershell", Word(text, words[0].span, taints=words[0].taints), via="encoded command")


@command("cmd", "command.com")
def cmd(inv: Invocation, low: Lowering) -> None:
    for index, word in enumerate(inv.args):
        text = word.text.lower().replace("//", "/")
        if text[:2] in ("/c", "/k", "/r"):
            rest = inv.args[index + 1 :]
            if len(text) > 2:
                rest = (Word(word.text[len(word.text) - len(text) + 2 :], word.span), *rest)
            if rest:
                low.code("cmd", joined(rest), via="cmd")
            return
        if not text.startswith("/"):
            return
    if inv.stdin is not None:
        low.code("cmd", inv.stdin, via="cmd")


_WSL = Wrapper(values="du", flags="el", bundle=False, long=("exec", "list", "shutdown", "install", "update", "status"),
               long_values=("distribution", "user", "cd", "unregister", "terminate", "set-default", "export", "import",
                            "shell-type"))  # fmt: skip


@command("wsl")
def wsl(inv: Invocation, low: Lowering) -> None:
    peeled = peel(inv.args, _WSL, low)
    if name := peeled.options.value("--unregister"):
        low.emit("data.destroy", name.text, at=name, rule="wsl-unregister",
                 reason="Unregistering a distribution deletes its whole file system")  # fmt: skip
    run_inner(peeled.inner, low, "wsl")


@command("ztcp")
def ztcp(inv: Invocation, low: Lowering) -> None:
    """zsh's own socket: a shell that is wired to one is a reverse shell."""
    if inv.args:
        reverse_shell(low, inv.args[0].text)


def reverse_shell(low: Lowering, where: str) -> None:
    """A shell or program is handed to somebody on the network."""
    low.emit("code.remote", where, rule="reverse-shell", wide=True,
             reason="This hands control of a shell to somebody on the network")  # fmt: skip
