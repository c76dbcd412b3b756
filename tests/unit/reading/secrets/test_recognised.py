"""A value that was recognised once is hidden wherever else it stands."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.reading.secrets import Redactor
from interpose.reading.secrets.recognised import MOST, is_distinct
from interpose.reading.secrets.stream import StreamRedactor
from tests.unit.reading.secrets.templates import filled

REDACTOR = Redactor(b"key")
VALUE = filled("{lowernum:22}")
TOLD = f"token = '{VALUE}'"
PASSWORD = filled("{alnum:8}") + "$+/3x"


@pytest.mark.parametrize(
    ("note", "shown"),
    [
        ("again", f"{TOLD} | '{VALUE}'"),
        ("before it is told", f"$ echo {VALUE}\n{{told}}"),
        ("in a URL", "https://acme.io/v1/" + VALUE + "/items?x=" + VALUE),
        ("inside of a word", f"x{VALUE}y"),
        ("twice without a space", VALUE + VALUE),
        ("in JSON in JSON", json.dumps({"a": json.dumps({"b": f"\n{VALUE}\n"})})),
        ("coloured", f"\x1b[32m{VALUE}\x1b[0m"),
    ],
)
def test_it_is_hidden(note: str, shown: str) -> None:
    text = shown.replace("{told}", TOLD) if "told" in shown else f"{shown}\n{TOLD}"
    assert VALUE in shown, note
    assert VALUE not in REDACTOR.redact(text).text, note


@pytest.mark.parametrize("before", ["", "x", "xy", "xyz"])
def test_it_is_hidden_in_base64_however_it_is_shifted(before: str) -> None:
    encoded = base64.b64encode(bytes([1, 200]) + before.encode() + VALUE.encode() + b"\x00\xff").decode()
    text = REDACTOR.redact(f"{TOLD}\nblob: {encoded}").text
    assert base64.b64encode(VALUE.encode()[3:18]).decode()[4:-4] not in text
    assert encoded not in text


def test_it_is_hidden_in_other_spellings() -> None:
    told = f"password = '{PASSWORD}'\n{TOLD}"
    text = REDACTOR.redact(f"{told}\n{quote(PASSWORD, safe='')}\n{VALUE.encode().hex()}").text
    assert quote(PASSWORD, safe="") not in text
    assert VALUE.encode().hex() not in text


@given(st.lists(st.sampled_from([VALUE, "x", " ", "\n", "'", "=", "/", "-", "word", TOLD]), min_size=1, max_size=30))
def test_a_text_that_tells_it_once_shows_it_nowhere(parts: list[str]) -> None:
    text = "".join([*parts, "\n", TOLD])
    assert VALUE not in REDACTOR.redact(text).text


@given(st.lists(st.sampled_from([" ", "\n", "'", "=", "(", ",", "é", ""]), min_size=1, max_size=30))
def test_a_short_one_is_hidden_wherever_it_is_a_word(parts: list[str]) -> None:
    value = "Q7x9k2Lm3p"
    text = "".join(f"{part}{value};" for part in parts)
    assert value not in REDACTOR.redact(f"{text}\npassword='{value}'").text


WORDS = (
    "password", "postgres", "true", "123456", "release-2024", "ObjectIdentifier", "utils$1.getSafeProp",
    "SHA224PasswordProperty", "passwordField", "changeme1", "2024",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_not_hidden_everywhere(word: str) -> None:
    assert not is_distinct(word.encode())
    text = f"DB_URL=postgres://app:{word}@db.corp.internal/x\nthe {word} of the day"
    assert f"the {word} of" in REDACTOR.redact(text).text


def test_a_short_value_inside_of_another_word_is_left() -> None:
    text = REDACTOR.redact("password='Ab3d7Ef9h'\nxAb3d7Ef9hx Ab3d7Ef9h").text
    assert text.count("Ab3d7Ef9h") == 1


def test_what_one_text_of_a_value_tells_is_hidden_in_the_others() -> None:
    given = {"stdout": f"it is {VALUE}", "list": [VALUE, b"x " + VALUE.encode()], VALUE: 1, "env": {"TOKEN": VALUE}}
    clean, found = REDACTOR.redact_value(given)
    assert VALUE not in repr(clean)
    assert len(found) == 5
    assert clean["stdout"].startswith("it is [redacted:")


def test_a_line_of_a_private_key_is_hidden_alone() -> None:
    line = filled("{base64:64}")
    other = filled("{base64:64} {base64:64}").split()[1]
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{line}\n{other}\n-----END RSA PRIVATE KEY-----"
    assert line not in REDACTOR.redact(f"{key}\n\ngrep: {line}").text


def test_more_values_than_are_kept_are_withheld() -> None:
    lines = [f"API_KEY={filled('{alnum:12}')}{number:06}x{number % 7}y" for number in range(MOST + 50)]
    text = REDACTOR.redact("\n".join(lines)).text
    assert text.rstrip().endswith("]")
    assert "too-complex" in text


@given(st.integers(0, 200), st.booleans())
def test_a_stream_hides_what_came_before(cut: int, hurry: bool) -> None:
    data = f"{TOLD}\nsecond {VALUE}\n{'.' * 90}\nthird {VALUE} end\n".encode()
    stream = StreamRedactor(REDACTOR)
    out = stream.feed(data[:cut], hurry=hurry) + stream.feed(data[cut:], hurry=hurry) + stream.close()
    assert VALUE.encode() not in out
    assert out == REDACTOR.redact_bytes(data)[0]


def test_a_stream_hides_it_long_after() -> None:
    stream = StreamRedactor(REDACTOR)
    stream.feed(f"{TOLD}\n".encode(), hurry=True)
    for _ in range(100):
        stream.feed(b"." * 1000 + b"\n", hurry=True)
    assert VALUE.encode() not in stream.feed(f"late {VALUE}\n".encode(), hurry=True)


def test_a_stream_without_end_forgets_the_oldest() -> None:
    stream = StreamRedactor(REDACTOR)
    for number in range(600):
        stream.feed(f"API_KEY=k3Jd9f{number:06}Lq0Zx7\n{'.' * 4000}\n".encode(), hurry=True)
    assert b"k3Jd9f000599Lq0Zx7" not in stream.feed(b"late k3Jd9f000599Lq0Zx7\n", hurry=True)
    assert b"k3Jd9f000000Lq0Zx7" in stream.feed(b"late k3Jd9f000000Lq0Zx7\n", hurry=True)
