"""`/api/v1/policy`: which rules hold, and taking over changed ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interpose.core.formats.counted import plural
from interpose.doors.http.operation_routes import served
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.rules.policy.rules import Level, PolicyProblem

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.rules.policy.reload import PolicyReload

BROKEN = "policy_broken"


class RuleSet(Struct, frozen=True):
    """Rules that hold together. `broken` means that the files are newer and wrong, and that the last good rules hold.

    `refused` are attempts of a lower level to loosen, which were left out.
    """

    revision: str
    loaded_at: datetime
    state: Literal["current", "broken"]
    rules: int
    levels: dict[str, int]
    packs: dict[str, int]
    files: tuple[str, ...]
    problems: tuple[PolicyProblem, ...]
    refused: tuple[PolicyProblem, ...]


class PolicyAnswer(Struct, frozen=True):
    """The rules that hold everywhere, and those of the projects that agents were seen in, which only add to them."""

    policy: RuleSet
    projects: tuple[RuleSet, ...]


class PolicyReloaded(Struct, frozen=True):
    """What a reload did."""

    changed: bool
    revision_before: str
    policy: RuleSet
    projects: tuple[RuleSet, ...]


class PolicyNotReloaded(Struct, frozen=True):
    """Why nothing was taken over."""

    error: str
    message: str
    problems: tuple[PolicyProblem, ...]


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may see and operators may do."""

    async def show(_request: Request) -> Response:
        everywhere, *projects = _rule_sets(service)
        return json_response(PolicyAnswer(everywhere, tuple(projects)))

    async def reload(_request: Request) -> Response:
        before = service.policy_status()[0].revision
        await asyncio.to_thread(service.reload)
        everywhere, *projects = _rule_sets(service)
        if everywhere.state == "broken":
            message = (
                f"the rule files have {plural(len(everywhere.problems), 'problem')}; policy {everywhere.revision} holds"
            )
            return json_response(PolicyNotReloaded(BROKEN, message, everywhere.problems), 409)
        return json_response(PolicyReloaded(everywhere.revision != before, before, everywhere, tuple(projects)))

    return (
        Route("GET", "/api/v1/policy", show, "auditor", "Which rules hold, and what is wrong with newer ones",
              answer=PolicyAnswer),
        served("reload-policy", reload,
              answer=PolicyReloaded, codes=((409, BROKEN),)),
    )  # fmt: skip


def _rule_sets(service: Service) -> list[RuleSet]:
    return [_rule_set(ruled.policy) for ruled in service.policies.all()]


def _rule_set(reload: PolicyReload) -> RuleSet:
    status = reload.status
    sources = [each.rule.source for each in reload.policy.rules]
    levels = Counter(source.level for source in sources)
    return RuleSet(
        status.revision,
        status.loaded_at,
        status.state,
        status.rules,
        {level.value: levels[level] for level in Level},
        dict(sorted(Counter(source.pack for source in sources if source.pack).items())),
        tuple(sorted({source.file for source in sources if not source.pack})),
        status.problems,
        status.refused,
    )
