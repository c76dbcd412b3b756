"""Whose an environment is, by what lies in it and around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.effects.environment.facts import Environment, Owner, environment_at
from interpose.effects.environment.protected import protected_of

NEEDS = (
    "Name: interpose\nRequires-Dist: msgspec>=0.20\nRequires-Dist: httpx2; extra == 'judge'\n\nRequires-Dist: prose\n"
)


def made(root: Path, *others: str, virtual: bool = True) -> Environment:
    library = root / "lib" / "python3" / "site-packages"
    for name, needs in {"interpose-0.2.0": NEEDS, "msgspec-1": "", **dict.fromkeys(others, "")}.items():
        info = library / f"{name}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(needs, encoding="utf-8")
        top = name.partition("-")[0]
        (info / "RECORD").write_text(f"{top}/__init__.py,sha256=x,1\n../../../bin/{top},,\n", encoding="utf-8")
    return environment_at(
        str(root), virtual=virtual, interpreter=f"{root}/bin/python", libraries=(str(library),), package=""
    )


@pytest.mark.parametrize(
    ("place", "beside", "inside", "others", "owner"),
    [
        ("tool", "", "", (), "own"),
        ("tool", "", "", ("pip-24", "setuptools-80"), "own"),
        ("tool", "", "", ("httpx2-2",), "own"),
        ("tool", "", "", ("flask-3",), "project"),
        ("tool", "", "pipx_metadata.json", ("flask-3",), "own"),
        ("tool", "", "uv-receipt.toml", ("flask-3",), "own"),
        ("work/.venv", "work/pyproject.toml", "", (), "project"),
        ("work/deep/venv", "work/.git", "", (), "project"),
        ("home/tool", "home/.git", "", (), "own"),
    ],
)
def test_whose_it_is(
    place: str, beside: str, inside: str, others: tuple[str, ...], owner: Owner, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in (beside, f"{place}/{inside}" if inside else ""):
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
    assert made(tmp_path / place, *others).owner == owner


def test_without_a_virtual_environment_it_is_the_system_s(tmp_path: Path) -> None:
    assert made(tmp_path, virtual=False).owner == "system"


def test_an_environment_of_conda_is_a_project_s(tmp_path: Path) -> None:
    (tmp_path / "envs" / "data" / "conda-meta").mkdir(parents=True)
    assert made(tmp_path / "envs" / "data", virtual=False).owner == "project"


def test_what_is_needed_is_followed_and_what_is_not_is_left_out(tmp_path: Path) -> None:
    found = made(tmp_path, "httpx2-2", "flask-3", "prose-1").distributions
    assert {each.name for each in found} == {"interpose", "msgspec", "httpx2"}


def test_where_others_work_only_what_the_guard_runs_with_is_protected(tmp_path: Path) -> None:
    root = str(tmp_path).lower()
    places = protected_of(made(tmp_path, "flask-3"))
    library = f"{root}/lib/python3/site-packages"
    assert not places.own
    assert {f"{library}/msgspec", f"{library}/msgspec-1.dist-info", f"{library}/sitecustomize.py", f"{root}/pyvenv.cfg",
            f"{root}/bin/interpose", f"{root}/bin/python"} <= places.shared  # fmt: skip
    assert not {each for each in places.shared if "flask" in each or each in (root, library)}


def test_what_is_our_own_is_protected_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert protected_of(made(tmp_path / "tool")).own == {str(tmp_path / "tool").lower()}
