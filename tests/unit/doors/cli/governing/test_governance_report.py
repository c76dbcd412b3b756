"""`interpose governance report` by itself: the ledger that is configured, JSON, and what goes wrong."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.core.types import Allow, Context, Finding, ToolCall, Verdict
from interpose.doors.cli.governing.governance_report import add_report_arguments, run_report


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "INTERPOSE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_report_arguments(parser)
    return run_report(parser.parse_args(words))


def test_the_configured_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0, "nothing was recorded yet"
    assert json.loads(capsys.readouterr().out)["would_deny"] == 0
    with open_service(load().config, follow=False) as service:
        call = ToolCall("write", {}, context=Context(session_id="s-1", role="researcher"))
        found = Finding(
            interceptor="governance:roles", said="deny", reason="no", rule="governance/role", mode="watch",
            kind="governance",
        )  # fmt: skip
        service.ledger.recorder.decided(Verdict(outcome="allow", decision=Allow(), payload=call, findings=(found,)))
    assert run() == 0
    assert "researcher would have been denied write 1 time" in capsys.readouterr().out
    assert run("--json", "--since", "1h") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["would_deny"], told["rules"][0]["rule"]) == (1, "governance/role")


def test_what_goes_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--since", "yesterday\x1b") == 64
    shown = capsys.readouterr().err
    assert "no time" in shown
    assert "\x1b" not in shown
    assert run("--ledger", "/no/such/ledger.db") == 70
