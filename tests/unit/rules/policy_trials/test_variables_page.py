"""The page of variables is the code's."""

from __future__ import annotations

import re
from pathlib import Path

from interpose.rules.cel.conversions import CONVERSIONS
from interpose.rules.cel.functions import FUNCTIONS
from interpose.rules.policy_trials.variables_page import page

PAGE = Path(__file__).parents[4] / "docs" / "policy-variables.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run: python -m interpose.rules.policy_trials.variables_page > docs/policy-variables.md"
    )


def test_every_function_has_its_place_on_the_page() -> None:
    named = {name for name in (*FUNCTIONS, *CONVERSIONS) if re.fullmatch(r"[a-zA-Z]+", name)}
    shown = set(re.findall(r"[a-zA-Z]+", page()))
    of_times = {name for name in named if name.startswith("get") and name != "get"}
    assert named - of_times - {"value"} <= shown
