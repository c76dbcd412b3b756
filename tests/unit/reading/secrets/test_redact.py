"""Redacting one text: what is replaced, what the digest tells, and what stays as it was."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.reading.secrets import FoundSecret, Redaction, Redactor
from tests.unit.reading.secrets.templates import filled

TOKEN = filled("ghp_{alnum:36}")
OTHER = filled("glpat-{word:20}")
PASSWORD = filled("{alnum:11}&3")
KEY = b"one key"


def test_a_secret_becomes_a_marker_with_its_kind_and_digest() -> None:
    redaction = Redactor(KEY).redact(f"use {TOKEN} now")
    (found,) = redaction.found
    assert re.fullmatch(r"use \[redacted:github-personal-token:[0-9a-f]{8}\] now", redaction.text)
    assert found == FoundSecret("github-personal-token", found.digest, (4, 4 + len(TOKEN)))
    assert found.marker in redaction.text


def test_text_without_secrets_is_the_same_object() -> None:
    text = "nothing to see " * 3
    redaction = Redactor(KEY).redact(text)
    assert redaction == Redaction(text)
    assert redaction.text is text


def test_equal_secrets_have_equal_digests_and_others_do_not() -> None:
    found = Redactor(KEY).redact(f"{TOKEN} {OTHER} {TOKEN}").found
    assert found[0].digest == found[2].digest != found[1].digest


def test_the_digest_depends_on_the_key() -> None:
    digests = {Redactor(key).redact(TOKEN).found[0].digest for key in (b"a", b"b", b"long" * 40, None)}
    assert len(digests) == 4


def test_without_a_key_the_process_has_one_for_all() -> None:
    assert Redactor().redact(TOKEN) == Redactor().redact(TOKEN)


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty key"):
        Redactor(b"")


def test_spans_count_characters() -> None:
    text = f"é✓𝄞 {TOKEN} é {OTHER}"
    found = Redactor(KEY).redact(text).found
    assert [text[slice(*one.span)] for one in found] == [TOKEN, OTHER]


def test_half_a_surrogate_pair_passes_through() -> None:
    assert Redactor(KEY).redact(f"\ud800 {TOKEN}").text.startswith("\ud800 [redacted:")


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("a quote follows", json.dumps({"a": f'export TOKEN="{TOKEN}"', "b": 1})),
        ("a break follows", json.dumps({"a": f"TOKEN={TOKEN}\nx", "b": 1})),
        ("a password before an escaped quote", json.dumps({"a": f'password="{PASSWORD}"', "b": 1})),
        ("two levels", json.dumps({"a": json.dumps({"password": PASSWORD + "\n", "t": TOKEN}), "b": 1})),
        ("three levels", json.dumps({"a": json.dumps({"c": json.dumps({"t": TOKEN, "p": "x"})}), "b": 1})),
        ("a number that could be an id", '{"discord_client_id": 850949510555489526, "b": 1}'),
        ("after an escape that is a hexadecimal digit", '{"a": "\\f' + filled("{hex:32}-us12") + '", "b": 1}'),
        ("a backslash at the end", json.dumps({"a": f"password='{OTHER}\\'", "b": 1})),
    ],
)
def test_json_stays_json(note: str, text: str) -> None:
    assert json.loads(Redactor(KEY).redact(text).text)["b"] == 1, note


def test_redacting_again_changes_nothing() -> None:
    once = Redactor(KEY).redact(f"TOKEN={TOKEN} password: '{PASSWORD}' {OTHER}").text
    assert Redactor(b"another").redact(once) == Redaction(once)


def test_overlapping_secrets_are_hidden_as_one_and_named_by_the_surest() -> None:
    text = f'API_TOKEN="{TOKEN}!x"'
    redaction = Redactor(KEY).redact(text)
    assert [found.kind for found in redaction.found] == ["github-personal-token"]
    assert redaction.text == f'API_TOKEN="{redaction.found[0].marker}"'


def test_bytes_in_any_encoding() -> None:
    clean, found = Redactor(KEY).redact_bytes(b"\xff\xfe caf\xe9 " + TOKEN.encode() + b" \x80")
    assert clean == b"\xff\xfe caf\xe9 " + found[0].marker.encode() + b" \x80"


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_around_a_token_hides_it_or_breaks_us(before: str, after: str) -> None:
    redaction = Redactor(KEY).redact(f"{before} {TOKEN} {after}")
    assert TOKEN not in redaction.text
    assert redaction.text.count("[redacted:github-personal-token:") >= 1


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    redaction = Redactor(KEY).redact(text)
    parts, at = [], 0
    for found in redaction.found:
        parts += [text[at : found.span[0]], found.marker]
        at = found.span[1]
    assert "".join([*parts, text[at:]]) == redaction.text
