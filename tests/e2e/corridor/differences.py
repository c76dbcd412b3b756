"""Every way in which a door tells its caller something else than the engine says. There are no others.

What a door decided is in the ledger, and there it is the engine's decision at every door but one.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.corridor.doors import Decided

Kind = Literal["allow", "rewrite", "ask", "rewrite and ask", "deny", "spent"]
"""What the engine says. `spent`: it denies because the session has used up its calls."""


class Difference(Struct, frozen=True, kw_only=True):
    """What the caller is told instead at some doors, why, and the page that says so."""

    doors: tuple[str, ...]
    kinds: tuple[Kind, ...]
    outcome: str = ""
    """What the caller is told instead; empty: the same."""
    rule: str | None = None
    """The rule that is named instead; None: the same."""
    other_form: bool = False
    """The caller reads what would be allowed, in the place of the rule and its reason."""
    judged: Literal["as it came", "as rewritten"] = "as it came"
    """Which call the ledger has: the interceptor server decides about what it rewrote before."""
    name: str
    why: str
    page: str
    says: str
    """Words of that page."""


ASKING = tuple(sorted(name for name, host in HOSTS.items() if host.facts.asks))
"""Hosts that can put our question to their own person."""
_MUTE = tuple(sorted(set(HOSTS) - set(ASKING)))
_STIFF = tuple(sorted(name for name, host in HOSTS.items() if not host.facts.rewrites))


def _hooks(*hosts: str) -> tuple[str, ...]:
    return tuple(f"hook {host} *" for host in hosts)


DIFFERENCES = (
    Difference(
        name="a verb that only looks counts nothing",
        doors=(
            "an engine that was opened elsewhere", "interpose check", "interpose check --explain", "interpose run *",
        ),
        kinds=("spent",), outcome="allow", rule="",
        why="Nothing runs and nothing is recorded, so no budget is used up.",
        page="docs/governance.md", says="`run --dry-run` do not use up a budget",
    ),
    Difference(
        name="no objection, no rule",
        doors=("interpose check", "interpose check --explain"), kinds=("allow",), rule="",
        why="They name the rule that decided. Of a call that is allowed none did, whatever was noted.",
        page="docs/commands.md", says="empty for a call that is allowed",
    ),
    Difference(
        name="words that can't be changed",
        doors=("interpose run --dry-run",), kinds=("rewrite",), outcome="deny", rule="rewritten", other_form=True,
        why="It starts the words that it was given, or nothing, and says what would be allowed.",
        page="docs/run.md", says="A rule that rewrites calls does not rewrite here",
    ),
    Difference(
        name="a validation can't rewrite",
        doors=("HTTP validate",), kinds=("rewrite",), outcome="deny", rule="rewritten", other_form=True,
        why="Its caller runs the command as it is, so one that may run only in another form is not allowed.",
        page="docs/http-api.md", says="There is no place for another command in this answer",
    ),
    Difference(
        name="rewritten first, then decided",
        doors=("interceptor server",), kinds=("rewrite", "rewrite and ask"), judged="as rewritten",
        why="The protocol has two interceptors: the decision is about the call that the mutation made.",
        page="docs/interceptor-protocol.md", says="has the request as `interpose/rewrite` left it",
    ),
    Difference(
        name="a host that can't ask",
        doors=_hooks(*_MUTE), kinds=("ask", "rewrite and ask"), outcome="deny",
        why="The host has no prompt that a hook could open: the call is refused and the question waits at the desk.",
        page="docs/agents/README.md", says="the refusal names the question in our queue",
    ),
    Difference(
        name="a host that can't change a call",
        doors=_hooks(*_STIFF), kinds=("rewrite",), outcome="deny", other_form=True,
        why="The host would run the call as it came: it is refused and told the other form.",
        page="docs/agents/README.md", says="the refusal names the safer call",
    ),
    Difference(
        name="a host that shows its person the changed call",
        doors=_hooks("claude-code"), kinds=("rewrite",), outcome="ask", other_form=True,
        why="It changes a call only together with a decision, and we never allow in the place of its own permissions.",
        page="docs/agents/claude-code.md", says="asks its person about",
    ),
    Difference(
        name="a prompt that shows the call as it came",
        doors=_hooks(*ASKING), kinds=("rewrite and ask",), outcome="deny", other_form=True,
        why="The person would be shown another call than the one that runs: it is refused and told the other form.",
        page="docs/agents/README.md", says="its prompt would show the",
    ),
)  # fmt: skip


def kind_of(want: Decided, came: dict[str, object]) -> Kind:
    """What the engine says about a call that came with these arguments."""
    if want.outcome == "deny":
        return "spent" if want.rule == "governance/budget" else "deny"
    if want.outcome == "ask" and want.arguments != came:
        return "rewrite and ask"
    assert want.outcome in ("allow", "rewrite", "ask")
    return want.outcome  # type: ignore[return-value]  # one of the three


def difference(door: str, kind: Kind) -> Difference | None:
    """The difference that applies, if there is one."""
    found = [
        one for one in DIFFERENCES if kind in one.kinds and any(fnmatchcase(door, pattern) for pattern in one.doors)
    ]
    assert len(found) <= 1, f"{door} differs in two ways: {', '.join(one.name for one in found)}"
    return found[0] if found else None
