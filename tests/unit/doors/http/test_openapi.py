"""The API document says what is served, and the server does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from interpose.composition.service.service import Service
from interpose.core.types import Context, ToolCall
from interpose.doors.http import all_routes as app
from interpose.doors.http.openapi import PATH, document
from interpose.doors.http_server.messages import Request, Response, Route
from tests.support.servers.servers import Running, bearer, running, service_in, trusting

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("service")) as made:
        context = Context(session_id="s1")
        made.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
        yield made


@pytest.fixture(scope="module")
def routes(service: Service) -> tuple[Route, ...]:
    return app.routes(service, version="1.2.3")


@pytest.fixture(scope="module")
def server(routes: tuple[Route, ...]) -> Iterator[Running]:
    with running(routes, trust=trusting()) as made:
        yield made


@pytest.fixture(scope="module")
def served(server: Running) -> dict[str, Any]:
    told: dict[str, Any] = server.ask("GET", PATH).json
    return told


def test_every_route_is_described(routes: tuple[Route, ...], served: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, methods in served["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in routes}
    assert served["info"]["version"] == "1.2.3"


def test_operations_have_names_of_their_own(served: dict[str, Any]) -> None:
    names = [each["operationId"] for methods in served["paths"].values() for each in methods.values()]
    assert len(set(names)) == len(names)


def test_tokens_are_asked_for_where_they_are_needed(routes: tuple[Route, ...], served: dict[str, Any]) -> None:
    for route in routes:
        security = served["paths"][route.path][route.method.lower()]["security"]
        assert ({} in security) == (route.role in ("open", "agent", "public")), route.path


def test_every_reference_leads_somewhere(served: dict[str, Any]) -> None:
    def references(value: Any) -> Iterator[str]:
        match value:
            case {"$ref": str(name)}:
                yield name
            case _:
                pass
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for each in inside:
            yield from references(each)

    known = {f"#/components/schemas/{name}" for name in served["components"]["schemas"]}
    used = set(references(served))
    assert used <= known
    assert "Error" in served["components"]["schemas"]


CALL = re.compile(r"^curl (?P<options>.*?)'?http://127\.0\.0\.1:8080(?P<target>[^' \n]+)", re.MULTILINE)
EXAMPLES = CALL.findall((ROOT / "docs" / "operator-api.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("options", "target"), EXAMPLES, ids=[target for _, target in EXAMPLES])
def test_the_examples_in_the_docs_work(server: Running, options: str, target: str) -> None:
    method = "POST" if "-X POST" in options else "GET"
    assert server.ask(method, target, headers=bearer("operator")).status == 200


def test_the_docs_name_every_filter(served: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "operator-api.md").read_text(encoding="utf-8")
    table = page.split("| parameter | meaning |")[1].split("\n\n")[0]
    told = {
        name
        for row in table.splitlines()
        if row.startswith("| `")
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert told == {each["name"] for each in served["paths"]["/api/v1/audit"]["get"]["parameters"]}


class Wanted(Struct, forbid_unknown_fields=True):
    name: str
    limit: int = 10


async def _answer(_request: Request) -> Response:
    return Response()


def test_what_a_route_declares_is_said() -> None:
    route = Route(
        "GET", "/things/{id}", _answer, "auditor", "Things", query=Wanted, codes=((404, "no_thing"), (404, "no_id")),
        produces=("text/plain",),
    )  # fmt: skip
    told = document([route], "1")
    operation = told["paths"]["/things/{id}"]["get"]
    assert [(each["name"], each["in"], each["required"]) for each in operation["parameters"]] == [
        ("id", "path", True), ("name", "query", True), ("limit", "query", False),
    ]  # fmt: skip
    assert operation["responses"]["404"]["description"] == "`no_thing` or `no_id`"
    assert set(operation["responses"]["200"]["content"]) == {"text/plain"}
    assert "Wanted" not in told["components"]["schemas"]
