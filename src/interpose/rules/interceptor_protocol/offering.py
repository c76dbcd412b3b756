"""Interceptors that are offered over the protocol: ours, and those of plugins.

from interpose.interceptor_protocol import OfferedInterceptor, ValidationSaid, denied, validator

def no_notes(asked):                      # sync functions run in a thread, async ones are cancelled when late
    return denied("no notes") if "note" in str(asked.payload) else ValidationSaid()

def offer():                              # the entry point, of the group `interpose.offered_interceptors`
    return [validator("acme/no-notes", no_notes, events=["tools/call"])]
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from interpose.core.driving import is_async, is_awaitable
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.errors import PluginError, text_of
from interpose.rules.interceptor_protocol.chains import ChainMember
from interpose.rules.interceptor_protocol.descriptors import (
    PHASES,
    DescriptorError,
    EventHook,
    EventPhase,
    InterceptorDescriptor,
    InterceptorType,
)
from interpose.rules.interceptor_protocol.invocations import InterceptorInvocation, InterceptorSaid

Offer = Callable[[InterceptorInvocation], InterceptorSaid | Awaitable[InterceptorSaid]]

THREADS = 16
"""Sync functions of plugins that may run at the same time. One that hangs keeps its thread; the others go on."""
_threads = FairWorkers("offered", THREADS)


class OfferedInterceptor(Struct, frozen=True):
    """One interceptor, and the function that is asked."""

    descriptor: InterceptorDescriptor
    function: Offer
    inline: bool = False
    """It never blocks: called where everybody is served."""

    async def invoke(self, asked: InterceptorInvocation) -> InterceptorSaid:
        """What it says. Raises whatever it raises."""
        answer: Any
        if self.inline or is_async(self.function):
            answer = self.function(asked)
        else:
            # INVARIANT: a plugin that blocks holds up only those who ask for it.
            answer = await asyncio.wrap_future(_threads.submit(self.descriptor.name, lambda: self.function(asked)))
        if is_awaitable(answer):
            answer = await answer
        return answer  # type: ignore[no-any-return]  # whoever asks looks at its type

    @property
    def member(self) -> ChainMember:
        """As part of a chain."""
        return ChainMember(self.descriptor, self.invoke)


def _offered(
    type: InterceptorType,  # noqa: A002 - the word of the protocol
    name: str,
    function: Offer,
    events: Iterable[str],
    phases: Iterable[EventPhase],
    more: dict[str, Any],
) -> OfferedInterceptor:
    hooks = tuple(EventHook(tuple(events), phase) for phase in phases)
    return OfferedInterceptor(InterceptorDescriptor(name=name, type=type, hooks=hooks, **more), function)


def validator(
    name: str, function: Offer, *, events: Iterable[str], phases: Iterable[EventPhase] = PHASES, **more: Any
) -> OfferedInterceptor:
    """A function that returns a ValidationSaid. `more` are fields of the descriptor."""
    return _offered("validation", name, function, tuple(events), phases, more)


def mutator(
    name: str, function: Offer, *, events: Iterable[str], phases: Iterable[EventPhase] = PHASES, **more: Any
) -> OfferedInterceptor:
    """A function that returns a MutationSaid."""
    return _offered("mutation", name, function, tuple(events), phases, more)


def sink(
    name: str, function: Offer, *, events: Iterable[str], phases: Iterable[EventPhase] = PHASES, **more: Any
) -> OfferedInterceptor:
    """A function that returns a SinkSaid. Nobody waits for it in a chain."""
    return _offered("sink", name, function, tuple(events), phases, more)


def checked_offers(found: Iterable[object]) -> Iterator[OfferedInterceptor]:
    """What plugins offer, if that is what it is. Raises PluginError."""
    names: set[str] = set()
    for each in found:
        if not isinstance(each, OfferedInterceptor):
            raise PluginError(f"an offered interceptor is made by validator(), mutator() or sink(), not {each!r:.100}")
        if each.descriptor.name in names:
            raise PluginError(f"two interceptors are offered as {each.descriptor.name!r}")
        names.add(each.descriptor.name)
        try:
            InterceptorDescriptor.__post_init__(each.descriptor)
        except DescriptorError as error:
            raise PluginError(text_of(error)) from None
        yield each
