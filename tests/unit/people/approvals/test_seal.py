"""The seal: what it covers, who can check it, and whose files are used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.errors import ServerError
from interpose.people.approvals.seal import Sealed, Verifier, new_seal, open_seal, open_verifier


def test_a_seal_covers_its_content_its_kind_and_what_it_is_bound_to() -> None:
    seal = new_seal()
    sealed = seal.sealed("grant", b'{"a":1}', "id", 5)
    assert seal.accepts("grant", sealed, "id", 5)
    others: dict[str, tuple[Any, ...]] = {
        "another kind": ("answer", sealed, "id", 5),
        "another id": ("grant", sealed, "other", 5),
        "another number": ("grant", sealed, "id", 6),
        "fewer": ("grant", sealed, "id"),
        "a text for a number": ("grant", sealed, "id", "5"),
        "another content": ("grant", replace(sealed, content=type(sealed.content)(b'{"a":2}')), "id", 5),
        "no signature": ("grant", Sealed(sealed.content), "id", 5),
        "a short one": ("grant", replace(sealed, signature=sealed.signature[:-1]), "id", 5),
    }
    assert [note for note, given in others.items() if seal.accepts(*given)] == []
    assert not new_seal().accepts("grant", sealed, "id", 5), "another server's key"
    assert not Verifier().accepts("grant", sealed, "id", 5), "nobody's key"


def test_the_public_key_beside_it_is_enough_to_check(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "approvals.key"
    sealed = open_seal(file).sealed("grant", b"1")
    assert file.stat().st_mode & 0o777 == 0o600
    assert open_verifier(file).accepts("grant", sealed)
    assert open_seal(file).accepts("grant", sealed), "it is kept"
    file.with_name("approvals.key.pub").unlink()
    without = open_verifier(file)
    assert not without.accepts("grant", sealed)
    assert "no public key" in without.doubt


def _linked(file: Path) -> None:
    file.rename(file.with_name("real")).parent.joinpath(file.name).symlink_to("real")


def _piped(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


WRONG: list[tuple[str, Callable[[Path], object], str]] = [
    ("others can read it", lambda file: file.chmod(0o640), "chmod 600"),
    ("others can put another in its place", lambda file: file.parent.chmod(0o777), "chmod go-w"),
    ("it is a link", _linked, "can't be read"),
    ("it is no key", lambda file: file.write_text("none"), "no private key"),
    ("it is a pipe", _piped, "no regular file"),
]


@pytest.mark.parametrize(("note", "change", "text"), WRONG, ids=[row[0] for row in WRONG])
def test_a_key_that_is_not_ours_alone_is_not_used(
    tmp_path: Path, note: str, change: Callable[[Path], object], text: str
) -> None:
    file = tmp_path / "own" / "approvals.key"
    open_seal(file)
    change(file)
    with pytest.raises(ServerError, match=text):
        open_seal(file)
