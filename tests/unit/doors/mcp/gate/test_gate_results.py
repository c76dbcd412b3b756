"""Results: every part of them is looked at, and they stay what MCP says that they are."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.formats.base64_parts import closed
from interpose.core.types import Confirm, Deny, ToolOutcome, Transform
from interpose.doors.mcp.gate.contract import Asked
from interpose.doors.mcp.gate.gate import McpGate
from interpose.doors.mcp.gate.gate_results import NOT_STRUCTURED, fit, opened
from interpose.doors.mcp.gate.gate_schema import misfit
from tests.support.hosts.gating import KEY, call, client, forwarded, recorded, settings, watched
from tests.support.servers.servers import service_in
from tests.support.timing.growth import grows_linearly

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0" + bytes(range(256))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as made:
        yield made


def after(service: Service, result: Any, asked: Asked | None = None) -> Any:
    gate, asked = McpGate(service), asked or call({"q": "x"})

    async def main() -> Any:
        gated = forwarded(await gate.before(asked))
        return await gate.after(asked, gated.ticket, result)

    return asyncio.run(main())


def b64(text: str | bytes) -> str:
    return b64encode(text.encode() if isinstance(text, str) else text).decode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def tool(*content: Any, **more: Any) -> dict[str, Any]:
    return {"content": list(content), **more}


WHERE: list[tuple[str, dict[str, Any]]] = [
    ("a text", tool(text(f"key {KEY}."))),
    ("the second text", tool(text("first"), text(f"key {KEY}."))),
    ("beside annotations", tool(text(f"key {KEY}.") | {"annotations": {"audience": ["user"], "priority": 0.5}})),
    ("inside annotations", tool(text("x") | {"annotations": {"note": KEY}})),
    ("an embedded text", tool({"type": "resource", "resource": {"uri": "memo://a", "text": f"key {KEY}."}})),
    ("an embedded blob", tool({"type": "resource", "resource": {"uri": "memo://a", "blob": b64(f"key {KEY}.")}})),
    ("a blob that is no base64", tool({"type": "resource", "resource": {"uri": "memo://a", "blob": f"!{KEY}"}})),
    ("a blob that is the secret itself, and base64 by chance", {"contents": [{"uri": "memo://a", "blob": KEY}]}),
    ("a picture that is none", tool({"type": "image", "mimeType": "image/png", "data": KEY})),
    ("a kind that is a list", tool({"type": [], "data": KEY})),
    ("a picture that is text", tool({"type": "image", "mimeType": "image/svg+xml", "data": b64(f"<svg>{KEY}</svg>")})),
    ("a link", tool({"type": "resource_link", "uri": f"https://example.com/?key={KEY}", "name": "x"})),
    ("the description of a link", tool({"type": "resource_link", "uri": "memo://a", "name": "x", "description": KEY})),
    ("the kind of a picture", tool({"type": "image", "mimeType": KEY, "data": b64(PNG)})),
    ("content of a kind that nobody knows", tool({"type": "hologram", "layers": [{"deep": [KEY]}]})),
    ("no kind at all", tool({"x": KEY})),
    ("content that is a text", {"content": KEY}),
    ("structured content", tool(text("ok"), structuredContent={"rows": [{"key": KEY}]})),
    ("structured content that is a text", tool(text("ok"), structuredContent=KEY)),
    ("a key of structured content", tool(text("ok"), structuredContent={KEY: 1})),
    ("_meta", tool(text("ok"), _meta={"example/x": KEY})),
    ("an unknown field", tool(text("ok"), extra={"x": KEY})),
    ("an error of the tool", tool(text(KEY), isError=True)),
    ("messages of a prompt", {"description": "d", "messages": [{"role": "user", "content": text(KEY)}]}),
    ("contents of a resource", {"contents": [{"uri": "memo://a", "text": KEY}, {"uri": "memo://b", "blob": b64(KEY)}]}),
    ("the state of a task", {"task": {"taskId": "t", "status": "working", "statusMessage": KEY}}),
    ("a question of the server", {"resultType": "input_required", "requestState": "s", "inputRequests": {
        "q": {"method": "elicitation/create", "params": {"message": KEY}}}}),
]  # fmt: skip


@pytest.mark.parametrize(("note", "result"), WHERE)
def test_a_secret_is_hidden_wherever_it_stands(note: str, result: Any, service: Service) -> None:
    came = json.dumps(result)
    given = after(service, result)
    assert json.dumps(result) == came, "what came is not changed"
    assert KEY not in json.dumps(given)
    assert b64(KEY)[:20] not in json.dumps(given)
    assert KEY not in str([b64decode(part) for part in blobs(given)])
    assert "[redacted:" in json.dumps(given) + str([b64decode(part) for part in blobs(given)])
    assert shape(given) == shape(result) or note == "a key of structured content"


def blobs(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [item for key, item in value.items() if key in ("blob", "data") and isinstance(item, str)]
        return [part for part in own if not part.startswith(("!", "["))] + [
            part for item in value.values() for part in blobs(item)
        ]
    return [part for item in value for part in blobs(item)] if isinstance(value, list) else []


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


UNTOUCHED: list[tuple[str, dict[str, Any]]] = [
    ("a picture", tool({"type": "image", "mimeType": "image/png", "data": b64(PNG)})),
    ("a sound", tool({"type": "audio", "mimeType": "audio/wav", "data": b64(b"RIFF\0\0" + PNG)})),
    ("a binary resource", {"contents": [{"uri": "memo://a", "blob": b64(PNG)}]}),
    ("nothing", {}),
    ("no content", tool()),
    ("content of the wrong kind", {"content": 5, "isError": "maybe"}),
    ("nulls", {"content": None, "structuredContent": None}),
    ("the server's own state", {"resultType": "input_required", "requestState": f"aws_key={KEY}", "inputRequests": {}}),
]


@pytest.mark.parametrize(("note", "result"), UNTOUCHED)
def test_what_holds_no_secret_is_passed_on_as_it_came(note: str, result: Any, service: Service) -> None:
    assert after(service, result) is result


def test_a_picture_beside_a_secret_stays_what_it_is(service: Service) -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": b64(PNG)}
    result = {"resultType": "input_required", "requestState": KEY, "content": [text(KEY), picture]}
    given = after(service, result)
    assert given["content"][1] == picture
    assert given["requestState"] == KEY
    assert KEY not in json.dumps(given["content"])


def test_a_large_result_is_looked_at_all_the_same(service: Service) -> None:
    result = tool(text("x " * 40_000 + KEY))
    assert KEY not in json.dumps(after(service, result))


def test_a_result_that_nests_without_end_is_withheld(service: Service) -> None:
    deep: Any = KEY
    for _ in range(300):
        deep = [deep]
    given = after(service, tool(text("ok"), structuredContent=deep))
    assert KEY not in json.dumps(given)
    assert given["isError"] is True
    assert "nested" in given["content"][0]["text"]


class Says:
    """Says one thing of every result."""

    def __init__(self, decision: Any) -> None:
        self._decision = decision

    def intercept(self, outcome: ToolOutcome) -> Any:
        return self._decision(outcome) if callable(self._decision) else self._decision


METHODS: list[tuple[str, Asked, Any]] = [
    ("a tool", call({"q": "x"}), lambda given: (given["isError"], given["content"][0]["text"])),
    ("a prompt", replace(call({}), method="prompts/get"),
     lambda given: (True, given["messages"][0]["content"]["text"])),
    ("a resource", replace(call({}), method="resources/read", name="memo://a", params={"uri": "memo://a"}),
     lambda given: (given["contents"][0]["uri"] == "memo://a", given["contents"][0]["text"])),
]  # fmt: skip


@pytest.mark.parametrize(("note", "asked", "read"), METHODS)
def test_a_refused_result_is_a_text_instead(note: str, asked: Asked, read: Any, service: Service) -> None:
    watched(service, Says(Deny("Not this one.", "no-result")), name="tool.after")
    given = after(service, tool(text("classified"), structuredContent={"x": "classified"}), asked)
    assert read(given) == (True, "Interpose withheld this result (no-result): Not this one.")
    assert "classified" not in json.dumps(given)
    (record,) = recorded(service)
    assert "classified" not in str(record.result)


def test_a_result_that_somebody_must_agree_to_is_withheld(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=(), **settings(tmp_path)) as service:
        watched(service, Says(Confirm("Show it?", "show")), name="tool.after")
        given = after(service, tool(text("classified")), call({"q": "x"}, by=client(elicits_form=True)))
        assert "The question waits as" in given["content"][0]["text"]
        assert "classified" not in json.dumps(given)
        (question,) = service.desk.asked()
        assert question.point == "tool.after"


OTHER_SHAPES: list[tuple[str, Any, str]] = [
    ("a text", "instead", "instead"),
    ("a list of texts", ["one", "two"], "one\ntwo"),
    ("an object of another kind", {"status": "ok"}, '{"status":"ok"}'),
    ("nothing", None, "null"),
]


@pytest.mark.parametrize(("note", "new", "want"), OTHER_SHAPES)
def test_a_rewritten_result_gets_the_shape_of_mcp(note: str, new: Any, want: str, service: Service) -> None:
    watched(service, Says(lambda outcome: Transform(replace(outcome, result=new))), name="tool.after")
    assert after(service, tool(text("classified"))) == {"content": [text(want)], "isError": False}


# --- structured content ----------------------------------------------------------------------------------------------


def rows(**key: Any) -> dict[str, Any]:
    row = {"type": "object", "properties": {"key": key, "n": {"type": "integer"}}, "required": ["key"]}
    return {"type": "object", "properties": {"rows": {"type": "array", "items": row}}, "required": ["rows"]}


FITTING: list[tuple[str, Any, Any]] = [
    ("a plain text keeps the mark", rows(type="string"), "[redacted:aws-access-key-id:"),
    ("a text of few letters gets a short mark", rows(type="string", maxLength=20), "[redacted]"),
    ("a pattern that takes stars", rows(type="string", pattern="^(AKIA.*|[*]+)$"), "***"),
    ("a pattern that takes nothing", rows(type="string", pattern="^[A-Z0-9]*$"), ""),
    ("null where that is allowed", rows(type=["string", "null"], minLength=20, maxLength=20), None),
    ("null by anyOf", rows(anyOf=[{"const": KEY}, {"type": "null"}]), None),
]


@pytest.mark.parametrize(("note", "schema", "want"), FITTING)
def test_structured_content_still_fits(note: str, schema: Any, want: Any, service: Service) -> None:
    asked = call({"q": "x"}, definition={"name": "go", "outputSchema": schema})
    given = after(service, tool(text(KEY), structuredContent={"rows": [{"key": KEY, "n": 1}]}), asked)
    (row,) = given["structuredContent"]["rows"]
    assert row["n"] == 1
    assert row["key"] == want or (isinstance(want, str) and want and row["key"].startswith(want))
    assert misfit(schema, given["structuredContent"]) == ""
    assert given.get("isError") is not True


def test_an_optional_value_is_left_out(service: Service) -> None:
    schema = {"type": "object", "properties": {"key": {"type": "string", "pattern": "^AKIA"}, "n": {"type": "integer"}}}
    asked = call({"q": "x"}, definition={"name": "go", "outputSchema": schema})
    assert after(service, tool(text("ok"), structuredContent={"key": KEY, "n": 1}), asked)["structuredContent"] == {
        "n": 1
    }


def test_what_can_t_fit_is_left_out_and_said(service: Service) -> None:
    """The tool must give what fits its schema, unless it failed: so it is said to have failed."""
    asked = call({"q": "x"}, definition={"name": "go", "outputSchema": rows(type="string", pattern="^AKIA")})
    given = after(service, tool(text(f"key {KEY}"), structuredContent={"rows": [{"key": KEY}]}), asked)
    assert "structuredContent" not in given
    assert given["isError"] is True
    assert given["content"][0]["text"] == NOT_STRUCTURED
    assert given["content"][1]["text"].startswith("key [redacted:")


def test_what_never_fitted_is_not_made_to() -> None:
    assert fit({"type": "integer"}, "x", "y") == ("y",)


# --- later results ---------------------------------------------------------------------------------------------------


def test_a_task_s_result_that_comes_later_belongs_to_its_call(service: Service) -> None:
    gate, asked = McpGate(service), call({"q": "x"})

    async def main() -> list[Any]:
        gated = forwarded(await gate.before(asked))
        return [
            await gate.after(asked, gated.ticket, {"task": {"taskId": "t", "status": "working"}}),
            await gate.after(asked, gated.ticket, {"taskId": "t", "status": "working", "statusMessage": KEY}),
            await gate.after(asked, gated.ticket, {"taskId": "t", "status": "completed"}),
            await gate.after(asked, gated.ticket, tool(text(KEY))),
            await gate.after(asked, gated.ticket, tool(text(KEY))),  # it may be asked for again
        ]

    given = asyncio.run(main())
    assert KEY not in json.dumps(given)
    (record,) = recorded(service)
    assert record.outcome == "success"
    assert "undecided" not in str(record.findings)


DONE = {"taskId": "t", "status": "completed", "ttlMs": 5, "note": "classified"}


def test_the_result_inside_a_task_fits_its_schema(service: Service) -> None:
    asked = call({"q": "x"}, definition={"name": "go", "outputSchema": rows(type="string", maxLength=20)})
    inner = tool(text("ok"), structuredContent={"rows": [{"key": KEY}]})
    given = after(service, DONE | {"result": inner}, asked)
    assert given["result"]["structuredContent"] == {"rows": [{"key": "[redacted]"}]}


def test_a_task_whose_result_is_refused_is_still_there(service: Service) -> None:
    watched(service, Says(Deny("Not this one.", "no-result")), name="tool.after")
    given = after(service, DONE | {"result": tool(text("classified"))})
    assert (given["taskId"], given["status"], given["ttlMs"]) == ("t", "completed", 5)
    assert given["result"]["isError"] is True
    assert "classified" not in json.dumps(given)
    state = after(service, DONE | {"taskId": "x" * 1000})
    assert state == {"status": "completed", "ttlMs": 5, "statusMessage": given["result"]["content"][0]["text"]}


def test_a_result_that_nobody_asked_for_is_looked_at_and_recorded_as_that(service: Service) -> None:
    given = asyncio.run(McpGate(service).after(call({"q": "x"}), None, tool(text(KEY))))
    assert KEY not in json.dumps(given)
    (record,) = recorded(service)
    assert "undecided" in str(record.findings)


# --- whatever comes --------------------------------------------------------------------------------------------------

WORDS = st.sampled_from([KEY, f"key={KEY}", b64(KEY), b64(PNG), "text", "resource", "image", "memo://a", ""]) | st.text(
    max_size=8
)
NAMES = st.sampled_from(
    ["type", "text", "data", "blob", "resource", "uri", "content", "structuredContent", "task", "isError", "mimeType"]
)
JSON_VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=4),
    max_leaves=16,
)


@given(result=st.dictionaries(NAMES, JSON_VALUES, max_size=5))
def test_opening_and_closing_changes_nothing(result: dict[str, Any]) -> None:
    shown = opened(result)
    assert closed(shown, shown.value) == result


def test_whatever_comes_keeps_its_shape_and_loses_its_secrets(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=()) as service, asyncio.Runner() as runner:
        gate, asked = McpGate(service), call({"q": "x"})

        @given(result=st.dictionaries(NAMES, JSON_VALUES, max_size=5))
        def holds(result: dict[str, Any]) -> None:
            async def main() -> Any:
                gated = forwarded(await gate.before(asked))
                return await gate.after(asked, gated.ticket, result)

            given = runner.run(main())
            assert shape(given) == shape(result)
            assert KEY not in json.dumps(given)

        holds()


def test_many_parts_take_as_long_as_they_are_many() -> None:
    """A result of blobs alone: what is put back must not go through all of them for each."""

    def work(many: int) -> None:
        result = {"contents": [{"uri": "memo://a", "blob": b64(f"part {n}")} for n in range(many)]}
        shown = opened(result)
        assert closed(shown, shown.value) == result

    assert grows_linearly(work, 1_000)


def test_a_hostile_schema_can_t_make_fitting_long() -> None:
    many = [*({"const": number} for number in range(2_000)), {"const": "k"}]
    schema = {"type": "object", "additionalProperties": {"anyOf": many}}
    came = {str(n): "k" for n in range(9)}
    assert fit(schema, came, came | {"1": "hidden"}) is None
