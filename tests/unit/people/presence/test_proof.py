"""Who may say yes, by each proof and from each place."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.config.settings import ApprovalSettings
from interpose.core.errors import NotProvenError, ServerError
from interpose.effects.systems import MACOS, system_named
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.passphrase import set_passphrase
from interpose.people.presence.proof import Answerer, Proof, proof_note
from interpose.people.presence.terminal import is_own_address, start_of

HERE = Answerer(unix=True, pid=os.getpid(), start=start_of(os.getpid()), uid=os.geteuid())
LOOPBACK = Answerer(unix=False, address="127.0.0.1")
ELSEWHERE = Answerer(unix=False, address="203.0.113.9")
DAEMON = 1  # a user that every system has, and that is not us


def said(proof: Proof, who: Answerer) -> str:
    try:
        proof.check(who, "q")
    except NotProvenError as error:
        return error.code
    return "yes"


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        ("token", ["yes", "yes", "yes"]),
        ("terminal", ["passphrase_needed", "not_proven", "yes"]),
        ("user", ["not_proven", "not_proven", "yes"]),
        ("passphrase", ["passphrase_needed"] * 3),
        ("code", ["code_needed"] * 3),
    ],
)
def test_who_counts(tmp_path: Path, kind: Any, want: list[str]) -> None:
    """Tests have no terminal that is read: at our own socket that is not enough."""
    set_passphrase(tmp_path / "p", "correct horse")
    settings = ApprovalSettings(
        proof=kind, passphrase_file=str(tmp_path / "p"), operator="daemon", socket="/run/x.sock"
    )  # fmt: skip
    proof = Proof(settings, SeenAgents())
    assert [said(proof, who) for who in (HERE, LOOPBACK, ELSEWHERE)] == want
    if kind == "user":
        assert said(proof, Answerer(unix=True, pid=1, uid=DAEMON)) == "yes"
    if kind == "terminal":
        assert said(proof, replace(HERE, passphrase="correct horse")) == "yes", "where a terminal proves nothing"
        assert said(proof, replace(HERE, passphrase="wrong horse")) == "passphrase_wrong"
        assert said(Proof(replace(settings, passphrase_file=""), SeenAgents()), HERE) == "not_proven"
    if kind == "passphrase":
        assert said(proof, Answerer(unix=False, address="127.0.0.1", passphrase="correct horse")) == "yes"


def test_a_process_that_is_gone_or_another_one_proves_nothing() -> None:
    proof = Proof(ApprovalSettings(), SeenAgents())
    for who in (Answerer(unix=True), Answerer(unix=True, pid=os.getpid(), start=1), Answerer(unix=True, pid=1 << 22)):
        with pytest.raises(NotProvenError, match="can't be seen"):
            proof.check(who, "q")


def test_addresses_of_this_machine_are_known_as_such() -> None:
    own = {"127.0.0.1", "127.8.9.10", "::1", "0.0.0.0"}
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("203.0.113.9", 9))  # nothing is sent
            own.add(probe.getsockname()[0])
    except OSError:
        pass  # a machine without a network has no other address
    assert [address for address in own if not is_own_address(address)] == []
    assert not is_own_address("203.0.113.9")
    assert is_own_address("what"), "what is no address is not another machine"


def test_who_comes_from_here_by_a_proxy_elsewhere_is_on_this_machine(tmp_path: Path) -> None:
    by_proxy = Answerer(unix=False, address="203.0.113.9", client="127.0.0.1")
    assert by_proxy.on_this_machine
    assert not Answerer(unix=False, address="203.0.113.9", client="203.0.113.7").on_this_machine
    for answerer in (by_proxy, replace(by_proxy, paired="terminal")):
        with pytest.raises(NotProvenError):
            Proof(ApprovalSettings(), SeenAgents()).check(answerer, "q")


def test_what_a_proof_needs_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="operator init"):
        ApprovalSettings(proof="user")
    with pytest.raises(ServerError, match="no passphrase is set"):
        Proof(ApprovalSettings(proof="passphrase", passphrase_file=str(tmp_path / "none")), SeenAgents())
    with pytest.raises(ServerError, match="no user"):
        Proof(ApprovalSettings(proof="user", operator="nobody-of-this-name", socket="/x"), SeenAgents())


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that does not tell who sits at a terminal."""
    monkeypatch.setattr("interpose.people.presence.proof.this_system", lambda: MACOS)


@pytest.mark.usefixtures("on_macos")
def test_where_the_system_does_not_tell_a_passphrase_is_wanted(tmp_path: Path) -> None:
    set_passphrase(tmp_path / "p", "correct horse")
    settings = ApprovalSettings(passphrase_file=str(tmp_path / "p"))
    proof = Proof(settings, SeenAgents())
    assert proof.kind == "passphrase", "the page and the command line ask for it"
    assert "macOS" in proof_note(settings)
    assert [said(proof, who) for who in (HERE, LOOPBACK, ELSEWHERE)] == ["passphrase_needed"] * 3
    assert said(proof, replace(HERE, passphrase="correct horse")) == "yes"
    assert said(proof, replace(HERE, passphrase="wrong horse")) == "passphrase_wrong"


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize("broken", [False, True], ids=["none", "another's"])
def test_without_one_a_server_starts_and_nothing_is_approved(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: bool
) -> None:
    if broken:
        (tmp_path / "p").write_text("{}")
        (tmp_path / "p").chmod(0o666)
    settings = ApprovalSettings(passphrase_file=str(tmp_path / "p"))
    proof = Proof(settings, SeenAgents())
    assert "interpose approvals operator init --passphrase" in caplog.text, "it is said when the server starts"
    assert proof_note(settings).startswith("macOS does not tell"), "and by doctor and install"
    for who in (HERE, LOOPBACK, ELSEWHERE, replace(HERE, passphrase="correct horse"), replace(HERE, paired="terminal")):
        with pytest.raises(NotProvenError, match="needs a passphrase, and none is set"):
            proof.check(who, "q")


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize("kind", ["code", "user", "token"])
def test_a_proof_that_was_chosen_stays(kind: Any) -> None:
    settings = ApprovalSettings(proof=kind, operator="daemon", socket="/run/x.sock")
    assert Proof(settings, SeenAgents()).kind == kind
    assert proof_note(settings) == ""


def test_linux_tells_and_nothing_is_said() -> None:
    assert proof_note(ApprovalSettings()) == ""
    assert Proof(ApprovalSettings(), SeenAgents()).kind == "terminal"


@pytest.mark.parametrize(("platform", "proves"), [("linux", True), ("darwin", False), ("freebsd14", False)])
def test_only_a_system_that_is_known_to_tell_is_believed(platform: str, proves: bool) -> None:
    assert system_named(platform).terminals_prove is proves
