"""What real bash runs and writes was predicted. `scripts/differential N` does the same for any number of scripts."""

from __future__ import annotations

import shutil

import pytest

from interpose.effects.shell import analyse
from tests.differential.campaign import campaign
from tests.differential.generator import COMMANDS, WORDS, Generator

SCRIPTS = 2_500
SEED = 20_000


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_everything_that_bash_does_was_predicted() -> None:
    result = campaign(SCRIPTS, SEED)
    assert result.scripts == SCRIPTS
    assert result.calls > 2 * SCRIPTS, "most scripts must really run something"
    assert result.files > SCRIPTS / 4, "and many must write something"
    assert not result.missed, result.report()
    assert result.outcomes["opaque"] < 0.05 * SCRIPTS, result.report()
    assert not result.never_drawn, result.report()


def test_every_construct_is_drawn() -> None:
    """The tables are filled by the modules that the campaign imports."""
    assert len(COMMANDS) > 100
    assert len(WORDS) > 30


@pytest.mark.parametrize("seed", range(300))
def test_every_script_is_understood(seed: int) -> None:
    script = Generator(seed).script()
    assert not analyse(script).problems, script
