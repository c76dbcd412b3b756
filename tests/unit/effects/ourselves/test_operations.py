"""The table of what people do: the routes, verbs and forms are those of its rows, and each row protects its request."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from interpose.doors.cli.helping.command_tree import command_tree
from interpose.doors.http.proving import PROVING
from interpose.doors.http_server.listener import Listener
from interpose.doors.http_server.messages import Route
from interpose.doors.page.page_routes import screens_of
from interpose.doors.page.page_visits import Visits
from interpose.doors.server import decision_server, hook_listener
from interpose.effects.ourselves import operations
from interpose.effects.ourselves.command_line import verb_of
from interpose.effects.ourselves.operations import ASKED, BY_ID, OPERATIONS, OperationRow
from interpose.effects.paths import our_server
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from tests.support.servers.servers import service_in

PEOPLE = ("approver", "operator")
OF_NO_OPERATION = {"/enter", "/leave", "/rules/playground"}
"""Forms that do nothing to what is decided: signing in and out, and trying rules out."""
FOR_ALL = {"/", "/static/{name}"}
"""Of the page: it leads on to where one signs in, and what it is made of."""

each_operation = pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.id)


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Route]]:
    """Everything that a decision server serves, as it is put together in the end."""
    with service_in(tmp_path_factory.mktemp("service")) as service:
        served: list[Route] = []

        class Noting(Listener):
            def __init__(self, routes: Sequence[Route], *more: Any, **named: Any) -> None:
                served.extend(routes)
                super().__init__(routes, *more, **named)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(decision_server, "Listener", Noting)
            patch.setattr(hook_listener, "Listener", Noting)
            decision_server.DecisionServer(service, lambda: service.config, version="1")
        assert len(served) > 80
        yield [one for one in served if not one.path.startswith("/hook/")]


def filled(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "k4m2qxr9", path)


def order(path: str, module: ModuleType = our_server) -> str:
    found = module.order_of(f"http://127.0.0.1:8080{filled(path)}")
    return "none" if found is None else "certain" if found.certain else "perhaps"


def test_every_route_for_people_is_a_row_and_every_row_is_a_route(routes: list[Route]) -> None:
    for_people = {(one.method, one.path, one.role, one.summary) for one in routes if one.role in PEOPLE}
    assert for_people == {(row.method, row.path, row.role, row.help) for row in OPERATIONS}
    assert len(BY_ID) == len(OPERATIONS) == len({(row.method, row.path) for row in OPERATIONS})


@each_operation
def test_no_agent_may_make_its_request(row: OperationRow) -> None:
    looks_only = row.shared and row.method == "GET"
    assert order(row.path) == ("none" if looks_only else "certain")
    for form in row.forms:
        assert order(form) == "certain"


def test_what_a_browser_is_shown_is_for_people(routes: list[Route]) -> None:
    pages = {one.path for one in routes if one.role == "visitor"} - FOR_ALL
    assert len(pages) > 15
    assert {path for path in pages if order(path) != "certain"} == set()


def test_what_agents_and_auditors_ask_is_no_order(routes: list[Route]) -> None:
    asked = {one.path for one in routes if one.role in ("agent", "auditor", "open")}
    assert len(asked) > 15
    assert {path for path in asked if order(path) != "none"} == {
        "/api/v1/policy", "/api/v1/policy/activity", "/api/v1/policy/playground", "/retire",
    } & asked  # fmt: skip


def test_what_everybody_asks_is_served_to_agents(routes: list[Route]) -> None:
    assert {one.path for one in routes if one.role in ("agent", "open")} >= ASKED


def with_rows(rows: tuple[OperationRow, ...], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What guards the server, made of other rows."""
    monkeypatch.setattr(operations, "OPERATIONS", rows)
    spec = importlib.util.spec_from_file_location("our_server_again", our_server.__file__)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_new_row_protects_its_request_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    new = OperationRow(id="x", method="POST", path="/api/v1/amnesty/{id}/give", role="operator", help="x")
    among = OperationRow(
        id="y", method="POST", path="/api/v1/sessions/{id}/free", role="operator", help="y", shared=True, distinct=True
    )
    assert [order(row.path) for row in (new, among)] == ["none", "none"]
    again = with_rows((*OPERATIONS, new, among), monkeypatch)
    assert [order(row.path, again) for row in (new, among)] == ["certain", "certain"]
    assert order("/api/v1/amnesty", again) == "certain"
    assert order("/api/v1/sessions/s1", again) == "none"
    assert again.order_of(f"http://127.0.0.1:9/{filled(among.path)}") is not None
    assert order("/api/v1/approvals", with_rows((), monkeypatch)) == "none", "the rows alone protect it"


@each_operation
def test_a_proof_is_asked_for_where_the_row_says_so(row: OperationRow, routes: list[Route]) -> None:
    served = next(one for one in routes if (one.method, one.path) == (row.method, row.path))
    assert row.proven == (set(PROVING) <= set(served.codes))


COMMANDS = {command.name: command for command in command_tree().walk()}
WAITS = {"approvals watch"}
"""It answers as questions come, and prints no JSON."""


@each_operation
def test_its_verb_is_there_and_prints_json(row: OperationRow) -> None:
    if not row.verb:
        assert row.id in {"look", "reload", "reload-policy"}
        return
    found = COMMANDS.get(row.verb) or COMMANDS[row.verb.rpartition(" ")[0]]
    flags = {flag for option in found.options for flag in option.flags}
    assert "--json" in flags or row.verb in WAITS or row.verb == "open"
    words = [word for argument in found.arguments for word in (*argument.value.words, *argument.value.name.split("|"))]
    assert row.verb == found.name or row.verb.rpartition(" ")[2] in words


@each_operation
def test_no_agent_may_run_its_verb(row: OperationRow) -> None:
    """What only looks is fine, unless the verb can do more than that."""
    if row.verb:
        line = f"interpose {row.verb.replace('TIME', '10m')} k4m2qxr9"
        decision = CommandSafetyGuard(home="/home/dev").judge(line, "/w", "/home/dev", "/w").decision
        verb = verb_of(row.verb.split())
        assert verb is not None
        looks = row.method == "GET" and row.verb.split()[len(verb.path) :][:1] != ["handover"] and row.verb not in WAITS
        if row.verb != "approvals pause list":  # which has no argument
            assert decision == ("allow" if looks else "deny")


def test_every_form_of_the_page_does_what_a_row_says(tmp_path: Path) -> None:
    with service_in(tmp_path) as service:
        screens = screens_of(Visits(service, lambda: None))
    forms = {screen.path: screen.role for screen in screens if screen.method == "POST"}
    of_rows = {form: row for row in OPERATIONS for form in row.forms}
    assert set(forms) - OF_NO_OPERATION == set(of_rows)
    assert {path: role for path, role in forms.items() if path in of_rows} == {
        path: "operator" if path == "/inbox/pause" else row.role for path, row in of_rows.items()
    }


def test_verbs_ask_by_the_rows() -> None:
    """No verb spells out the address of what a row says; what is asked for otherwise is for agents and auditors."""
    place = Path(command_tree.__code__.co_filename).parents[1]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(place.rglob("*.py")))
    assert set(re.findall(r'\.ask\(\s*"[A-Z]+",\s*f?"([\w/]+)', text)) == {"commands/check", "sessions"}
    done = re.findall(r"\.do\(\s*[\"']([\w-]+)[\"']", text)
    assert set(done) <= set(BY_ID)
    unasked = {row.id for row in OPERATIONS if row.verb} - set(done)
    assert unasked == {"question-events"}, "whoever watches looks again and again"
