"""What people do with a running server: one row for each thing, with its request, its verb and its forms on the page.

The API's routes, the API document, and the requests that an agent must not make are derived from these rows. Verbs and
forms are written by hand; tests/unit/test_operations.py compares them with the rows.
INVARIANT: a route for people exists only with a row here, and a row protects its request by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct


class OperationRow(Struct, frozen=True, kw_only=True):
    """One row."""

    id: str
    method: Literal["GET", "POST", "DELETE"]
    path: str
    """Of the request; `{name}` is one segment."""
    role: Literal["approver", "operator"]
    """Who may: an operator may all that an approver may."""
    help: str
    proven: bool = False
    """Whether a person proves to be one, each time."""
    verb: str = ""
    """The verb that does it, with its subcommand; none for what the page or a signal does."""
    forms: tuple[str, ...] = ()
    """Addresses of the page's forms for it."""
    shared: bool = False
    """Whether agents may ask for other things at addresses that begin the same. Then looking is no order, and only
    what this row does is kept from them; otherwise all of the area is."""
    distinct: bool = False
    """Whether the address tells of us at any port: other programs have none like it."""


API = "/api/v1/"
"""What all addresses of the API begin with."""
_V1 = API.rstrip("/")

OPERATIONS: tuple[OperationRow, ...] = (
    OperationRow(
        id="questions", method="GET", path=f"{_V1}/approvals", role="approver",
        help="Questions to a person, and their answers", verb="approvals list",
    ),
    OperationRow(
        id="question-events", method="GET", path=f"{_V1}/approvals/events", role="approver",
        help="Questions as they are opened, answered, put off and over", verb="approvals watch",
    ),
    OperationRow(
        id="question", method="GET", path=f"{_V1}/approvals/{{id}}", role="approver",
        help="One question, with all that is known of it", verb="approvals show",
    ),
    OperationRow(
        id="batch", method="POST", path=f"{_V1}/approvals/batch", role="approver", proven=True, distinct=True,
        help="Answer several questions of one kind", verb="approvals approve", forms=("/inbox/batch",),
    ),
    OperationRow(
        id="approve", method="POST", path=f"{_V1}/approvals/{{id}}/approve", role="approver", proven=True,
        distinct=True, help="Let the call run, or another one instead", verb="approvals approve",
        forms=("/inbox/{id}/approve", "/inbox/{id}/edit"),
    ),
    OperationRow(
        id="deny", method="POST", path=f"{_V1}/approvals/{{id}}/deny", role="approver", distinct=True,
        help="Refuse the call", verb="approvals deny", forms=("/inbox/{id}/deny",),
    ),
    OperationRow(
        id="defer", method="POST", path=f"{_V1}/approvals/{{id}}/defer", role="approver", distinct=True,
        help="Answer later; the agent goes on meanwhile", verb="approvals defer", forms=("/inbox/{id}/defer",),
    ),
    OperationRow(
        id="look", method="POST", path=f"{_V1}/approvals/{{id}}/look", role="approver",
        help="Say that you have a question open",
    ),
    OperationRow(
        id="grants", method="GET", path=f"{_V1}/grants", role="approver", help="Answers that still count",
        verb="approvals grants list",
    ),
    OperationRow(
        id="revoke-grant", method="DELETE", path=f"{_V1}/grants/{{id}}", role="approver", help="Take an answer back",
        verb="approvals grants revoke",
    ),
    OperationRow(
        id="pauses", method="GET", path=f"{_V1}/pause", role="approver", help="Pauses that hold now",
        verb="approvals pause list",
    ),
    OperationRow(
        id="pause", method="POST", path=f"{_V1}/pause", role="approver", proven=True,
        help="Answer questions with yes for a while", verb="approvals pause TIME", forms=("/inbox/pause",),
    ),
    OperationRow(
        id="end-pause", method="DELETE", path=f"{_V1}/pause/{{id}}", role="approver", help="End a pause",
        verb="approvals pause end", forms=("/inbox/pause/{id}/end",),
    ),
    OperationRow(
        id="channels", method="GET", path=f"{_V1}/notifications", role="approver",
        help="Channels of notifications, and how they stand", verb="approvals notify list",
    ),
    OperationRow(
        id="mute", method="POST", path=f"{_V1}/notifications/mute", role="approver",
        help="Send no notifications for a while", verb="approvals notify mute",
    ),
    OperationRow(
        id="unmute", method="DELETE", path=f"{_V1}/notifications/mute", role="approver",
        help="Send notifications again", verb="approvals notify unmute",
    ),
    OperationRow(
        id="try-channels", method="POST", path=f"{_V1}/notifications/test", role="approver",
        help="Send a try-out by each channel", verb="approvals notify test",
    ),
    OperationRow(
        id="pins", method="GET", path=f"{_V1}/pins", role="approver",
        help="What MCP servers show, and what of it is trusted", verb="mcp pins list",
    ),
    OperationRow(
        id="approve-pins", method="POST", path=f"{_V1}/pins/{{server}}/approve", role="approver", proven=True,
        help="Trust what an MCP server shows", verb="mcp pins approve",
    ),
    OperationRow(
        id="reject-pins", method="POST", path=f"{_V1}/pins/{{server}}/reject", role="approver",
        help="Refuse what an MCP server shows", verb="mcp pins reject",
    ),
    OperationRow(
        id="forget-pins", method="POST", path=f"{_V1}/pins/{{server}}/forget", role="approver", proven=True,
        help="Forget an MCP server, to trust it anew", verb="mcp pins forget",
    ),
    OperationRow(
        id="bypasses", method="GET", path=f"{_V1}/bypasses", role="approver",
        help="Commands that pass their chain rules for a while", verb="governance command bypasses",
    ),
    OperationRow(
        id="bypass", method="POST", path=f"{_V1}/bypasses", role="approver", proven=True,
        help="Let commands pass their chain rules for a while", verb="governance command bypass",
    ),
    OperationRow(
        id="revoke-bypass", method="DELETE", path=f"{_V1}/bypasses/{{id}}", role="approver",
        help="Take a bypass back", verb="governance command revoke",
    ),
    OperationRow(
        id="session", method="GET", path=f"{_V1}/sessions/{{id}}/governance", role="approver", shared=True,
        help="How a governed session stands", verb="governance session show",
    ),
    OperationRow(
        id="halt", method="POST", path=f"{_V1}/sessions/{{id}}/halt", role="approver", shared=True, distinct=True,
        help="Stop the tools of a governed session", verb="governance session halt", forms=("/sessions/{id}/halt",),
    ),
    OperationRow(
        id="lift", method="POST", path=f"{_V1}/sessions/{{id}}/lift", role="approver", proven=True, shared=True,
        distinct=True, help="Let a halted session go on", verb="governance session lift",
        forms=("/sessions/{id}/lift",),
    ),
    OperationRow(
        id="hand-overs", method="GET", path=f"{_V1}/operator/hand-overs", role="approver",
        help="Agents that may ask at their own prompts", verb="approvals operator handover",
    ),
    OperationRow(
        id="hand-over", method="POST", path=f"{_V1}/operator/hand-overs", role="approver", proven=True,
        help="Let an agent ask ordinary questions at its own prompt", verb="approvals operator handover",
    ),
    OperationRow(
        id="end-hand-over", method="DELETE", path=f"{_V1}/operator/hand-overs/{{host}}", role="approver",
        help="Let an agent ask no more", verb="approvals operator handover",
    ),
    OperationRow(
        id="page", method="POST", path=f"{_V1}/page", role="approver", help="Where the page is", verb="open",
    ),
    OperationRow(
        id="pair", method="POST", path=f"{_V1}/page/pairings", role="approver", proven=True,
        help="Let a browser in that shows a code", verb="open",
    ),
    OperationRow(
        id="sign-out", method="DELETE", path=f"{_V1}/page/sessions", role="approver", help="Sign out every browser",
        verb="open",
    ),
    OperationRow(
        id="reload-policy", method="POST", path=f"{_V1}/policy/reload", role="operator",
        help="Take over changed rule files, all or none",
    ),
    OperationRow(
        id="reload", method="POST", path=f"{_V1}/reload", role="operator",
        help="Read configuration, rules and certificates again",
    ),
)  # fmt: skip

BY_ID: Mapping[str, OperationRow] = {one.id: one for one in OPERATIONS}

PAGE = ("/enter", "/inbox", "/leave", "/live", "/calls", "/overview", "/rules", "/sessions")
"""The page: an agent that has a cookie of its person's browser could answer by it."""

BETWEEN_OURS = ("/retire",)
"""What our own programs say to each other."""

ASKED = frozenset({
    f"{_V1}/intercept", f"{_V1}/cli/validate", f"{_V1}/action/validate", f"{_V1}/commands/check", f"{_V1}/openapi.json",
    "/healthz", "/readyz",
})  # fmt: skip
"""What everybody may ask, by whatever way."""


def area(path: str) -> str:
    """The part of an address that says what it is about: `/api/v1/approvals`, `/inbox`."""
    parts = path.split("/")
    return "/".join(parts[: 4 if path.startswith(API) else 2])


def around(path: str) -> tuple[str, str]:
    """What an address begins and ends with, around what its caller names: `/api/v1/approvals/`, `/deny`."""
    head, _, rest = path.partition("{")
    if not rest:
        head, _, rest = path.rpartition("/")
        return f"{head}/", f"/{rest}"
    return head, rest.partition("}")[2]
