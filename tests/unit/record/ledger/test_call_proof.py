"""The place of a call in its chain, and that a change around it is seen."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from interpose.record.ledger import CallProof, search
from interpose.record.ledger.call_proof import call_proof
from interpose.record.store.protocols import Query
from tests.support.servers.servers import service_in

COMMANDS = tuple(f"ls part-{number}" for number in range(6))


def proofs(directory: Path, *, spoil: str = "") -> list[CallProof | None]:
    """The proofs of some calls, the oldest first, after somebody else wrote into the database."""
    from interpose import Context, ToolCall

    with service_in(directory) as service:
        for command in COMMANDS:
            context = Context(session_id="s")
            service.run(context).before(ToolCall("exec", {"command": command}, context=context))
        service.ledger.flush()
        if spoil:
            with sqlite3.connect(directory / "ledger" / "ledger.db") as database:
                database.execute(spoil)
            database.close()
        found = search(service.store, Query(tool="exec"), 10)
        return [call_proof(service.store, one) for one in reversed(found)]


def test_every_call_follows_the_one_before(tmp_path: Path) -> None:
    found = [proof for proof in proofs(tmp_path) if proof is not None]
    assert len(found) == len(COMMANDS)
    assert all(proof.holds and not proof.problem for proof in found)
    assert [later.before for later in found[1:]] == [proof.hash for proof in found[:-1]]


@pytest.mark.parametrize(
    ("note", "spoil"),
    [
        ("another verdict", "UPDATE entries SET decision = 'deny' WHERE seq = 3"),
        ("another time", "UPDATE entries SET time_ns = time_ns + 1 WHERE seq = 3"),
        ("an entry that is gone", "DELETE FROM entries WHERE seq = 4"),
    ],
)
def test_what_was_changed_is_seen_by_those_before_it(tmp_path: Path, note: str, spoil: str) -> None:
    found = [proof for proof in proofs(tmp_path, spoil=spoil) if proof is not None]
    assert not found[1].holds, found
    assert "entry" in found[1].problem
