"""An operator's word that a command may pass its chain rules for a while. Values, and who it holds for.

Nothing in a command can say it: `--force` is a word like any other. How it is proven, signed, kept and recorded is in
service/bypass_desk.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.chains.command_names import command_fits

MOST_SECONDS = 8 * 3600
USUAL_SECONDS = 600
RULE = "governance/bypass"
"""The rule that records of commands name which passed by an operator's word."""

CommandPattern = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Bypass(Struct, frozen=True, kw_only=True):
    """One such word. `command` is a name or a glob; of a rule about the state file it is the rule's id."""

    id: str
    command: str
    by: str
    reason: str
    given_ns: int
    ends_ns: int
    session: str = ""
    """Only in this session; empty is in all."""

    @property
    def until(self) -> str:
        """When it ends, for people."""
        return f"{datetime.fromtimestamp(self.ends_ns / NANOSECONDS, UTC):%Y-%m-%d %H:%M:%S} UTC"


def bypassed(bypasses: Iterable[Bypass], command: str, session: str, now_ns: int) -> Bypass | None:
    """The word by which a command passes in a session; None if nobody gave one that counts now.

    INVARIANT: letter by letter. What a rule holds for is read generously, what lifts it is not.
    """
    return next((one for one in bypasses if _counts(one, command, session, now_ns)), None)


def _counts(bypass: Bypass, command: str, session: str, now_ns: int) -> bool:
    longest = bypass.ends_ns - bypass.given_ns <= MOST_SECONDS * NANOSECONDS
    return (
        longest
        and bypass.given_ns <= now_ns < bypass.ends_ns
        and bypass.session in ("", session)
        and command_fits(bypass.command, command)
    )
