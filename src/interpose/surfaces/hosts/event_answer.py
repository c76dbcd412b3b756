"""One event of a host, from the bytes that it wrote to the bytes that it reads.

Nothing escapes: what can't be understood, and what fails on the way, becomes the answer that makes the host refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from interpose.errors import text_of
from interpose.formats.strict_json import StrictJsonError, decode
from interpose.surfaces.hosts import reply_texts as words
from interpose.surfaces.hosts.all_hosts import speaking
from interpose.surfaces.hosts.events import Event, EventError, Host, Reply
from interpose.surfaces.hosts.host_sessions import remember
from interpose.surfaces.hosts.result_shapes import fitted, texts_in, with_text
from interpose.tools import normalize_tool_name, plain_arguments
from interpose.types import HookPoint, Pending, PermissionRequest, ToolOutcome

if TYPE_CHECKING:
    from interpose.engine import Run
    from interpose.service.service import Service
    from interpose.types import ToolCall, Verdict


class HostAsks:
    """Leaves a question to the host, which has a person in front of it."""

    def confirm(self, _request: PermissionRequest, /) -> Pending:
        """Not answered here."""
        return Pending()


async def answer(service: Service, named: Host, body: bytes, *, event: str = "") -> Reply:
    """The reply to one event. `event` names it where the payload doesn't. Raises nothing but cancellation."""
    host = named
    try:
        raw = decode(body)
        if not isinstance(raw, dict):
            raise EventError(f"it is no object but {type(raw).__name__}")
        host = speaking(raw, named)
        heard = host.read(raw, event)
    except (StrictJsonError, EventError) as error:
        return host.broken(f"Interpose can't read this event of {host.facts.title}: {error}")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it was not judged
        return host.broken(f"Interpose failed to read this event of {host.facts.title}: {text_of(error)}")
    try:
        return await _answered(service, host, heard)
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(host, heard, f"Interpose could not decide: {text_of(error)}")


async def _answered(service: Service, host: Host, event: Event) -> Reply:
    match event.point:
        case "tool.before":
            return await _before(service, host, event)
        case "permission.ask":
            return await _permission(service, host, event)
        case "tool.after":
            return await _after(service, host, event)
        case "message.before":
            return await _message(service, host, event)
        case "session.start" | "session.end" | "compact.before" | "subagent.start":
            await remember(service.store, event)
            return host.allow(event)
        case "ignored":
            return host.allow(event)
        case _:
            assert_never(event.point)


def _failed(host: Host, event: Event, reason: str) -> Reply:
    match event.point:
        case "tool.before" | "permission.ask" | "message.before":
            return host.broken(reason)
        case "tool.after":
            return _replaced(host, event, with_text(event.result, words.withheld(reason), _said(event)), reason)
        case _:
            return host.allow(event)  # nothing is decided by these, and nobody must be stopped by our failure


def _run(service: Service, host: Host, event: Event) -> Run:
    """A run whose questions go to the host's own prompt, if it has one and it is to be used; else to our queue."""
    if service.config.approvals.ask == "host" and event.name in host.facts.asks:
        return service.policies.engine(event.context).run(event.context, confirm=HostAsks())
    return service.run(event.context)


async def _before(service: Service, host: Host, event: Event) -> Reply:
    run = _run(service, host, event)
    verdict = await run.abefore(event.tool)
    match verdict.outcome:
        case "allow":
            service.calls.opened(verdict.payload, event.call_key)
            return host.allow(event)
        case "deny":
            return host.deny(event, words.refusal(verdict))
        case "rewrite":
            if not _can_rewrite(host, event, verdict):
                return await _not_run(run, host, event, verdict, words.unchanged(host.facts, verdict))
            service.calls.opened(verdict.payload, event.call_key)
            return host.rewrite(event, plain_arguments(verdict.payload), words.change(verdict))
        case "ask":
            if verdict.approval or event.name not in host.facts.asks:
                return host.deny(event, words.waiting(verdict))
            if verdict.rewritten:  # the host would show and run the call as it came
                return await _not_run(run, host, event, verdict, words.unchanged(host.facts, verdict))
            service.calls.opened(verdict.payload, event.call_key)
            return host.ask(event, words.question(verdict))
        case _:
            assert_never(verdict.outcome)


def _can_rewrite(host: Host, event: Event, verdict: Verdict[ToolCall]) -> bool:
    # A call that came wrapped in another has lost its wrapper: its arguments would not fit the host's tool.
    return event.name in host.facts.rewrites and normalize_tool_name(event.tool.name) == verdict.payload.name


async def _not_run(run: Run, host: Host, event: Event, verdict: Verdict[ToolCall], reason: str) -> Reply:
    """The engine would have let it run changed, and the host can't: the record says that it did not run."""
    await run.anot_run(verdict, reason)
    return host.deny(event, reason)


async def _permission(service: Service, host: Host, event: Event) -> Reply:
    """The host is about to ask its own person. We can only refuse before it does: yes is for the person to say."""
    run = _run(service, host, event)
    if (await run.adecide(event.tool)).outcome != "deny":
        return host.allow(event)
    return host.deny(event, words.refusal(await run.abefore(event.tool)))  # again, so that it is recorded


async def _message(service: Service, host: Host, event: Event) -> Reply:
    verdict = await service.run(event.context).amessage(event.text)
    service.activity.count(HookPoint.MESSAGE_BEFORE, "", verdict)
    match verdict.outcome:
        case "allow":
            return host.allow(event)
        case "deny":
            return host.deny(event, words.refusal(verdict))
        case "ask":
            return host.deny(event, words.waiting(verdict))
        case "rewrite":
            return host.deny(event, words.changed_message(verdict))
        case _:
            assert_never(verdict.outcome)


async def _after(service: Service, host: Host, event: Event) -> Reply:
    call = event.tool
    call_id = service.calls.closed(event.context, call.name, call.arguments, event.call_key)
    if call_id:
        call = replace(call, call_id=call_id)
    outcome = ToolOutcome(call, event.result, is_error=event.is_error, duration_ns=event.duration_ns)
    done = await service.run(event.context).aafter(outcome, decided=bool(call_id))
    after = done.after
    if after is None or after.outcome == "allow":
        return host.allow(event)
    if after.outcome == "rewrite":
        return _replaced(host, event, fitted(event.result, done.response, _said(event)), words.rewriting(after))
    reason = words.refusal(after) if after.outcome == "deny" else words.waiting(after)
    return _replaced(host, event, with_text(event.result, words.withheld(reason), _said(event)), reason)


def _replaced(host: Host, event: Event, result: Any, reason: str) -> Reply:
    if host.facts.can_replace(event):
        return host.replace(event, result)
    return host.context(event, words.unhidden(host.facts, event, reason))


def _said(event: Event) -> frozenset[str]:
    """The texts that the agent itself put into the call."""
    return frozenset(texts_in(event.tool.arguments))
