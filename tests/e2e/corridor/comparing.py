"""A door plays its calls, and all that it says and keeps is compared with what the engine says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic, sleep
from typing import Any

from msgspec.structs import replace

from tests.e2e.corridor.calls import Case
from tests.e2e.corridor.differences import Difference, difference, kind_of
from tests.e2e.corridor.doors import Decided, Door, Told, decided_by_engine, of_record, session_of
from tests.e2e.corridor.world import World
from tests.support.timing.patience import PATIENCE

_AGENTS = {"hook openclaw": "main"}
"""Doors whose events name the main agent, too: their reasons call it by its name."""


def disagreements(world: World, door: Door, cases: Sequence[Case]) -> list[str]:
    """What a door does otherwise than the engine, beyond what the table of differences says."""
    cases = [case for case in cases if door.takes(case)]
    assert cases, f"no call comes through {door.name}"
    wanted = decided_by_engine(world, cases)
    known = len(world.records())
    told = door.play(cases)
    records = _new_records(world, known, len(cases) if door.keeps else 0)
    found = [] if door.keeps or not records else [f"it recorded {len(records)} calls"]
    for case, want, heard in zip(cases, wanted, told, strict=True):
        kind = kind_of(want, case.arguments)
        other = difference(door.name, kind)
        # A door says the tool's own name, where its reason names it.
        want = replace(want, reason=want.reason.replace(f" {case.tool}", f" {door.tool(case)}"))
        if named := _AGENTS.get(door.name.removesuffix(" of a server").removesuffix(" in process")):
            want = replace(want, reason=want.reason.replace("This agent", f"The agent {named}"))
        problems = [*_told_otherwise(case, want, heard, other)]
        if door.keeps:
            kept, came = want, case.arguments
            if other is not None and other.judged == "as rewritten":
                came = want.arguments
                (kept,) = decided_by_engine(world, [replace(case, arguments=came)])
            own = [record for record in records if _is_of(record, door, case, came)]
            problems += _kept_otherwise(world, door, kept, own)
        found += [f"{case.note}: {problem}" for problem in problems]
    return found


def _new_records(world: World, known: int, awaited: int) -> list[dict[str, Any]]:
    until = monotonic() + PATIENCE
    while len(found := world.records()[known:]) < awaited and monotonic() < until:
        sleep(0.05)  # another process writes them
    return found


def _told_otherwise(case: Case, want: Decided, heard: Told, other: Difference | None) -> Iterator[str]:
    outcome, rule = want.outcome, want.rule
    if other is not None:
        outcome = other.outcome or outcome
        rule = rule if other.rule is None else other.rule
    if heard.outcome != outcome:
        yield f"the caller is told {heard.outcome}, not {outcome}: {heard.text}"
    if heard.rule is not None and heard.rule != rule:
        yield f"the caller is told the rule {heard.rule!r}, not {rule!r}"
    changed = other is not None and (other.outcome or other.rule is not None)
    if heard.reason is not None and not changed and heard.reason != want.reason:
        yield f"the caller is told {heard.reason!r}, not {want.reason!r}"
    if heard.arguments is not None and heard.arguments != want.arguments:
        yield f"{heard.arguments} would run, not {want.arguments}"
    if heard.text is not None and outcome in ("ask", "deny"):
        other_form = other is not None and other.other_form
        words = [case.runs] if other_form else [want.reason, *([rule] if heard.rule is None else [])]
        yield from (f"the caller does not read {word!r} in {heard.text!r}" for word in words if word not in heard.text)


def _is_of(record: dict[str, Any], door: Door, case: Case, came: dict[str, Any]) -> bool:
    in_session = not door.names_sessions or record["session"].endswith(session_of(door, case))
    return in_session and door.arguments(record.get("original_arguments") or record["arguments"]) == came


def _kept_otherwise(world: World, door: Door, want: Decided, own: Sequence[dict[str, Any]]) -> Iterator[str]:
    if len(own) != 1:
        yield f"the ledger has {len(own)} records of it"
        return
    (record,) = own
    kept = of_record(record)
    kept = replace(kept, arguments=door.arguments(kept.arguments))
    for field in Decided.__struct_fields__:
        if getattr(kept, field) != getattr(want, field):
            yield f"the ledger has {field} {getattr(kept, field)!r}, not {getattr(want, field)!r}"
    at_desk = want.outcome == "ask" and door.asks == "the desk"
    if bool(record["approval"]) is not at_desk:
        yield f"a question {'waits at the desk' if record['approval'] else 'does not wait at the desk'}"
    elif at_desk:
        yield from _asked_otherwise(world, door, want, record["approval"])


def _asked_otherwise(world: World, door: Door, want: Decided, id: str) -> Iterator[str]:
    asked = world.question(id)
    said = (asked["message"], door.arguments(asked["arguments"]), [one["rule"] for one in asked["findings"]])
    rules = [rule for word, rule, mode in want.findings if word == "ask" and mode == "enforce"]
    if said != (want.reason, want.arguments, rules):
        yield f"the desk asks {said}, not {(want.reason, want.arguments, rules)}"
