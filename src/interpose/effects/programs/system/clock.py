"""Telling and setting the time."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.options import parse

_ALIASES = {"--date": "-d", "--file": "-f", "--reference": "-r", "--set": "-s", "--universal": "-u"}


@command("date", "gdate")
def date(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-d", "-f", "-r", "-s"), aliases=_ALIASES, long=("--help", "--version", "--utc"))
    for path in opts.values("-f", "-r"):
        low.read(path)
    if value := opts.value("-s"):
        low.emit("system", value.text, at=value, rule="clock", reason="Sets the clock of the machine")
