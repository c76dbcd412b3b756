from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.people.presence.machines import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """An empty machine with its first process."""
    place = tmp_path / "proc"
    place.mkdir()
    return Machine(place, monkeypatch)
