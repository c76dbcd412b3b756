"""Every benchmark runs briefly and is right. One that measured something wrong says what it was, and exits with 1."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bench.__main__ import play, smoke
from bench.catalogue import BENCH, find_benchmarks
from bench.checks import CheckFailedError, require_ledger
from bench.command_line import run_main


@pytest.mark.parametrize("name", find_benchmarks())
def test_a_benchmark_is_right(name: str) -> None:
    assert play(name) == ""


@pytest.mark.parametrize("name", find_benchmarks())
def test_a_benchmark_checks_what_it_measured(name: str) -> None:
    """A figure without a check can't fail."""
    module = ast.parse((BENCH / f"{name}.py").read_text(encoding="utf-8"))
    called = [ast.unparse(node.func) for node in ast.walk(module) if isinstance(node, ast.Call)]
    assert [one for one in called if one.startswith("require")]
    assert "run_main" in called  # it makes an exit code of a check that fails


def test_a_check_that_fails_is_an_exit_code(tmp_path: Path) -> None:
    def measure() -> None:
        require_ledger(tmp_path, {"allow": 1})

    with pytest.raises(SystemExit) as ended:
        run_main(measure)
    assert ended.value.code == f"failed: no ledger was written in {tmp_path}"  # a text means exit code 1


def test_a_smoke_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    known = dict.fromkeys(["one", "other"], "")
    monkeypatch.setattr("bench.__main__.play", lambda name: "wrong" if name == "other" else "")
    with pytest.raises(CheckFailedError, match="1 of 2 benchmarks: other"):
        smoke(["one", "other"], known)
    said = capsys.readouterr()
    assert "other  FAILED" in said.out
    assert said.err == "wrong\n"
