"""Tokens and cost, where a host reports them with a result. What is not reported is not guessed."""

from __future__ import annotations

from math import isfinite
from typing import Any

from interpose.core.types import ToolOutcome

MICROS = 1_000_000
_MOST = 1 << 53
_TOTAL = ("totalTokens", "total_tokens")
_PARTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_COST = ("totalCostUsd", "total_cost_usd", "cost_usd", "costUsd")


def usage_of(outcome: ToolOutcome) -> tuple[int, int]:
    """Tokens and millionths of the currency that a result says were used: those of a sub-agent, of a model's tool."""
    result: Any = outcome.result
    if outcome.denied or not isinstance(result, dict):
        return 0, 0
    usage = result.get("usage")
    places = (result, usage) if isinstance(usage, dict) else (result,)
    total = next((found for place in places for name in _TOTAL if (found := _number(place.get(name)))), 0.0)
    if not total:
        total = max(sum(_number(place.get(name)) for name in _PARTS) for place in places)
    cost = next((found for place in places for name in _COST if (found := _number(place.get(name)))), 0.0)
    return min(int(total), _MOST), min(round(cost * MICROS), _MOST)


def _number(value: object) -> float:
    """A number that can be one. What a host reports is added up: less than nothing would loosen a budget."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    if isinstance(value, int):
        return float(min(max(value, 0), _MOST))
    return min(max(value, 0.0), float(_MOST)) if isfinite(value) else 0.0
