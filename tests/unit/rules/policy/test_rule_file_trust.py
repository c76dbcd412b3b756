"""Whose rule files are believed: owner and mode, links out of projects, signatures."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

import pytest

from interpose.core.errors import PolicyError
from interpose.core.formats.signatures import new_key, sign, verified
from interpose.rules.policy.load import RulePlace, RuleText, read
from interpose.rules.policy.rule_file_trust import Standing, signed_text
from interpose.rules.policy.rule_places import project_files, project_places
from interpose.rules.policy.rules import Level

RULES = b"version: 1\n"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="GIVING FILES TO ANOTHER USER NEEDS ROOT")


def standing(path: Path, where: Standing | None = None) -> list[RuleText]:
    return read([RulePlace(str(path), Level.USER, "", where or Standing())])


def written(tmp_path: Path, mode: int = 0o644) -> Path:
    tmp_path.chmod(0o700)
    file = tmp_path / "rules" / "mine.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(RULES)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_what_is_ours_is_read(tmp_path: Path, mode: int) -> None:
    assert standing(written(tmp_path, mode).parent)[0].text == RULES.decode()


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_refused_and_says_what_to_do(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, mode)
    with pytest.raises(PolicyError, match=f"others can write it .mode {mode:04o}.; run: chmod go-w {file}"):
        standing(file.parent)
    assert read([RulePlace(str(file))])  # somebody chose it by hand


def test_a_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.parent.chmod(0o775)
    for place in (file, file.parent):
        with pytest.raises(PolicyError, match=f"chmod go-w {file.parent}"):
            standing(place)
    file.parent.chmod(0o755)
    (file.parent / "below").mkdir()
    (file.parent / "below" / "more.yaml").write_bytes(RULES)
    (file.parent / "below").chmod(0o777)
    with pytest.raises(PolicyError, match=r"chmod go-w .*/below"):
        standing(file.parent)


@needs_root
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    os.chown(file, 64_123, 64_123)
    with pytest.raises(PolicyError, match=r"belongs to another user \(uid 64123\)"):
        standing(file.parent)


def test_signatures(tmp_path: Path) -> None:
    private, public = new_key()
    other, _ = new_key()
    file = written(tmp_path)
    beside = file.with_name("mine.yaml.sig")
    must, may = Standing((public,), required=True), Standing((public,))
    with pytest.raises(PolicyError, match="it is not signed; run: interpose policy sign"):
        standing(file, must)
    assert standing(file, may)
    good = b64encode(sign(private, signed_text(RULES)))
    cases: list[tuple[str, bytes]] = [
        ("nothing", b""),
        ("no base64", b"%%%"),
        ("too short", good[:40]),
        ("another key's", b64encode(sign(other, signed_text(RULES)))),
        ("of another text", b64encode(sign(private, signed_text(RULES + b"#")))),
        ("of the bare text, for some other use", b64encode(sign(private, RULES))),
    ]
    for _note, text in cases:
        beside.write_bytes(text)
        for where in (must, may):
            with pytest.raises(PolicyError, match="no signature of it"):
                standing(file, where)
    beside.write_bytes(good + b"\n")
    assert standing(file, must)[0].text == RULES.decode()
    assert standing(file, Standing((new_key()[1], public), required=True))
    with pytest.raises(PolicyError, match="no key to check it with"):
        standing(file)
    file.write_bytes(RULES + b"# changed\n")
    with pytest.raises(PolicyError, match="no signature of it"):
        standing(file, must)


def test_a_signature_is_of_one_key_and_one_text() -> None:
    private, public = new_key()
    assert (len(private), len(public)) == (32, 32)
    signature = sign(private, b"x")
    assert verified(public, b"x", signature)
    assert not verified(public, b"y", signature)
    assert not verified(new_key()[1], b"x", signature)
    assert not verified(b"short", b"x", signature)
    assert not verified(public, b"x", b"")


def project(tmp_path: Path) -> Path:
    (tmp_path / "p" / ".interpose").mkdir(parents=True)
    return tmp_path / "p"


def read_project(place: Path) -> str:
    return read(project_places([str(place / ".interpose" / "policy.yaml")]))[0].text


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    place = project(tmp_path)
    (place / "rules.yaml").write_bytes(RULES)
    (place / ".interpose" / "policy.yaml").symlink_to("../rules.yaml")
    assert read_project(place) == RULES.decode()


@pytest.mark.parametrize("how", ["the file", "the directory", "a hop inside"])
def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, how: str) -> None:
    place, secret = project(tmp_path), tmp_path / "elsewhere" / "policy.yaml"
    secret.parent.mkdir()
    secret.write_text("hunter2: 1\n")
    file = place / ".interpose" / "policy.yaml"
    match how:
        case "the file":
            file.symlink_to(secret)
        case "the directory":
            file.parent.rmdir()
            file.parent.symlink_to(secret.parent)
        case _:
            (place / "hop").symlink_to(secret)
            file.symlink_to("../hop")
    with pytest.raises(PolicyError, match="can't be read: it leads out of the project"):
        read_project(place)


def test_the_project_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    place = project(tmp_path)
    (place / ".interpose" / "policy.yaml").write_bytes(RULES)
    (tmp_path / "link").symlink_to(place)
    assert read_project(tmp_path / "link") == RULES.decode()


@needs_root
@pytest.mark.parametrize(
    ("mode", "owner", "counts"),
    [(0o1777, 64_123, False), (0o777, 64_123, False), (0o1777, 0, True), (0o755, 64_123, True), (0o775, 64_123, True)],
    ids=["a stranger's in /tmp", "a stranger's where all write", "ours in /tmp", "a team's", "a group's"],
)
def test_where_everybody_may_write_a_strangers_file_does_not_count(
    tmp_path: Path, mode: int, owner: int, counts: bool
) -> None:
    place = project(tmp_path)
    (place / ".interpose" / "policy.yaml").write_bytes(RULES)
    for each in (place / ".interpose", place / ".interpose" / "policy.yaml"):
        os.chown(each, owner, owner)
    place.chmod(mode)
    assert bool(project_files(str(place / "below"))) is counts
