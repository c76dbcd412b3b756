"""What an install or an uninstall does, in a few lines: its file, its events, its changes, what a failing hook does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from interpose.core.formats.counted import plural
from interpose.doors.hooks.hosts.events import HostFacts
from interpose.doors.hooks.install.hooks_file import HooksFile
from interpose.doors.hooks.install.host_version import HostVersion
from interpose.doors.hooks.install.jsonc import JsoncError
from interpose.doors.hooks.install.places import spoken_path
from interpose.doors.hooks.install.plan import FileChange, Plan, is_ours


class SummaryLine(Struct, frozen=True):
    """A label, and what is said of it."""

    label: str
    text: str


def summary(plan: Plan, version: HostVersion) -> tuple[SummaryLine, ...]:
    """Five lines for an install, three for an uninstall."""
    facts = plan.target.facts
    agent = f"{facts.title} {version.version}".strip()
    lines = [
        SummaryLine("agent", f"{agent}, {spoken_path(version.program)}" if version.program else agent),
        SummaryLine("file", _file(plan)),
    ]
    if plan.record is None:
        return (*lines, SummaryLine("changes", _changes(plan)))
    return (
        *lines,
        SummaryLine("events", _events(facts)),
        SummaryLine("changes", _changes(plan)),
        SummaryLine("if it fails", if_it_fails(facts, version, fail_open=plan.record.fail_open)),
    )


def if_it_fails(facts: HostFacts, version: HostVersion, *, fail_open: bool) -> str:
    """What this version of the agent makes of a hook that crashes, takes too long or is gone."""
    setup = facts.setup
    if fail_open:
        return "the call runs, and that is noted: --fail-open"
    if setup.layout == "plugin":
        return "the call does not run: our plugin throws"
    if not setup.fail_closed:
        return f"the hook's own line denies the call; what {facts.title} runs all the same is named below"
    switch, since = json.dumps(setup.fail_closed).strip("{}"), setup.fail_closed_since
    if not since:
        return f"the call is denied: {switch}"
    if version.is_before(since):
        late = f"version {version.version} does not know {switch}; update {facts.title} to {since} or later"
        return f"A CRASH OR A TIMEOUT LETS THE CALL RUN: {late}"
    if version.version:
        return f"the call is denied: {switch}, which {facts.title} knows since {since}"
    return f"the call is denied from {facts.title} {since} on, by {switch}; your version is not known here"


def _file(plan: Plan) -> str:
    place = spoken_path(plan.target.path)
    theirs = [change for change in plan.changes if change.theirs]
    if plan.target.facts.setup.layout not in ("groups", "flat"):
        return place
    if any(change.before is None for change in theirs):
        return f"{place}, which is not there yet" if plan.record is not None else f"{place}, which is not there"
    return f"{place}; a copy of it is kept" if plan.changed else place


def _events(facts: HostFacts) -> str:
    events = facts.setup.events
    if not events:
        return "every call, by a plugin"
    gates = [event.name for event in events if event.gate]
    if not gates:
        return f"{len(events)}: {', '.join(event.name for event in events)}"
    decide = f"{' and '.join(filter(None, (', '.join(gates[:-1]), gates[-1])))} decide{'' if gates[1:] else 's'}"
    rest = len(events) - len(gates)
    return f"{len(events)}: {decide}{f', {rest} report' if rest else ''}"


def _changes(plan: Plan) -> str:
    if not plan.changed:
        return "nothing: it is as it should be" if plan.record is not None else "nothing: it has no hooks of ours"
    parts = [part for change in plan.changed if change.theirs for part in _of_theirs(plan, change)]
    parts += _of_ours(plan)
    return "; ".join(parts)


def _of_theirs(plan: Plan, change: FileChange) -> Iterator[str]:
    before, after = _ours_in(plan.target.facts, change.before), _ours_in(plan.target.facts, change.after)
    if plan.record is None:
        yield f"removes {before}" + (", and the file, which we made" if change.after is None else ", and nothing else")
    elif not before:
        yield f"adds {after}" if change.before is None else f"adds {after}, and changes nothing else"
    else:
        yield f"replaces {before} of ours, and changes nothing else"


def _ours_in(facts: HostFacts, content: bytes | None) -> str:
    """How many hooks of ours are in a file, and whether it has our line that shows questions."""
    try:
        file = HooksFile((content or b"").decode(), facts.setup)
        ours = is_ours(facts.name)
        count = sum(ours(command) for _, command, _ in file.commands())
        line = facts.setup.line if file.has_our_line(ours) else ""
    except (JsoncError, UnicodeDecodeError):
        return ""
    hooks = plural(count, "hook") if count else ""
    return " and ".join(part for part in (hooks, f"the {line}" if line else "") if part)


def _of_ours(plan: Plan) -> Iterator[str]:
    """Files that are ours as a whole, by the directory that they are in."""
    places: dict[Path, list[FileChange]] = {}
    for change in plan.changed:
        if not change.theirs:
            places.setdefault(change.path.parent, []).append(change)
    for place, changes in places.items():
        verb = "removes" if changes[0].after is None else "writes"
        what = spoken_path(changes[0].path) if len(changes) == 1 else f"{len(changes)} files in {spoken_path(place)}"
        yield f"{verb} {what}"
