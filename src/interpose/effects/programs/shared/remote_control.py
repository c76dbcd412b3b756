"""Programs that are told to type into a terminal or to read it: known by what they are told, not by their names."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.late_patterns import late
from interpose.effects.programs.shared.typed_keys import state_foreign_terminal, state_typing

_TYPES = late(
    r"(?:.*[.:/])?(?:send[-_]?(?:text|keys?|string|sequence|raw-string|input|keystrokes?)|write-chars|type[-_]text"
    r"|runcommand|inject[-_]?(?:keys?|text|input)|remote-send|remote-expr|feed[-_]?child|keystroke)",
    re.IGNORECASE,
)
_READS = late(
    r"(?:.*[.:/])?(?:get-text|capture-pane|dump-screen|hardcopy|get-screen|read-screen|displayedtext)", re.IGNORECASE
)
"""Verbs by which programs with a terminal are told to type, or to show what is on the screen."""
_SAID = (
    "send", "write-chars", "type-text", "type_text", "typetext", "runcommand", "inject", "remote-", "feed", "keystroke",
    "get-text", "-pane", "screen", "hardcopy", "edtext",
)  # fmt: skip
"""What one of these verbs has in it; most commands have none of it."""
_KNOW_BETTER = words("tmux byobu screen expect")
"""Programs whose handlers know whose terminal is meant."""
_TAKE_TERMINALS = words("reptyr reredirect neercs conspy injcode retty ttyecho")
"""Programs that take over the terminal of a process, by its number."""
_BUSES = words("gdbus dbus-send qdbus qdbus6 qdbus-qt5 qdbus-qt6 busctl")
_CALLS = words("call --type=method_call")
_HARMLESS_METHODS = late(
    r"(?:org\.freedesktop\.(?:DBus|Notifications|UPower|NetworkManager|hostname1|timedate1|locale1)|org\.mpris)\b.*"
    r"|.*(?:Introspect|\.Get|GetAll|Ping|ListNames)",
)
_LISP_TYPES = late(r"send-|-send|kbd|keyboard|comint|vterm|\bterm-|shell-command|call-interactively|execute-extended")
_CONTROLLED = words("--remote-send --remote-expr --remote-command --command")
_EDITORS = words("vim gvim nvim vi mvim neovide code code-insiders codium cursor windsurf kak emacsclient")


def state_remote_control(inv: Invocation, low: Lowering, said: str) -> None:
    """State that a terminal, or an editor that has one, is typed into or read by what these words say."""
    if "." in inv.name and _TYPES.fullmatch(
        inv.name
    ):  # a command of an editor: `workbench.action.terminal.sendSequence`
        state_typing(low, inv.name, inv.argv0)
        return
    if not inv.args or inv.name in _KNOW_BETTER:
        return
    lowered = said.lower()
    for word in inv.args if any(part in lowered for part in _SAID) else ():
        text = word.text.lstrip("-").partition("=")[0]
        if len(text) > 200 or " " in text:
            continue
        if _TYPES.fullmatch(text):
            state_typing(low, inv.name, word)
            return
        if _READS.fullmatch(text):
            state_foreign_terminal(low, word)
            return
    if "--remote-debugging-" in said and _is_persons_browser(inv, low):
        low.emit("guard.tamper", inv.name, certainty="possible", at=inv.args[0], rule="browser-control",
                 reason="Lets other programs steer a browser in which a person is logged in")  # fmt: skip
    elif _is_controlled_terminal(inv):
        state_foreign_terminal(low, inv.args[0])
    elif inv.name in _BUSES:
        _state_bus(inv, low)
    elif inv.name in _EDITORS:
        _state_editor(inv, low)


def _is_controlled_terminal(inv: Invocation) -> bool:
    """Whether a terminal is taken over, or told to do something besides saying what it has: `kitty @ launch`."""
    texts = [word.text for word in inv.args]
    if inv.name in _TAKE_TERMINALS:
        # Of what a search by a common name finds, a shell of a person's may be one.
        return any(word.text.isdecimal() or "broad-name" in word.taints for word in inv.args)
    told = next((index for index, text in enumerate(texts) if text in ("@", "cli", "msg")), None)
    if told is None or inv.name not in _TERMINALS:
        return False
    verb = next((text for text in texts[told + 1 :] if text[:1] != "-" and "/" not in text), "")
    return verb not in _TERMINAL_LOOKS


_TERMINALS = words("kitty kitten wezterm")
_TERMINAL_LOOKS = words("ls list list-clients get-colors get-pane-direction help")


def _is_persons_browser(inv: Invocation, low: Lowering) -> bool:
    """Whether a browser that can be steered has the profile of a person, with all that they are logged in to."""
    given = [word.text.partition("=") for word in inv.args]
    profile = next((value for name, _, value in given if name == "--user-data-dir"), "")
    if not profile:
        return not any(name in ("--headless", "--incognito", "--user-data-dir") for name, _, _ in given)
    where = low.path(profile)
    return where.startswith(
        (f"{low.home}/.config/", f"{low.home}/Library/", f"{low.home}/snap/", f"{low.home}/.mozilla")
    )


def _state_bus(inv: Invocation, low: Lowering) -> None:
    """A method of another program of the desktop. Of most nobody knows what they do; some type."""
    texts = [word.text for word in inv.args]
    method = next((text for text in reversed(texts) if "." in text and "/" not in text and "=" not in text), "")
    calls = (
        not _CALLS.isdisjoint(texts)
        or (inv.name.startswith("qdbus") and len(texts) > 2)
        or (inv.name == "dbus-send" and "--type=signal" not in texts and "--print-reply" in texts)
    )
    if calls and "--system" not in texts and not _HARMLESS_METHODS.fullmatch(method):
        state_typing(low, method or inv.name, inv.args[0])


def _state_editor(inv: Invocation, low: Lowering) -> None:
    """An editor that runs is told what to do, in whose terminals a person may be asked something."""
    for word, after in zip(inv.args, (*(each.text for each in inv.args[1:]), ""), strict=True):
        name, _, value = word.text.partition("=")
        if name in _CONTROLLED or (inv.name == "kak" and name == "-p"):
            state_typing(low, inv.name, word)
            return
        if inv.name == "emacsclient" and name in ("-e", "--eval") and _LISP_TYPES.search(value or after):
            state_typing(low, inv.name, word)
            return
