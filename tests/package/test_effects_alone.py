"""The floor `effects` works without the rest of Interpose, with the four packages that its README names."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import interpose
from tests.support.timing.patience import PATIENCE

EFFECTS = Path(interpose.__file__).parent / "effects"
README = (EFFECTS / "README.md").read_text(encoding="utf-8")
NEEDED = ("msgspec", "tree_sitter", "tree_sitter_javascript", "sqlglot")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with the floor and what it needs, as an installation would lay them out."""
    shutil.copytree(EFFECTS, tmp_path / "interpose" / "effects", ignore=shutil.ignore_patterns("__pycache__"))
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (tmp_path / name).symlink_to(Path(spec.origin).parent)
    return tmp_path


def ran(place: Path, code: str) -> str:
    """What Python prints that knows nothing but its own library and this directory."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(place)!r})\n{code}"],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_imports_alone(place: Path) -> None:
    """Those that are loaded when a command is met, too."""
    printed = ran(
        place,
        "import pkgutil, importlib, interpose.effects as all_of\n"
        "for each in pkgutil.walk_packages(all_of.__path__, 'interpose.effects.'): importlib.import_module(each.name)\n"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('interpose.')}))",
    )
    assert printed.split() == ["effects"]


def test_the_example_of_its_readme_says_what_it_says(place: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (told,) = re.findall(r"^```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert ran(place, code) == told


def test_its_folders_are_all_explained() -> None:
    folders = {path.parent.name for path in EFFECTS.glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == folders


def test_what_it_needs_is_what_its_readme_says() -> None:
    (line,) = [line for line in README.splitlines() if line.startswith("It needs ")]
    assert {name.replace("-", "_") for name in re.findall(r"`([\w-]+)`", line)} == set(NEEDED)
