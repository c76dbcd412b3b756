"""Times that people are waited for: which fit together, and what is said of those that don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from interpose.core.config.load import load
from interpose.core.config.waiting_times import hook_wait
from interpose.core.errors import ConfigError
from tests.support.case_files import read_cases

ROOT = Path(__file__).parents[4]
CASES: list[dict[str, Any]] = read_cases(ROOT / "tests" / "cases" / "config" / "waiting_times.yaml")


@pytest.mark.parametrize("case", CASES, ids=[case["note"] for case in CASES])
def test_times(case: dict[str, Any], tmp_path: Path) -> None:
    groups: dict[str, dict[str, Any]] = {}
    for key, value in case["set"].items():
        group, name = key.split(".")
        groups.setdefault(group, {})[name] = value
    file = tmp_path / "interpose.yaml"
    file.write_text(yaml.safe_dump(groups) if groups else "")
    environ = {"HOME": str(tmp_path)}
    if "wants" in case:
        with pytest.raises(ConfigError) as refused:
            load(file, environ=environ)
        for want in case["wants"]:
            assert want in str(refused.value), str(refused.value)
        assert f"{file}:" in str(refused.value)
        return
    config = load(file, environ=environ).config
    assert {host: hook_wait(host, config) for host in case.get("waits", {})} == case.get("waits", {})


def test_a_variable_has_it_as_json(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "INTERPOSE_HOOKS_WAIT": '{"codex": 20}'}
    assert hook_wait("codex", load(environ=environ).config) == 20
