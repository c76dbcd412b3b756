"""What `scripts/release` would notice. The script itself needs tools of its own; this holds that they are asked."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from interpose import __version__
from tests.package.built import ROOT, Packages, build, needed
from tests.package.changes import ChangesError, section_of
from tests.package.contents import problems
from tests.package.licences import licence_of, may_be_shipped
from tests.package.release import Release, ReleaseError

TODAY = date(2026, 11, 17)
GOOD = """# Changelog

## [Unreleased]

## [2.0.0] - 2026-11-17

### Added

- This.

## [1.0.0] - 2026-01-02

- That.
"""


def test_the_section_of_a_version() -> None:
    assert section_of(GOOD, "2.0.0", TODAY) == "## [2.0.0] - 2026-11-17\n\n### Added\n\n- This.\n"


@pytest.mark.parametrize(
    ("text", "version", "why"),
    [
        (GOOD, "3.0.0", "write `## [3.0.0] - 2026-11-17`"),
        (GOOD, "1.0.0", "2.0.0 stands above 1.0.0"),
        (GOOD.replace(" - 2026-11-17", ""), "2.0.0", "has no date"),
        (GOOD.replace("2026-11-17", "17.11.2026"), "2.0.0", "has no date"),
        (GOOD.replace("2026-11-17", "2026-11-18"), "2.0.0", "yet to come"),
        (GOOD.replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n"), "2.0.0", "under [Unreleased]"),
        (GOOD.replace("### Added\n\n- This.\n", ""), "2.0.0", "says nothing"),
    ],
)
def test_a_changelog_that_is_not_ready(text: str, version: str, why: str) -> None:
    with pytest.raises(ChangesError) as raised:
        section_of(text, version, TODAY)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("Apache-2.0 AND BSD-2-Clause", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-or-later", False),
        ("LGPL-2.1-only", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_licences_that_users_can_ship(expression: str, want: bool) -> None:
    assert may_be_shipped(expression) is want


def test_everything_we_need_can_be_shipped() -> None:
    found = [licence_of(dist) for dist in needed(("judge", "postgres", "server", "otel", "signatures")).values()]
    assert len(found) > 20
    assert [one for one in found if not one.allowed] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return build(tmp_path_factory.mktemp("dist"))


def _more(name: str, content: bytes = b"") -> Callable[[Packages], None]:
    def add(packages: Packages) -> None:
        with zipfile.ZipFile(packages.wheel, "a") as archive:
            archive.writestr(name, content)

    return add


def _less(packages: Packages) -> None:
    files = tarfile.open(packages.sdist)  # noqa: SIM115 - closed below
    with files, tarfile.open(f"{packages.sdist}.new", "w:gz") as new:
        for member in files:
            if not member.name.endswith("/LICENSE"):
                new.addfile(member, io.BytesIO(files.extractfile(member).read()) if member.isfile() else None)  # type: ignore[union-attr]  # a file has content
    Path(f"{packages.sdist}.new").rename(packages.sdist)


@pytest.mark.parametrize(
    ("note", "spoil", "why"),
    [
        ("a test", _more("tests/test_x.py"), "has tests/test_x.py"),
        ("a cache", _more("interpose/__pycache__/x.pyc"), "is no file of a release"),
        ("a key", _more("interpose/x.pem"), "is no file of a release"),
        ("a strange file", _more("interpose/x.bin"), "of a kind"),
        ("a secret", _more("interpose/x.py", b"key = 'ghp_" + b"a" * 36 + b"'"), "looks like a secret"),
        ("a path", _more("interpose/y.py", str(ROOT).encode()), "names a directory of this machine"),
        ("no licence", _less, "lacks"),
    ],
)
def test_wrong_contents_are_noticed(
    note: str, spoil: Callable[[Packages], None], why: str, built: Packages, tmp_path: Path
) -> None:
    packages = Packages(*(Path(shutil.copy(each, tmp_path)) for each in (built.wheel, built.sdist)))
    spoil(packages)
    assert any(why in one for one in problems(packages, __version__)), note


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A checkout as far as a release looks at it."""
    (tmp_path / "src" / "interpose").mkdir(parents=True)
    (tmp_path / "src" / "interpose" / "__init__.py").write_text('__version__ = "2.0.0"\n')
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "2.0.0"\noptional-dependencies = {}\n')
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", *words], cwd=tmp_path, check=True
        )
    return tmp_path


def test_a_clean_tree_with_a_new_version(repository: Path) -> None:
    release = Release(repository)
    assert release.check_tree().startswith("commit ")
    assert release.check_version() == "2.0.0"


def test_what_is_not_committed_is_not_released(repository: Path) -> None:
    (repository / "more.py").write_text("")
    with pytest.raises(ReleaseError, match=r"not everything is committed: more\.py"):
        Release(repository).check_tree()


def test_a_version_is_released_once(repository: Path) -> None:
    subprocess.run(["git", "tag", "v2.0.0"], cwd=repository, check=True)
    with pytest.raises(ReleaseError, match="tagged already"):
        Release(repository).check_version()


def test_one_version_everywhere(repository: Path) -> None:
    (repository / "src" / "interpose" / "__init__.py").write_text('__version__ = "1.0.0"\n')
    with pytest.raises(ReleaseError, match=r"pyproject\.toml says 2\.0\.0"):
        Release(repository).check_version()
