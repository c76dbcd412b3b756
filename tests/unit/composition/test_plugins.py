"""Interceptors of other packages: switched on by name, and never from the directory that an agent works in.

Each test runs in a process of its own, with small distributions that have real metadata on its path.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.timing.patience import PATIENCE

REGISTER = """
def register(registry):
    registry.add(id="{id}", name="tool.before", handler=lambda input, output: None)
"""

SHOW = """
from interpose import PluginError, create_interceptor_registry, load_plugins
registry = create_interceptor_registry()
try:
    load_plugins(registry, {names!r})
except PluginError as error:
    print("PluginError:", error)
print([entry.id for entry in registry.list()])
"""


def distribution(folder: Path, name: str, *, points: str, modules: dict[str, str]) -> Path:
    """An installed package: its modules and its dist-info."""
    folder.mkdir(parents=True, exist_ok=True)
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(textwrap.dedent(source))
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[interpose.interceptors]\n{points}\n")
    return folder


def run(code: str, *, cwd: Path, path: list[Path | str]) -> str:
    """What a new interpreter prints that starts in `cwd`, which is the first on its path as with `python -c`."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd, env=env | {"PYTHONPATH": os.pathsep.join(map(str, path))},
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return distribution(
        tmp_path / "site",
        "quiet",
        points="no-fridays = quiet_plugin:register",
        modules={"quiet_plugin": REGISTER.format(id="no-fridays")},
    )


def test_a_plugin_is_loaded_by_name(work: Path, site: Path) -> None:
    assert run(SHOW.format(names=["no-fridays"]), cwd=work, path=[site]) == "['no-fridays']"


def test_a_plugin_that_is_not_switched_on_is_not_even_imported(work: Path, site: Path) -> None:
    (site / "quiet_plugin.py").write_text("raise SystemExit('imported')")
    assert run(SHOW.format(names=[]), cwd=work, path=[site]) == "[]"


def test_an_unknown_name_lists_what_is_offered(work: Path, site: Path) -> None:
    text = run(SHOW.format(names=["no-mondays"]), cwd=work, path=[site])
    assert "no installed package offers interceptors named 'no-mondays'; offered: no-fridays" in text
    assert text.endswith("[]")
    assert "offered: none" in run(SHOW.format(names=["x"]), cwd=work, path=[])


def test_metadata_in_the_working_directory_does_not_count(work: Path) -> None:
    distribution(
        work, "evil", points="evil = evil_plugin:register", modules={"evil_plugin": REGISTER.format(id="evil")}
    )
    for path in ([], [work], [""], ["."]):
        text = run(SHOW.format(names=["evil"]), cwd=work, path=list(path))
        assert "no installed package offers interceptors named 'evil'" in text
        assert text.endswith("[]")


def test_metadata_below_the_working_directory_does_not_count(work: Path) -> None:
    below = distribution(
        work / "vendor", "evil", points="evil = evil_plugin:register", modules={"evil_plugin": REGISTER.format(id="e")}
    )
    link = work.parent / "link"
    link.symlink_to(below)
    for path in (below, link):
        assert "no installed package offers" in run(SHOW.format(names=["evil"]), cwd=work, path=[path])


def test_a_module_in_the_working_directory_does_not_shadow_an_installed_one(work: Path, site: Path) -> None:
    (work / "quiet_plugin.py").write_text("raise SystemExit('shadowed')")
    assert run(SHOW.format(names=["no-fridays"]), cwd=work, path=[site]) == "['no-fridays']"


def test_a_module_that_was_imported_from_the_working_directory_is_refused(work: Path, site: Path) -> None:
    (work / "quiet_plugin.py").write_text(REGISTER.format(id="evil"))
    text = run("import quiet_plugin\n" + SHOW.format(names=["no-fridays"]), cwd=work, path=[site])
    assert "comes from the working directory; that is never trusted" in text
    assert text.endswith("[]")


def test_what_a_plugin_imports_while_it_registers_is_not_shadowed(work: Path, site: Path) -> None:
    (site / "quiet_plugin.py").write_text(
        "def register(registry):\n    import quiet_rules\n    quiet_rules.register(registry)\n"
    )
    (site / "quiet_rules.py").write_text(REGISTER.format(id="no-fridays"))
    (work / "quiet_rules.py").write_text(REGISTER.format(id="evil"))
    assert run(SHOW.format(names=["no-fridays"]), cwd=work, path=[site]) == "['no-fridays']"


def test_the_path_is_given_back(work: Path, site: Path) -> None:
    code = "import sys; before = sys.path[:]\n" + SHOW.format(names=["no-fridays"]) + "assert sys.path == before"
    run(code, cwd=work, path=[site])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("raise ValueError('broken')", "can't be loaded: broken"),
        ("import missing_dependency", "No module named 'missing_dependency'"),
        ("x = 1", "has no attribute 'register'"),
        ("register = 5", "is no function that takes the registry"),
    ],
)
def test_a_broken_plugin_is_named(work: Path, site: Path, source: str, text: str) -> None:
    (site / "quiet_plugin.py").write_text(source)
    printed = run(SHOW.format(names=["no-fridays"]), cwd=work, path=[site])
    assert printed.startswith("PluginError: 'no-fridays' (quiet_plugin:register)")
    assert text in printed


def test_two_packages_with_one_name_are_an_error_and_not_a_lottery(work: Path, site: Path, tmp_path: Path) -> None:
    other = distribution(tmp_path / "other", "other", points="no-fridays = other_plugin:register", modules={})
    text = run(SHOW.format(names=["no-fridays"]), cwd=work, path=[site, other])
    assert "two packages offer interceptors named 'no-fridays'" in text


def test_other_groups_are_none_of_our_business(work: Path, site: Path) -> None:
    (site / "quiet-1.0.dist-info" / "entry_points.txt").write_text("[console_scripts]\nquiet = quiet_plugin:register\n")
    assert "offered: none" in run(SHOW.format(names=["quiet"]), cwd=work, path=[site])
