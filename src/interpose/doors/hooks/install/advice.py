"""What a person should know about hooks that are installed, or about to be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.own_environment import proposal, unprotected
from interpose.doors.hooks.install.places import file_for
from interpose.doors.hooks.install.plan import Plan
from interpose.doors.hooks.install.records import Installed
from interpose.doors.hooks.install.unguarded import switched_off


def advice(plan: Plan, records: list[Installed], directory: Path) -> Iterator[str]:
    """In the order in which it matters, for who works in this directory."""
    target, facts = plan.target, plan.target.facts
    setup = facts.setup
    for switch in switched_off(facts.name, directory, managed=target.scope == "managed"):
        yield f"{switch.level.upper()}: {switch.text}"
    if setup.afterwards and target.scope != "managed":
        yield setup.afterwards.replace("PATH", str(target.path))
    if plan.record is not None and plan.record.fail_open:
        yield "Calls that can't be decided will run. Each is noted, and `interpose doctor` shows them."
    if facts.evidence == "hearsay":
        yield f"{facts.title} is experimental: its contract is known from others' words only."
    if target.scope == "project":
        yield (
            "The file names this machine's own paths: committed, it makes the agents of everybody else refuse every "
            "call until they install for themselves."
        )
    if target.scope == "managed":
        yield from _managed(plan, records)
    elif loose := unprotected():
        yield f"{loose}. An environment of its own is protected as a whole: {proposal(facts.name)}."
    yield from _double(plan, records)
    for reason in () if setup.fail_closed else setup.opens_on:  # where it has a switch, the summary says what it does
        yield f"What {facts.title} lets through unasked: {reason}."


def _managed(plan: Plan, records: list[Installed]) -> Iterator[str]:
    facts = plan.target.facts
    loose = [path for path in (Path(sys.executable).resolve(), Path(__file__).resolve()) if not _is_safe(path)]
    if loose:
        yield (
            f"{' and '.join(map(str, loose))} can be changed by others than root, and so can what this hook does: "
            "install Interpose for the whole system, as root, if it is to hold against its user."
        )
    if any(record.host == facts.name and record.scope != "managed" for record in records):
        yield f"Other hooks of ours for {facts.title} are installed as well: each call is asked about twice."


def _is_safe(path: Path) -> bool:
    places = (path, *path.parents)
    return all(about.st_uid == 0 and (not about.st_mode & 0o022 or about.st_mode & 0o1000)
               for about in (place.stat() for place in places))  # fmt: skip


def _double(plan: Plan, records: list[Installed]) -> Iterator[str]:
    """Hosts that run one another's files ask twice."""
    target = plan.target
    file = file_for(target.facts, target.scope)
    if file is None:
        return
    others = [HOSTS[name].facts for name in file.also_run_by]
    if not others:
        return
    titles = ", ".join(facts.title for facts in others)
    yield f"{titles} may run this file, too, and will be answered in their own words."
    installed = {
        record.host for record in records if record.scope == "user" or Path(record.path).is_relative_to(target.root)
    }
    twice = [facts.title for facts in others if facts.name in installed]
    if twice:
        yield f"Hooks of {', '.join(twice)} are installed as well: such a call is asked about and recorded twice."
