"""A request on its way to a model's server, and the answer on its way back.

    request -> results -> tool.after -> the server -> calls -> tool.before -> the agent

INVARIANT: what can't be judged is not passed on. It is an error in the form of the API that was spoken.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from interpose.core.types import Context
from interpose.doors.http_client.addresses import NotReachedError
from interpose.doors.http_client.exchanges import AnswerHead
from interpose.doors.http_server.messages import EVERY, Refusal, Request, Response, Route, json_response
from interpose.doors.proxy import openai_responses, other_paths
from interpose.doors.proxy.dialects import Dialect, PathKind, kind_of
from interpose.doors.proxy.found_calls import MOST_CALLS, FoundCall, PassedCall, Ruling
from interpose.doors.proxy.held_streams import HeldStream
from interpose.doors.proxy.openai_responses import Unanswered
from interpose.doors.proxy.proxy_gate import ProxyGate
from interpose.doors.proxy.request_results import results_in
from interpose.doors.proxy.upstream_headers import answer_fields, request_head
from interpose.doors.proxy.upstreams import Upstream, UpstreamAnswer, UpstreamBrokeError, ask
from interpose.doors.proxy.wire_values import DoubtfulError, value_of

LARGEST_ANSWER = 64 << 20
"""Bytes of an answer that is not a stream."""
LARGE = 64 << 10
"""Bytes above which JSON is read in a thread."""
MOST_ANSWERS = 1000
"""Answers with calls that became texts, which a server still waits for."""

_HIDDEN = re.compile(r"%(?:2[DEF]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])", re.IGNORECASE)
"""Escapes of letters that need none, and of `/`: a server that undoes them would see another path than we do."""

log = logging.getLogger("interpose.proxy")

Identify = Callable[[Request, str], Context]
"""Whose request it is, in a dialect."""


class ModelRelay:
    """See the module."""

    def __init__(
        self, gate: ProxyGate, upstreams: Mapping[str, Upstream], identify: Identify, *, seconds: float
    ) -> None:
        """`seconds` without a byte after which a server is given up."""
        self._gate, self._upstreams, self._identify, self._seconds = gate, upstreams, identify, seconds
        self._unanswered: OrderedDict[str, list[dict[str, Any]]] = OrderedDict()

    def routes(self) -> tuple[Route, ...]:
        """All that there is."""
        return (Route(EVERY, EVERY, self.handle, "relayed", "A request to a model's server", hangs_up=True),)

    async def handle(self, request: Request) -> Response:
        """One request."""
        upstream, path, target = self._place(request)
        if "websocket" in request.headers.get("upgrade", "").lower():
            text = "Interpose does not read WebSockets: speak to the model over HTTP"
            return json_response({"error": {"message": text, "type": "invalid_request_error"}}, 426)
        kind = kind_of(path)
        try:
            return await self._relayed(request, upstream, target, kind)
        except DoubtfulError as error:
            return _failed(kind, 400, f"Interpose refused this request: {error}")
        except NotReachedError as error:
            return _failed(kind, 502, f"Interpose could not reach the model's server: {error}")
        except Exception:
            log.exception("request %s could not be relayed", request.request_id)
            return _failed(kind, 500, f"Interpose failed; its log has more under {request.request_id}")

    def _place(self, request: Request) -> tuple[Upstream, str, str]:
        """Where a request goes: the server, the path there, and the target as it was written. Raises Refusal."""
        _, name, *rest = request.path.split("/", 2)
        upstream = self._upstreams.get(name)
        if upstream is None:
            known = ", ".join(f"/{one}" for one in self._upstreams)
            raise Refusal(404, "not_found", f"here are {known}, and below each what is there at the model's server")
        written = request.target.removeprefix(f"/{name}") or "/"
        if request.target[1 : 1 + len(name)] != name or _HIDDEN.search(written.partition("?")[0]):
            raise Refusal(400, "bad_request", "this path could be taken for another")
        return upstream, f"/{rest[0]}" if rest else "/", written if written.startswith("/") else f"/{written}"

    async def _relayed(self, request: Request, upstream: Upstream, target: str, kind: PathKind) -> Response:
        context: Context | None = None
        body = request.body
        if isinstance(kind, Dialect):
            context = self._identify(request, kind.name)
            if body:
                body = await self._seen(request, kind, context)
        elif kind == "unknown" and body:
            encoded = request.headers.get("content-encoding", "identity").lower() != "identity"
            await _in_thread(len(body), lambda: other_paths.check_request(body, encoded=encoded))
        has_body = bool(body) or request.method in ("POST", "PUT", "PATCH")
        head = request_head(
            request.method, target, upstream.url.authority, request.fields, request.headers,
            len(body) if has_body else None,
        )  # fmt: skip
        answered, answer = await ask(upstream.client, head + body, self._seconds)
        try:
            return await self._answered(kind, context, answered, answer, no_body=request.method == "HEAD")
        except BaseException:
            answer.close()
            raise

    # requests

    async def _seen(self, request: Request, dialect: Dialect, context: Context) -> bytes:
        """The body with its results as the model may see them. Raises DoubtfulError."""
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise DoubtfulError("its body is compressed. Send it as it is")
        body = await _read(request.body)
        changed = await self._gate.look_at(context, results_in(dialect.name, body))
        if dialect.name == openai_responses.NAME and isinstance(body, dict):
            changed = self._answer_refused(body) or changed
        return await _in_thread(len(request.body), lambda: msgspec.json.encode(body)) if changed else request.body

    def _answer_refused(self, body: dict[str, Any]) -> bool:
        """Where the server keeps the conversation, it waits for results of calls that became texts here."""
        conversation = body.get("conversation")
        named = (
            body.get("previous_response_id"), conversation.get("id") if isinstance(conversation, dict) else conversation
        )  # fmt: skip
        wanted = [item for name in named if isinstance(name, str) for item in self._unanswered.get(name, ())]
        given = body.get("input")
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": given}]
        if not wanted or not isinstance(given, list | None):
            return False
        told = [item for item in given or () if isinstance(item, dict)]
        missing = [item for item in wanted if not any(_answers(one, item) for one in told)]
        if missing:
            body["input"] = [*missing, *(given or ())]
        return bool(missing)

    def _remember(self, unanswered: Unanswered) -> None:
        for name in unanswered.ids if unanswered.items else ():
            self._unanswered[name] = [*self._unanswered.pop(name, ()), *unanswered.items]
            if len(self._unanswered) > MOST_ANSWERS:
                self._unanswered.popitem(last=False)

    # answers

    async def _answered(
        self, kind: PathKind, context: Context | None, head: AnswerHead, answer: UpstreamAnswer, *, no_body: bool
    ) -> Response:
        fields = answer_fields(head.fields, head.headers)
        if 300 <= head.status < 400 and head.status != 304:
            answer.close()
            text = "the model's server sends the agent to another address, past Interpose: give that as the upstream"
            return _failed(kind, 502, text)
        if no_body:
            answer.close()
            return Response(head.status, headers=fields, relayed=True)
        if head.status == 304 or kind == "harmless":
            return Response(head.status, headers=fields, stream=_passing(answer), relayed=True)
        if not other_paths.is_utf8(head.headers.get("content-type", "")):
            answer.close()
            return _failed(kind, 403, "Interpose refused this answer of the model's server: it is not in UTF-8")
        if isinstance(kind, Dialect) and context is not None and head.status < 400:
            if head.media_type == other_paths.EVENTS:
                return Response(head.status, headers=fields, stream=self._stream(kind, context, answer), relayed=True)
            return await self._whole(kind, context, head, fields, answer)
        # An error is no answer of a model. Some agents do not look at the status, so nothing like a call is in one.
        return await self._other(kind, head, fields, answer)

    async def _stream(self, dialect: Dialect, context: Context, answer: UpstreamAnswer) -> AsyncIterator[bytes]:
        unanswered = Unanswered()
        held = HeldStream(dialect.stream(unanswered), self._judge(context))
        try:
            async for part in held.passed(answer.pieces()):
                yield part
        finally:
            answer.close()
            self._remember(unanswered)

    async def _whole(
        self, dialect: Dialect, context: Context, head: AnswerHead, fields: Any, answer: UpstreamAnswer
    ) -> Response:
        unanswered = Unanswered()
        try:
            body = await _collected(answer)
            new = body
            if body.strip():
                found = dialect.judged(await _read(body), unanswered)
                if len(found.calls) > MOST_CALLS:
                    raise DoubtfulError(f"it has more than {MOST_CALLS} calls")
                rulings = await self._gate.rulings(context, found.calls)
                if not all(isinstance(ruling, PassedCall) for ruling in rulings):
                    new = msgspec.json.encode(found.written(rulings))
        except DoubtfulError as error:
            return _failed(dialect, 403, f"Interpose refused this answer of the model's server: {error}")
        except UpstreamBrokeError as error:
            raise NotReachedError(str(error)) from None
        finally:
            answer.close()
            self._remember(unanswered)
        return Response(head.status, new, fields, relayed=True)

    async def _other(self, spoken: PathKind, head: AnswerHead, fields: Any, answer: UpstreamAnswer) -> Response:
        kind = head.media_type
        if spoken == "unknown" and other_paths.passes_unseen(kind):
            return Response(head.status, headers=fields, stream=_passing(answer), relayed=True)
        if kind == other_paths.EVENTS:
            stream = _passing(answer, other_paths.checked_events(answer.pieces()))
            return Response(head.status, headers=fields, stream=stream, relayed=True)
        if not other_paths.is_text(kind):
            answer.close()
            return _failed("unknown", 403, f"Interpose can't read an answer of the kind {kind[:80]!r} at this path")
        try:
            body = await _collected(answer)
            await _in_thread(len(body), lambda: other_paths.check_whole(body))
        except DoubtfulError as error:
            return _failed("unknown", 403, f"Interpose refused this answer of the model's server: {error}")
        except UpstreamBrokeError as error:
            raise NotReachedError(str(error)) from None
        finally:
            answer.close()
        return Response(head.status, body, fields, relayed=True)

    def _judge(self, context: Context) -> Callable[[Sequence[FoundCall]], Awaitable[list[Ruling]]]:
        return lambda calls: self._gate.rulings(context, calls)


def _answers(given: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return any(key in wanted and given.get(key) == wanted[key] for key in ("call_id", "approval_request_id"))


async def _passing(answer: UpstreamAnswer, pieces: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    try:
        async for piece in pieces or answer.pieces():
            yield piece
    finally:
        answer.close()


async def _collected(answer: UpstreamAnswer) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for piece in answer.pieces():
        size += len(piece)
        if size > LARGEST_ANSWER:
            raise DoubtfulError(f"it has more than {LARGEST_ANSWER >> 20} MiB")
        parts.append(piece)
    return b"".join(parts)


async def _read(body: bytes) -> Any:
    return await _in_thread(len(body), lambda: value_of(body))


async def _in_thread(size: int, work: Callable[[], Any]) -> Any:
    return work() if size <= LARGE else await asyncio.to_thread(work)


def _failed(kind: PathKind, status: int, message: str) -> Response:
    if isinstance(kind, Dialect):
        return json_response(kind.error(status, message), status)
    return json_response({"error": {"message": message, "type": "interpose_error", "code": status}}, status)
