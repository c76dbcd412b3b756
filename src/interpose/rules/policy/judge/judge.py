"""The judge: all AI rules that apply to an event, in one call.

There are more calls than one only where rules must not share one: other providers, rules that watch (nobody waits for
them), and rules of a project, whose prompts must not be able to talk the judge out of the organisation's rules.

Judges run on an event loop of their own. So connections are kept between events, watching goes on when the caller's
loop has ended, and nothing of the agent's context (its token budgets, its traces) reaches a judgement.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from interpose.core.driving.background_loop import BackgroundLoop
from interpose.core.errors import PolicyError
from interpose.rules.policy.judge.cache import Cache
from interpose.rules.policy.judge.operation import Operation, Payload, UnreadableError, operation_of
from interpose.rules.policy.judge.provider_lane import Lane, RuleGroup
from interpose.rules.policy.judge.rulings import Failed, JudgedRule, Objects, Permits, Ruling
from interpose.rules.policy.judge.settings import Choice, JudgeLimits, Provider, SettingsError, choice_of, limits_of
from interpose.rules.policy.rules import Level, PolicyProblem, Rule

MAX_WATCHING = 64
"""How many events may wait for rules that watch. Beyond that they are not judged, and counted."""

GRACE = 1.0
"""Seconds past the total deadline after which the judges' own loop counts as stuck."""

Tell = Callable[[Payload, JudgedRule], object]
"""Hears what rules that watch would have said, and failures that let an operation pass."""

_Key = tuple[RuleGroup, bytes]

_LOOP = BackgroundLoop()


class Judge:
    """The AI rules of a policy, with the judges that they are asked."""

    def __init__(
        self,
        rules: Iterable[Rule],
        shared: Mapping[str, Any],
        *,
        environ: Mapping[str, str] | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Settings are checked and `${ENV}` is filled in here. Raises PolicyError."""
        self.limits = _limits(shared)
        self._choices = _choices(rules, shared, os.environ if environ is None else environ)
        self._tell = tell or log
        self._cache: Cache[_Key, tuple[Ruling, ...]] = Cache(self.limits.cache_size, self.limits.cache_seconds)
        self._lanes: dict[tuple[Provider, bool, bool, float], Lane] = {}
        self._watching = 0
        self.unwatched = 0
        """How often rules that watch were not judged, because too many already were."""

    async def judge(self, payload: Payload, rules: Sequence[Rule]) -> tuple[JudgedRule, ...]:
        """What is said about the rules that decide. Those that only watch are judged later, and told."""
        deciding = [rule for rule in rules if not in_background(rule)]
        watching = [rule for rule in rules if in_background(rule)]
        try:
            operation = operation_of(payload, self.limits.max_characters)
        except UnreadableError as error:
            failed = Failed(str(error))
            self.tell(payload, (JudgedRule(rule, failed) for rule in watching))
            return tuple(JudgedRule(rule, failed) for rule in deciding)
        if watching:
            self._watch(payload, operation, watching)
        return await self._decide(operation, deciding) if deciding else ()

    def tell(self, payload: Payload, judged: Iterable[JudgedRule]) -> None:
        """Tell whoever listens. One that fails changes nothing."""
        for each in judged:
            try:
                self._tell(payload, each)
            except Exception:  # noqa: BLE001, S110 - a listener is not part of a decision
                pass

    async def _decide(self, operation: Operation, rules: Sequence[Rule]) -> tuple[JudgedRule, ...]:
        groups = self._groups(rules)
        known: Sequence[tuple[Ruling, ...] | None] = [self._cache.get(_key(group, operation)) for group in groups]
        if not all(known):
            try:
                # INVARIANT: a cancelled caller cancels its judgement, as wrap_future hands it on.
                answer = asyncio.wrap_future(_LOOP.submit(self._ask_all(groups, operation)))
                known = await asyncio.wait_for(answer, self.limits.total_timeout + GRACE)
            except (RuntimeError, TimeoutError) as error:
                known = [group.failed(f"there is nobody to judge: {error}") for group in groups]
        said = {rule: ruling for group, found in zip(groups, known, strict=True) if found
                for rule, ruling in zip(group.rules, found, strict=True)}  # fmt: skip
        return tuple(JudgedRule(rule, said[rule]) for rule in rules)

    def _watch(self, payload: Payload, operation: Operation, rules: Sequence[Rule]) -> None:
        try:
            _LOOP.submit(self._judge_later(payload, operation, rules))
        except RuntimeError as error:
            self.tell(payload, (JudgedRule(rule, Failed(f"there is nobody to judge: {error}")) for rule in rules))

    async def _judge_later(self, payload: Payload, operation: Operation, rules: Sequence[Rule]) -> None:
        if self._watching >= MAX_WATCHING:
            self.unwatched += 1
            return
        self._watching += 1
        try:
            groups = self._groups(rules)
            found = await self._ask_all(groups, operation)
            judged = [each for group, rulings in zip(groups, found, strict=True)
                      for each in map(JudgedRule, group.rules, rulings)]  # fmt: skip
            # In a thread: a listener that takes its time must not stop the judges.
            await asyncio.to_thread(self.tell, payload, judged)
        finally:
            self._watching -= 1

    async def _ask_all(self, groups: Sequence[RuleGroup], operation: Operation) -> list[tuple[Ruling, ...]]:
        return list(await asyncio.gather(*(self._ask(group, operation) for group in groups)))

    async def _ask(self, group: RuleGroup, operation: Operation) -> tuple[Ruling, ...]:
        key = _key(group, operation)
        if (known := self._cache.get(key)) is not None:
            return known
        rulings = await self._lane(group).judge(group, operation)
        if not any(isinstance(ruling, Failed) for ruling in rulings):
            self._cache.put(key, rulings)
        return rulings

    def _lane(self, group: RuleGroup) -> Lane:
        key = (group.provider, group.of_project, group.in_background, group.longest)
        lane = self._lanes.get(key)
        if lane is None or lane.loop is not asyncio.get_running_loop():
            lane = self._lanes[key] = Lane(self.limits)
        return lane

    def _groups(self, rules: Sequence[Rule]) -> list[RuleGroup]:
        """The rules by what they may share. INVARIANT: a project's prompts share a call with nobody else's."""
        together: dict[tuple[Provider, bool, bool], list[Rule]] = {}
        for rule in dict.fromkeys(rules):
            kind = (self._choices[rule].provider, rule.source.level is Level.PROJECT, in_background(rule))
            together.setdefault(kind, []).append(rule)
        return [RuleGroup(*kind, tuple(found), tuple(map(self._timeout, found))) for kind, found in together.items()]

    def _timeout(self, rule: Rule) -> float:
        return min(self._choices[rule].timeout, self.limits.total_timeout)


def in_background(rule: Rule) -> bool:
    """Whether a rule decides nothing, so that nobody has to wait for it."""
    return rule.mode == "watch" or rule.action == "log"


def log(_payload: Payload, judged: JudgedRule) -> None:
    """The default listener."""
    import logging

    logger = logging.getLogger("interpose.judge")
    match judged.ruling:
        case Failed(why=why):
            logger.warning("rule %s was not judged: %s", judged.rule.id, why)
        case Objects(reason=reason):
            logger.warning("rule %s objects: %s", judged.rule.id, reason)
        case Permits():
            pass


def _key(group: RuleGroup, operation: Operation) -> _Key:
    return group, sha256(f"{operation.point}\n{operation.text}".encode()).digest()


def _limits(shared: Mapping[str, Any]) -> JudgeLimits:
    try:
        return limits_of(shared)
    except SettingsError as error:
        raise PolicyError((PolicyProblem("judge", 1, "", str(error)),)) from None


def _choices(rules: Iterable[Rule], shared: Mapping[str, Any], environ: Mapping[str, str]) -> dict[Rule, Choice]:
    problems: list[PolicyProblem] = []
    choices: dict[Rule, Choice] = {}
    for rule in rules:
        if rule.action == "transform":
            problems.append(rule.problem("action", "a judge can't rewrite a call"))
        try:
            choices[rule] = choice_of(rule, shared, environ)
        except PolicyError as error:
            problems.extend(error.problems)
    if problems:
        raise PolicyError(tuple(problems))
    return choices
