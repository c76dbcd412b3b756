"""What a person should know about hooks that are installed, or about to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpose.install.plan import Plan
from interpose.install.records import Installed
from interpose.surfaces.hosts.all_hosts import HOSTS


def advice(plan: Plan, records: list[Installed]) -> Iterator[str]:
    """In the order in which it matters."""
    target, facts = plan.target, plan.target.facts
    setup = facts.setup
    if setup.afterwards:
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
    yield from _double(plan, records)
    for reason in setup.opens_on:
        yield f"What {facts.title} lets through unasked: {reason}."


def _double(plan: Plan, records: list[Installed]) -> Iterator[str]:
    """Hosts that run one another's files ask twice."""
    target = plan.target
    file = next(file for file in target.facts.setup.files if file.scope == target.scope)
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
