"""One event of a host, from the bytes that it wrote to the bytes that it reads.

Nothing escapes: what can't be understood, and what fails on the way, becomes the answer that makes the host refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from interpose.core.driving import Block, Flow
from interpose.core.errors import text_of
from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.core.types import Command, ToolCall, ToolOutcome, Verdict
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.hooks.hosts.all_hosts import speaking
from interpose.doors.hooks.hosts.events import EventError, Host, HostEvent, Reply, noticed
from interpose.doors.hooks.hosts.result_shapes import fitted, texts_in, with_text
from interpose.engine.flow.hosted import Abilities, AskThem, Go, GoWith, Hosted, Refuse, WaitFor
from interpose.people.approvals import EDITED

if TYPE_CHECKING:
    from interpose.composition.service.hand_overs import HandingOver
    from interpose.composition.service.service import Service
    from interpose.core.governing import SessionWords
    from interpose.doors.hooks.hosts.hook_waits import HookWait

NO_SERVER = "approval-no-server"
"""The rule of a refusal where a person would have been asked if a server ran."""


def answer(
    service: Service,
    named: Host,
    body: bytes,
    *,
    event: str = "",
    wait: HookWait | None = None,
    version: Callable[[Host], str] = lambda _host: "",
    search_path: Callable[[], str] = lambda: "",
) -> Flow[Reply]:
    """The reply to one event. `event` names it where the payload doesn't, `wait` is how long it waits for a person.
    `version` says which version of the host runs, `search_path` with which PATH it started the hook.

    Raises nothing but cancellation.
    """
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
        if service.config.hooks.ask == "host" and host.facts.can_hand_over(heard):
            heard = replace(heard, version=version(host))
        if heard.point in ("tool.before", "permission.ask"):
            heard = _finding(heard, search_path())
        return (yield from _answered(service, host, heard, wait))
    except Exception as error:  # noqa: BLE001 - as above
        return _failed(host, heard, f"Interpose could not decide: {text_of(error)}")


def _finding(event: HostEvent, search_path: str) -> HostEvent:
    """The event of a host that finds its programs there: what it runs gets the PATH that its hook gets."""
    context = replace(event.context, search_path=search_path)
    return replace(event, context=context, call=replace(event.tool, context=context))


def _answered(service: Service, host: Host, event: HostEvent, wait: HookWait | None) -> Flow[Reply]:
    match event.point:
        case "tool.before":
            return (yield from _before(service, host, event, wait))
        case "permission.ask":
            return (yield from _permission(service, host, event, wait))
        case "tool.after":
            return (yield from _after(service, host, event, wait))
        case "message.before":
            return (yield from _message(service, host, event))
        case "command.before":
            return (yield from _command(service, host, event))
        case "session.start":
            return (yield from _session_begins(service, host, event))
        case "session.idle" | "session.end" | "compact.before" | "compact.after" | "subagent.start" | "subagent.stop":
            from interpose.doors.hooks.hosts.host_sessions import remember

            yield from remember(service.store, event)
            text = yield from service.session_heard(event.context, _SESSION_WORDS[event.point], event.text)
            return host.context(event, text) if text and event.name in host.facts.hears else host.allow(event)
        case "ignored":
            return host.allow(event)
        case _:
            assert_never(event.point)


def _session_begins(service: Service, host: Host, event: HostEvent) -> Flow[Reply]:
    from interpose.doors.hooks.hosts.host_sessions import remember
    from interpose.doors.hooks.hosts.session_switches import project_switches, told

    switches = yield from project_switches(event)
    yield from remember(service.store, event, tuple(each.text for each in switches if each.key))
    governed = yield from service.session_heard(event.context, _begins(event))
    paused = yield Block(service.paused)
    return noticed(host.facts, told(host, event, switches, governed), paused if isinstance(paused, str) else "")


_SESSION_WORDS: dict[str, SessionWords] = {
    "session.idle": "idle",
    "session.end": "end",
    "compact.before": "compact",
    "compact.after": "compacted",
    "subagent.start": "agent-start",
    "subagent.stop": "agent-stop",
}


def _begins(event: HostEvent) -> SessionWords:
    """How a session begins, in the host's own field: anew, where it was left, or after a compaction."""
    match event.raw.get("source"):
        case "compact":
            return "compacted"
        case "resume" | "fork":
            return "resume"
        case "clear":
            return "clear"
        case _:
            return "start"


def _failed(host: Host, event: HostEvent, reason: str) -> Reply:
    match event.point:
        case "tool.before" | "permission.ask" | "message.before" | "command.before":
            return host.broken(reason)
        case "tool.after":
            text = reply_texts.withheld_unseen(reason)
            return _replaced(host, event, with_text(event.result, text, _said(event)), reason)
        case _:
            return host.allow(event)  # nothing is decided by these, and nobody must be stopped by our failure


def _hosted(service: Service, host: Host, event: HostEvent, wait: HookWait | None = None) -> Hosted:
    facts = host.facts
    hands = _handing_over(service, host, event)
    can = Abilities(
        ask=facts.can_ask(event) or hands is not None, says_it_asks=bool(facts.says_it_asks), holds=True,
        rewrite=event.name in facts.rewrites, hears=bool(facts.hears),
    )  # fmt: skip
    if wait is None:
        return service.hosted(event.context, can, hands=hands)
    seconds = wait.seconds_for(event, service.config)
    return service.hosted(event.context, can, wait=seconds, waits=wait, hands=hands)


def _handing_over(service: Service, host: Host, event: HostEvent) -> HandingOver | None:
    """What may hand this event's question over to its host, where a person chose that; None anywhere else."""
    if not event.version or service.answering is None:
        return None
    from interpose.composition.service.hand_overs import HandingOver
    from interpose.engine.flow.handed_over import HandedOver
    from interpose.engine.flow.pending_calls import place_of

    handed = HandedOver(
        session=event.context.session_id, key=event.call_key, place=place_of(event.context, event.tool), call_id="",
        host=event.host, version=event.version, mode=host.facts.mode_of(event) or "", at_ns=service.answering.clock(),
    )  # fmt: skip
    return HandingOver(service.hand_overs, handed)


def _before(service: Service, host: Host, event: HostEvent, wait: HookWait | None) -> Flow[Reply]:
    match (yield from _hosted(service, host, event, wait).before(event.tool, key=event.call_key)):
        case Go(verdict):
            said_yes = replace(event, agreed=wait is not None and wait.agreed)
            return noticed(host.facts, host.allow(said_yes), reply_texts.paused(verdict))
        case GoWith(verdict, arguments):
            agreed = verdict.decided_by is not None and verdict.decided_by.interceptor == EDITED
            return host.rewrite(replace(event, agreed=agreed), arguments, reply_texts.change(verdict))
        case AskThem(verdict):
            return host.ask(event, reply_texts.question(verdict))
        case WaitFor(verdict):
            _left_waiting(wait, verdict)
            return _waits(host, event, verdict)
        case Refuse(verdict, ToolCall() as other_form):
            return host.deny(event, reply_texts.unchanged(host.facts, verdict, other_form))
        case Refuse(verdict):
            reason = reply_texts.refusal(verdict)
            if host.facts.hears and (due := (yield from service.session_due(event.context))):
                reason = f"{reason}\n\n{due}"  # at once: what comes next may be the same again
            reply = host.deny(event, reason)
            return replace(reply, nobody_to_ask=True) if verdict.rule == NO_SERVER else reply


def _left_waiting(wait: HookWait | None, verdict: Verdict[Any]) -> None:
    if wait is not None:
        wait.question = verdict.approval


def _waits(host: Host, event: HostEvent, verdict: Verdict[Any]) -> Reply:
    """The agent hears that it has to wait, and its person where to answer."""
    return noticed(host.facts, host.deny(event, reply_texts.waiting(verdict)), reply_texts.notice(verdict))


def _permission(service: Service, host: Host, event: HostEvent, wait: HookWait | None) -> Flow[Reply]:
    """The host is about to ask its own person. We can only refuse before it does: yes is for the person to say."""
    hosted = _hosted(service, host, event)
    verdict = yield from hosted.decide(event.tool)
    if verdict.outcome != "deny":
        if wait is not None and event.name in host.facts.prompts:
            from interpose.doors.hooks.hosts.host_prompts import answered_here

            return (yield from answered_here(service, host, event, verdict, wait))
        if event.name in host.facts.says_it_asks:
            yield from hosted.asking(event.tool, key=event.call_key)
        return host.allow(event)
    answer = yield from hosted.before(event.tool, key=event.call_key)  # again, so that it is recorded
    return host.deny(event, reply_texts.refusal(answer.verdict))


def _command(service: Service, host: Host, event: HostEvent) -> Flow[Reply]:
    """A command of the host. It is let through as it is or refused; a warning about it is told all the same."""
    if event.command is None:
        raise EventError(f"the event {event.name!r} carries no command")
    verdict = yield from _commanded(service, event, event.command.name, event.command.arguments)
    return _held(host, event, verdict) or _passed(host, event, reply_texts.warnings(verdict))


def _commanded(service: Service, event: HostEvent, name: str, arguments: str) -> Flow[Verdict[Command]]:
    return service.hosted(event.context, Abilities()).command(name, arguments)


def _held(host: Host, event: HostEvent, verdict: Verdict[Any]) -> Reply | None:
    """The answer to what may not go on; None if it may."""
    match verdict.outcome:
        case "allow" | "rewrite":
            return None
        case "deny":
            return host.deny(event, reply_texts.refusal(verdict))
        case "ask":
            return _waits(host, event, verdict)
        case _:
            assert_never(verdict.outcome)


def _passed(host: Host, event: HostEvent, notes: str) -> Reply:
    return host.context(event, notes) if notes else host.allow(event)


def _message(service: Service, host: Host, event: HostEvent) -> Flow[Reply]:
    from interpose.core.command_text import slash_command

    notes = ""
    # INVARIANT: a command is judged once. A host that tells of its commands tells of them there.
    if not host.facts.commands and (typed := slash_command(event.text)) is not None:
        command = yield from _commanded(service, event, *typed)
        if (held := _held(host, event, command)) is not None:
            return held
        notes = reply_texts.warnings(command)
    hosted = service.hosted(event.context, Abilities())
    verdict: Verdict[Any] = yield from hosted.message(event.text)
    if (
        verdict.outcome == "rewrite" and verdict.payload.text != event.text
    ):  # what it left in the metadata changes no text
        return host.deny(event, reply_texts.changed_message(verdict))
    if verdict.allowed and event.params is not None:
        verdict = yield from hosted.params(event.params)
        if verdict.allowed:
            event = replace(event, params=verdict.payload)
    return _held(host, event, verdict) or (yield from _allowed(service, host, event, notes))


def _after(service: Service, host: Host, event: HostEvent, wait: HookWait | None) -> Flow[Reply]:
    outcome = ToolOutcome(event.tool, event.result, is_error=event.is_error, duration_ns=event.duration_ns)
    done = yield from _hosted(service, host, event, wait).after(outcome, key=event.call_key)
    after = done.after
    if after is None or after.outcome == "allow":
        return (yield from _allowed(service, host, event, reply_texts.word(done.verdict)))
    if after.outcome == "rewrite":
        return _replaced(host, event, fitted(event.result, done.response, _said(event)), reply_texts.rewriting(after))
    _left_waiting(wait, after)
    result = with_text(event.result, reply_texts.withheld(after), _said(event))
    notice = reply_texts.notice(after) if after.outcome == "ask" else ""
    return noticed(host.facts, _replaced(host, event, result, reply_texts.objection(after)), notice)


def _allowed(service: Service, host: Host, event: HostEvent, notes: str = "") -> Flow[Reply]:
    """No objection; and what the agent is still to be told, where it hears it: of its session, and by people."""
    if event.name in host.facts.hears and not event.text.startswith(host.facts.unheard_beside):
        due = yield from service.session_due(event.context)
        news = service.news(event.context)
        notes = "\n\n".join(text for text in (notes, news, due) if text)
    return _passed(host, event, notes)


def _replaced(host: Host, event: HostEvent, result: Any, reason: str) -> Reply:
    if host.facts.can_replace(event):
        return host.replace(event, result)
    return host.context(event, reply_texts.unhidden(host.facts, event, reason))


def _said(event: HostEvent) -> frozenset[str]:
    """The texts that the agent itself put into the call."""
    return frozenset(texts_in(event.tool.arguments))
