"""Runs the case files of secrets: each kind is found, its near miss is not, and ordinary text is left alone."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from interpose.reading.secrets import Redactor
from interpose.reading.secrets.catalogue import FOUND_BY_CONTEXT, catalogue
from interpose.reading.secrets.multiline import KEY_KINDS
from tests.support.case_files import read_cases
from tests.support.noted import noted
from tests.unit.reading.secrets.templates import filled

HERE = Path(__file__).parent / "secrets"
FAMILIES = ("ai", "cloud", "forges", "keys", "messaging", "named", "payment", "saas")
REDACTOR = Redactor(b"of the tests")


def _rows(*names: str) -> list[Any]:
    return noted(
        (f"{name}:{row.get('kind', '')}:{row['note']}", (row,))
        for name in names
        for row in read_cases(HERE / f"{name}.yaml")
    )


KINDS = _rows(*FAMILIES)
SHAPED = _rows(*(name for name in FAMILIES if name != "named"))


def kinds_in(text: str) -> list[str]:
    return [found.kind for found in REDACTOR.redact(text).found]


@pytest.mark.parametrize("row", KINDS)
def test_the_kind_is_found_and_named(row: dict[str, str]) -> None:
    secret = filled(row["text"])
    redaction = REDACTOR.redact(f"before {secret} after")
    assert [found.kind for found in redaction.found] == [row["kind"]]
    hidden = secret[redaction.found[0].span[0] - len("before ") : redaction.found[0].span[1] - len("before ")]
    assert len(hidden) >= 6
    assert redaction.text.count(redaction.found[0].marker) == 1
    assert redaction.text.replace(redaction.found[0].marker, hidden) == f"before {secret} after"


@pytest.mark.parametrize("row", KINDS)
def test_the_near_miss_is_left_alone(row: dict[str, str]) -> None:
    near = filled(row["near"])
    assert REDACTOR.redact(near).text == near, row["note"]


@pytest.mark.parametrize("row", SHAPED)
def test_the_kind_is_found_whatever_is_around_it(row: dict[str, str]) -> None:
    secret = filled(row["text"])
    found = REDACTOR.redact(secret).found[0]
    hidden = secret[slice(*found.span)]
    for around in (
        f"VALUE={secret}\n",
        f"x: '{secret}'",
        json.dumps({"stdout": f"line\n{secret}\nline", "n": 1}),
        json.dumps({"tool_output": json.dumps({"stdout": f"line\n{secret}\n"})}),
        f"\x1b[32m{secret}\x1b[0m",
        f"é✓ {secret} é",
        f"https://acme.io/?q={quote('x=' + secret, safe='')}",
        base64.b64encode(f"config:\n  value: {secret}\n".encode()).decode(),
        base64.encodebytes(f"{'#' * 100}\n  value: {secret}\n{'#' * 100}".encode()).decode(),
    ):
        redaction = REDACTOR.redact(around)
        kinds = [one.kind for one in redaction.found]
        assert row["kind"] in kinds, around
        assert hidden not in redaction.text
        assert base64.b64encode(hidden.encode()).decode().rstrip("=") not in redaction.text
        if around.startswith("{"):
            json.loads(redaction.text)


@pytest.mark.parametrize("row", _rows("context"))
def test_the_place_gives_the_secret_away(row: dict[str, str]) -> None:
    text, hide = filled(row["text"]), filled(row["hide"])
    assert hide in text
    redaction = REDACTOR.redact(text)
    assert row["kind"] in [found.kind for found in redaction.found], row["note"]
    assert hide not in redaction.text
    if text.startswith(("{", "[")):
        assert json.loads(redaction.text).keys() == json.loads(text).keys() if text[0] == "{" else True
    quoted = json.dumps({"output": text, "exit": 0})
    again = REDACTOR.redact(quoted).text
    assert json.loads(again)["exit"] == 0
    assert hide not in again


@pytest.mark.parametrize("row", _rows("ordinary"))
def test_ordinary_text_is_left_alone(row: dict[str, str]) -> None:
    text = filled(row["text"])
    assert REDACTOR.redact(text).text == text, row["note"]


def test_every_kind_has_its_case() -> None:
    """Keys that span lines have their own tests."""
    of_families = [row.values[0]["kind"] for row in KINDS]
    assert len(of_families) == len(set(of_families))
    in_context = {row.values[0]["kind"] for row in _rows("context")}
    assert in_context == set(FOUND_BY_CONTEXT)
    assert {*of_families, *in_context, *KEY_KINDS} == set(catalogue())
