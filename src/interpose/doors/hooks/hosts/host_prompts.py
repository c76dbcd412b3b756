"""A host's own prompt, put to our desk as well: whoever answers there first has answered it.

Only with `approvals.ask: queue`. Else the prompt of a host is its own person's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from interpose.core.answers import Approved, Edited
from interpose.core.driving import Ask, Flow
from interpose.core.types import Deny, Finding, PermissionRequest, ToolCall, Verdict
from interpose.doors.hooks.hosts.reply_texts import made_instead
from interpose.people.approvals import PAUSE

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.doors.hooks.hosts.events import Host, HostEvent, Reply
    from interpose.doors.hooks.hosts.hook_waits import HookWait

RULE = "host-prompt"
DENIED = "approval-denied"


def answered_here(
    service: Service, host: Host, event: HostEvent, verdict: Verdict[ToolCall], wait: HookWait
) -> Flow[Reply]:
    """Yes or no as a person at our desk says. What is no person's word leaves the prompt as it is.

    INVARIANT: a pause answers what we would ask, and never what a host asks by its own settings.
    """
    seconds = wait.seconds_for(event, service.config)
    if not seconds or service.answering is None or service.config.approvals.ask != "queue":
        return host.allow(event)
    title = host.facts.title
    asks = Finding(interceptor=host.facts.name, said="ask", rule=RULE, reason=f"{title} asks by its own settings")
    request = PermissionRequest(f"{title} asks before it runs this", verdict.payload, (asks,))
    desk = service.desk.waiting(seconds, rewrites=False, on_wait=wait.begin)
    answer: Any = yield Ask(desk, request)
    match answer:
        case Approved(by) if not by.startswith(PAUSE):
            return host.allow(replace(event, agreed=True))
        case Edited(arguments, by):
            other = verdict.payload.with_arguments(arguments)
            return host.deny(event, f"{by} agreed to another call than this one; make that one:\n{made_instead(other)}")
        case Deny(reason, rule) if rule == DENIED:
            return host.deny(event, reason)
        case _:
            return host.allow(event)
