"""Who makes room for whom when a listener is full."""

from __future__ import annotations

import pytest

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.listener_state import Site
from interpose.doors.http_server.routing import Router


class Client:
    """A connection that is idle since some moment, or busy."""

    def __init__(self, idle_since: float | None) -> None:
        self.idle_since = idle_since
        self.held = 0
        self.ended = False

    def check(self, now: float) -> None:
        """No limits of time here."""

    def overload(self) -> None:
        """No bodies here."""

    def drain(self) -> None:
        """No stop here."""

    def abort(self) -> None:
        self.ended = True


@pytest.fixture
def site() -> Site:
    """Room for eight, one of them for the owner alone."""
    return Site(Router(()), ServerLimits(max_connections=8))


def test_strangers_never_end_an_idle_connection_of_the_owner(site: Site) -> None:
    """It may have connected a moment ago and not have sent its request yet."""
    owners = Client(idle_since=0.0)
    assert site.enter(owners, owner=True)
    strangers = [Client(None) for _ in range(8)]
    assert [site.enter(one) for one in strangers] == [True] * 6 + [False] * 2
    assert not owners.ended


def test_strangers_end_the_idle_connections_of_strangers(site: Site) -> None:
    idle = [Client(idle_since=float(since)) for since in range(7)]
    assert all(site.enter(one) for one in idle)
    assert site.enter(Client(None))
    assert [one.ended for one in idle] == [True] + [False] * 6


def test_the_owner_ends_whatever_is_idle(site: Site) -> None:
    oldest = Client(idle_since=0.0)
    assert site.enter(oldest, owner=True)
    assert all(site.enter(Client(idle_since=1.0), owner=True) for _ in range(7))
    assert site.enter(Client(None), owner=True)
    assert oldest.ended
    assert len(site.clients) == 8
