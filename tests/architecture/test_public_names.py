"""What `interpose` exports is chosen, present, documented in code, and the same in every place that lists it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import interpose
from interpose.types import HookPoint

ROOT = Path(__file__).parents[2]


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    """Names are imported at their first use; a type checker reads the same names from the same places."""
    said = {
        alias.name: (node.module or "").removeprefix("interpose.")
        for node in ast.walk(ast.parse(Path(interpose.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module != "importlib" and node.module != "interpose.plugins"
        for alias in node.names
        if node.module != "__future__"
    }
    assert said == interpose._HOME_OF
    assert set(interpose.__all__) == {*said, "load_plugins"}
    assert len(interpose.__all__) == len(set(interpose.__all__))
    for name, home in said.items():
        assert getattr(interpose, name) is getattr(importlib.import_module(f"interpose.{home}"), name)


def test_no_public_name_is_that_of_a_module() -> None:
    """Whoever imports the module would find it in the place of the name."""
    assert [name for name in interpose.__all__ if importlib.util.find_spec(f"interpose.{name}")] == []


def test_what_is_no_public_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = getattr(interpose, "Nonsense")  # noqa: B009 - a type checker would see that there is none
    assert set(interpose.__all__) <= set(dir(interpose))


def test_every_public_class_and_function_says_what_it_is() -> None:
    for name in interpose.__all__:
        thing = getattr(interpose, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name} has no docstring"


def test_the_error_tree_in_the_docstring_is_the_real_one() -> None:
    from interpose import errors

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
