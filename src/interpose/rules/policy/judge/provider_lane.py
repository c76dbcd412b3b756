"""One way to one provider: how many calls at a time, and whether any at all.

Rules share a lane only if none can spoil it for another. Rules that watch, rules of a project, and rules with another
deadline have lanes of their own.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct

from interpose.rules.policy.judge import providers
from interpose.rules.policy.judge.answer_parsing import rulings_of
from interpose.rules.policy.judge.breaker import Breaker
from interpose.rules.policy.judge.operation import Operation
from interpose.rules.policy.judge.prompt import labelled, prompt_of
from interpose.rules.policy.judge.rulings import Failed, JudgeError, MisansweredError, Ruling
from interpose.rules.policy.judge.settings import JudgeLimits, Provider
from interpose.rules.policy.rules import Rule


class RuleGroup(Struct, frozen=True):
    """Rules that one call judges, with the seconds that each of them waits."""

    provider: Provider
    of_project: bool
    in_background: bool
    rules: tuple[Rule, ...]
    timeouts: tuple[float, ...]

    @property
    def longest(self) -> float:
        """When the call as a whole is given up."""
        return max(self.timeouts)

    def failed(self, why: str) -> tuple[Ruling, ...]:
        """What is said about all of them if nobody judges."""
        return (Failed(why),) * len(self.rules)


class Lane:
    """Used on the judges' event loop only, and made for it."""

    def __init__(self, limits: JudgeLimits) -> None:
        self.loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._breaker = Breaker(limits.breaker_failures, limits.breaker_seconds)

    async def judge(self, group: RuleGroup, operation: Operation) -> tuple[Ruling, ...]:
        """A ruling for each rule of the group, in time."""
        if not self._breaker.admit():
            return group.failed(f"{group.provider.name} keeps failing and is left alone for a while")
        call = _Call(self._slots, group, operation)
        task = asyncio.create_task(call.run())
        late: set[int] = set()
        try:
            late = await _late(task, group.timeouts)
        finally:
            task.cancel()
            self._learn(task, timed_out=call.had_its_chance and len(late) == len(group.rules))
        rulings = _result(task, group)
        return tuple(
            Failed(f"no verdict within {group.timeouts[index]:g} s") if index in late else ruling
            for index, ruling in enumerate(rulings)
        )

    def _learn(self, task: asyncio.Task[tuple[Ruling, ...]], *, timed_out: bool) -> None:
        if not task.done():
            task.add_done_callback(_hear)
            (self._breaker.failed if timed_out else self._breaker.abandoned)()
            return
        match _hear(task):
            case None:
                self._breaker.succeeded()
            case MisansweredError():
                self._breaker.abandoned()
            case _:
                self._breaker.failed()


class _Call:
    """One call, from waiting for a slot to the rulings."""

    def __init__(self, slots: asyncio.Semaphore, group: RuleGroup, operation: Operation) -> None:
        self._slots, self._group, self._operation = slots, group, operation
        self._clock = asyncio.get_running_loop().time
        self._begun = float("inf")

    @property
    def had_its_chance(self) -> bool:
        """Whether the provider had most of the time, and not the queue before it."""
        return self._clock() - self._begun > self._group.longest / 2

    async def run(self) -> tuple[Ruling, ...]:
        async with self._slots:
            self._begun = self._clock()
            rules = labelled(self._group.rules)
            prompt = prompt_of(rules, self._operation)
            answer = await providers.ask(self._group.provider, prompt, self._group.longest)
            rulings = rulings_of(answer, rules)
            return tuple(rulings[label] for label in rules)


async def _late(task: asyncio.Task[tuple[Ruling, ...]], timeouts: tuple[float, ...]) -> set[int]:
    """The rules whose time is up before there is an answer, by their place in the group."""
    clock = asyncio.get_running_loop().time
    start = clock()
    late: set[int] = set()
    for index in sorted(range(len(timeouts)), key=timeouts.__getitem__):
        if not task.done():
            await asyncio.wait({task}, timeout=max(0.0, start + timeouts[index] - clock()))
        if not task.done():
            late.add(index)
    return late


def _hear(task: asyncio.Task[tuple[Ruling, ...]]) -> BaseException | None:
    """A task's error, so that nobody complains that it was never heard."""
    return None if task.cancelled() else task.exception()


def _result(task: asyncio.Task[tuple[Ruling, ...]], group: RuleGroup) -> tuple[Ruling, ...]:
    if not task.done():
        return group.failed("no verdict in time")
    match _hear(task):
        case None:
            return task.result()
        case JudgeError() as error:
            return group.failed(f"{group.provider.name}: {error}")
        case error:
            # Only the type: what an unknown error says could hold anything.
            return group.failed(f"{group.provider.name}: {type(error).__name__}")
