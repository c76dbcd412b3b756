"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from interpose.record.ledger.times import moment_ns

NOW = 1_790_000_000.0
FAR = (1 << 63) - 1


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("90s", 1_789_999_910_000_000_000),
        ("2h", 1_789_992_800_000_000_000),
        ("1w", 1_789_395_200_000_000_000),
        ("2026-01-31T08:00:00Z", 1_769_846_400_000_000_000),
        ("2026-01-31T08:00:00.5+00:00", 1_769_846_400_500_000_000),
        ("2026-01-31T09:00+01:00", 1_769_846_400_000_000_000),
        ("9999-12-31T00:00Z", FAR),
        ("0002-01-01T00:00Z", -FAR),
        ("999999999w", -FAR),
    ],
)
def test_a_moment(text: str, want: int) -> None:
    assert moment_ns(text, NOW) == want


def test_a_date_without_a_zone_is_local_time() -> None:
    local = datetime(2026, 1, 31, 8, tzinfo=UTC).astimezone()
    assert moment_ns(f"{local:%Y-%m-%dT%H:%M}", NOW) == 1_769_846_400_000_000_000


@pytest.mark.parametrize("text", ["soon", "2", "h", "-2h", "1234567890h", "٣h", "2h ", "2026-13-01", "\0"])
def test_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match="is no time: say 90m"):
        moment_ns(text, NOW)
