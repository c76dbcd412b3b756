"""Settings and variables that make git run a program: pagers, editors, ssh commands, filters, helpers, hooks.

Everyday programs (`core.pager=less`, `GIT_EDITOR=true`) pass. Anything else is read as the shell code that it is, and
stated as a program that git was told to run: nobody needs that for honest work, and it hides what really happens.
"""

from __future__ import annotations

from typing import Literal

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Lowering, Word
from interpose.effects.programs.git.calls import GitCall

Use = Literal["always", "transport", "hooks", "helper"]

_KEYS: dict[str, Use] = {
    "core.pager": "always",
    "core.editor": "always",
    "sequence.editor": "always",
    "core.fsmonitor": "always",
    "core.alternaterefscommand": "always",
    "core.sshcommand": "transport",
    "core.gitproxy": "transport",
    "core.askpass": "transport",
    "core.hookspath": "hooks",
    "diff.external": "always",
    "interactive.difffilter": "always",
    "gpg.program": "always",
    "gpg.ssh.defaultkeycommand": "always",
    "credential.helper": "helper",
    "uploadpack.packobjectshook": "always",
    "init.templatedir": "always",
    "include.path": "always",
    "sendemail.smtpserver": "always",
    "sendemail.tocmd": "always",
    "sendemail.cccmd": "always",
    "sendemail.headercmd": "always",
    "protocol.ext.allow": "transport",
}

_FAMILIES: tuple[tuple[str, tuple[str, ...], Use], ...] = (
    ("pager.", ("",), "always"),
    ("filter.", (".clean", ".smudge", ".process"), "always"),
    ("diff.", (".command", ".textconv"), "always"),
    ("merge.", (".driver",), "always"),
    ("difftool.", (".cmd", ".path"), "always"),
    ("mergetool.", (".cmd", ".path"), "always"),
    ("gpg.", (".program",), "always"),
    ("trailer.", (".cmd", ".command"), "always"),
    ("browser.", (".cmd", ".path"), "always"),
    ("man.", (".cmd", ".path"), "always"),
    ("guitool.", (".cmd",), "always"),
    ("tar.", (".command",), "always"),
    ("hook.", (".command",), "always"),
    ("includeif.", (".path",), "always"),
    ("lfs.customtransfer.", (".path",), "always"),
    ("credential.", (".helper",), "helper"),
    ("remote.", (".uploadpack", ".receivepack", ".vcs"), "transport"),
)

_CONNECTION_VARIABLES = frozenset({
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS",
})  # fmt: skip
"""What they run is read where all variables are (environment.py); with a command that connects, git really runs it."""

_HOOK_SWITCHES = {"LEFTHOOK": frozenset({"0", "false"}), "OVERCOMMIT_DISABLE": frozenset({"1"})}

_TRANSPORT = frozenset({
    "fetch", "pull", "push", "clone", "ls-remote", "fetch-pack", "send-pack", "submodule", "lfs", "subtree", "svn",
    "http-fetch", "http-push",
})  # fmt: skip
_RUNS_HOOKS = frozenset({"commit", "push", "merge", "rebase", "am", "cherry-pick", "revert", "pull"})

_EVERYDAY = words(
    """
    : true false cat less more most bat batcat delta diff-so-fancy difft head tig column vi vim nvim gvim nano pico
    emacs emacsclient code codium cursor zed subl micro hx helix kak ed gedit kate mate mcedit joe notepad notepad++
    vimdiff meld opendiff kdiff3 sed ssh gpg gpg2 ssh-keygen git-lfs
    """
)
_HELPERS = frozenset({
    "", "cache", "store", "manager", "manager-core", "osxkeychain", "libsecret", "wincred", "gnome-keyring", "oauth",
})  # fmt: skip
_WORDS_FOR_NO_PROGRAM = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})
_SHELL_SIGNS = frozenset(";|&`$<>(\n\\")


def use_of(key: str) -> Use | None:
    """When git would run the value of a configuration key as a program, or look there for programs."""
    key = key.lower()
    if key in _KEYS:
        return _KEYS[key]
    for prefix, suffixes, use in _FAMILIES:
        if key.startswith(prefix) and key.endswith(suffixes):
            return use
    return None


def is_everyday(value: Word, use: Use) -> bool:
    """Whether a value names nothing more than a usual pager, editor, ssh or credential helper."""
    text = value.text.strip()
    if use == "helper":
        return text.split(" ", 1)[0] in _HELPERS and not _SHELL_SIGNS.intersection(text)
    if use == "hooks":
        return False
    if text.lower() in _WORDS_FOR_NO_PROGRAM:
        return True
    if not value.known or _SHELL_SIGNS.intersection(text):
        return False
    return text.split(None, 1)[0] in _EVERYDAY


def program_settings(call: GitCall, low: Lowering) -> None:
    """State what the settings and variables given with a call make git run."""
    from_environment = {key for key, _ in call.inv.env if key.startswith("GIT_CONFIG_")}
    for key, value in call.config:
        use = use_of(key)
        if use is None or not _consults(call, use):
            continue
        if use == "hooks":
            _hooks(low, value)
        elif from_environment or not is_everyday(value, use):
            runs_program(low, value, what=f"git -c {key}")
        elif " " in value.text:
            low.shell(value, via=f"git -c {key}")
    for name, value in call.inv.env:
        if name in _CONNECTION_VARIABLES and _consults(call, "transport") and not is_everyday(value, "transport"):
            runs_program(low, value, what=name, shell=False)
        elif value.text in _HOOK_SWITCHES.get(name, ()) and call.name in _RUNS_HOOKS:
            bypass(low, f"{name}={value.text}", value)


def _consults(call: GitCall, use: Use) -> bool:
    if use not in ("transport", "helper"):
        return True
    if call.name == "remote":
        return any(word.text in ("update", "show", "prune") for word in call.args)
    if call.name == "archive":
        return any(word.text.startswith("--remote") for word in call.args)
    return call.name in _TRANSPORT


def _hooks(low: Lowering, value: Word) -> None:
    if value.text in ("", "/dev/null"):
        bypass(low, "core.hooksPath", value)
    else:
        runs_program(low, value, what="core.hooksPath", shell=False)


def bypass(low: Lowering, what: str, at: Word | None = None, instead: str = "") -> None:
    """The project's hooks are switched off for this call."""
    low.emit("guard.tamper", what, at=at, rule="hook-bypass", instead=instead,
             reason="The project's hooks check commits and pushes; this switches them off.")  # fmt: skip


def runs_program(low: Lowering, code: Word, *, what: str, args: tuple[Word, ...] = (), shell: bool = True) -> None:
    """Git is told to run a program that is not an everyday one."""
    low.emit("opaque", code.text, at=code, rule="git-runs-program",
             reason=f"Makes git run a program of this command's choosing ({what}).")  # fmt: skip
    if shell and code.text.strip():
        low.shell(code, via=what, args=args)
