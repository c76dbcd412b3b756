"""Who is at the other end of a connection on a Mac, and what follows where it can't be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interpose.core.errors import NotProvenError
from interpose.core.platforms.macos import connection_table as table
from interpose.core.platforms.macos import process_table
from interpose.core.platforms.process_values import Connected, Ends
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.browsers import prove_browser
from interpose.people.presence.callers import Callers
from tests.unit.core.platforms.machines import ROOT, MacKernel, MacProcess, MacSocket

Mac = Callable[..., MacKernel]
OURS = ("127.0.0.1", 8080)
ENDS = Ends("127.0.0.1", 50123, *OURS)


def connected_to_us(number: int = 0xFEED, state: int = 4, kind: int = 2, address: str = "127.0.0.1") -> MacSocket:
    ours = OURS if ":" not in address else ("::ffff:127.0.0.1", 8080)
    return MacSocket(number, (address, 50123), ours, state, kind)


SERVER = MacProcess(pid=50, sockets=(MacSocket(1, OURS, ("127.0.0.1", 50123)),))
OTHER = MacProcess(pid=60, sockets=(MacSocket(2, ("127.0.0.1", 50124), OURS), MacSocket(3, ("127.0.0.1", 8), OURS, 1)))


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_a_process_is_found_by_both_ends_of_its_socket(mac: Mac, address: str) -> None:
    mac(
        SERVER,
        OTHER,
        MacProcess(pid=70, sockets=(MacSocket(9, ("10.0.0.1", 1), OURS), connected_to_us(address=address))),
    )
    found = table.socket_at(ENDS)
    assert found == Connected(uid=501, inode=0xFEED)
    assert table.holder_of(found.inode) == 70
    assert table.holds(70, found.inode)
    assert not table.holds(60, found.inode)


def test_a_connection_of_version_6(mac: Mac) -> None:
    mac(MacProcess(pid=70, sockets=(MacSocket(5, ("::1", 50123), ("::1", 8080)),)))
    assert table.socket_at(Ends("::1", 50123, "::1", 8080)) == Connected(501, 5)


UNSEEN = [
    ("nobody has it", MacProcess(pid=70)),
    ("it is another user's", MacProcess(pid=70, uid=502, sockets=(connected_to_us(),))),
    ("its end is half closed", MacProcess(pid=70, sockets=(connected_to_us(state=8),))),
    ("it is no TCP", MacProcess(pid=70, sockets=(connected_to_us(kind=1),))),
]


@pytest.mark.parametrize(("note", "process"), UNSEEN, ids=[case[0] for case in UNSEEN])
def test_what_can_not_be_seen_is_none(mac: Mac, note: str, process: MacProcess) -> None:
    mac(SERVER, OTHER, process)
    assert table.socket_at(ENDS) is None, note


def test_root_sees_those_of_every_user(mac: Mac) -> None:
    mac(MacProcess(pid=70, uid=502, sockets=(connected_to_us(),)), me=ROOT)
    assert table.socket_at(ENDS) == Connected(502, 0xFEED)
    assert table.sees_every_user()


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doors ask the tables of macOS."""
    for module, names in {
        "callers": "holder_of holds sees_connections sees_every_user socket_at",
        "browsers": "connected has_tables holder_of",
    }.items():
        for name in names.split():
            monkeypatch.setattr(f"interpose.people.presence.{module}.{name}", getattr(table, name))
    for module in ("agents", "processes", "own_program"):
        for name in ("process", "environment", "command_line", "program_of", "real_user"):
            monkeypatch.setattr(
                f"interpose.people.presence.{module}.{name}", getattr(process_table, name), raising=False
            )


@pytest.mark.usefixtures("on_macos")
def test_a_caller_is_registered_as_an_agent(mac: Mac) -> None:
    mac(SERVER, MacProcess(pid=70, program="/usr/bin/curl", sockets=(connected_to_us(),)))
    agents = SeenAgents()
    assert Callers(agents).register(ENDS) == "known"
    assert [one.pid for one in agents.known()] == [70]
    assert not agents.unplaced


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize(("note", "process"), UNSEEN, ids=[case[0] for case in UNSEEN])
def test_a_caller_that_can_not_be_placed_counts_as_an_agent(mac: Mac, note: str, process: MacProcess) -> None:
    """It may be another user's, so it is answered. It may be any process of ours, so no terminal proves anything."""
    mac(SERVER, process)
    agents = SeenAgents()
    assert Callers(agents).register(ENDS) == "known", note
    assert agents.unplaced


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize(("note", "process"), UNSEEN, ids=[case[0] for case in UNSEEN])
def test_a_browser_that_can_not_be_seen_answers_nothing(mac: Mac, note: str, process: MacProcess) -> None:
    mac(SERVER, process)
    with pytest.raises(NotProvenError, match="does not say which process"):
        prove_browser(ENDS, SeenAgents(), uid=501)


@pytest.mark.usefixtures("on_macos")
def test_a_browser_of_a_persons_own_answers(mac: Mac) -> None:
    kernel = mac(SERVER, MacProcess(pid=70, program="/Applications/Safari", sockets=(connected_to_us(),)))
    prove_browser(ENDS, SeenAgents(), uid=501)
    with pytest.raises(NotProvenError, match="user 502 was let in"):
        prove_browser(ENDS, SeenAgents(), uid=502)
    kernel.processes[70] = MacProcess(pid=70, sockets=(connected_to_us(),), variables=("CLAUDECODE=1",))
    with pytest.raises(NotProvenError, match="which set CLAUDECODE"):
        prove_browser(ENDS, SeenAgents(), uid=501)
