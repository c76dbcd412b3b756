"""What `interpose` exports is chosen, present, documented in code, and the same in every place that lists it."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import interpose
from interpose.core.types import HookPoint

ROOT = Path(__file__).parents[2]


def test_all_is_complete_and_importable() -> None:
    """What type checkers see, what is looked up on use and what is listed are the same names."""
    seen = {
        (node.module or "").removeprefix("interpose."): {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(Path(interpose.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("interpose.") and node.col_offset
    }
    homes = vars(interpose)["_HOMES"]
    assert {home: set(names) for home, names in homes.items()} == seen
    assert sorted(name for names in homes.values() for name in names) == sorted(interpose.__all__)
    assert set(interpose.__all__) <= set(dir(interpose))
    for name in interpose.__all__:
        assert not inspect.ismodule(getattr(interpose, name)), f"a module called {name} hides what has its name"


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'guard'"):
        getattr(interpose, "guard")  # noqa: B009 - a type checker would not let it pass


def test_every_public_class_and_function_says_what_it_is() -> None:
    for name in interpose.__all__:
        thing = getattr(interpose, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name} has no docstring"


def test_the_error_tree_in_the_docstring_is_the_real_one() -> None:
    from interpose.core import errors

    drawn = errors.__doc__ or ""
    real = [name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)]
    assert all(name in drawn for name in real)
    assert all(name.endswith("Error") for name in real)


def test_the_version_is_the_packages_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert interpose.__version__ == project["version"]
    assert f"## [{project['version']}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8") or "## [Unreleased]" in (
        ROOT / "CHANGELOG.md"
    ).read_text(encoding="utf-8")


def test_hook_points_are_documented() -> None:
    concepts = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert all(f"`{point}`" in concepts for point in HookPoint)


@pytest.mark.parametrize("name", interpose.__all__)
def test_every_public_name_is_on_the_page_about_python(name: str) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    listed = page[page.index("\n## Errors\n") :]
    assert re.search(rf"^\|.*`{name}`", listed, re.MULTILINE), f"no table of docs/python.md has `{name}`"
