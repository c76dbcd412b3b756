"""What a session has seen is found again by its digest, and by nothing else."""

from __future__ import annotations

import pytest

from interpose.reading.secrets import session_memory
from interpose.reading.secrets.session_memory import SessionMemories, SessionMemory
from tests.unit.reading.secrets.templates import filled

VALUE, TOKEN, PASSWORD = filled("{lowernum:22}"), filled("ghx_{alnum:20}-{alnum:8}"), "Tr0ub4dor&3xQ"
KINDS = {VALUE.encode(): "a", TOKEN.encode(): "b", PASSWORD.encode(): "c"}


def spans(memory: SessionMemory, text: str) -> list[str]:
    return [text[hit.start : hit.end] for hit in memory.find(text.encode())]


@pytest.mark.parametrize("value", [VALUE, TOKEN, PASSWORD])
@pytest.mark.parametrize(
    "text", ["@", "@ @", "x @\n", "x=@;", "'@','@'", "(@)", "https://u:@@h", "?k=@&", "a @ b @ c @"]
)
def test_a_value_is_found_as_a_word(text: str, value: str) -> None:
    memory = SessionMemory(b"key").with_more(KINDS)
    assert value in spans(memory, text.replace("@", value, 1) if text == "https://u:@@h" else text.replace("@", value))


def test_each_of_many_is_found() -> None:
    memory = SessionMemory(b"key").with_more(KINDS)
    assert spans(memory, f"{VALUE} {VALUE} {TOKEN},{VALUE}").count(VALUE) == 3


def test_the_values_are_not_kept() -> None:
    memory = SessionMemory(b"key").with_more(KINDS)
    assert VALUE not in repr(vars(memory))
    assert VALUE.encode() not in repr(vars(memory)).encode()


def test_another_key_knows_nothing() -> None:
    one, other = SessionMemory(b"key").with_more(KINDS), SessionMemory(b"other").with_more(KINDS)
    assert not set(one._seen) & set(other._seen)


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_memory, "VALUES", 2)
    memory = SessionMemory(b"key").with_more({VALUE.encode(): "a"}).with_more({TOKEN.encode(): "b", b"x" * 9: "c"})
    assert len(memory) == 2
    assert spans(memory, VALUE) == []


def test_a_value_is_forgotten_after_its_time() -> None:
    now = [0.0]
    memory = SessionMemory(b"key", lambda: now[0]).with_more({VALUE.encode(): "a"})
    now[0] = session_memory.SECONDS + 1
    assert spans(memory.with_more({TOKEN.encode(): "b"}), f"{VALUE} {TOKEN}") == [TOKEN]


def test_sessions_are_apart_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_memory, "SESSIONS", 2)
    memories = SessionMemories(b"key")
    for session in ("one", "two", "three", ""):
        memories.remember(session, KINDS)
    assert not memories.recognised("one")
    assert memories.recognised("two")
    assert memories.recognised("three")
    assert not memories.recognised("")
