"""A release: wheel and sdist, looked into and built twice, with their SBOM, licences and changes, in `dist/`.

`scripts/release` starts this. Nothing is uploaded and nothing is tagged. The exit code is 1 if anything is wrong, and
then `dist/` is as it was.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from packaging.utils import canonicalize_name

from tests.package.built import ROOT, Packages, build, environment, needed, unpack_all, unpacked
from tests.package.changes import ChangesError, section_of
from tests.package.contents import problems
from tests.package.licences import licence_of, table

DIST = ROOT / "dist"
TOOLS = ROOT / ".venv" / "release" / "bin"


class ReleaseError(Exception):
    """Why there is no release, in lines."""


def main(argv: Sequence[str] | None = None) -> int:
    """Go through all steps; say each with its time."""
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__)
    parser.parse_args(argv)
    release = Release(ROOT)
    with tempfile.TemporaryDirectory(prefix="release-") as place:
        release.place = Path(place)
        for name, step in (
            ("the tree", release.check_tree),
            ("version", release.check_version),
            ("changelog", release.write_changes),
            ("wheel, sdist", release.build),
            ("built again", release.build_again),
            ("contents", release.check_contents),
            ("twine check", release.check_metadata),
            ("licences", release.write_licences),
            ("SBOM", release.write_sbom),
            ("tests", release.test),
        ):
            begun = monotonic()
            try:
                said = step()
            except (ReleaseError, ChangesError) as error:
                _say(f"  NO    {name:14} {error}\nNo release: dist/ is as it was.")
                return 1
            _say(f"  ok    {name:14} {said} ({monotonic() - begun:.1f} s)")
        release.publish(DIST)
    for line in (DIST / "SHA256SUMS").read_text().splitlines():
        _say(f"  {line}")
    _say(f"dist/ has {release.version}. Next: git tag -s v{release.version}, and upload the wheel and the sdist.")
    return 0


class Release:
    """One release, step by step. A step returns what it found, or raises."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = Path()
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.version: str = project["version"]
        self.extras = tuple(project["optional-dependencies"])
        self._files: list[Path] = []
        self._packages: Packages | None = None

    def check_tree(self) -> str:
        """Nothing that is not committed, and nothing that git does not know."""
        changed = self._git("status", "--porcelain").splitlines()
        if changed:
            raise ReleaseError(f"not everything is committed: {', '.join(line[3:] for line in changed[:5])}")
        return f"commit {self._git('rev-parse', '--short=12', 'HEAD')}"

    def check_version(self) -> str:
        """One version everywhere, and a new one."""
        said = (self.root / "src" / "interpose" / "__init__.py").read_text(encoding="utf-8")
        if f'__version__ = "{self.version}"' not in said:
            raise ReleaseError(f"pyproject.toml says {self.version}, and interpose.__version__ does not")
        if f"v{self.version}" in self._git("tag", "--list").split():
            raise ReleaseError(
                f"v{self.version} is tagged already: raise the version in pyproject.toml and __init__.py"
            )
        return self.version

    def write_changes(self) -> str:
        """The section of the changelog, by itself."""
        text = (self.root / "CHANGELOG.md").read_text(encoding="utf-8")
        section = section_of(text, self.version, datetime.now(UTC).date())
        self._write(f"interpose-{self.version}-changes.md", section)
        return section.splitlines()[0].removeprefix("## ")

    def build(self) -> str:
        """Both, from the checkout."""
        self._packages = build(self.place / "dist", self.root, epoch=self._epoch())
        self._files += [self._packages.wheel, self._packages.sdist]
        return ", ".join(f"{path.stat().st_size >> 10} KB" for path in (self._packages.wheel, self._packages.sdist))

    def build_again(self) -> str:
        """From what is committed, elsewhere; and the wheel from the sdist. All must be the same to the byte."""
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=self.root, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            unpack_all(files, self.place / "export")
        again = build(self.place / "again", self.place / "export", epoch=self._epoch())
        from_sdist = build(
            self.place / "third", unpacked(self._built.sdist, self.place / "unpacked"), epoch=self._epoch()
        )
        for first, other, how in (
            (self._built.wheel, again.wheel, "built from the commit"),
            (self._built.sdist, again.sdist, "built from the commit"),
            (self._built.wheel, from_sdist.wheel, "built from the sdist"),
        ):
            if first.read_bytes() != other.read_bytes():
                raise ReleaseError(f"{first.name} {how} is another file")
        return "the same bytes, from the commit and from the sdist"

    def check_contents(self) -> str:
        """Every file of the package, and no other."""
        found = problems(self._built, self.version)
        if found:
            raise ReleaseError("\n                       ".join(found[:10]))
        return "every file of the package, and nothing else"

    def check_metadata(self) -> str:
        """As the index would."""
        self._run(TOOLS / "twine", "check", "--strict", self._built.wheel, self._built.sdist)
        return "both pass"

    def write_licences(self) -> str:
        """Of all that any extra brings."""
        found = [licence_of(dist) for dist in needed(self.extras).values()]
        wrong = [f"{one.name} {one.version}: {one.says}" for one in found if not one.allowed]
        if wrong:
            raise ReleaseError(f"users may not be able to ship {'; '.join(wrong)}")
        self._write(f"interpose-{self.version}-licences.md", table(found))
        return f"{len(found)} packages, {', '.join(sorted({one.says for one in found}))}"

    def write_sbom(self) -> str:
        """CycloneDX, of an environment with the wheel and all that any extra brings in the pinned versions."""
        programs = environment(self.place / "env", self._built.wheel, self.extras)
        name = f"interpose-{self.version}.cdx.json"
        self._run(
            TOOLS / "cyclonedx-py", "environment", "--pyproject", self.root / "pyproject.toml", "--mc-type", "library",
            "--output-reproducible", "--short-PURLs", "-o", self.place / name, programs / "python",
        )  # fmt: skip
        told = json.loads((self.place / name).read_text())
        known = {canonicalize_name(each["name"]) for each in told["components"]}
        missing = set(needed(self.extras)) - known
        if missing:
            raise ReleaseError(f"the SBOM lacks {', '.join(sorted(missing))}")
        self._files.append(self.place / name)
        return f"{len(known)} components"

    def test(self) -> str:
        """Every verb, from the wheel."""
        self._run(sys.executable, "-m", "pytest", "-q", "tests/package")
        return "tests/package passes"

    def publish(self, into: Path) -> None:
        """Put everything there, at once as far as anybody sees, with its digests."""
        sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(self._files)]
        self._write("SHA256SUMS", "\n".join(sums) + "\n")
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir()
        for path in self._files:
            shutil.copyfile(path, into / path.name)

    @property
    def _built(self) -> Packages:
        assert self._packages is not None
        return self._packages

    def _epoch(self) -> str:
        return self._git("log", "-1", "--format=%ct")

    def _write(self, name: str, text: str) -> None:
        (self.place / name).write_text(text, encoding="utf-8")
        self._files.append(self.place / name)

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.rstrip("\n")

    def _run(self, *words: str | Path) -> None:
        # Tools that ask nobody: no index is reached, whatever this machine's settings say.
        environ = os.environ | {"SOURCE_DATE_EPOCH": self._epoch(), "NO_COLOR": "1"}
        done = subprocess.run(words, check=False, cwd=ROOT, env=environ, capture_output=True, text=True)
        if done.returncode:
            raise ReleaseError(f"{Path(words[0]).name}: {done.stdout.strip()[-1500:]}\n{done.stderr.strip()[-1500:]}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
