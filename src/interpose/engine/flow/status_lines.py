"""Status lines: what people see of the pipeline while an agent works.

    🛡️ builtin:command-safety-guard · blocked exec — "rm -rf is not allowed"
    ✏️ style:no-color · rewrote exec — command
    📨 message.before · message mutated, metadata: complexity
    ⚙️ params.before · thinkLevel → high
    🛠️ exec — ls -la

A tool's own line comes when it has ended, and not at all when the call was blocked: the shield line says it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TextIO

from msgspec import Struct

from interpose.core.driving import INTERRUPTS
from interpose.core.errors import text_of
from interpose.core.formats.plain_text import plain
from interpose.core.late import late_logger
from interpose.core.points import BLOCKED
from interpose.core.tools import command_of, paths_of, urls_of
from interpose.core.types import Command, Deny, HookPoint, Message, Params, ToolCall, ToolOutcome, Verdict
from interpose.reading import hidden

if TYPE_CHECKING:
    import logging  # at run time only where it is used: its import takes a fifth of our budget

log = late_logger("interpose")

Verbose = Literal["off", "on", "full"]
"""`on` shows what interceptors did and which tools ran, `full` also what the tools answered."""

Listener = Callable[["InterceptorEvent"], object]

_PREVIEW = 100
_SEARCHED = 8192
"""Characters that are searched for secrets before they are cut: one that begins in a preview is seen to its end."""


class InterceptorEvent(Struct, frozen=True, kw_only=True):
    """One thing that an interceptor did, told to the listeners of the run in which it happened."""

    name: HookPoint
    interceptor_id: str
    match_context: str = ""
    blocked: bool = False
    block_reason: str = ""
    mutations: tuple[str, ...] = ()


def events_of(
    point: HookPoint, verdict: Verdict[ToolCall] | Verdict[Message] | Verdict[Params] | Verdict[Command]
) -> list[InterceptorEvent]:
    """The events of a verdict: one for each rewrite, and one for a block, whoever else had something to say."""
    payload = verdict.payload
    context = _subject(payload)
    events = [
        InterceptorEvent(
            name=point,
            interceptor_id=finding.interceptor,
            match_context=context,
            mutations=(finding.part or finding.reason,),
        )
        for finding in verdict.findings
        if finding.said == "rewrite" and finding.mode == "enforce"
    ]
    if isinstance(verdict.decision, Deny):
        events.append(
            InterceptorEvent(
                name=point,
                interceptor_id=verdict.decided_by.interceptor if verdict.decided_by else "interpose",
                match_context=context,
                blocked=True,
                block_reason=verdict.decision.reason,
            )
        )
    return events


def _subject(payload: ToolCall | Message | Params | Command) -> str:
    match payload:
        case ToolCall(name=name):
            return name
        case Command(name=name):
            return f"/{name}"
        case Message() | Params():
            return payload.context.agent_id


def format_event(event: InterceptorEvent) -> str | None:
    """The status line of an event, or None if there is nothing to show."""
    if event.blocked:
        what = f" {event.match_context}" if event.match_context else ""
        why = f' — "{event.block_reason}"' if event.block_reason else ""
        return f"🛡️ {event.interceptor_id} · blocked{what}{why}"
    if not event.mutations:
        return None
    changes = ", ".join(event.mutations)
    match event.name:
        case HookPoint.MESSAGE_BEFORE:
            return f"📨 message.before · {changes}"
        case HookPoint.PARAMS_BEFORE:
            return f"⚙️ params.before · {changes}"
        case HookPoint.TOOL_BEFORE:
            return f"✏️ {event.interceptor_id} · rewrote {event.match_context} — {changes}"
        case HookPoint.TOOL_AFTER | HookPoint.PERMISSION_ASK | HookPoint.COMMAND_BEFORE:
            return None


def format_summary(outcome: ToolOutcome, verbose: Verbose) -> str | None:
    """The line of a tool that ran. None for a blocked call."""
    if outcome.denied:
        return None
    call = outcome.call
    subject = command_of(call) or ", ".join(paths_of(call) or urls_of(call))
    line = f"🛠️ {call.name}" + (f" — {preview(subject)}" if subject else "") + (" (failed)" if outcome.is_error else "")
    return f"{line}\n{preview(text_of(outcome.result))}" if verbose == "full" else line


def preview(text: str) -> str:
    """The first characters without secrets, on one line."""
    flat = " ".join(hidden(text[:_SEARCHED]).split())
    return flat if len(flat) <= _PREVIEW else flat[:_PREVIEW] + "..."


def warn_of_refusal(point: HookPoint, verdict: Verdict[Any]) -> None:
    """One line at warning level about what was refused, on the log `interpose`."""
    if not log.isEnabledFor(30):
        return
    what = getattr(verdict.payload, "name", "") or f"at {point}"
    by = verdict.decided_by.interceptor if verdict.decided_by is not None else ""
    rule = f" [{verdict.rule}]" if verdict.rule else ""
    log.warning("blocked %s: %s (%s%s)", plain(what), preview(plain(verdict.reason or BLOCKED)), plain(by), rule)


def terminal_sink(stream: TextIO | None = None) -> Callable[[str], None]:
    """Writes status lines to a terminal (default: stderr). What the agent chose in them can't steer the terminal."""

    def write(line: str) -> None:
        print(plain(line), file=stream or sys.stderr)

    return write


def logging_sink(logger: logging.Logger | None = None, level: int = 20) -> Callable[[str], None]:
    """Writes status lines to a logger (default: `interpose.status`, at INFO)."""
    import logging

    target = logger or logging.getLogger("interpose.status")

    def write(line: str) -> None:
        target.log(level, "%s", line)

    return write


def tell(listeners: Iterable[Callable[..., object]], *args: object) -> None:
    """Call all listeners. One that raises is skipped: showing something must never change a decision."""
    for listener in listeners:
        try:
            listener(*args)
        except INTERRUPTS:
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            import logging

            logging.getLogger("interpose").warning("a listener failed: %s", text_of(error))
