"""Times that people are waited for, and which of them contradict each other. See `interpose help waiting`.

What somebody has set must fit. What nobody has set is made to fit, and is no contradiction.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from interpose.core.config.problems import unknown
from interpose.effects.agents.agent import LONGEST, MARGIN
from interpose.effects.agents.hook_times import EVERY_HOST, HOOK_TIMES
from interpose.effects.agents.hook_times import wait_for as fitted_wait

if TYPE_CHECKING:
    from interpose.core.config.settings import Config


def hook_wait(host: str, config: Config, *, alone: bool = False) -> float:
    """Seconds that a hook of this host waits for a person, besides the time for its decision.

    `alone`: only the person at this machine can answer.
    """
    return fitted_wait(host, config.hooks.wait, config.hooks.deadline, config.approvals.timeout, alone=alone)


def usual_wait(host: str) -> float:
    """The same where no user's configuration counts."""
    return HOOK_TIMES[host].waits


def contradictions(config: Config, is_set: Container[str]) -> Iterator[tuple[str, str]]:
    """The key that is wrong, and why. `is_set` are the keys that somebody has set."""
    if "hooks.deadline" in is_set and config.hooks.deadline + MARGIN > LONGEST:
        why = f"it is {config.hooks.deadline:g} s, and no host gives a hook more than {LONGEST} s"
        yield "hooks.deadline", f"{why}: at most {LONGEST - MARGIN} s"
    for host, seconds in config.hooks.wait.items():
        if why := _wrong_wait(config, host, seconds):
            yield "hooks.wait", f"{host}: {why}"
    if "intercept.wait_limit" in is_set and config.intercept.wait_limit > config.approvals.timeout:
        yield "intercept.wait_limit", _outlives(config, config.intercept.wait_limit)
    for name, wait in (("gateway.wait", config.gateway.wait), ("proxy.wait", config.proxy.wait)):
        if name not in is_set:
            continue
        if wait > config.approvals.timeout:
            yield name, _outlives(config, wait)
        elif wait > config.intercept.wait_limit:
            limit = f"intercept.wait_limit is {config.intercept.wait_limit:g} s"
            yield name, f"it is {wait:g} s, and {limit}: the server lets nobody wait longer than that"


def _wrong_wait(config: Config, host: str, seconds: float) -> str:
    if host != EVERY_HOST and host not in HOOK_TIMES:
        return unknown("host", host, (*HOOK_TIMES, EVERY_HOST))
    if seconds > config.approvals.timeout:
        return _outlives(config, seconds)
    time = HOOK_TIMES.get(host)
    if time is None or not seconds:
        return ""
    if not time.longest:
        return f"it is {seconds:g} s, but {time.why}: only 0 s is possible"
    deadline = config.hooks.deadline
    if seconds + deadline + MARGIN > time.longest:
        return (
            f"it is {seconds:g} s, and hooks.deadline is {deadline:g} s: with {MARGIN} s to spare that is more than "
            f"the {time.longest} s that this host gives a hook"
        )
    return ""


def _outlives(config: Config, seconds: float) -> str:
    return (
        f"it is {seconds:g} s, and approvals.timeout is {config.approvals.timeout:g} s: nobody can answer a question "
        "that is over. Make it as short, or the other one longer"
    )
