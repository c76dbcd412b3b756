"""Processes of ours that are given to a program of any kind: a debugger, a limit, another priority, a freezer."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.invocation import FOUND_PROCESSES, Invocation, Lowering
from interpose.effects.late_patterns import late
from interpose.effects.paths import held

_NUMBER = late(r"(--?[A-Za-z-]*=?)?([0-9]{1,9})")
_TELLING = 1000
"""Below it a number is more often a count than a process (`make -j8`), unless its option says that it is one."""
_LOOKING = words(
    "kill ps top htop btop atop pwdx pmap pstree tail wait jobs seq sleep timeout expr bc date lsof nl fold pr"
)
"""Programs to which a number is no process, or that only look at one. Readers are not asked about at all."""


def state_given_process(inv: Invocation, low: Lowering) -> None:
    """State that a command is given a process of ours: by its number, or by a search for it."""
    if inv.name in _LOOKING:
        return
    own = held().processes
    for before, word in zip((inv.argv0, *inv.args), inv.args, strict=False):
        found = _NUMBER.fullmatch(word.text) if own else None
        is_ours = found is not None and int(found[2]) in own
        if found is not None and is_ours and int(found[2]) < _TELLING:
            is_ours = "pid" in (found[1] or before.text)
        if is_ours or not word.taints.isdisjoint(FOUND_PROCESSES):
            low.emit("guard.tamper", word.text, certainty="possible", at=word, rule="guard-kill",
                     reason="Does something to a process that watches over the agent")  # fmt: skip
            return
