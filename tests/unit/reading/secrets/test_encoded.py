"""Secrets in base64 and URL encoding."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from interpose.reading.secrets import Redactor
from interpose.reading.secrets.fold import folded
from tests.unit.reading.secrets.templates import filled

REDACTOR = Redactor(b"key")
TOKEN = filled("ghp_{alnum:36}")
DIGEST = REDACTOR.redact(TOKEN).found[0].digest
CONFIG = f"# settings of the service\nurl: https://acme.io\ntoken: {TOKEN}\nretries: 3\n".encode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("note", "text", "want"),
    [
        ("a file", f"content: {b64(CONFIG)}", "content: {}"),
        ("at any of three alignments, 1", f"x {b64(b'a' + CONFIG)} y", "x {} y"),
        ("at any of three alignments, 2", f"x {b64(b'ab' + CONFIG)} y", "x {} y"),
        ("for URLs", f"x {base64.urlsafe_b64encode(b'>>>???' + CONFIG).decode()} y", "x {} y"),
        ("wrapped at 76", f"x\n{base64.encodebytes(CONFIG).decode()}y", "x\n{}\ny"),
        ("twice", f"x {b64(b64(CONFIG).encode())} y", "x {} y"),
        ("after binary data", f"x {b64(bytes(range(128, 254)) + CONFIG)} y", "x {} y"),
        ("a data URL", f"data:text/plain;base64,{b64(CONFIG)}", "data:text/plain;base64,{}"),
        ("the token alone", f"x {b64(TOKEN.encode())}", "x {}"),
        ("in a URL", f"https://acme.io/?q={quote('a=' + TOKEN)}&x=1", "https://acme.io/?q=a%3D{}&x=1"),
        ("URL encoding of its own letters", f"q={TOKEN.replace('ghp_', 'gh%70%5F')}&x=1", "q={}&x=1"),
        ("base64 in a URL", f"https://acme.io/?q={quote(b64(CONFIG), safe='')}&x=1", "https://acme.io/?q={}&x=1"),
    ],
)
def test_the_encoded_secret_is_hidden_and_has_the_digest_of_the_plain_one(note: str, text: str, want: str) -> None:
    redaction = REDACTOR.redact(text)
    assert {(found.kind, found.digest) for found in redaction.found} == {("github-personal-token", DIGEST)}, note
    assert redaction.text == want.format(redaction.found[0].marker)


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("ordinary text", b64(b"This is a sentence that nobody has to hide, and it is long enough.")),
        ("an image", b64(bytes(range(256)) * 8)),
        ("a path", "usr/share/doc/python3/examples/Tools/scripts/README"),
        ("a hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        ("a format", "%20s%2d%3d %41 100%25"),
    ],
)
def test_other_encoded_text_is_left_alone(note: str, text: str) -> None:
    assert REDACTOR.redact(text).text == text, note


@pytest.mark.parametrize(
    "text",
    [
        b'a\\nb\\tc\\"d\\\\e\\u0041\\u00e9\\ud800\\u12\\x',
        b"\x1b[31mred\x1b[0m \x1b[no colour at all",
        b"https:\\/\\/x \\\\/ \\",
        b"\\\r\n\\\n\\",
        b"[redacted:jwt:0a1b2c3d] [redacted:",
    ],
)
def test_the_copy_for_matching_is_as_long_as_the_text(text: bytes) -> None:
    assert len(folded(text)) == len(text)
