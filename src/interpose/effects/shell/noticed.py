"""What is told of a command besides what its handler says: by its words, by what it is given, by what it passes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.effects.invocation import FOUND_PROCESSES, PRINTABLE, Invocation, Stream
from interpose.effects.paths import held, secret_of
from interpose.effects.programs.shared import environment, exposing, lasting
from interpose.effects.programs.shared.disk_space import ENDLESS, passes_endless
from interpose.effects.programs.shared.revealing import reveal, reveals, state_revealed, still_printable
from interpose.effects.programs.shared.verbs import TEXT_TOOLS
from interpose.effects.secret_names import is_secret_name
from interpose.effects.shell.protected_places import EXACT, READERS

if TYPE_CHECKING:
    from interpose.effects.shell.lowering import CommandLowering

_MAX_GIVEN = 6


def state_noticed(inv: Invocation, low: CommandLowering, said: str, *, known: bool) -> None:
    """State what the words of a command mean in tables that go across all families.

    `said` are all of them, one on each line. `known`: the command has a handler.
    """
    if not known:
        _state_given_secrets(inv, low)
    if inv.stdin is not None and "output" in inv.stdin.taints and inv.name not in READERS:
        from interpose.effects.programs.shared.listed_files import state_listed  # few commands take names from a pipe

        state_listed(inv, low)
    if inv.name in ("printenv", "launchctl") and any(is_secret_name(word.text) for word in inv.args):
        reveal(inv, low, inv.name, rule="secret-variable", reason="Prints a password, key or token")
    if inv.name == "set" or inv.name not in READERS:
        environment.state_given(inv, low, said)
        _state_control(inv, low, said, known=known)
    if reveals(inv.name):
        state_revealed(inv, low)
    if inv.name in exposing.NAMES:
        exposing.state_exposed(inv, low)
    if inv.name in lasting.NAMES:
        lasting.state_lasting(inv, low)


def _state_control(inv: Invocation, low: CommandLowering, said: str, *, known: bool) -> None:
    """State that a command steers a terminal or starts an agent. One that only reads does neither and loads nothing."""
    from interpose.effects.programs.shared.agent_starts import state_hidden_start

    if inv.name not in EXACT:
        from interpose.effects.programs.shared.remote_control import state_remote_control

        state_remote_control(inv, low, said)
    found = any(not word.taints.isdisjoint(FOUND_PROCESSES) for word in inv.args)
    if found or (held().processes and inv.name not in EXACT):
        from interpose.effects.programs.shared.given_processes import state_given_process

        state_given_process(inv, low)
    state_hidden_start(inv, low, said, known=known)


def passed_on(inv: Invocation, out: Stream, read: frozenset[str]) -> Stream:
    """What a command prints, without the taints of its input that it does not pass on."""
    if not PRINTABLE.isdisjoint(read):
        out = Stream(out.text, still_printable(inv.name, inv.args, out.taints))
    if ENDLESS in read and not passes_endless(inv):
        # Whoever reads it decides how much of it there is.
        out = Stream(out.text, out.taints - {ENDLESS})
    return out


def _state_given_secrets(inv: Invocation, low: CommandLowering) -> None:
    """A program that nobody knows and that is given a file of secrets may print it."""
    before = ""
    for word in inv.args[:_MAX_GIVEN]:
        text = word.text
        if before[:1] != "-" and text[:1] in ("/", "~", ".") and word.known and inv.name not in TEXT_TOOLS:
            mark = secret_of(low.path(word), low.home)
            is_regex = word.quoted and not text.strip(".*+?")  # no shell makes paths of it
            if mark is not None and mark.strength == "key" and not is_regex:
                low.read(word, certainty="possible")
        before = text
