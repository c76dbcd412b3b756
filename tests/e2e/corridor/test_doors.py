"""Every call passes one pipeline: the same calls through every door, under a configuration that is not the default, and
once more under a governance file.

What is compared with the engine of this process: what the caller is told, the rule and the reason, the arguments that
would run, what the ledger has of it, and the question that a person is asked. `differences.py` has all exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from interpose import open_engine
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.corridor.calls import BUDGET_CASES, CASES, GOVERNED_CASES, Case
from tests.e2e.corridor.comparing import disagreements
from tests.e2e.corridor.conftest import Place
from tests.e2e.corridor.differences import ASKING, DIFFERENCES
from tests.e2e.corridor.doors import Door, decided_by_engine
from tests.e2e.corridor.framework_doors import ClaudeSdkDoor, FrameworkDoor, McpSdkDoor
from tests.e2e.corridor.library_doors import Check, DryRun, EngineElsewhere, Explain, GuardedFunction, ToolByName
from tests.e2e.corridor.process_doors import MODELS, GatewayDoor, InterceptorDoor, ProxyDoor, ProxyProgram
from tests.e2e.corridor.wire_doors import Events, Hook, Intercept, Validate
from tests.support.peers.model_site import ModelServer

ROOT = Path(__file__).parents[3]
Opening = Callable[[Place, Path], Iterator[Door]]


def _here(opening: Callable[[Place, Path], Door]) -> Opening:
    """A door that needs nothing besides this process and the server."""

    def opened(place: Place, elsewhere: Path) -> Iterator[Door]:
        yield opening(place, elsewhere)

    return opened


def _gateway(place: Place, _elsewhere: Path) -> Iterator[Door]:
    with GatewayDoor(place.world) as door:
        yield door


def _interceptors(place: Place, _elsewhere: Path) -> Iterator[Door]:
    with InterceptorDoor(place.world) as door:
        yield door


def _proxy(place: Place, _elsewhere: Path) -> Iterator[Door]:
    with ModelServer() as model, ProxyProgram(place.world, model) as program:
        for dialect in MODELS:
            yield ProxyDoor(program, dialect)


def _hook(host: str) -> Opening:
    def opened(place: Place, _elsewhere: Path) -> Iterator[Door]:
        yield Hook(place.world, host)
        yield Hook(place.world, host, place.service)

    return opened


def _over_server(place: Place, _elsewhere: Path) -> Door:
    server = place.world.server
    return FrameworkDoor(
        place.world, "framework over a server", asks="the desk", server=f"http://127.0.0.1:{server.port}",
        token=server.token, wait=0,
    )  # fmt: skip


DOORS: dict[str, Opening] = {
    "a guarded function": _here(lambda place, _: GuardedFunction(place.world)),
    "a tool by name": _here(lambda place, _: ToolByName(place.world)),
    "an engine that was opened elsewhere": _here(lambda place, elsewhere: EngineElsewhere(place.world, elsewhere)),
    "interpose check": _here(lambda place, _: Check(place.world)),
    "interpose check --explain": _here(lambda place, _: Explain(place.world)),
    "interpose run --dry-run": _here(lambda place, _: DryRun(place.world)),
    "HTTP intercept": _here(lambda place, _: Intercept(place.world)),
    "HTTP events": _here(lambda place, _: Events(place.world)),
    "HTTP validate": _here(lambda place, _: Validate(place.world)),
    "MCP gateway": _gateway,
    "interceptor server": _interceptors,
    "proxy": _proxy,
    "framework over an engine": _here(
        lambda place, _: FrameworkDoor(place.world, "framework over an engine", keeps=False, engine=open_engine())
    ),
    "framework over a service": _here(
        lambda place, _: FrameworkDoor(place.world, "framework over a service", engine=place.service, wait=0)
    ),
    "framework over a server": _here(_over_server),
    "MCP SDK": _here(lambda place, _: McpSdkDoor(place.world, "MCP SDK", engine=place.service, wait=0)),
    "Claude Agent SDK": _here(
        lambda place, _: ClaudeSdkDoor(place.world, "Claude Agent SDK", engine=place.service, wait=0)
    ),
    **{f"hook {host}": _hook(host) for host in sorted(HOSTS)},
}


@contextmanager
def _entered(opening: Opening, place: Place, elsewhere: Path) -> Iterator[Iterator[Door]]:
    doors = opening(place, elsewhere)
    try:
        yield doors
    finally:
        doors.close()  # type: ignore[attr-defined]  # every opening is a generator


def cases_of(place: Place) -> tuple[Case, ...]:
    return (*GOVERNED_CASES, *BUDGET_CASES) if place.world.governed else CASES


def test_the_engine_says_what_is_written_down(place: Place) -> None:
    cases = cases_of(place)
    for case, said in zip(cases, decided_by_engine(place.world, cases), strict=True):
        assert (said.outcome, said.rule if case.rule else "") == (case.outcome, case.rule), (case.note, said)
        assert said.arguments == (case.arguments | {"command": case.runs} if case.runs else case.arguments), case.note


@pytest.mark.parametrize("name", DOORS)
def test_a_door_decides_as_the_engine_does(place: Place, name: str, tmp_path: Path) -> None:
    with _entered(DOORS[name], place, tmp_path) as doors:
        found = [f"{door.name}: {one}" for door in doors for one in disagreements(place.world, door, cases_of(place))]
    assert not found, "\n".join(["", *found])


def test_every_difference_is_of_a_door_and_has_a_page() -> None:
    names = [*DOORS, *(f"hook {host} of a server" for host in HOSTS)]
    for one in DIFFERENCES:
        assert one.name, one.why
        assert one.says in (ROOT / one.page).read_text(encoding="utf-8"), f"{one.page} does not say: {one.says}"
        for pattern in one.doors:
            assert any(fnmatchcase(name, pattern) for name in names), f"{one.name}: there is no door {pattern}"
    assert len({one.name for one in DIFFERENCES}) == len(DIFFERENCES)
    assert set(ASKING) <= set(HOSTS)
