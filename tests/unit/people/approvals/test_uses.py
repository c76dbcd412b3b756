"""Uses of grants beside the store: kept, shared, and never forgotten because a file or the store says less."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.errors import StoreError
from interpose.people.approvals.alarms import GrantAlarms
from interpose.people.approvals.uses import REVOKED, Uses
from interpose.record.store import open_store
from interpose.record.store.protocols import Store

LATER = 1 << 60


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "ledger.db")


def opened(tmp_path: Path, store: Store, now_ns: int = 100) -> tuple[Uses, GrantAlarms]:
    alarms = GrantAlarms()
    uses = Uses(tmp_path / "own" / "uses", store, alarm=alarms)
    uses.open(now_ns)
    return uses, alarms


def test_uses_are_known_to_the_next_server_and_to_one_beside(tmp_path: Path, store: Store) -> None:
    uses, _ = opened(tmp_path, store)
    beside, _ = opened(tmp_path, store)
    uses.note("g", 2, ends_ns=LATER, now_ns=110)
    beside.note("h", REVOKED, ends_ns=LATER, now_ns=120)
    with uses.held():
        assert uses.known() == {"g": 2, "h": REVOKED}
    after, alarms = opened(tmp_path, store)
    assert (after.known(), after.latest_ns, alarms.texts()) == ({"g": 2, "h": REVOKED}, 120, [])
    store.close()


def test_what_is_over_is_forgotten(tmp_path: Path, store: Store) -> None:
    uses, _ = opened(tmp_path, store)
    for number in range(5):
        uses.note(f"g{number}", 1, ends_ns=200 + number, now_ns=110)
    after, alarms = opened(tmp_path, store, now_ns=203)
    assert (after.known(), alarms.texts()) == ({"g4": 1}, [])
    store.close()


@pytest.mark.parametrize("what", ["removed", "cut", "replaced"])
def test_a_file_that_says_less_while_the_server_runs_is_written_again(tmp_path: Path, store: Store, what: str) -> None:
    uses, alarms = opened(tmp_path, store)
    for spent in (1, 2):
        uses.note("g", spent, ends_ns=LATER, now_ns=110)
    file = tmp_path / "own" / "uses"
    first = file.read_bytes().splitlines(keepends=True)[0]
    if what == "cut":
        file.write_bytes(first)
    else:
        file.unlink()
        if what == "replaced":
            file.write_bytes(first)
    uses.note("h", 1, ends_ns=LATER, now_ns=120)
    assert uses.known() == {"g": 2, "h": 1}
    assert len(alarms.texts()) == 1
    assert opened(tmp_path, store)[0].known() == {"g": 2, "h": 1}
    store.close()


def test_a_file_that_was_cut_before_the_start_voids_all_that_was_given(tmp_path: Path, store: Store) -> None:
    uses, _ = opened(tmp_path, store)
    for spent in (1, 2):
        uses.note("g", spent, ends_ns=LATER, now_ns=110)
    (tmp_path / "own" / "uses").unlink()
    after, alarms = opened(tmp_path, store, now_ns=150)
    assert after.void_until_ns == 150
    assert "were removed" in alarms.texts()[0]
    assert opened(tmp_path, store, now_ns=160)[0].void_until_ns == 150
    store.close()


def test_a_store_that_was_set_back_is_told(tmp_path: Path, store: Store) -> None:
    uses, _ = opened(tmp_path, store)
    for spent in (1, 2, 3):
        uses.note("g", spent, ends_ns=LATER, now_ns=110)
    fresh = open_store(tmp_path / "older.db")
    after, alarms = opened(tmp_path, fresh)
    assert after.spent("g") == 3
    assert "an older copy of the store" in alarms.texts()[0]
    store.close()
    fresh.close()


def test_a_use_that_can_not_be_kept_is_none(tmp_path: Path, store: Store) -> None:
    uses, _ = opened(tmp_path, store)
    (tmp_path / "own" / "uses").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="can't be kept"):
        uses.note("g", 1, ends_ns=LATER, now_ns=110)
    assert uses.known() == {}
    store.close()
