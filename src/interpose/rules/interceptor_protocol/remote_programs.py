"""A program with interceptors: reached, asked what it offers, and held to what the configuration says of it.

One for each entry of the configuration, whatever number of engines a process has. It is reached when it is first
needed, and again when it was lost; a program that keeps failing is left alone for a while.
INVARIANT: until it is known what it offers, nothing passes it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec.structs import replace

from interpose.core.config.remote_interceptors import RemoteInterceptorProgram, covers
from interpose.core.config.server_variables import filled
from interpose.core.driving.background_loop import BackgroundLoop
from interpose.core.errors import text_of
from interpose.core.types import thaw
from interpose.rules.interceptor_protocol.chains import ChainMember
from interpose.rules.interceptor_protocol.descriptors import (
    DescriptorError,
    EventHook,
    InterceptorDescriptor,
    read_descriptor,
    read_priority,
)
from interpose.rules.interceptor_protocol.invocations import InterceptorInvocation, InterceptorSaid, read_result
from interpose.rules.interceptor_protocol.remote_links import (
    ProgramLink,
    RemoteLink,
    RemoteRefusalError,
    RemoteUnavailableError,
    end_group,
)

T = TypeVar("T")
log = logging.getLogger("interpose.interceptors")

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
MOST_OFFERED = 256
START_SECONDS = 20.0
FAILURES, PAUSE = 3, 10.0
"""After so many failures in a row a program is left alone for so many seconds."""
_META = "io.modelcontextprotocol/"
_NOT_THERE = (-32601, -32022, -32602, -32600)
"""How a program of the modern era answers `initialize`."""

_loop = BackgroundLoop()
_lock = threading.Lock()
_programs: WeakValueDictionary[Any, RemoteProgram] = WeakValueDictionary()


def program_of(name: str, settings: RemoteInterceptorProgram) -> RemoteProgram:
    """The program of an entry: the same for all engines of this process."""
    with _lock:
        found = _programs.get((name, settings))
        if found is None:
            found = _programs[name, settings] = RemoteProgram(name, settings)
        return found


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Run something on the loop that connections belong to."""
    return _loop.submit(work)


async def on_their_loop(work: Coroutine[Any, Any, T]) -> T:
    """Wait for it, from any loop. Cancelled, it is cancelled there."""
    return await asyncio.wrap_future(start(work))


class RemoteProgram:
    """See the module. All that is `async` runs on one loop."""

    def __init__(
        self, name: str, settings: RemoteInterceptorProgram, *, clock: Callable[[], float] = monotonic
    ) -> None:
        self.name, self.settings = name, settings
        self._clock = clock
        self._connecting: asyncio.Task[tuple[ChainMember, ...]] | None = None
        self._link: RemoteLink | None = None
        self._members: tuple[ChainMember, ...] = ()
        self._protocol = ""
        self._pid = os.getpid()
        self._failures = 0
        self._left_alone_until = 0.0
        self._why = ""
        self._group: list[tuple[int, int]] = []
        """The program that is to end with us: whose it is, and its process group."""
        weakref.finalize(self, _end_all, self._group)

    def prepare(self) -> None:
        """Begin to reach it, so that the first call need not wait. What goes wrong shows at that call."""
        start(self._prepared())

    async def _prepared(self) -> None:
        try:
            await self.members()
        except RemoteUnavailableError as error:
            log.warning("interceptors are not there", extra={"program": self.name, "why": str(error)})

    async def members(self) -> tuple[ChainMember, ...]:
        """What it offers, as it counts here. Raises RemoteUnavailableError."""
        if self._pid != os.getpid():  # forked: connections are those of the process that made them
            self._pid, self._link, self._connecting = os.getpid(), None, None
            self._group.clear()
        if self._link is not None and self._link.alive and self._connecting is None:
            return self._members
        if self._connecting is None:
            self._admit()
            self._connecting = asyncio.get_running_loop().create_task(self._connected())
            self._connecting.add_done_callback(_heard)
        # One attempt for all who wait: they hear the same, and none of them ends it by going away.
        return await asyncio.shield(self._connecting)

    async def _connected(self) -> tuple[ChainMember, ...]:
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._connect()
        except TimeoutError:
            await self._drop()
            raise self._failed(f"it did not say what it offers within {START_SECONDS:g} s") from None
        except (RemoteUnavailableError, RemoteRefusalError, DescriptorError) as error:
            await self._drop()
            raise self._failed(text_of(error)) from None
        finally:
            self._connecting = None
        self._failures = 0
        return self._members

    def _admit(self) -> None:
        left = self._left_alone_until - self._clock()
        if self._failures >= FAILURES and left > 0:
            raise RemoteUnavailableError(f"{self._why}; it is tried again in {left:.0f} s")

    def _failed(self, why: str) -> RemoteUnavailableError:
        self._failures += 1
        self._why = why
        if self._failures >= FAILURES:
            self._left_alone_until = self._clock() + PAUSE
        return RemoteUnavailableError(why)

    def late(self) -> None:
        """One of its interceptors did not answer in time."""
        self._failed("it did not answer in time")

    async def _drop(self) -> None:
        link, self._link = self._link, None
        self._group.clear()
        if link is not None:
            await link.close()

    async def _connect(self) -> None:
        await self._drop()
        try:
            settings = filled(self.settings, os.environ)
        except ValueError as error:
            raise RemoteUnavailableError(str(error)) from None
        if settings.url:
            from interpose.rules.interceptor_protocol.remote_http import RemoteHttpLink

            link: RemoteLink = await RemoteHttpLink.connect(settings)
        else:
            started = await ProgramLink.start(self.name, settings)
            self._group.append((os.getpid(), started.group))
            link = started
        self._link = link
        await self._greet(link)
        listed = await link.request("interceptors/list", self._with_meta({}))
        offered = listed.get("interceptors") if isinstance(listed, dict) else None
        if not isinstance(offered, list) or len(offered) > MOST_OFFERED:
            raise DescriptorError(f"interceptors/list gives a list of {MOST_OFFERED} interceptors at most")
        found = [read_descriptor(one) for one in offered]
        self._check(found)
        self._members = tuple(self._member(one) for one in found)

    async def _greet(self, link: RemoteLink) -> None:
        """`initialize` in the old era; who does not know it is of the modern one, where each request says it all."""
        self._protocol = ""
        hello = {
            "protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "interpose", "version": "1"},
        }  # fmt: skip
        try:
            said = await link.request("initialize", hello)
        except RemoteRefusalError as error:
            if error.code not in _NOT_THERE:
                raise
            self._protocol = MODERN
            link.agreed(MODERN)
            return
        version = said.get("protocolVersion") if isinstance(said, dict) else None
        link.agreed(version if isinstance(version, str) and len(version) < 32 else HANDSHAKE)
        await link.notify("notifications/initialized")

    def _with_meta(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._protocol != MODERN:
            return params
        info = {"name": "interpose", "version": "1"}
        said = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": info}
        return params | {"_meta": {f"{_META}{key}": value for key, value in said.items()}}

    def _check(self, found: list[InterceptorDescriptor]) -> None:
        names = [one.name for one in found]
        if len(set(names)) < len(names):
            raise DescriptorError("two interceptors have one name")
        for name in (*self.settings.overrides, *self.settings.config):
            if name not in names:
                raise DescriptorError(f"the configuration names {name!r}, which it does not offer")
        for one in found:
            if not one.speaks(self._protocol or HANDSHAKE):
                raise DescriptorError(f"{one.name} is not made for MCP {self._protocol or HANDSHAKE}")

    def _member(self, one: InterceptorDescriptor) -> ChainMember:
        """An interceptor with what the configuration says of it. Raises DescriptorError if that would widen it."""
        settings, override = self.settings, self.settings.overrides.get(one.name)
        if settings.events:
            one = replace(one, hooks=_inside(one.hooks, settings.events) or (_NOWHERE,))
        if settings.fail_open is not None:
            one = replace(one, fail_open=settings.fail_open)
        timeout = settings.timeout
        if override is not None:
            if override.hooks is not None:
                one = one.narrowed(tuple(EventHook(hook.events, hook.phase) for hook in override.hooks))
            if override.mode is not None:
                one = replace(one, mode="active" if override.mode == "enforce" else "audit")
            if override.fail_open is not None:
                one = replace(one, fail_open=override.fail_open)
            if override.priority is not None:
                one = replace(one, priority=read_priority(one.name, override.priority))
            timeout = override.timeout or timeout
        described = one

        async def invoke(asked: InterceptorInvocation) -> InterceptorSaid:
            return await self._invoke(described, asked)

        return ChainMember(one, invoke, timeout)

    async def _invoke(self, one: InterceptorDescriptor, asked: InterceptorInvocation) -> InterceptorSaid:
        self._admit()
        link = self._link
        if link is None:
            raise RemoteUnavailableError(self._why or "it is not there")
        params: dict[str, Any] = {
            "name": one.name, "event": asked.event, "phase": asked.phase, "payload": asked.payload,
            "config": self.settings.config.get(one.name, {}), "context": written_context(asked),
        }  # fmt: skip
        if asked.timeout is not None:
            params["timeoutMs"] = max(1, int(asked.timeout * 1000))
        try:
            result = await link.request("interceptor/invoke", self._with_meta(params))
        except RemoteUnavailableError as error:
            # It is gone: that counts against the program. An error that it answered is one interceptor's own.
            raise self._failed(text_of(error)) from None
        said = read_result(one, asked, result)
        self._failures = 0
        return said


_NOWHERE = EventHook(("interpose/nowhere",), "request")


def _inside(hooks: tuple[EventHook, ...], events: tuple[str, ...]) -> tuple[EventHook, ...]:
    """What hooks and events have in common."""
    found: list[EventHook] = []
    for hook in hooks:
        both = [own for own in hook.events if any(covers(wide, own) for wide in events)]
        both += [event for event in events if any(covers(own, event) for own in hook.events)]
        if both:
            found.append(EventHook(tuple(dict.fromkeys(both)), hook.phase))
    return tuple(found)


def written_context(asked: InterceptorInvocation) -> dict[str, Any]:
    """`context` of an invocation."""
    said = asked.context
    found: dict[str, Any] = {"timestamp": said.timestamp}
    if said.principal_id:
        found["principal"] = {"type": said.principal_type or "user", "id": said.principal_id}
    for key, value in (("sessionId", said.session_id), ("traceId", said.trace_id), ("spanId", said.span_id)):
        if value:
            found[key] = value
    if isinstance(said.caller, dict):
        found |= thaw(said.caller)
    return found


def _heard(attempt: asyncio.Task[Any]) -> None:
    if not attempt.cancelled():
        attempt.exception()  # those who wait for it say it; if they all went away, nobody has to


def _end_all(groups: list[tuple[int, int]]) -> None:
    for owner, group in groups:
        if group and owner == os.getpid():  # a process that was forked from ours has no say
            end_group(group)
