"""The gate: what is asked of the one flow about calls in answers and results in requests.

INVARIANT: nothing but a cancellation gets out of here. What breaks is a text in the place of a call, or a result that
is withheld.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from interpose.core.driving import Flow, drive_in_server, drive_thread_of_server
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.errors import text_of
from interpose.core.formats import base64_parts
from interpose.core.formats.plain_text import one_line
from interpose.core.formats.value_sizes import is_large
from interpose.core.types import Context, ToolCall, ToolOutcome, Verdict
from interpose.doors.hooks.clients.remote_desk import desk_of
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text
from interpose.doors.proxy import gemini_content
from interpose.doors.proxy.found_calls import PASSED, ChangedCall, FoundCall, Ruling, TextInstead
from interpose.doors.proxy.request_results import FoundResult
from interpose.doors.proxy.result_memory import ResultDigests, ResultMemory, SeenResult
from interpose.engine.flow.hosted import Abilities, AskThem, Go, GoWith, HostedAnswer, Refuse, WaitFor

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.engine.flow.hosted import Hosted
    from interpose.engine.flow.run_parts import ToolRun
    from interpose.people.approvals import ConfirmationHandler

T = TypeVar("T")

DECIDES_IN = 60.0
"""Seconds that a decision may take, without the time that a person has."""
MOST_REMEMBERED = 4096
UNKNOWN = "unknown-tool"
"""The tool of a result whose call nobody knows."""
_CAN = Abilities(rewrite=True, rewrite_carried=True, holds=True)
_SHOWN = 80
_large = FairWorkers("proxy", 2)


class ProxyGate:
    """Over a service."""

    def __init__(self, service: Service, *, wait: float, start_server: bool = True) -> None:
        """`wait`: seconds that an answer waits for a person. `start_server`: if there is somebody to ask and no server
        runs, one is started."""
        self._service, self._wait, self._start = service, wait, start_server
        self._passed: OrderedDict[tuple[str, str], FoundCall] = OrderedDict()
        self._seen = ResultMemory()

    async def rulings(self, context: Context, calls: Sequence[FoundCall]) -> list[Ruling]:
        """What becomes of each call of an answer."""
        return list(await asyncio.gather(*(self._ruling(context, call) for call in calls)))

    async def look_at(self, context: Context, results: Sequence[FoundResult]) -> bool:
        """Put into the place of each result what the model gets of it. Whether anything changed."""
        digests, changed = ResultDigests(), False
        for result in results:
            call = result.call or self._passed.get((context.session_id, result.key))
            seen = await self._looked_at(context, result, call, digests)
            if seen.changed:
                result.holder[result.field] = seen.value
                changed = True
        return changed

    # calls

    async def _ruling(self, context: Context, call: FoundCall) -> Ruling:
        try:
            async with asyncio.timeout(self._wait + DECIDES_IN):
                ruling = await self._judged(context, call)
        except Exception as error:  # noqa: BLE001 - whatever broke, it was not judged
            return _instead(call, f"Interpose could not decide: {text_of(error)}")
        if not isinstance(ruling, TextInstead) and call.key:
            self._remember(context, call, ruling)
        return ruling

    async def _judged(self, context: Context, found: FoundCall) -> Ruling:
        call = ToolCall(found.tool, found.arguments, context=context)
        large = is_large(found.arguments)

        def before(wait: float) -> Flow[HostedAnswer]:
            return self._hosted(context, wait).before(call, key=found.key, unavailable=found.wrong)

        answer: HostedAnswer = await self._driven(context, large, lambda: before(0.0 if large else self._wait))
        if large and self._wait and isinstance(answer, WaitFor) and answer.verdict.approval:
            # Nobody waits for a person in a thread that others need.
            answer = await asyncio.to_thread(lambda: drive_thread_of_server(before(self._wait)))
        match answer:
            case Go():
                return PASSED
            case GoWith(verdict, arguments):
                if why := found.misfit(arguments):
                    return await self._unfit(context, found, verdict, why, large=large)
                return ChangedCall(arguments)
            case WaitFor(verdict) | AskThem(verdict):
                return _instead(found, reply_texts.waiting(verdict))
            case Refuse(verdict):
                return _instead(found, reply_texts.refusal(verdict))

    async def _unfit(
        self, context: Context, found: FoundCall, verdict: Verdict[ToolCall], why: str, *, large: bool
    ) -> Ruling:
        """INVARIANT: nothing runs but what was decided, and the record says that it did not."""
        reason = f"{reply_texts.rewriting(verdict)}, and {why}"
        hosted = self._hosted(context, 0.0)
        await self._driven(context, large, lambda: hosted.not_run(verdict, reason, key=found.key))
        return _instead(found, f"Interpose refused this as it is: {why}.\n{reply_texts.change(verdict)}")

    def _remember(self, context: Context, call: FoundCall, ruling: Ruling) -> None:
        """A server that keeps the conversation is sent results without their calls."""
        if isinstance(ruling, ChangedCall):
            call = replace(call, arguments=ruling.arguments)
        self._passed[context.session_id, call.key] = call
        if len(self._passed) > MOST_REMEMBERED:
            self._passed.popitem(last=False)

    # results

    async def _looked_at(
        self, context: Context, result: FoundResult, call: FoundCall | None, digests: ResultDigests
    ) -> SeenResult:
        try:
            large = is_large(result.value)
            tool = result.tool or UNKNOWN if call is None else call.tool
            arguments = {} if call is None else call.arguments
            digest = digests.of(context.session_id, result.key, tool, arguments, result.value, result.is_error)
            if (known := self._seen.find(digest)) is not None:
                return known
            async with asyncio.timeout(self._wait + DECIDES_IN):
                shown = base64_parts.opened(result.value, _kind_of)
                came = ToolCall(tool, arguments, context=context)
                outcome = ToolOutcome(came, shown.value, is_error=result.is_error)
                done = await self._ended(context, outcome, result.key, large=large)
        except Exception as error:  # noqa: BLE001 - what was not looked at is not handed on
            text = reply_texts.withheld_unseen(f"it could not be looked at: {text_of(error)}")
            return SeenResult(True, withheld(result, text))
        seen = _given(result, shown, done, outcome)
        if done.after is None or done.after.outcome != "ask":  # what waits for a person is asked about again
            self._seen.keep(digest, seen)
        return seen

    async def _ended(self, context: Context, outcome: ToolOutcome, key: str, *, large: bool) -> ToolRun:
        wait = 0.0 if large else self._wait
        done = await self._driven(context, large, lambda: self._hosted(context, wait).after(outcome, key=key))
        asks = done.after is not None and done.after.outcome == "ask" and done.after.approval
        if large and self._wait and asks:
            again = self._hosted(context, self._wait)
            done = await asyncio.to_thread(lambda: drive_thread_of_server(again.after(outcome, key=key)))
        return done

    # both

    def _hosted(self, context: Context, wait: float) -> Hosted:
        return self._service.hosted(context, _CAN, confirm=self._desk(wait))

    def _desk(self, wait: float) -> ConfirmationHandler:
        return desk_of(self._service, wait, start=self._start)

    async def _driven(self, context: Context, large: bool, flow: Callable[[], Flow[T]]) -> T:
        """Walk a flow: at once if it is about little, else where nobody else has to wait for it."""
        if not large:
            return await drive_in_server(flow())
        return await asyncio.wrap_future(_large.submit(context.session_id, lambda: drive_thread_of_server(flow())))


def _instead(call: FoundCall, said: str) -> TextInstead:
    return TextInstead(f"{one_line(call.tool)[:_SHOWN]} was not called. {said}")


def _given(result: FoundResult, shown: base64_parts.OpenedValue, done: ToolRun, outcome: ToolOutcome) -> SeenResult:
    """What the model gets of a result."""
    said = done.after
    if said is not None and not said.allowed:
        return SeenResult(True, withheld(result, reply_texts.withheld(said)))
    if done.response is outcome.result and (said is None or said.outcome == "allow"):
        return SeenResult()
    new = base64_parts.closed(shown, done.response)
    same_shape = fitted(result.value, new) is new
    return SeenResult(True, new if same_shape else withheld(result, plain_text(new)))


def withheld(result: FoundResult, text: str) -> Any:
    """A text in the place of a result, in a form that its API takes."""
    if result.field == "response":
        return {"error": text}
    if isinstance(result.value, dict) and result.field in gemini_content.RESULTS:
        said = {name: result.value[name] for name in ("id", "name") if name in result.value}
        return {**said, "response": {"error": text}}
    if result.holder.get("type") == "shell_call_output":
        return [{"stdout": "", "stderr": text, "outcome": {"type": "exit", "exit_code": 1}}]
    return text


_HOLDS = frozenset({"data", "url", "image_url", "file_data", "file_url"})
_MIMES = ("media_type", "mimeType", "mime_type")


def _kind_of(part: Mapping[str, Any], key: str) -> str | None:
    """Pictures, sounds and documents: their type stands beside them, or they are an address that holds its own data."""
    if key not in _HOLDS:
        return None
    for name in _MIMES:
        if isinstance(kind := part.get(name), str):
            return kind
    return "data" if str(part[key]).startswith("data:") else None
