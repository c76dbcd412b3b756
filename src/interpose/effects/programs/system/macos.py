"""Tools of macOS that change the machine, its backups, its accounts and its protection."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.environment import assign
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.tool_acts import Act, ToolActs, each, perform

_SAFETY = Act("guard.tamper", "macos-protection", "Weakens a protection of macOS.")
_INDEX = Act("system", "index-change", "Erases or switches off the index of a volume.")
_LOGIN = Act("persistence", "login-item", "Changes what starts by itself at every login.")


_PLIST_CHANGES = re.compile(r"(?:add|set|delete|merge|import|clear|copy)\b", re.IGNORECASE)


@command("PlistBuddy", "plutil")
def plist(inv: Invocation, low: Lowering) -> None:
    """`-c 'Set :Key x' FILE` and `-replace key -bool YES FILE` change the file; the rest shows it."""
    if inv.name == "PlistBuddy":
        opts = parse(inv.args, values=("-c",), bundle=False)
        changes = any(_PLIST_CHANGES.match(word.text.strip()) for word in opts.values("-c"))
        changes = changes or (inv.stdin is not None and bool(_PLIST_CHANGES.search(inv.stdin.text or "Set")))
        files = opts.operands[:1]
    else:
        changes = any(word.text in ("-replace", "-insert", "-remove", "-create") for word in inv.args) or (
            any(word.text == "-convert" for word in inv.args)
            and not any(word.text in ("-o", "-e") for word in inv.args)
        )
        files = inv.args[-1:]
    for file in files:
        if changes:
            low.write(file, in_place=True)
        else:
            low.read(file)


@command("mdutil")
def index(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-i",))
    switched = opts.value("-i")
    if opts.has("-E", "-d", "-X") or (switched is not None and switched.text != "on"):
        low.emit(_INDEX.kind, " ".join(word.text for word in opts.operands), rule=_INDEX.rule, reason=_INDEX.reason)


@command("screencapture", "imagesnap")
def capture(inv: Invocation, low: Lowering) -> None:
    for word in parse(inv.args, values=("-t", "-T", "-R", "-l", "-D", "-B", "-w")).operands:
        low.write(word)


@command("shortcuts", "automator")
def automate(inv: Invocation, low: Lowering) -> None:
    operands = [word for word in inv.args if not word.text.startswith("-")]
    low.emit("process.exec", " ".join(word.text for word in operands[:2]) or inv.name, script=True)


@command("osacompile")
def compile_script(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-e", "-o", "-l"), bundle=False)
    for target in opts.values("-o"):
        low.write(target)
    for code in opts.values("-e"):
        low.code("osascript", code, via="osacompile")


_GUARDED = ("loginhook", "logouthook", "lsquarantine", "askforpassword", "gatekeeper", "automaticallyinstall",
            "automaticcheckenabled", "com.apple.alf", "globalstate", "disablefdeautologin", "autologinuser",
            "com.apple.security", "tccd", "launchagents", "launchdaemons", "criticalupdateinstall")  # fmt: skip
"""Settings that protect the machine, or make something run at login. In small letters."""
_DEFAULTS = ToolActs(
    verbs={
        **each(Act("data.destroy", "settings-delete", "Deletes settings of an application for good."),
        "delete delete-all"),
        **each(Act("system", "settings-change", "Changes a setting of an application.", recoverable=True),
               "write import rename"),
    },
    shows=words("read read-type domains find help export"),
    values=words("-host"),
    bundle=False,
)  # fmt: skip


@command("defaults")
def defaults(inv: Invocation, low: Lowering) -> None:
    perform(_DEFAULTS, inv, low)
    operands = [word.text.lower() for word in inv.args if not word.text.startswith("-")]
    named = " ".join(operands[1:4])
    if operands[:1] in (["write"], ["import"], ["rename"]) and any(name in named for name in _GUARDED):
        act = _LOGIN if "hook" in named or "launch" in named else _SAFETY
        low.emit(act.kind, named, rule=act.rule, reason=act.reason)


_LAUNCHCTL = ToolActs(
    verbs={
        **each(Act("persistence", "service-enable", "Makes a service start by itself from now on."),
               "load bootstrap enable submit config"),
        **each(Act("system", "service-stop", "Stops a service that others may rely on."),
               "unload bootout disable remove stop kill reboot unsetenv-all"),
        **each(Act("system", "service-start", "Starts or reloads a service.", recoverable=True),
               "start kickstart setenv unsetenv"),
    }
)  # fmt: skip


@command("launchctl")
def launchctl(inv: Invocation, low: Lowering) -> None:
    """`asuser` and `bsexec` run a command, `submit` has one run for ever."""
    verb = inv.args[0].text if inv.args else ""
    if verb in ("asuser", "bsexec"):
        low.run(inv.args[2:], via=f"launchctl {verb}")
        return
    if verb == "submit":
        texts = [word.text for word in inv.args]
        if "--" in texts:
            low.run(inv.args[texts.index("--") + 1 :], via="launchctl submit")
    elif verb == "setenv" and len(inv.args) > 2:
        assign(inv.args[1].text, inv.args[2], low)
    perform(_LAUNCHCTL, inv, low)
