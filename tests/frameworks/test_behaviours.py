"""Every behaviour, in every framework that is in this environment. `scripts/frameworks` has an environment for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.core.errors import FrameworkLimitError
from tests.frameworks.behaviours import BEHAVIOURS, Behaviour, Play
from tests.frameworks.interceptors import engine_of
from tests.frameworks.known import PRESENT, KnownFramework
from tests.frameworks.playing import Mode

pytestmark = pytest.mark.filterwarnings("default")  # what frameworks leave open or find outdated is not ours


def rows() -> Iterator[Any]:
    for one in PRESENT:
        for mode in one.driver().modes:
            for behaviour in BEHAVIOURS:
                if behaviour.name not in one.cannot:
                    yield pytest.param(one, behaviour, mode, id=f"{one.name}-{behaviour.name}-{mode}")


@pytest.mark.parametrize(("known", "behaviour", "mode"), list(rows()))
def test_behaviour(known: KnownFramework, behaviour: Behaviour, mode: Mode, tmp_path: Path) -> None:
    behaviour.check(Play(known.driver(), mode, tmp_path))


@pytest.mark.parametrize("known", PRESENT, ids=lambda one: one.name)
def test_what_a_framework_cannot_do_raises_when_it_is_asked_for(known: KnownFramework) -> None:
    guard = known.driver().guard
    if "asked-in-the-frameworks-own-way-yes" in known.cannot:
        with pytest.raises(FrameworkLimitError, match="no way of its own to ask"):
            guard(engine=engine_of(), confirm="framework")
    if "a-message-can-be-refused" in known.cannot:
        with pytest.raises(FrameworkLimitError, match="no place in which messages"):
            guard(engine=engine_of(), messages=True)


@pytest.mark.parametrize("known", PRESENT, ids=lambda one: one.name)
@pytest.mark.parametrize(
    ("note", "options", "problem"),
    [
        ("an option that nobody has", {"enginee": None}, TypeError),
        ("two who decide", {"engine": engine_of(), "server": "http://127.0.0.1:1"}, ValueError),
        ("a token for nobody", {"engine": engine_of(), "token": "x"}, ValueError),
        ("an engine that is none", {"engine": object()}, TypeError),
        ("an address that is none", {"server": "localhost:8080"}, ValueError),
        ("a queue that an engine has not", {"engine": engine_of(), "confirm": "queue"}, ValueError),
        ("a person where a server asks", {"server": "http://127.0.0.1:1", "confirm": print}, ValueError),
        ("a role where tokens tell it", {"server": "http://127.0.0.1:1", "role": "x"}, ValueError),
        ("one text for a list of names", {"engine": engine_of(), "unguarded": "x"}, TypeError),
    ],
)
def test_options_that_make_no_sense(
    known: KnownFramework, note: str, options: dict[str, Any], problem: type[Exception]
) -> None:
    with pytest.raises(problem):
        known.driver().guard(**options)
