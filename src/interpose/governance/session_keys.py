"""Under which name a session is kept: that of the host's session, or of whoever calls without one."""

from __future__ import annotations

from interpose.types import Context

NO_SESSION = "-"


def session_key(context: Context) -> str:
    """The name. Two hosts may give their sessions the same id: they are two sessions, a hook and a gateway of one host
    are not told apart. Who has no session shares one with all that the same principal calls without one."""
    if context.session_id:
        return context.session_id
    return f"{NO_SESSION}:{context.source.partition(':')[0]}:{context.principal}"


def project_of(context: Context) -> str:
    """The project of a call: the directory that it runs in."""
    return context.cwd
