"""The wheel and the sdist of this checkout, and environments that have nothing else of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from msgspec import Struct
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.timing.patience import PATIENCE

ROOT = Path(__file__).parents[2]
EPOCH = "1700000000"
"""A time that files in archives have if nobody names another."""


class Packages(Struct, frozen=True):
    """What a release has."""

    wheel: Path
    sdist: Path


def build(into: Path, source: Path = ROOT, *, epoch: str = EPOCH) -> Packages:
    """Build both. Needs no network: the build backend is part of the development environment."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into), "-t", "sdist", "-t", "wheel"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    return Packages(next(into.glob("*.whl")), next(into.glob("*.tar.gz")))


def unpack_all(archive: tarfile.TarFile, into: Path) -> None:
    """Unpack an archive of our own. Python has filters since 3.11.4, and Debian 12 is older."""
    if hasattr(tarfile, "data_filter"):
        archive.extraction_filter = tarfile.data_filter
    archive.extractall(into)


def unpacked(sdist: Path, into: Path) -> Path:
    """The directory that an sdist holds."""
    with tarfile.open(sdist) as archive:
        unpack_all(archive, into)
    return next(into.iterdir())


def needed(extras: tuple[str, ...] = (), of: str = "interpose") -> dict[str, Distribution]:
    """All distributions that `pip install interpose[extras]` would bring, as they are installed here."""
    found: dict[str, Distribution] = {}
    waiting = [(of, ("", *extras))]
    while waiting:
        name, wanted = waiting.pop()
        for text in distribution(name).requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            on = not marker or any(marker.evaluate({"extra": each}) for each in wanted)
            if on and canonicalize_name(requirement.name) not in found:
                found[canonicalize_name(requirement.name)] = distribution(requirement.name)
                waiting.append((requirement.name, ("", *requirement.extras)))
    return found


def environment(place: Path, wheel: Path, extras: tuple[str, ...] = ()) -> Path:
    """A fresh environment with a wheel and exactly what it needs. Says where its programs are.

    The wheel is installed by pip; what it needs are links to what is installed here, so that nothing is fetched.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=PATIENCE)
    linked = place / "needed"
    linked.mkdir()
    for dist in needed(extras).values():
        for file in dist.files or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (linked / top).exists():
                (linked / top).symlink_to(Path(str(dist.locate_file(top))))
    packages = next((place / "lib").glob("python*")) / "site-packages"
    (packages / "needed.pth").write_text(f"{linked}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True, timeout=PATIENCE)
    return place / "bin"


def real_environment(place: Path, wheel: Path) -> Path:
    """The same, with copies of what the wheel needs, as pip leaves them: files that a test may change."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=PATIENCE)
    packages = next((place / "lib").glob("python*")) / "site-packages"
    for dist in needed().values():
        for file in dist.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                to = packages / file
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(Path(str(dist.locate_file(file))), to)
        _forget_programs(packages, dist)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True, timeout=PATIENCE)
    return place / "bin"


def _forget_programs(packages: Path, dist: Distribution) -> None:
    """Take what was not copied out of a record: programs and manual pages, which name another environment."""
    record = next(packages / file for file in dist.files or () if file.name == "RECORD")
    lines = record.read_text(encoding="utf-8").splitlines()
    record.write_text("".join(f"{line}\n" for line in lines if not line.startswith("../")), encoding="utf-8")
