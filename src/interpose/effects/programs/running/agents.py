"""The programs of agents, and guards that start them."""

from __future__ import annotations

from interpose.effects.agents.known_agents import AGENT_OF, AGENTS, PACKAGES
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering
from interpose.effects.programs.shared.agent_starts import OTHERS_TOO, state_agent

_BY_NAME = {name.rpartition("/")[2]: agent.name for name, agent in PACKAGES.items()}
_PROGRAMS = tuple(
    dict.fromkeys(
        name.rpartition("/")[2]
        for agent in AGENTS
        for name in (*agent.programs, *agent.packages)
        if name not in OTHERS_TOO and not name.endswith("/cli")
    )
)


@command(*_PROGRAMS)
def agent(inv: Invocation, low: Lowering) -> None:
    if not state_agent(inv, low, AGENT_OF.get(inv.name) or _BY_NAME[inv.name]):
        low.emit("process.exec", inv.name)


_SWITCHES = frozenset(
    {
        "disable",
        "off",
        "stop",
        "uninstall",
        "remove",
        "allow",
        "allow-path",
        "trust",
        "approve",
        "grant",
        "forget",
        "reset",
        "watch",
        "token",
        "sign",
    }
)
_GROUPS = frozenset({"policy", "approvals", "grants"})
"""Verbs whose next word says what is done. An agent must not answer the questions that are asked about it."""


@command("nah")
def guarded(inv: Invocation, low: Lowering) -> None:
    """A guard that starts an agent: the agent is what matters."""
    verbs = [word for word in inv.args if not word.text.startswith("-")]
    if verbs and verbs[0].text == "run":
        low.run(inv.args[1:], via=f"{inv.name} run")
        return
    if not any(word.text in _GROUPS for word in verbs):
        verbs = verbs[:1]  # further words may be anything; those of a group may come after an option's value
    switch = next((word for word in verbs if word.text in _SWITCHES or UNKNOWN in word.text), None)
    if switch is not None:
        low.emit("guard.tamper", inv.name, at=switch, wide=True, rule="guard-off",
                 reason="Changes or switches off the guard that watches this")  # fmt: skip
