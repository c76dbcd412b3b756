"""The tokens file: how it is made, when it is refused, and what a token may do."""

from __future__ import annotations

import hashlib
import os
import threading
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from interpose.core.errors import ServerError
from interpose.doors.http_server.messages import Access, Caller, Role
from interpose.doors.http_server.tokens import Tokens, may, open_tokens, read_tokens

SECRET = "a-token-that-nobody-would-ever-guess-1"


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_the_first_start_makes_one_operator(tmp_path: Path) -> None:
    path = tmp_path / "config" / "tokens"
    tokens = open_tokens(path)
    secret = tokens.secret_of("operator")
    assert len(secret) >= 43
    assert tokens.caller(secret) == Caller("operator", "operator")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert open_tokens(path) == tokens
    assert list(path.parent.iterdir()) == [path]


def test_servers_that_start_together_agree(tmp_path: Path) -> None:
    path, found = tmp_path / "tokens", []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        found.append(open_tokens(path).secret_of("operator"))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_tokens_and_digests(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"another-token-that-is-long-enough-2").hexdigest()
    path = written(tmp_path / "tokens", f"# who\n\nci agent {SECRET}\n  ops operator sha256:{digest}\n")
    tokens = read_tokens(path)
    assert tokens.caller(SECRET) == Caller("agent", "ci")
    assert tokens.caller("another-token-that-is-long-enough-2") == Caller("operator", "ops")
    assert tokens.secret_of("agent") == SECRET
    assert tokens.secret_of("operator") == ""
    for wrong in ("", SECRET[:-1], SECRET + " ", SECRET.upper(), digest, f"sha256:{digest}", "ü" * 40):
        assert tokens.caller(wrong) is None
    assert SECRET not in repr(tokens)


def test_every_token_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time tells nobody how far a guess was right, nor which line it is."""
    lines = "".join(f"n{number} agent {SECRET}{number}\n" for number in range(5))
    tokens = read_tokens(written(tmp_path / "tokens", lines))
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return left == right

    monkeypatch.setattr("interpose.doors.http_server.tokens.hmac.compare_digest", compare)
    for presented in (f"{SECRET}0", f"{SECRET}4", "nobody"):
        compared.clear()
        tokens.caller(presented)
        assert len(compared) == 5


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o660, 0o666, 0o601])
def test_a_file_that_others_can_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "tokens", f"ci agent {SECRET}\n", mode)
    with pytest.raises(ServerError, match=f"mode {mode:04o}.*chmod go-rwx"):
        open_tokens(path)


BAD = [
    ("nothing", "", "no tokens"),
    ("only a note", "# ci agent x\n", "no tokens"),
    ("two words", f"ci {SECRET}\n", "tokens:1: expected `name role token` and at most `until=...`, found 2 words"),
    ("four words", f"ci agent {SECRET} x\n", "expected `until=`"),
    ("no such role", f"ok agent {SECRET}\nci root {SECRET}\n", "tokens:2: expected a role .*found 'root'"),
    ("a short token", "ci agent short\n", "at least 32 characters"),
    ("a token with other characters", f"ci agent {SECRET}<>\n", "letters, digits"),
    ("a short digest", "ci agent sha256:abcd\n", "64 lower-case hex digits"),
    ("a digest in capitals", f"ci agent sha256:{'A' * 64}\n", "64 lower-case hex digits"),
    ("a name twice", f"ci agent {SECRET}\nci operator {SECRET}x\n", "tokens:2: the name 'ci' is taken"),
    ("a name with a blank character", f"c\u00a0i agent {SECRET}\n", "no ASCII"),
    ("a name with a slash", f"c/i agent {SECRET}\n", "a name has"),
    ("too much", "#" * (1 << 20) + "\n", "more than"),
]


@pytest.mark.parametrize(("text", "why"), [pytest.param(*case[1:], id=case[0]) for case in BAD])
def test_what_is_wrong_is_said_without_the_token(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ServerError, match=why) as refused:
        open_tokens(written(tmp_path / "tokens", text))
    assert SECRET not in str(refused.value)


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    written(tmp_path / "real", f"ci agent {SECRET}\n")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "directory").mkdir()
    for name in ("link", "dangling", "pipe", "directory"):
        with pytest.raises(ServerError, match=f"{name}: the tokens can't be read"):
            open_tokens(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()


def test_roles() -> None:
    roles: tuple[Role, ...] = ("agent", "auditor", "approver", "operator")
    accesses: tuple[Access, ...] = ("open", *roles)
    allowed = {(role, access) for role, access in product(roles, accesses) if may(role, access)}
    assert allowed == (
        {(role, access) for role in roles for access in ("open", "agent")}
        | {(role, role) for role in roles}
        | {("operator", access) for access in accesses}
    )


def test_no_tokens_know_nobody() -> None:
    assert Tokens().caller("") is None


def test_a_clock_that_is_set_back_brings_no_token_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "tokens", f"ci agent {SECRET} until={datetime.now(UTC):%Y-%m-%dT%H:%M:%S}Z\n")
    tokens = read_tokens(path)
    assert tokens.caller(SECRET) is None
    monkeypatch.setattr("interpose.doors.http_server.tokens.time", lambda: 0.0)
    assert tokens.caller(SECRET) is None
    assert tokens.secret_of("agent") == ""


@pytest.mark.parametrize("end", ["tomorrow", "until=", "until=soon", "2027-01-01", "until=2027-13-01"])
def test_an_end_that_is_none_is_refused(tmp_path: Path, end: str) -> None:
    path = written(tmp_path / "tokens", f"ci agent {SECRET} {end}\n")
    with pytest.raises(ServerError, match="until=") as refused:
        read_tokens(path)
    assert SECRET not in str(refused.value)
