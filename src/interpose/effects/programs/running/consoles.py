"""Programs that run another program in a window, on a device, or through the loader."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.typed_keys import state_typing

_LOADER_VALUES = ("--library-path", "--preload", "--audit", "--argv0", "--inhibit-rpath", "--glibc-hwcaps-prepend")


@command(
    "ld.so", "ld-linux.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-linux-armhf.so.3",
    "ld-musl-x86_64.so.1", "ld-musl-aarch64.so.1", "ld64.so.2", "ld-linux-riscv64-lp64d.so.1",
)  # fmt: skip
def loader(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_LOADER_VALUES, stop=True)
    if not opts.has("--list", "--verify", "--list-tunables", "--list-diagnostics", "--help", "--version"):
        low.run(opts.operands, via="ld.so")


_TERMINAL_VALUES = (
    "-o", "--override", "-c", "--config", "-d", "--directory", "-t", "-T", "--title", "--class", "--name", "--session",
    "--listen-on", "-w", "-W", "-a", "--app-id", "-f", "--font", "-D", "--working-directory", "-L", "--instance-group",
)  # fmt: skip


@command(
    "xterm", "uxterm", "rxvt", "urxvt", "gnome-terminal", "konsole", "xfce4-terminal", "alacritty", "kitty", "wezterm",
    "terminator", "foot", "st", "x-terminal-emulator", "lxterminal", "mate-terminal", "tilix", "ghostty",
)  # fmt: skip
def terminal(inv: Invocation, low: Lowering) -> None:
    """`-e`, `-x` and `--` are followed by the command; a single word is a command line."""
    if any(word.text == "send-text" for word in inv.args):  # `kitty @ send-text`, `wezterm cli send-text`
        for word in inv.args:
            if " " in word.text:
                low.shell(word, via=inv.name)
        state_typing(low, inv.name, inv.args[0])
        return
    for index, word in enumerate(inv.args):
        name, equals, value = word.text.partition("=")
        if name == "--command" and equals:
            low.shell(Word(value, word.span, taints=word.taints), via=inv.name)
            return
        if word.text in ("-e", "-x", "--execute", "--command", "-c", "--"):
            words = inv.args[index + 1 :]
            _state_opened(words, low, inv.name)
            if len(words) == 1:
                low.shell(words[0], via=inv.name)
            else:
                low.run(words, via=inv.name)
            return
    if inv.name in ("kitty", "foot", "st"):  # what is left of their words is the command
        low.run(parse(inv.args, values=_TERMINAL_VALUES, stop=True).operands, via=inv.name)


_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "ksh"})


def _state_opened(words: tuple[Word, ...], low: Lowering, name: str) -> None:
    """A window of its own for a program that nobody reads: from there it could answer for a person."""
    first = words[0].text.split(None, 1)[0] if words and words[0].text.strip() else ""
    script = first.rpartition("/")[2] in _SHELLS and any(word.text[:1] != "-" for word in words[1:])
    if first.startswith((".", "/", "~")) or (script and "-c" not in [word.text for word in words]):
        low.emit("guard.tamper", name, certainty="possible", at=words[0], rule="terminal-opened",
                 reason="Opens a terminal for a program that could answer there for a person")  # fmt: skip


@command("adb")
def adb(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-s", "-t", "-H", "-P", "-L"), stop=True)
    words = opts.operands
    verb = opts.word(0)
    if verb in ("shell", "exec-out", "exec-in") and len(words) > 1:
        taints = frozenset().union(*(word.taints for word in words[1:]))
        low.shell(Word(" ".join(word.text for word in words[1:]), words[1].span, taints=taints), via="adb shell")
    elif verb in ("reboot", "root", "disable-verity", "sideload"):
        low.emit("system", verb, rule="device-state", reason="Restarts or unlocks the device")
    elif verb == "uninstall":
        low.emit("data.destroy", opts.word(1), rule="device-uninstall", reason="Removes an app with its data")
