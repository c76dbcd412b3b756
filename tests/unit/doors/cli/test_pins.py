"""`interpose mcp pins`, from what waits to a person's word, at a server and without one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from interpose.doors.cli import main
from interpose.doors.cli.shared.server_client import user_name
from interpose.doors.http import pins as pin_routes
from interpose.doors.http_server.listener import Unix
from interpose.doors.mcp.gate.contract import ServerListing
from interpose.doors.mcp.gate.pins import PinnedCatalogue
from interpose.record.ledger import search
from interpose.record.pins.definitions import connection_of
from interpose.record.store.protocols import Query
from tests.support.servers.servers import running
from tests.unit.record.pins.servers import tool


@pytest.fixture(params=["token"])
def proof(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof: str) -> Iterator[Service]:
    """A server of the user whose directories these are."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERPOSE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("INTERPOSE_APPROVALS_PROOF", proof)
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:  # short: a Unix socket has no long path
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        config = load().config
        with (
            open_service(config, follow=False, serving=True) as opened,
            running(pin_routes.routes(opened), more=[Unix(config.server.socket)]),
        ):
            yield opened


def shows(service: Service, *items: dict[str, object]) -> PinnedCatalogue:
    catalogue = PinnedCatalogue(service.pins, {"fs": connection_of(command="npx")})
    catalogue.admit(ServerListing(server="fs", kind="tools", items=items))
    return catalogue


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["pins", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_change_from_list_to_approval(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys) == (0, "", "nothing is pinned: no MCP server was seen yet\n")
    shows(service, tool("read"), tool("write"))
    code, out, err = said(capsys)
    assert (code, out) == (0, "")
    assert "pinned and unchanged: 3, of 1 servers" in err
    assert "read   pinned" not in out

    catalogue = shows(service, tool("read", "Does\u200b something."), tool("write"), tool("run"))
    code, out, err = said(capsys)
    assert [line.split()[:3] for line in out.splitlines()] == [["fs", "read", "changed"], ["fs", "run", "new"]]
    assert "interpose mcp pins show" in err
    assert len(said(capsys, "list", "--all")[1].splitlines()) == 4
    assert len(said(capsys, "--all")[1].splitlines()) == 4
    rows = json.loads(said(capsys, "--json")[1])["pins"]
    assert {row["name"]: row["state"] for row in rows} == {
        "": "pinned", "read": "changed", "write": "pinned", "run": "new",
    }  # fmt: skip

    shown = said(capsys, "show", "fs", "read")[1]
    assert "CHANGED  fs  read" in shown
    assert "! it hides characters of no width" in shown
    assert "  - description: Does something.\n  + description: Does<U+200B ZERO WIDTH SPACE> something." in shown

    assert catalogue.held("fs", "tools", "read") != ""
    assert said(capsys, "approve", "fs", "read") == (0, "trusted  fs  read\n", "")
    assert catalogue.held("fs", "tools", "read") == ""
    assert said(capsys, "reject", "fs") == (0, "rejected  fs  run\n", "")
    assert said(capsys, "approve", "fs")[0] == 1
    assert "rejected" in said(capsys)[1]
    service.ledger.flush()
    records = search(service.store, Query(tool="pins"), 10)
    arguments: list[Any] = [each.arguments for each in reversed(records)]
    assert [given["act"] for given in arguments] == ["held", "approved", "rejected"]
    assert [(each.decision, each.approver) for each in reversed(records)] == [
        ("deny", ""), ("allow", user_name()), ("deny", user_name()),
    ]  # fmt: skip
    assert said(capsys, "forget", "fs")[0] == 0
    assert said(capsys)[2].startswith("nothing is pinned")


WRONG: list[tuple[str, list[str], int, str]] = [
    ("no such server", ["show", "none"], 1, "nothing is known of a server 'none'"),
    ("no such tool", ["approve", "fs", "none"], 1, "fs has no 'none'"),
    ("nothing waits", ["approve", "fs"], 1, "nothing of fs waits"),
    ("forget nobody", ["forget", "none"], 1, "nothing is known of a server 'none'"),
]


@pytest.mark.parametrize(("note", "words", "code", "text"), WRONG, ids=[row[0] for row in WRONG])
def test_what_goes_wrong(
    service: Service, capsys: pytest.CaptureFixture[str], note: str, words: list[str], code: int, text: str
) -> None:
    shows(service, tool("read"))
    got, _, err = said(capsys, *words)
    assert (got, text in err) == (code, True), err


@pytest.mark.parametrize("proof", ["terminal"], indirect=True)
@pytest.mark.parametrize("act", ["approve", "forget"])
def test_who_has_no_terminal_of_their_own_says_no_yes(
    service: Service, capsys: pytest.CaptureFixture[str], act: str
) -> None:
    shows(service, tool("read"))
    shows(service, tool("read", "Evil."))
    code, _, err = said(capsys, act, "fs")
    assert (code, "this answer does not count" in err) == (1, True), err
    assert "interpose mcp pins approve fs" in err
    assert service.pins.known("fs").get("tools", "read").state == "changed"  # type: ignore[union-attr]  # it is there
    assert said(capsys, "reject", "fs")[0] == 0  # a no needs no proof


def test_pins_that_were_tampered_with_are_told_and_forgotten(
    service: Service, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shows(service, tool("read"))
    (file,) = (tmp_path / "state" / "interpose" / "approvals" / "pins").glob("*.json")
    file.write_bytes(file.read_bytes().replace(b"Does", b"Doez"))
    code, out, _ = said(capsys)
    assert (code, "tampered" in out, "changed by somebody else" in out) == (0, True, True)
    code, _, err = said(capsys, "approve", "fs")
    assert (code, "interpose mcp pins forget fs" in err) == (64, True)
    assert said(capsys, "forget", "fs")[0] == 0
    shows(service, tool("read"))
    assert service.pins.known("fs").pins


def test_pins_that_are_gone_are_told_and_forgotten(
    service: Service, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shows(service, tool("read"))
    (file,) = (tmp_path / "state" / "interpose" / "approvals" / "pins").glob("*.json")
    file.unlink()
    assert "tampered" in said(capsys, "list", "fs")[1]
    assert "its pins are gone" in said(capsys, "show", "fs")[1]
    assert said(capsys, "forget", "fs")[0] == 0
    assert shows(service, tool("read")).held("fs", "tools", "read") == ""


def test_without_a_server_pins_are_shown_from_their_files(
    service: Service, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shows(service, tool("read"))
    shows(service, tool("read", "Second."))
    for name in ("SERVER", "HOOKS"):
        monkeypatch.setenv(f"INTERPOSE_{name}_SOCKET", "")
    code, out, _ = said(capsys)
    assert (code, "changed" in out) == (0, True)
    main(["status"])
    assert "1 definition of an MCP server waits for you (fs): interpose mcp pins" in capsys.readouterr().out
    code, _, err = said(capsys, "approve", "fs")
    assert (code, "no server runs, and none can be started" in err) == (1, True)


def test_a_wrapped_server_is_found_by_the_name_that_people_know(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    wrapped = PinnedCatalogue(service.pins, {"fs": connection_of(command="npx")}, by_command=True)
    wrapped.admit(ServerListing(server="fs", kind="tools", items=(tool("read"),)))
    code, _, err = said(capsys, "show", "fs")
    assert (code, "there is fs@" in err) == (1, True), err
