"""What a server needs to take answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.answering import open_answering
from interpose.core.config.settings import ApprovalSettings
from interpose.core.errors import ServerError
from interpose.record.store import open_store


@pytest.mark.parametrize("name", ["key", "directory"])
def test_a_place_that_nobody_filled_in_is_not_used(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Config()` that was not loaded has `{config}` in its paths: a key would lie in the working directory."""
    monkeypatch.chdir(tmp_path)
    store = open_store(tmp_path / "ledger.db")
    places: dict[str, Any] = {"key": str(tmp_path / "key"), "directory": str(tmp_path / "own")}
    del places[name]
    with pytest.raises(ServerError, match=rf"approvals\.{name}: .* is no absolute path"):
        open_answering(ApprovalSettings(**places), store)
    store.close()
    assert [found for found in tmp_path.iterdir() if "{" in found.name] == []
