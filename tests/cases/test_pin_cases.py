"""Descriptions and names that MCP servers show: which are held or noted, and which are honest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.record.pins.definitions import connection_of, definitions_of
from interpose.record.pins.oddities import Neighbours, Oddity, oddities_of
from tests.support.case_files import read_cases

PLACE = Path(__file__).parent / "pins"


def cases(file: str) -> list[Any]:
    data = read_cases(PLACE / file)
    return [pytest.param(case, id=case["note"]) for case in data["cases"]]


def found_in(case: dict[str, Any]) -> tuple[Oddity, ...]:
    item = {"name": case.get("name", "tool"), "description": case.get("description", "Does something.")}
    if "schema" in case:
        item["inputSchema"] = case["schema"]
    others = case.get("others", {})
    beside = Neighbours(
        own=case.get("own", ()),
        others=others if isinstance(others, dict) else dict.fromkeys(others, "other"),
        servers=case.get("servers", ()),
    )
    if "server" in case:
        return oddities_of(connection_of(command="x"), case["server"], beside)
    return oddities_of(definitions_of("tools", [item])[0], "mine", beside)


@pytest.mark.parametrize("case", cases("descriptions.yaml"))
def test_descriptions(case: dict[str, Any]) -> None:
    said = [each.what for each in found_in(case)]
    if "odd" in case:
        assert any(case["odd"] in each for each in said), said
    else:
        assert said == []


@pytest.mark.parametrize("case", cases("names.yaml"))
def test_names(case: dict[str, Any]) -> None:
    found = found_in(case)
    assert ("held" if any(each.holds for each in found) else "noted" if found else "fine") == case["want"], found
