"""`interpose governance command`: what would be said, with its exit codes, and bypasses at a server and without one."""

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
from interpose.core.types import Allow, Command, Confirm, HookPoint
from interpose.doors.cli import EXIT_USAGE, main
from interpose.doors.cli.shared.server_client import user_name
from interpose.doors.http import commands
from interpose.doors.http_server.listener import Unix
from tests.support.governance.governing_chains import ChainRules
from tests.support.servers.servers import running


class Asking:
    """Asks about one command."""

    def intercept(self, command: Command) -> Allow | Confirm:
        return Confirm("Really?", rule="ask-first") if command.name == "publish" else Allow()


@pytest.fixture(params=["token"])
def proof(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof: str) -> Iterator[Path]:
    """The directories of a user, and an empty project in which they are."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERPOSE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("INTERPOSE_APPROVALS_PROOF", proof)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:  # short: a Unix socket has no long path
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield tmp_path


@pytest.fixture
def service(home: Path) -> Iterator[Service]:
    """A server of this user, with chain rules."""
    assert home.is_dir()
    config = load().config
    with open_service(config, follow=False, serving=True) as opened:
        registry: Any = opened.policies.shared.engine.interceptors
        chains = ChainRules(opened.bypasses.bypass_of)
        registry.add(id="governance:chains", name=HookPoint.COMMAND_BEFORE, interceptor=chains)
        registry.add(id="asking", name=HookPoint.COMMAND_BEFORE, interceptor=Asking())
        with running(commands.routes(opened), more=[Unix(config.server.socket)]):
            yield opened


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["command", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_the_exit_code_says_what_is_decided(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", "/review", "12")[:2] == (0, "ALLOW  /review 12\n")
    code, out, _ = said(capsys, "check", "/deploy prod")
    assert code == 2
    assert out.splitlines()[0] == "DENY  /deploy prod"
    assert "governance/chain/ONE" in out
    assert "needs the file BUILD" in out
    assert "instead  use /build first; run /build" in out
    assert said(capsys, "check", "publish")[0] == 1
    Path("BUILD").write_text("")
    code, out, _ = said(capsys, "check", "deploy")
    assert (code, "ALLOW" in out, "governance/chain/TWO" in out) == (0, True, True)
    assert service.ledger is not None


def test_as_json_and_elsewhere(service: Service, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert service.bypasses.seen() == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "BUILD").write_text("")
    (tmp_path / "other" / "NOTES").write_text("")
    code, out, _ = said(capsys, "check", "deploy", "--cwd", str(tmp_path / "other"), "--json")
    assert (code, json.loads(out)) == (
        0, {"command": "deploy", "arguments": "", "decision": "allow", "reason": "", "findings": []},
    )  # fmt: skip


def test_without_a_server_the_rules_alone_are_asked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", "/deploy")[0] == 0
    rules = home / "config" / "interpose" / "governance.yaml"
    rules.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    rules.write_text(
        "version: 1\nunknown_role: allow\nchains:\n  rules:\n"
        "    - {id: BUILT, command: deploy, must_before: [{exists: BUILD, how: run /build}]}\n"
    )
    code, out, _ = said(capsys, "check", "/deploy")
    assert (code, "governance/chain/BUILT" in out, "instead  run /build" in out) == (2, True, True)
    Path("BUILD").write_text("")
    assert said(capsys, "check", "/deploy")[0] == 0
    rules.write_text("version: 1\nchains: {rules: [{id: A}]}\n")
    code, out, _ = said(capsys, "check", "/deploy")
    assert (code, "can't be loaded" in out) == (2, True), "rules that can't be read hold everything"


@pytest.mark.parametrize("words", [("check", "/"), ("check", " "), ("check",), ("bypass", "x")])
def test_wrong_usage(home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert home.is_dir()
    try:
        code = said(capsys, *words)[0]
    except SystemExit as ended:
        code = int(str(ended.code))
    assert code == EXIT_USAGE


@pytest.mark.parametrize("time", ["9h", "0s", "forever", "10", "-5m"])
def test_a_time_that_none_is_given_for(home: Path, capsys: pytest.CaptureFixture[str], time: str) -> None:
    assert home.is_dir()
    code, _, err = said(capsys, "bypass", "x", "--reason", "r", f"--for={time}")
    assert (code, "--for" in err) == (EXIT_USAGE, True)


def test_a_bypass_from_given_to_taken_back(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "bypasses") == (0, "", "no command passes its chain rules now\n")
    code, out, err = said(capsys, "bypass", "deploy*", "--reason", "the site is down", "--session", "s", "--for", "5m")
    assert code == 0, err
    (given,) = [one.bypass for one in service.bypasses.seen()]
    assert (given.by, given.ends_ns - given.given_ns) == (user_name(), 300 * 10**9)
    assert out == said(capsys, "bypasses")[1]
    assert f"{given.id}  deploy* in session s  until " in out
    assert "the site is down" in out
    assert said(capsys, "check", "deploy")[0] == 2
    code, out, _ = said(capsys, "check", "deploy", "--session", "s")
    assert (code, "governance/bypass" in out) == (0, True)
    assert json.loads(said(capsys, "bypasses", "--json")[1])["bypasses"][0]["id"] == given.id
    assert said(capsys, "revoke", given.id)[:2] == (0, f"revoked {given.id}\n")
    assert said(capsys, "revoke", given.id)[0] == 1
    assert said(capsys, "check", "deploy", "--session", "s")[0] == 2


@pytest.mark.parametrize("proof", ["terminal"], indirect=True)
def test_who_does_not_prove_it_gives_none(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "bypass", "deploy", "--reason", "please")
    assert code == 1
    assert "this answer does not count" in err
    assert "interpose governance command bypass deploy" in err
    assert service.bypasses.seen() == []


def test_without_a_server_bypasses_are_shown_from_the_store(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "bypasses") == (0, "", "no command passes its chain rules now\n"), home
    with open_service(load().config, follow=False, serving=True) as opened:
        opened.bypasses.give("deploy", by="ada", reason="late", seconds=60)
    code, out, _ = said(capsys, "bypasses")
    assert (code, "deploy  until" in out, "INVALID" in out) == (0, True, False)
