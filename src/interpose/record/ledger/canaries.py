"""Which records are canaries: calls that `interpose doctor` sends through the hooks. People don't look for them."""

from __future__ import annotations

from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import EntryStore, Query

MOST = 2000
"""Canaries that are looked for, the newest ones."""

SESSION = "interpose-doctor"
REFUSED = "truncate -s +0 /etc/passwd"
"""Always refused, as it writes to a vital file. Whoever ran it all the same would add nothing to that file."""
ALLOWED = "true"


def is_canary(session: str, arguments: object) -> bool:
    """Whether a recorded call was one. Who only calls a session so is none, unless no arguments are kept."""
    if session != SESSION:
        return False
    return not isinstance(arguments, dict) or arguments.get("command") in (REFUSED, ALLOWED)


def canaries_since(store: EntryStore, since_ns: int) -> list[Record]:
    """Those that were recorded since then, the newest first. Other calls of their session are not among them."""
    query = Query(session=SESSION, since_ns=since_ns)
    return [one for one in search(store, query, MOST) if is_canary(one.session, one.arguments)]


class CanarySieve:
    """Leaves canaries out of what people look at, and counts them: `search(..., wanted=CanarySieve())`."""

    def __init__(self, *, shown: bool = False) -> None:
        """`shown` lets all of them through."""
        self._shown, self.left_out = shown, 0

    def __call__(self, record: Record) -> bool:
        if self._shown or not is_canary(record.session, record.arguments):
            return True
        self.left_out += 1
        return False
