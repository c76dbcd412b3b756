"""How the rules, the server and the ledger stand, for those who print it."""

from __future__ import annotations

from typing import Any

import msgspec

from interpose.composition.build import load_config, open_guards, open_rules
from interpose.core.errors import GovernanceProblem, PluginProblem, UnloadableError
from interpose.core.formats.counted import plural
from interpose.doors.hooks.install.last_heard import span
from interpose.doors.hooks.install.places import spoken_path
from interpose.doors.hooks.install.situation import LedgerState, ListeningServer
from interpose.rules.policy.pack_catalogue import packs
from interpose.rules.policy.rule_places import standard_places
from interpose.rules.policy.rules import Level, PolicyProblem

_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def policy_of(cwd: str) -> dict[str, Any]:
    """The guards and rules that hold in a directory. `policy` is None if they can't be loaded."""
    told: dict[str, Any] = {
        "guards": [],
        "policy": None,
        "packs": [],
        "levels": {},
        "refused": [],
        "problems": [],
    }
    try:
        config = load_config()
        told["guards"] = [entry.id for entry in open_guards(config).interceptors.snapshot().entries]
        following = open_rules(config, cwd).policy
        told["packs"] = [pack.name for pack in packs(standard_places(cwd)) if pack.on]
    except UnloadableError as error:  # rules, or the configuration that says where they are
        return told | {"problems": [_fields_of(problem) for problem in error.problems]}
    rules = following.policy.rules
    told["policy"] = {"revision": following.status.revision, "rules": len(rules)}
    told["levels"] = {level.value: sum(each.rule.source.level is level for each in rules) for level in Level}
    told["refused"] = [msgspec.to_builtins(problem) for problem in following.status.refused]
    return told


def _fields_of(problem: Any) -> dict[str, Any]:
    if isinstance(problem, PluginProblem | GovernanceProblem):
        return problem._asdict()
    fields: dict[str, Any] = msgspec.to_builtins(problem)
    return fields


def problem_text(problem: dict[str, Any]) -> str:
    """What is wrong with a rule file or with the configuration."""
    return (
        str(PolicyProblem(**problem))
        if "file" in problem
        else ": ".join(str(part) for part in problem.values() if part)
    )


def server_line(server: ListeningServer, now: float) -> str:
    """Who answers hooks."""
    if server.problem:
        return f"{spoken_path(server.socket)}: {server.problem}"
    if not server.pid:
        return "none runs; a hook decides by itself and starts one"
    since = f" for {span(now - server.since)}" if server.since else ""
    return f"process {server.pid} answers{since}, {spoken_path(server.socket)}"


def ledger_line(ledger: LedgerState) -> str:
    """What was recorded."""
    if ledger.problem:
        return f"{spoken_path(ledger.place)}: {ledger.problem}"
    real = ledger.decisions - ledger.canaries
    decisions = plural(real, "decision")
    tried = f" (and {ledger.canaries} of doctor)" if ledger.canaries else ""
    return f"{decisions}{tried}, {_size(ledger.bytes)}, {spoken_path(ledger.place)}"


def _size(count: float) -> str:
    for unit in _SIZES[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.0f} {_SIZES[-1]}"
