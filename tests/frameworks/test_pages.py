"""The example of every page runs, in the environment of its framework."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.known import PRESENT, ROOT, KnownFramework
from tests.support.timing.patience import PATIENCE

PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("known", PRESENT, ids=lambda one: one.name)
def test_example_runs(known: KnownFramework, tmp_path: Path) -> None:
    code = "\n".join(PYTHON.findall(known.page.read_text(encoding="utf-8")))
    assert code, "a page has an example"
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    # A home of its own: the example has the configuration of a new user, and its ledger.
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=PATIENCE,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
