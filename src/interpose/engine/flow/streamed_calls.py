"""A call whose result is read piece by piece, or holds something that is.

Its outcome is known when the last of its streams has ended. Then it is observed and recorded, once, with everything
that tool.after said of the pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from msgspec.structs import replace

from interpose.core.driving import Flow
from interpose.core.errors import logged, name_of, text_of
from interpose.core.formats.nested_values import MAX_OBJECTS, NestedWalk
from interpose.core.interceptor import Registration
from interpose.core.types import Finding, FrozenDict, FrozenList, Raised, ToolCall, ToolOutcome, Verdict
from interpose.engine.flow.piece_verdicts import PieceVerdicts
from interpose.engine.flow.result_streams import (
    AsyncResultStream,
    Ending,
    KeptPieces,
    Pieces,
    ResultStream,
    TextFilter,
    kept_instead_of_streams,
    stream_of,
)

After = Callable[[ToolOutcome, bool], Flow[tuple[ToolOutcome, Any, Verdict[ToolOutcome] | None]]]
"""tool.after; with True its interceptors only look."""
Finish = Callable[[ToolOutcome, Verdict[ToolOutcome] | None], Flow[None]]
"""Observe and record what came of the call."""
Filters = Callable[[], list[tuple[Registration, TextFilter]]]
"""Who looks at text as it passes."""
Raises = Callable[[Any, ToolOutcome, Verdict[ToolOutcome] | None], BaseException | None]
"""What a reader who wants exceptions gets instead of this last piece; None: the piece."""


class StreamedCall:
    """One call with its streams. It holds none of them: what nobody reads any more ends."""

    def __init__(self, outcome: ToolOutcome, after: After, finish: Finish, filters: Filters) -> None:
        self.outcome: ToolOutcome | None = None
        """What came of it, when the last of its streams has ended."""
        self.raises: Raises = lambda _response, _outcome, _after: None
        self.is_whole = False
        """Whether the result is a stream itself, and not something that holds streams."""
        self.call = outcome.call
        self._begun = replace(outcome, result=None)
        self._after, self._finish, self._filters = after, finish, filters
        self._filtering: dict[int, list[Registration]] = {}
        self._said = PieceVerdicts()
        self._open = self._main = 0
        self._start = perf_counter_ns()
        self._errors: list[BaseException] = []
        self._whole: tuple[ToolOutcome, ToolOutcome] | None = None
        """Of a result that is a stream itself: what the agent got, and what the tool gave."""
        self._around: ToolOutcome | None = None
        """Of a result that holds streams: the outcome, with what is kept of each of them in its place."""

    def stream(self, inner: Any) -> ResultStream | AsyncResultStream:
        """What the agent reads in the place of an iterator. Raises if it can't be searched."""
        found = self._filters()
        pieces = Pieces(self, [one for _, one in found])
        self._filtering[id(pieces)] = [entry for entry, _ in found]
        self._open += 1
        return stream_of(inner, pieces)

    def judge(self, piece: Any) -> Flow[tuple[Any, Verdict[ToolOutcome] | None]]:
        """tool.after of one piece. A stream in it is one more stream of the call."""
        piece = self.inside(piece) if may_hold_streams(piece) else piece
        _, shown, after = yield from self._after(replace(self._begun, result=piece), False)
        self._said.add(after)
        return shown, after

    def begin(self, outcome: ToolOutcome, after: Verdict[ToolOutcome] | None) -> Flow[None]:
        """What stands around the streams has passed tool.after."""
        self._said.add(after)
        self._around = replace(outcome, result=kept_instead_of_streams(outcome.result))
        if not self._open:
            yield from self._close()

    def ended(self, pieces: Pieces, error: BaseException | None) -> Flow[Ending]:
        """One of the streams has ended. What its reader gets last: a refusal, or what the error became."""
        self._note_filters(pieces)
        took = perf_counter_ns() - self._start
        outcome = replace(self._begun, result=pieces.kept.value, duration_ns=took)
        given = replace(outcome, result=pieces.given.value)
        last: list[Any] = []
        problem: BaseException | None = None
        if error is not None:
            given = failed_outcome(outcome.call, error, took, outcome.approver)
            aborted = not isinstance(error, Exception)
            outcome, shown, after = yield from self._after(given, aborted)
            self._said.add(after)
            self._errors += outcome.errors
            # Cancellation and interrupts are the reader's, not a tool's error.
            problem = error if aborted else self.raises(shown, outcome, after)
            last = [shown]
            pieces.kept.add(shown)
        elif pieces.refusal is not None:
            shown, verdict = pieces.refusal
            outcome = replace(outcome, errors=verdict.errors)
            problem = self.raises(shown, outcome, verdict)
            last = [shown]
        self._open -= 1
        if id(pieces) == self._main:
            self._whole = outcome, given
        if not self._open:
            yield from self._close()
        return ([], problem) if problem is not None else (last, None)

    def _note_filters(self, pieces: Pieces) -> None:
        for entry, one in zip(self._filtering.pop(id(pieces), ()), pieces.filters, strict=True):
            rule, reason = _said(one)
            if reason:
                found = Finding(
                    interceptor=entry.id, said="rewrite", reason=reason, rule=rule, severity="info", mode=entry.mode,
                    kind=entry.kind,
                )  # fmt: skip
                self._said.add_rewrite(found)

    def _close(self) -> Flow[None]:
        """All have ended. Those that stand in something else, or came out of another, are now what was read of them."""
        given: ToolOutcome | None
        if self._around is not None:
            outcome = replace(self._around, duration_ns=perf_counter_ns() - self._start)
            given = None
        elif self._whole is not None:
            outcome, given = self._whole
        else:
            return  # what stands around the streams is still to come
        more = [error for error in self._errors if all(error is not known for known in outcome.errors)]
        outcome = replace(
            outcome, result=_InsteadOfKept().replaced(outcome.result), is_error=outcome.is_error or bool(more),
            errors=Raised((*outcome.errors, *more)),
        )  # fmt: skip
        self.outcome = outcome
        yield from self._finish(outcome, self._said.verdict(outcome, given or outcome))

    def whole(self, inner: Any) -> ResultStream | AsyncResultStream:
        """The stream that is the result."""
        self.is_whole = True
        stream = self.stream(inner)
        self._main = id(stream.pieces)
        return stream

    def inside(self, result: Any) -> Any:
        """The result with streams of ours in the place of all iterators in it; itself if there are none."""
        return _Streams(self).replaced(result)


def failed_outcome(call: ToolCall, error: BaseException, duration_ns: int, approver: str) -> ToolOutcome:
    """What came of a call whose tool raised."""
    result = {"status": "error", "tool": call.name, "error": text_of(logged(error, call.name))}
    return ToolOutcome(call, result, is_error=True, duration_ns=duration_ns, approver=approver, errors=Raised((error,)))


def withheld_result(call: ToolCall, reason: str) -> dict[str, Any]:
    """In the place of a result. The tool ran: an agent must not think that it can try again."""
    return {"status": "withheld", "tool": call.name, "reason": reason, "ran": True}


def may_hold_streams(result: object) -> bool:
    """Whether a result is worth a walk: most are texts, or plain data of texts and numbers."""
    waiting, left = [result], MAX_OBJECTS
    while waiting and left:
        value: Any = waiting.pop()
        kind = type(value)
        if kind is str or kind is int or kind is float or kind is bool or value is None or kind is bytes:
            continue
        left -= 1
        if kind is dict or kind is FrozenDict:
            waiting += value.values()
        elif kind is list or kind is FrozenList or kind is tuple:
            waiting += value
        else:
            return True
    return bool(waiting)


def _said(one: Any) -> tuple[str, str]:
    """The rule and the reason of what a filter took out; empty if it took nothing or does not say."""
    try:
        rule, reason = one.said()
    except Exception:  # noqa: BLE001 - it has done its work; what it says of it is its author's
        return "", ""
    return text_of(rule) if rule else "", text_of(reason) if reason else ""


class _Streams(NestedWalk):
    """Puts streams of ours in the place of iterators, one for each however often it stands there."""

    def __init__(self, call: StreamedCall) -> None:
        super().__init__()
        self._call = call
        self._made: dict[int, tuple[Any, Any]] = {}

    def stream(self, stream: Any) -> Any:
        if id(stream) not in self._made:
            self._made[id(stream)] = stream, self._call.stream(stream)
        return self._made[id(stream)][1]

    def withhold(self, value: Any, kind: str) -> Any:
        if kind != "unsearched":
            return value  # who searches for secrets withholds it by the same measure
        return withheld_result(self._call.call, f"{name_of(value)} holds a stream that can't be put behind tool.after")


class _InsteadOfKept(NestedWalk):
    """Puts what was kept in the place of its keeper."""

    def other(self, value: Any) -> Any:
        return value.value if type(value) is KeptPieces else value

    def withhold(self, value: Any, _kind: str) -> Any:
        return value
