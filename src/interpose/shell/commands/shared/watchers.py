"""Programs that watch over the machine or the agent, and how a command that looks for one is known."""

from __future__ import annotations

from interpose.shell.commands.shared.word_sets import words

_WATCHERS = words("interpose guard auditd falco osquery fail2ban wazuh crowdstrike sysdig")
"""Names of programs that watch over the machine or the agent, ours among them."""
WATCHER = frozenset({"watcher"})
"""Taints the numbers of such processes."""


def names_watcher(text: str) -> bool:
    """Whether a pattern is made to find a program that watches."""
    return any(name in text.lower() for name in _WATCHERS)
