"""A search has so many steps and no more. What is left of the text then is withheld, never passed on unsearched."""

from __future__ import annotations

import pytest
from bench.hostile_families import TEXTS

from interpose.reading.secrets import Redactor
from interpose.reading.secrets.effort import STEPS, Effort
from tests.support.timing.timing import cpu_seconds

SECRET = "ghp_" + "k3Jd9fLq0Zx7" * 3
SIZE = 2_000_000
MOST = 200
"""Times as much as clean text of the same length. Without the bound, the worst is a thousand times as much."""


@pytest.fixture(scope="module")
def clean_seconds() -> float:
    text = TEXTS["clean text"](SIZE)
    redactor = Redactor()
    redactor.redact(text)
    return min(cpu_seconds(lambda: redactor.redact(text)) for _ in range(5))


@pytest.mark.parametrize("family", TEXTS)
def test_hostile_text_costs_no_more_than_some_times_clean_text(family: str, clean_seconds: float) -> None:
    text = TEXTS[family](SIZE)
    redactor = Redactor()
    most = MOST * max(clean_seconds, 0.005)
    assert any(cpu_seconds(lambda: redactor.redact(text)) < most for _ in range(2))


@pytest.mark.parametrize("family", TEXTS)
def test_no_padding_carries_a_secret_through(family: str) -> None:
    clean = Redactor().redact(f"{TEXTS[family](SIZE)}\n{SECRET}\n").text
    assert SECRET not in clean


def test_what_was_searched_is_passed_on_and_the_rest_is_withheld() -> None:
    lines = "".join(f'API_KEY="k3Jd9fLq0Zx7{n:06}Vb2"\n' for n in range(40_000))
    redaction = Redactor().redact(f"first\n{lines}{SECRET}\n")
    assert redaction.text.startswith("first\nAPI_KEY=")
    assert redaction.found[-1].kind == "too-complex"
    assert SECRET not in redaction.text
    assert "k3Jd9fLq0Zx7" not in redaction.text


def test_texts_of_one_value_share_the_steps() -> None:
    value = [f'API_KEY="k3Jd9fLq0Zx7{n:06}Vb2"' for n in range(40_000)]
    clean, found = Redactor().redact_value([*value, SECRET])
    assert found[-1].kind == "too-complex"
    assert "k3Jd9fLq0Zx7" not in "".join(clean)
    assert SECRET not in clean


def test_a_spent_search_withholds_everything() -> None:
    redaction = Redactor().redact("nothing to hide", Effort(0))
    assert [one.kind for one in redaction.found] == ["too-complex"]
    assert "nothing" not in redaction.text


def test_honest_results_are_far_below_the_bound() -> None:
    effort = Effort()
    text = "".join(f"2026-01-01T00:00:{n % 60:02} GET https://example.com/a?page={n} token={n}\n" for n in range(3_000))
    Redactor().redact(text, effort)
    assert effort.left > STEPS / 2
