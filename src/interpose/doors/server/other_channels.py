"""Whether anybody can answer a question besides the person at this machine's terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.core.errors import StoreError
from interpose.doors.http_server.trust import is_loopback
from interpose.doors.page.page_sessions import PageSessions

if TYPE_CHECKING:
    from interpose.composition.service.service import Service


def only_this_desk(service: Service) -> bool:
    """No notification, no page that is signed in, no other user and no other machine. Blocks.

    It says how long a hook waits and nothing else: a wrong answer loosens nothing.
    """
    config = service.config
    if config.notifications.channels or config.approvals.webhook.url or config.approvals.proof in ("user", "token"):
        return False
    if config.server.public_url or not (config.server.host == "localhost" or is_loopback(config.server.host)):
        return False
    if service.answering is None:
        return True
    try:
        return not PageSessions(service.store, service.answering).is_anybody_in()
    except StoreError:
        return True
