"""The interceptor protocol as JSON-RPC: what a client asks, checked, and what it gets.

All generations of the requests are understood: `hook` for `event`, `interceptors/invoke` for `interceptor/invoke`, and
the chain that was removed. INVARIANT: a refusal is a result; an error says that nobody could judge.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.types import EMPTY, freeze
from interpose.doors.mcp.gate.gate_schema import misfit
from interpose.doors.mcp.links.eras import MODERN_VERSIONS, SERVER_INFO, handshake_version, map_of
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from interpose.rules.interceptor_protocol.chains import ChainAnswer, ChainMember, ChainResult, ask_member, run_chain
from interpose.rules.interceptor_protocol.descriptors import EventPhase, InterceptorDescriptor, as_phase, written
from interpose.rules.interceptor_protocol.invocations import (
    SEVERITIES,
    InterceptorInvocation,
    InvocationContext,
    MutationSaid,
    ValidationSaid,
    written_result,
)
from interpose.rules.interceptor_protocol.offering import OfferedInterceptor

log = logging.getLogger("interpose.interceptors")

CAPABILITY = "io.modelcontextprotocol/interceptors"
TIMED_OUT = -32000
USUAL_TIMEOUT, LONGEST_TIMEOUT = 60.0, 600.0
"""Seconds, if nobody says how many, and at most."""
_LONGEST = 256


class InvokingCaller(Struct, frozen=True, kw_only=True):
    """Who sends requests, as the transport knows. `principal` is what a credential proves; empty: who started us."""

    principal: str = ""
    anonymous: bool = False
    protocol: str = ""
    """The version of MCP that was negotiated, if any was."""
    cwd: str = ""


class InterceptorMethods:
    """The methods over a set of interceptors."""

    def __init__(self, offered: Sequence[OfferedInterceptor], *, version: str = "") -> None:
        self._offered = {one.descriptor.name: one for one in offered}
        self._version = version
        self._methods: Mapping[str, Callable[[Mapping[str, Any], InvokingCaller], Awaitable[dict[str, Any]]]] = {
            "initialize": self._initialize, "server/discover": self._discover, "ping": self._ping,
            "interceptors/list": self._list, "interceptor/list": self._list,
            "interceptor/invoke": self._invoke, "interceptors/invoke": self._invoke,
            "interceptor/executeChain": self._chain, "interceptors/executeChain": self._chain,
        }  # fmt: skip

    async def answer(self, method: str, params: object, caller: InvokingCaller) -> dict[str, Any]:
        """The result of a request. Raises RpcError."""
        found = self._methods.get(method)
        if found is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {_short(method)}")
        if params is not None and not isinstance(params, dict):
            raise _wrong("params must be an object")
        try:
            frozen = freeze(params or {})
        except ValueError as error:
            raise _wrong(str(error)) from None
        return await found(frozen, caller)

    # what we are

    async def _initialize(self, params: Mapping[str, Any], _caller: InvokingCaller) -> dict[str, Any]:
        return {
            "protocolVersion": handshake_version(params.get("protocolVersion")), "capabilities": self._capabilities(),
            "serverInfo": self._info(),
        }  # fmt: skip

    async def _discover(self, _params: Mapping[str, Any], _caller: InvokingCaller) -> dict[str, Any]:
        return {
            "resultType": "complete", "supportedVersions": list(MODERN_VERSIONS), "capabilities": self._capabilities(),
            "ttlMs": 0, "cacheScope": "private", "_meta": {SERVER_INFO: self._info()},
        }  # fmt: skip

    async def _ping(self, _params: Mapping[str, Any], _caller: InvokingCaller) -> dict[str, Any]:
        return {}

    def _info(self) -> dict[str, Any]:
        return {"name": "interpose", "version": self._version}

    def _capabilities(self) -> dict[str, Any]:
        events = dict.fromkeys(
            event for one in self._offered.values() for hook in one.descriptor.hooks for event in hook.events
        )
        return {"extensions": {CAPABILITY: {"supportedEvents": list(events)}}}

    async def _list(self, params: Mapping[str, Any], caller: InvokingCaller) -> dict[str, Any]:
        event, phase = params.get("event"), params.get("phase")
        if event is not None and not isinstance(event, str):
            raise _wrong("event must be a text")
        if phase is not None and as_phase(phase) is None:
            raise _wrong("phase must be request or response")
        there = [one.descriptor for one in self._offered.values()]
        listed = [one for one in there if one.listed(event, phase) and one.speaks(caller.protocol)]
        return {"interceptors": [written(one) for one in listed]}

    # one

    async def _invoke(self, params: Mapping[str, Any], caller: InvokingCaller) -> dict[str, Any]:
        name = params.get("name")
        if not isinstance(name, str):
            raise _wrong("name must be a text")
        asked = _asked(params, caller)
        one = self._wanted(name, caller)
        if not one.descriptor.covers(asked.event, asked.phase):
            data = {"interceptor": name, "event": asked.event, "phase": asked.phase}
            raise RpcError(INVALID_PARAMS, f"{_short(name)} does not stand at this event", data)
        _check_config(one.descriptor, asked.config)
        answer = await ask_member(one.member, asked)
        if answer.said is None:
            raise _failure(answer, asked)
        return written_result(one.descriptor, asked, answer.said, answer.milliseconds)

    def _wanted(self, name: str, caller: InvokingCaller) -> OfferedInterceptor:
        one = self._offered.get(name)
        if one is None:
            raise RpcError(INVALID_PARAMS, f"There is no interceptor {_short(name)}", {"interceptor": name[:_LONGEST]})
        if not one.descriptor.speaks(caller.protocol):
            compat = written(one.descriptor)["compat"]
            text = f"{_short(name)} is not made for MCP {_short(caller.protocol)}"
            raise RpcError(INVALID_PARAMS, text, {"interceptor": name, "compat": compat})
        return one

    # all of them

    async def _chain(self, params: Mapping[str, Any], caller: InvokingCaller) -> dict[str, Any]:
        asked = _asked(params, caller)
        names = params.get("interceptor", params.get("interceptors"))
        if names is None:
            there = [one for one in self._offered.values() if one.descriptor.speaks(caller.protocol)]
        elif isinstance(names, list) and all(isinstance(name, str) for name in names):
            there = [self._wanted(name, caller) for name in dict.fromkeys(names)]
        else:
            raise _wrong("interceptor must be a list of names")
        members = [_configured(one, asked.config) for one in there if one.descriptor.covers(asked.event, asked.phase)]
        # The vectors are a client's: what it requests it sends, what it is answered it receives.
        alone = replace(asked, timeout=None)  # the deadline is that of all of them together
        result = await run_chain(members, alone, sending=asked.phase == "request", timeout=asked.timeout)
        return _written_chain(asked, result)


def _configured(one: OfferedInterceptor, configs: Mapping[str, Any]) -> ChainMember:
    """A member of a chain with its own part of `config`."""
    config = configs.get(one.descriptor.name, EMPTY)
    if not isinstance(config, dict):
        raise _wrong(f"config of {_short(one.descriptor.name)} must be an object")
    _check_config(one.descriptor, config)

    async def invoke(asked: InterceptorInvocation) -> Any:
        return await one.invoke(replace(asked, config=config))

    return ChainMember(one.descriptor, invoke)


def _check_config(one: InterceptorDescriptor, config: Mapping[str, Any]) -> None:
    if one.config_schema and (where := misfit(one.config_schema, config)):
        said = {"interceptor": one.name, "severity": "error", "message": f"config does not fit at {where[:_LONGEST]}"}
        raise RpcError(INVALID_PARAMS, "Interceptor validation failed", {"validationErrors": [said]})


def _asked(params: Mapping[str, Any], caller: InvokingCaller) -> InterceptorInvocation:
    event = params.get("event", params.get("hook"))  # `hook` is a word of the second generation
    phase: EventPhase | None = as_phase(params.get("phase"))
    if not isinstance(event, str) or not event or len(event) > _LONGEST:
        raise _wrong("event must be a text such as tools/call")
    if phase is None:
        raise _wrong("phase must be request or response")
    if "payload" not in params:
        raise _wrong("payload is missing")
    config = params.get("config")
    if config is not None and not isinstance(config, dict):
        raise _wrong("config must be an object")
    return InterceptorInvocation(
        event=event, phase=phase, payload=params["payload"], config=config or EMPTY,
        context=_context(params.get("context"), caller), timeout=_timeout(params.get("timeoutMs")),
    )  # fmt: skip


def _timeout(value: object) -> float:
    if value is None:
        return USUAL_TIMEOUT
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise _wrong("timeoutMs must be a number above 0")
    return min(value / 1000, LONGEST_TIMEOUT)


def _context(value: object, caller: InvokingCaller) -> InvocationContext:
    if value is not None and not isinstance(value, dict):
        raise _wrong("context must be an object")
    said = map_of(value)
    principal = map_of(said.get("principal"))
    return InvocationContext(
        session_id=_text(said.get("sessionId")), principal_type=_text(principal.get("type")),
        principal_id=_text(principal.get("id")), trace_id=_text(said.get("traceId")),
        span_id=_text(said.get("spanId")), timestamp=_text(said.get("timestamp")), caller=caller,
    )  # fmt: skip


def _text(value: object) -> str:
    """A text that a client chose: short, and with nothing in it that can't be shown."""
    return one_line(value.strip())[:_LONGEST] if isinstance(value, str) else ""


def _wrong(what: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid params: {what}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:64]}...")


def _failure(answer: ChainAnswer, asked: InterceptorInvocation) -> RpcError:
    """INVARIANT: what went wrong inside is told to the log alone."""
    name = answer.descriptor.name
    if answer.timed_out:
        data: Any = {"interceptor": name, "timeoutMs": int((asked.timeout or 0) * 1000), "phase": asked.phase}
        return RpcError(TIMED_OUT, "Interceptor execution timeout", data)
    if answer.wrong_payload:
        said = {"interceptor": name, "severity": "error", "message": answer.failure[:1000]}
        return RpcError(INVALID_PARAMS, "Interceptor validation failed", {"validationErrors": [said]})
    log.warning("an interceptor failed", extra={"interceptor": name, "why": answer.failure})
    reason = "it failed; the server's log says why"
    if answer.descriptor.type == "mutation":
        data = {"failedInterceptor": name, "reason": reason, "lastValidPayload": asked.payload}
        return RpcError(INTERNAL_ERROR, "Interceptor mutation failed", data)
    return RpcError(INTERNAL_ERROR, "Interceptor execution failed", {"interceptor": name, "reason": reason})


def _written_chain(asked: InterceptorInvocation, result: ChainResult) -> dict[str, Any]:
    said: dict[str, Any] = {
        "status": result.status, "event": asked.event, "phase": asked.phase,
        "results": [_written_answer(asked, answer) for answer in result.answers],
        "validationSummary": _summary(result.answers), "totalDurationMs": result.milliseconds,
    }  # fmt: skip
    if result.status == "success":
        return said | {"finalPayload": result.payload}
    if (by := result.aborted_by) is not None:
        reason = by.reason if by.said is not None else _failure(by, asked).message
        kind = "timeout" if by.timed_out else by.descriptor.type
        return said | {"abortedAt": {"interceptor": by.descriptor.name, "reason": reason, "type": kind}}
    return said | {"abortedAt": {"interceptor": "", "reason": "The chain took too long", "type": "timeout"}}


def _written_answer(asked: InterceptorInvocation, answer: ChainAnswer) -> dict[str, Any]:
    if answer.said is not None:
        result = written_result(answer.descriptor, asked, answer.said, answer.milliseconds)
        if isinstance(answer.said, MutationSaid) and not answer.said.modified:
            del result["payload"]  # that of the step before
        return result
    error = _failure(answer, asked)
    one = answer.descriptor
    return {
        "interceptor": one.name, "type": one.type, "phase": asked.phase,
        "error": {"code": error.code, "message": error.message}, "durationMs": answer.milliseconds,
    }  # fmt: skip


def _summary(answers: Sequence[ChainAnswer]) -> dict[str, int]:
    counts = dict.fromkeys(SEVERITIES, 0)
    for answer in answers:
        if answer.descriptor.type != "validation":
            continue
        if not isinstance(answer.said, ValidationSaid):
            counts["error"] += 1
            continue
        worst = answer.said.severity or ("info" if answer.said.valid else "error")
        for each in answer.said.messages:
            counts[each.severity or worst] += 1
        if not answer.said.messages and not answer.said.valid:
            counts[worst] += 1
    return {"errors": counts["error"], "warnings": counts["warning"], "infos": counts["info"]}
