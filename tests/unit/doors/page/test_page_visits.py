"""Who answers at the page, for the proof."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.config.settings import ApprovalSettings
from interpose.core.errors import NotProvenError
from interpose.doors.http_server.messages import Caller, Peer, Request
from interpose.doors.page.page_sessions import PageSession
from interpose.doors.page.page_visits import Visit
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.proof import Proof

NO_SERVICE: Any = None


def visit(address: str, *, here: bool) -> Visit:
    peer = Peer(kind="tcp", loopback=False, address=address, port=4711, our_address="203.0.113.1", our_port=443)
    session = PageSession(
        id="i", name="ann", role="operator", csrf="c", begun=0, used=0, rotated=0, secret="s", proven="terminal",
        here=here,
    )  # fmt: skip
    return Visit(Request("POST", "/", peer=peer, caller=Caller("agent"), request_id="r"), session, NO_SERVICE)


def test_a_cookie_of_a_browser_here_is_worth_no_more_elsewhere() -> None:
    """An agent that finds it may send it to another machine, whose connections belong to no process of ours."""
    proof = Proof(ApprovalSettings(), SeenAgents())
    proof.check(visit("203.0.113.9", here=False).answerer(), "q")
    with pytest.raises(NotProvenError, match="does not say which"):
        proof.check(visit("203.0.113.9", here=True).answerer(), "q")
