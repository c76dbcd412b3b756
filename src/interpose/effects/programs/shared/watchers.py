"""Programs that watch over the machine or the agent, and how a command that looks for one is known."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.invocation import NOTHING
from interpose.effects.paths import held

_LONGEST_PATTERN = 1000
_WATCHERS = words("interpose guard auditd falco osquery fail2ban wazuh crowdstrike sysdig")
"""Names of programs that watch over the machine or the agent, ours among them."""
WATCHER = frozenset({"watcher"})
"""Taints the numbers of such processes."""
OURS = frozenset({"our-process"})
"""Taints the numbers of our own processes."""
KEEPER = frozenset({"keeper"})
"""Taints the numbers of processes that keep keys and passwords in memory."""
_KEEPERS = words(
    """
    ssh-agent gpg-agent sshd login sudo gnome-keyring keyring kwallet keepass bitwarden 1password vault pass-agent
    firefox chrome chromium thunderbird lsass
    """
)
AT_OUR_PORT = frozenset({"our-port"})
"""Taints the numbers of processes that listen where our server usually does."""

LISTENERS = frozenset({"listeners"})
"""Taints a list of all processes that listen, with their ports."""


def names_watcher(text: str) -> bool:
    """Whether a pattern is made to find a program that watches."""
    return any(name in text.lower() for name in _WATCHERS)


def names_keeper(text: str) -> bool:
    """Whether a pattern is made to find a program that keeps keys and passwords."""
    return any(name in text.lower() for name in _KEEPERS)


def names_our_process(text: str) -> bool:
    """Whether a pattern is made to find one of our own processes."""
    return "interpose" in text.lower()


def watched_by(text: str) -> frozenset[str]:
    """The taints of process numbers that a pattern finds."""
    return (WATCHER if names_watcher(text) else NOTHING) | (OURS if names_our_process(text) else NOTHING)


def finds_our_port(pattern: str) -> bool:
    """Whether a pattern is made to find who listens where our server does."""
    return any(int(number[:9]) in held().ports for number in re.findall(r"[0-9]+", pattern[:_LONGEST_PATTERN]))


def names_our_port(text: str) -> bool:
    """Whether `:8080`, `8080/tcp` or `tcp:8080` is where our server listens, or would."""
    numbers = [part for part in text.replace("/", ":").replace("@", ":").split(":") if part.isdecimal()]
    return any(int(number[:9]) in held().ports for number in numbers)
