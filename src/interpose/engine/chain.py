"""A chain over any input and output type, under the same law as everything else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from interpose.core.driving import Execute, Failure, Flow, drive, drive_async
from interpose.core.errors import DuplicateIdError, RefusedError
from interpose.core.interceptor import Interceptor, Registration
from interpose.core.pipeline import decide
from interpose.core.registration import registration
from interpose.core.registry import Snapshot
from interpose.core.types import Finding, HookPoint, Mode, OnError, Verdict
from interpose.engine.flow.observing import observe_all
from interpose.people.approvals import ConfirmationHandler, ask_person

In = TypeVar("In")
Out = TypeVar("Out")


class InterceptorChain(Generic[In, Out]):
    """Interceptors for messages, events or values of one's own. Immutable: `with_` makes a longer chain.

    verdict = chain.intercept(event)
    result = chain.run(event, deliver)          # intercept, deliver, observe
    """

    def __init__(self, entries: tuple[Registration, ...] = ()) -> None:
        self._entries = entries

    def with_(
        self,
        interceptor: Interceptor[In],
        *,
        id: str | None = None,
        priority: int = 0,
        timeout: float | None = None,
        on_error: OnError = "deny",
        guard: bool = False,
        mode: Mode = "enforce",
    ) -> InterceptorChain[In, Out]:
        """The chain with one more interceptor at its end."""
        own = id or getattr(interceptor, "id", None) or f"{type(interceptor).__name__}#{len(self._entries) + 1}"
        if any(known.id == own for known in self._entries):
            raise DuplicateIdError(f'Interceptor "{own}": the chain has this id already; give it one with id=')
        entry = registration(
            id=own, name=None, interceptor=interceptor, priority=priority, timeout=timeout, on_error=on_error,
            guard=guard, mode=mode,
        )  # fmt: skip
        return InterceptorChain(tuple(sorted((*self._entries, entry), key=lambda known: -known.priority)))

    @property
    def interceptors(self) -> tuple[Registration, ...]:
        """What the chain is made of, in the order in which it runs."""
        return self._entries

    def __repr__(self) -> str:
        return f"InterceptorChain({[entry.id for entry in self._entries]})"

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return True  # an empty chain is one

    def intercept(self, value: In) -> Verdict[In]:
        """What the chain says about `value`."""
        return drive(decide(self._entries, value))

    async def aintercept(self, value: In) -> Verdict[In]:
        """`intercept` for async callers."""
        return await drive_async(decide(self._entries, value))

    def observe(self, value: In, output: Out) -> tuple[Finding, ...]:
        """Show an outcome to all; what fails there is returned, and stops nobody."""
        return drive(observe_all(self._entries, value, output))

    def run(self, value: In, deliver: Callable[[In], Out], *, confirm: ConfirmationHandler | None = None) -> Out:
        """Intercept, deliver what the chain made of `value`, observe. Raises RefusedError if it was refused."""
        return drive(self._run(value, deliver, confirm))

    async def arun(
        self, value: In, deliver: Callable[[In], Out | Awaitable[Out]], *, confirm: ConfirmationHandler | None = None
    ) -> Out:
        """`run` for async callers."""
        return await drive_async(self._run(value, deliver, confirm))

    def _run(self, value: In, deliver: Callable[[In], Any], confirm: ConfirmationHandler | None) -> Flow[Out]:
        verdict = yield from decide(self._entries, value, approve=ask_person(confirm))
        if not verdict.allowed:
            raise RefusedError(verdict)
        answer: Out | Failure = yield Execute(deliver, verdict.payload)
        output = answer.error if type(answer) is Failure else answer
        yield from observe_all(self._entries, verdict.payload, output)
        if type(answer) is Failure:
            raise answer.error
        return answer

    def snapshot(self) -> Snapshot:
        """The chain as the interceptors of tool calls, so that an engine can run it."""
        from msgspec.structs import replace

        return Snapshot(tuple(replace(entry, name=HookPoint.TOOL_BEFORE) for entry in self._entries))
