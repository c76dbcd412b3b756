"""The table of the docs is what the last run said, and the last run was of the code that is here."""

from __future__ import annotations

import pytest

from tests.frameworks.behaviours import BEHAVIOURS
from tests.frameworks.known import KNOWN, ROOT, SUITE, KnownFramework
from tests.frameworks.results import (
    README,
    all_kept,
    digest_of,
    kept,
    modes_of,
    pinned_version,
    table,
    table_in,
    wanted,
)

each = pytest.mark.parametrize("known", KNOWN, ids=lambda one: one.name)


@each
def test_the_result_is_of_this_code(known: KnownFramework) -> None:
    result = kept(known)
    assert result is not None, f"run scripts/frameworks {known.name}"
    assert result.of == digest_of(known), f"changed since it was run: scripts/frameworks {known.name}"
    assert result.version == pinned_version(known)


@each
def test_everything_was_played(known: KnownFramework) -> None:
    """A behaviour that is left out would look like one that holds."""
    result = kept(known)
    assert result is not None
    assert modes_of(result)
    assert set(result.played) == wanted(known, modes_of(result))


@each
def test_all_besides_passed(known: KnownFramework) -> None:
    """The example of its page, and the tests of this framework alone."""
    result = kept(known)
    assert result is not None
    assert set(result.besides.values()) == {"passed"}
    files = {name.partition("::")[0] for name in result.besides}
    assert files == {"test_behaviours.py", "test_pages.py", *(path.name for path in known.own_tests)}


def test_the_table_is_made_of_the_results() -> None:
    assert table_in(README.read_text(encoding="utf-8")) == table(all_kept())


@each
def test_its_page_says_what_it_cannot_do(known: KnownFramework) -> None:
    page = " ".join(known.page.read_text(encoding="utf-8").split())
    for name, reason in known.cannot.items():
        assert name in {one.name for one in BEHAVIOURS}, f"there is no behaviour {name}"
        assert reason.lower() in page.lower(), f"{known.page.name} does not say: {reason}"


@each
def test_it_has_all_its_parts(known: KnownFramework) -> None:
    door = ROOT / "src" / "interpose" / "frameworks" / f"{known.name}.py"
    for path in (known.adapter, known.driver_file, known.pins, known.pins.with_suffix(".in"), door):
        assert path.is_file(), path


def test_every_part_is_of_a_known_framework() -> None:
    """What nobody lists is never run."""
    names = {one.name for one in KNOWN}
    doors = {path.stem for path in (ROOT / "src" / "interpose" / "frameworks").glob("*.py")} - {"__init__"}
    drivers = {path.stem for path in (SUITE / "drivers").glob("*.py")}
    assert doors == drivers == names
