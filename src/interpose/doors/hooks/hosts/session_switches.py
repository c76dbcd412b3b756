"""A session that starts where a project switches hooks off: whoever's hook still runs says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interpose.core.driving import Block, Failure, Flow
from interpose.core.late import late_logger
from interpose.doors.hooks.hosts.events import Host, HostEvent, Reply

if TYPE_CHECKING:
    from interpose.effects.agents.switch_reader import FoundSwitch

log = late_logger("interpose.hooks")
_SHOWN = 8


def project_switches(event: HostEvent) -> Flow[tuple[FoundSwitch, ...]]:
    """What the project of a session brings that switches hooks off: those of any agent, as many may work there."""
    answer = yield Block(_found, event.context.cwd)
    if type(answer) is Failure:
        log.warning("the settings in %s could not be read: %s", event.context.cwd, answer.error)
        return ()
    return answer  # type: ignore[no-any-return]  # a step answers what its function returned


def _found(cwd: str) -> tuple[FoundSwitch, ...]:
    if not cwd.startswith("/"):
        return ()
    from interpose.effects.agents.switch_reader import found_switches

    found = found_switches(Path(cwd), levels=("project", "local"))
    return tuple(each for each in found if not each.replaces)[:_SHOWN]  # many projects have hooks of their own


def told(host: Host, event: HostEvent, switches: tuple[FoundSwitch, ...], governed: str = "") -> Reply:
    """The reply to the start of a session: its role and rules if it is `governed`, and a warning, where there is
    something to warn of.

    INVARIANT: only words of ours and the operator's are in it. A repository must not speak to the agent through us.
    """
    switches = tuple(each for each in switches if each.key)
    if not switches:
        return host.context(event, governed) if governed else host.allow(event)
    for each in switches:
        log.warning("session %s of %s: %s: %s", event.context.session_id, event.host, each.host, each.text)
    lines = "\n".join(f"- {each.host}: {each.key} = {each.value} in its {each.level} settings" for each in switches)
    warning = f"Interpose: this project switches agents' hooks off. Tell the user.\n{lines}"
    return host.context(event, f"{warning}\n\n{governed}" if governed else warning)
