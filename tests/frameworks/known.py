"""The frameworks that are known here: a file of tests/frameworks/known for each, and what is in this environment."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec
import yaml
from msgspec import Struct

from tests.frameworks.playing import Driver

SUITE = Path(__file__).parent
ROOT = SUITE.parents[1]
CHOSEN = "FRAMEWORK_CHOSEN"
"""The variable with which `scripts/frameworks` chooses one of those that live together."""


class KnownFramework(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One framework. `cannot` names behaviours that it can't have, each with the reason that its page gives."""

    name: str = ""
    title: str
    package: str
    """What it is called on PyPI."""
    module: str
    """What of it is imported."""
    environment: str
    """The file of requirements/frameworks in which it is pinned."""
    cannot: Mapping[str, str] = {}

    @property
    def is_here(self) -> bool:
        """Whether its package is in this environment."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:
            return False

    @property
    def page(self) -> Path:
        return ROOT / "docs" / "frameworks" / f"{self.name}.md"

    @property
    def adapter(self) -> Path:
        return ROOT / "src" / "interpose" / "doors" / "frameworks" / f"{self.name}.py"

    @property
    def driver_file(self) -> Path:
        return SUITE / "drivers" / f"{self.name}.py"

    @property
    def facts_file(self) -> Path:
        return SUITE / "known" / f"{self.name}.yaml"

    @property
    def own_tests(self) -> list[Path]:
        """What is told of this framework alone, if there is anything."""
        return list(SUITE.glob(f"test_{self.name}.py"))

    @property
    def pins(self) -> Path:
        return ROOT / "requirements" / "frameworks" / f"{self.environment}.txt"

    def driver(self) -> Driver:
        """Its driver, which imports the framework."""
        return cast("Driver", importlib.import_module(f"tests.frameworks.drivers.{self.name}"))


def _read(path: Path) -> KnownFramework:
    known = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), KnownFramework)
    return msgspec.structs.replace(known, name=path.stem)


KNOWN = tuple(sorted(map(_read, (SUITE / "known").glob("*.yaml")), key=lambda one: one.title.lower()))

PRESENT = [one for one in KNOWN if one.is_here and os.environ.get(CHOSEN, one.name) == one.name]
"""Those that are played here."""
