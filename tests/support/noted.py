"""Cases are known by their notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest


def noted(cases: Iterable[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    """Parameters of a test, each under its note. What stands there twice is counted."""
    params, told = [], Counter[str]()
    for note, values in cases:
        told[note] += 1
        params.append(pytest.param(*values, id=note if told[note] == 1 else f"{note} ({told[note]})"))
    return params
