"""Programs that press keys for a person: whatever has the focus gets them, a terminal with a question included."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.typed_keys import state_typing

_TYPING = words("type key keydown keyup")


@command("xdotool", "ydotool", "dotool")
def press(inv: Invocation, low: Lowering) -> None:
    """Moving and clicking is not typing; `dotool` takes its orders on standard input."""
    verb = next((word for word in inv.args if word.text in _TYPING), None)
    if verb is None and inv.name != "dotool":
        return
    for word in inv.args:
        if word.text not in _TYPING and not word.text.startswith("-") and " " in word.text:
            low.shell(word, via=inv.name)
    state_typing(low, "the active window", verb)


@command("wtype", "xte", "xvkbd", "ttyecho", "sexpect", "writevt")
def type_keys(inv: Invocation, low: Lowering) -> None:
    """What follows is typed."""
    if inv.args and not any(word.text in ("--help", "-h", "--version") for word in inv.args):
        for word in inv.args:
            if " " in word.text:
                low.shell(word, via=inv.name)
        state_typing(low, "the active window", inv.args[0])
