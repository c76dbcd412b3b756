"""Private keys over lines, however the lines are broken."""

from __future__ import annotations

import json
import textwrap

import pytest

from interpose.reading.secrets import Redactor
from interpose.reading.secrets.multiline import KEY_KINDS
from tests.unit.reading.secrets.templates import filled

REDACTOR = Redactor(b"key")
BODY = "\n".join(filled("{base64:64}{base64:64}{base64:64}{base64:30}==")[at : at + 64] for at in range(0, 224, 64))
LABELS = {
    "RSA PRIVATE KEY": "rsa-private-key",
    "EC PRIVATE KEY": "ec-private-key",
    "DSA PRIVATE KEY": "dsa-private-key",
    "OPENSSH PRIVATE KEY": "openssh-private-key",
    "ENCRYPTED PRIVATE KEY": "encrypted-private-key",
    "PGP PRIVATE KEY BLOCK": "pgp-private-key",
    "PRIVATE KEY": "private-key",
}


def pem(label: str = "PRIVATE KEY", body: str = BODY) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


PUTTY = f"PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 1\n{BODY[:40]}\nPrivate-Lines: 4\n{BODY}\nPrivate-MAC: 00ff"
SSH2 = f'---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "x"\n{BODY}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----'
HEADERS = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00112233\n\n{BODY}"


def kinds_in(text: str) -> list[str]:
    return [found.kind for found in REDACTOR.redact(text).found]


@pytest.mark.parametrize(("label", "kind"), LABELS.items())
def test_each_sort_of_key_and_its_near_miss(label: str, kind: str) -> None:
    text = f"before\n{pem(label)}\nafter"
    redaction = REDACTOR.redact(text)
    assert [found.kind for found in redaction.found] == [kind]
    assert redaction.text == f"before\n{redaction.found[0].marker}\nafter"
    assert kinds_in(pem(label.replace("PRIVATE", "PUBLIC"))) == []
    assert kinds_in(f"-----BEGIN {label}-----\n-----END {label}-----") == []


def test_putty_keys_keep_their_public_part() -> None:
    redaction = REDACTOR.redact(PUTTY)
    assert [found.kind for found in redaction.found] == ["putty-private-key"]
    assert "Public-Lines: 1" in redaction.text
    assert "Private-MAC: 00ff" in redaction.text
    assert BODY.splitlines()[-1] not in redaction.text
    assert kinds_in(PUTTY.replace("Private-Lines", "Public-Lines")) == []


def test_ssh2_keys() -> None:
    assert kinds_in(SSH2) == ["ssh2-private-key"]
    assert kinds_in(SSH2.replace("ENCRYPTED PRIVATE", "PUBLIC")) == []


def test_all_kinds_are_tested_here() -> None:
    assert {*LABELS.values(), "ssh2-private-key", "putty-private-key"} == set(KEY_KINDS)


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("as it is", pem()),
        ("Windows' line ends", pem().replace("\n", "\r\n")),
        ("indented", textwrap.indent(pem(), "      ")),
        ("commented out", textwrap.indent(pem(), "# ")),
        ("quoted in a mail", textwrap.indent(pem(), "> ")),
        ("on one line with blanks", pem().replace("\n", " ")),
        ("in JSON", json.dumps({"private_key": pem() + "\n", "b": 1})),
        ("in JSON in JSON", json.dumps({"a": json.dumps({"private_key": pem()}), "b": 1})),
        ("in a program", "key = (\n" + "\n".join(f'    "{line}\\n"' for line in pem().splitlines()) + "\n)"),
        ("in JavaScript", "key = " + " +\n".join(f'"{line}\\n"' for line in pem().splitlines()) + ";"),
        ("numbered by cat -n", "\n".join(f"{n:6}\t{line}" for n, line in enumerate(pem().splitlines(), 1))),
        ("numbered by grep -n", "\n".join(f"{n}:{line}" for n, line in enumerate(pem().splitlines(), 1))),
        ("numbered by an agent's tool", "\n".join(f"{n:5}→{line}" for n, line in enumerate(pem().splitlines(), 1))),
        ("with headers", pem(body=HEADERS)),
    ],
)
def test_one_key_one_digest_however_its_lines_are_broken(note: str, text: str) -> None:
    redaction = REDACTOR.redact(text)
    assert [found.kind for found in redaction.found] == ["private-key"], note
    assert not any(line in redaction.text for line in BODY.splitlines())
    assert redaction.found[0].digest == REDACTOR.redact(pem()).found[0].digest
    if text.startswith("{"):
        assert json.loads(redaction.text)["b"] == 1


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_a_key_that_is_cut_off_is_hidden_as_far_as_it_goes(lines: int) -> None:
    shown = "\n".join(BODY.splitlines()[:lines])
    redaction = REDACTOR.redact(f"$ head key.pem\n-----BEGIN PRIVATE KEY-----\n{shown}\n$ ls -la\n")
    assert redaction.text == f"$ head key.pem\n{redaction.found[0].marker}\n$ ls -la\n"


def test_every_document_is_judged_for_itself() -> None:
    value, other = filled("{alnum:12}"), filled("{alnum:13}")
    secret, config = f"kind: Secret\ndata:\n  x: {value}\n", f"kind: ConfigMap\ndata:\n  y: {other}\n"
    text = REDACTOR.redact(f"{secret}---\n{config}").text
    assert "x: [redacted:kubernetes-secret:" in text
    assert f"y: {other}" in text
