"""Who acts, as a rulebook sees it. INVARIANT: it comes from the transport alone, never from text that an agent writes.

What is compared: the host's own fields about its agent, the surface that the call came over, what a token proves, the
directory, and the role that a program put into the call's context.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from interpose.reading.calls import home_directory
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.roles.name_patterns import fits
from interpose.rules.governance.roles.path_globs import Parts, covers, is_wild_name, parts_of

if TYPE_CHECKING:
    from interpose.core.types import Context
    from interpose.rules.governance.files.file_model import AgentForm
    from interpose.rules.governance.files.rulebook import Rulebook

HOOK = "hook:"

_HOSTS = {"mcp": "gateway", "intercept": "http", "action": "http"}
"""What people call the surfaces that are called otherwise in records."""
_LONGEST = 1000
_MOST_SEATS = 128


def seat_of(book: Rulebook, context: Context) -> Seat:
    """The seat of whoever acts in a context. The first entry of `agents` that fits gives the role."""
    seats = book.compiled("seats", lambda: _Seats(book))
    return seats.found(context)


class _Seats:
    """The seats of a rulebook that were found before. Where an agent's project is looked at, none is kept: a link may
    lead elsewhere the next time."""

    def __init__(self, book: Rulebook) -> None:
        self._book = book
        self._kept: dict[tuple[str, ...], Seat] | None = None if any(form.project for form in book.agents) else {}

    def found(self, context: Context) -> Seat:
        if self._kept is None:
            return self._sought(context)
        key = (context.agent_id, context.agent_type, context.source, context.principal, context.role)
        seat = self._kept.get(key)
        if seat is None:
            if len(self._kept) >= _MOST_SEATS:
                self._kept.clear()
            seat = self._sought(context)
            if sum(map(len, key)) <= _LONGEST:
                self._kept[key] = seat
        return seat

    def _sought(self, context: Context) -> Seat:
        book, name, is_sub_agent = self._book, agent_name(context), is_below(context)
        form = next((form for form in book.agents if _fits(form, context, name, is_sub_agent=is_sub_agent)), None)
        role = book.roles.get(form.role) if form is not None else None
        return Seat(book=book, role=role, agent=context.agent_id, name=name, is_sub_agent=is_sub_agent)


def agent_name(context: Context) -> str:
    """What kind of agent it is, as its host says; where a host tells no kinds, what the agent is called."""
    return context.agent_type or context.agent_id


def is_below(context: Context) -> bool:
    """Whether it is a sub-agent: a host that tells the kind of its main agent gives no id to that one."""
    return bool(context.agent_id and context.agent_type)


def host_of(source: str) -> str:
    """The host or surface that a call came over: `claude-code` of `hook:claude-code`."""
    return source.removeprefix(HOOK) if source.startswith(HOOK) else _HOSTS.get(source, source)


def _fits(form: AgentForm, context: Context, name: str, *, is_sub_agent: bool) -> bool:
    """Whether all that an entry says is so. What nobody said fits nothing, a lone star included."""
    hosts = (host_of(context.source), context.source)
    return (
        (form.sub_agent is None or form.sub_agent == is_sub_agent)
        and (form.agent is None or _said(form.agent, name))
        and (form.principal is None or _said(form.principal, context.principal))
        and (form.given_role is None or _said(form.given_role, context.role))
        and (form.host is None or any(_said(form.host, host) for host in hosts))
        and (form.project is None or works_in(form.project, context.cwd))
    )


def _said(pattern: str, text: str) -> bool:
    return bool(text) and fits(pattern, text)


def works_in(pattern: str, cwd: str) -> bool:
    """Whether a directory fits a glob that begins with / or ~. Where it really is counts: an agent can make links."""
    if not cwd.startswith("/") or "\0" in cwd or len(cwd) > _LONGEST:
        return False
    home = home_directory()
    glob = parts_of(f"{home}{pattern[1:]}" if pattern[:1] == "~" else pattern)
    real = parts_of(os.path.realpath(cwd))
    return covers(glob, real) or covers(_resolved(glob), real)


def _resolved(glob: Parts) -> Parts:
    """A glob whose directory is where it really is: a project may lie behind a link of the user's."""
    known = next((index for index, part in enumerate(glob) if is_wild_name(part)), len(glob))
    return (*parts_of(os.path.realpath("/" + "/".join(glob[:known]))), *glob[known:])
