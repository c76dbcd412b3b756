"""Calls in answers and results in requests before the one flow: what agents and models get, and what is recorded."""

from __future__ import annotations

import json
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.proxy import ProxySettings
from interpose.core.types import Allow, Confirm, Decision, Deny, ToolCall, ToolOutcome, Transform
from tests.support.hosts.gating import KEY, recorded, watched
from tests.support.peers.model_site import ProxySite, Said, site
from tests.support.peers.model_streams import DIALECTS, datas, sent
from tests.support.servers.servers import service_in
from tests.support.timing.patience import PATIENCE

BIG = "x" * 10_000


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as made:
        watched(made)
        yield made


@pytest.fixture
def there(service: Service) -> Iterator[ProxySite]:
    with site(service) as made:
        yield made


def tool_use(arguments: Any, key: str = "t1", name: str = "go") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": arguments}


def result(content: Any, key: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


def conversation(*turns: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """What an agent sends after these calls and results."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for call, given in turns:
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [given]}]
    return {"model": "m", "messages": messages}


def seen_by_model(there: ProxySite) -> Any:
    """The last content of the last request that the model got."""
    return there.model.asked[-1].json["messages"][-1]["content"]


def said(there: ProxySite, arguments: Any, path: str = "/v1/messages", **headers: str) -> Any:
    """What the agent gets of an answer with this one call."""
    there.answers({"content": [tool_use(arguments)], "stop_reason": "tool_use"})
    return there.post(path, {}, **headers).json


def test_what_is_allowed_passes_and_is_recorded_with_its_context(there: ProxySite, service: Service) -> None:
    trace = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    got = said(there, {"do": "x"}, X_Interpose_Session="mine\t1", User_Agent="agent/1.0", traceparent=trace)
    assert got["content"] == [tool_use({"do": "x"})]
    (record,) = recorded(service)
    assert (record.source, record.session, record.tool, record.decision) == (
        "proxy:anthropic",
        "proxy:mine\\t1",
        "go",
        "allow",
    )
    assert (record.agent, record.claimed, record.trace_id) == ("", "agent/1.0", "ab" * 16)


def test_what_is_refused_becomes_a_text_that_says_why(there: ProxySite, service: Service) -> None:
    got = said(there, {"do": "deny"})
    text = "go was not called. Interpose refused this (no-this): Not this.\nSafer: that"
    assert got == {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    (record,) = recorded(service)
    assert (record.decision, record.rule) == ("deny", "no-this")


def test_what_is_rewritten_goes_on_so(there: ProxySite) -> None:
    assert said(there, {"do": "rewrite"})["content"] == [tool_use({"do": "safe"})]


@pytest.mark.parametrize("pad", ["", BIG], ids=["small", "large"])
def test_what_needs_a_person_says_where_it_is_answered_and_runs_after_a_yes(
    there: ProxySite, service: Service, pad: str
) -> None:
    asked = {"do": "ask", "pad": pad}
    text = said(there, asked)["content"][0]["text"]
    (question,) = service.desk.asked()
    assert f"interpose approvals approve {question.id}" in text
    assert text.startswith("go was not called. Interpose asks (sure): Sure?")
    service.desk.approve(question.id, "ada")
    assert said(there, asked)["content"] == [tool_use(asked)]


@pytest.mark.parametrize("pad", ["", BIG], ids=["small", "large"])
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_an_answer_waits_for_a_person(service: Service, answer: str, pad: str) -> None:
    def person() -> None:
        until = monotonic() + PATIENCE
        while not service.desk.asked() and monotonic() < until:
            sleep(0.01)
        (question,) = service.desk.asked()
        if answer == "yes":
            service.desk.approve(question.id, "ada")
        else:
            service.desk.deny(question.id, "ada", "not today")

    with site(service, ProxySettings(wait=20)) as there:
        answering = threading.Thread(target=person)
        answering.start()
        got = said(there, {"do": "ask", "pad": pad})["content"]
        answering.join()
    if answer == "yes":
        assert got == [tool_use({"do": "ask", "pad": pad})]
    else:
        assert "not today" in got[0]["text"]


def test_each_of_several_calls_is_judged_by_itself(there: ProxySite) -> None:
    calls = [tool_use({"do": word}, f"t{at}") for at, word in enumerate(("deny", "x", "rewrite", "ask"))]
    there.answers({"content": calls, "stop_reason": "tool_use"})
    got = there.post("/v1/messages", {}).json
    kinds = [block.get("id") or block["text"][:36] for block in got["content"]]
    assert kinds == ["go was not called. Interpose refused", "t1", "t2", "go was not called. Interpose asks (s"]
    assert got["content"][2]["input"] == {"do": "safe"}
    assert got["stop_reason"] == "tool_use"


def test_a_call_that_nobody_can_read_is_refused_and_recorded(there: ProxySite, service: Service) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "go", "arguments": '{"do": '}}
    there.answers({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]})
    got = there.post("/v1/chat/completions", {}).json
    assert "can't be read without doubt" in got["choices"][0]["message"]["content"]
    assert [record.decision for record in recorded(service)] == ["deny"]


def test_a_rewrite_that_has_no_place_is_refused_and_recorded_as_not_run(there: ProxySite, service: Service) -> None:
    class Rewrites:
        def intercept(self, call: ToolCall) -> Decision[ToolCall]:
            return Transform(call.with_arguments({"command": "pwd"}), "safer", "safe-form")

    watched(service, Rewrites())
    item = {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}}
    there.answers({"id": "resp_1", "output": [item]})
    got = there.post("/v1/responses", {}).json
    text = got["output"][0]["content"][0]["text"]
    assert "a call of this kind is not written anew" in text
    assert "pwd" in text
    assert recorded(service)[-1].outcome == "denied"


# results


def test_a_result_is_joined_to_its_call_and_recorded_once(there: ProxySite, service: Service) -> None:
    said(there, {"do": "x"})
    there.answers({"content": []})
    first = conversation((tool_use({"do": "x"}), result("fine")))
    body = json.dumps(first).encode()
    for _ in range(3):
        there.ask("/v1/messages", body, headers={"Content-Type": "application/json"})
        assert there.model.asked[-1].body == body, "a request without a secret was changed"
    (record,) = recorded(service)
    assert (record.tool, record.outcome, record.result) == ("go", "success", "fine")
    assert record.result_request_id != record.request_id


def test_a_secret_in_a_result_does_not_reach_the_model_now_or_later(there: ProxySite) -> None:
    there.answers({"content": []})
    first = (tool_use({"do": "x"}), result(f"it is {KEY}"))
    parts = [{"type": "text", "text": f"and {KEY}"}, {"type": "text", "text": "fine"}]
    second = (tool_use({"do": "y"}, "t2"), result(parts, "t2", is_error=True))
    there.post("/v1/messages", conversation(first))
    assert seen_by_model(there)[0]["content"].startswith("it is [redacted:")
    there.post("/v1/messages", conversation(first, second))
    assert KEY not in there.model.asked[-1].body.decode()
    (got,) = seen_by_model(there)
    assert got["content"][0]["text"].startswith("and [redacted:")
    assert (got["content"][1], got["is_error"], got["tool_use_id"]) == (parts[1], True, "t2")


def test_what_counts_tokens_gets_no_secret_either(there: ProxySite) -> None:
    there.answers({"input_tokens": 5})
    there.post("/v1/messages/count_tokens", conversation((tool_use({}), result(KEY))))
    assert KEY not in there.model.asked[-1].body.decode()
    there.answers({"totalTokens": 5})
    part = {"functionResponse": {"name": "go", "response": {"output": KEY}}}
    there.post("/v1beta/models/x:countTokens", {"generateContentRequest": {"contents": [{"parts": [part]}]}})
    assert KEY not in there.model.asked[-1].body.decode()


CALLED = '{"do":"x"}'
SHAPES: list[tuple[str, str, Any, Any]] = [
    (
        "chat", "/v1/chat/completions",
        {"messages": [
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "go", "arguments": CALLED}}]},
            {"role": "tool", "tool_call_id": "c", "content": KEY},
        ]},
        lambda body: body["messages"][-1]["content"],
    ),
    (
        "chat, parts", "/v1/chat/completions",
        {"messages": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": KEY}]}]},
        lambda body: body["messages"][-1]["content"][0]["text"],
    ),
    (
        "chat of old", "/v1/chat/completions",
        {"messages": [
            {"role": "assistant", "function_call": {"name": "go", "arguments": CALLED}},
            {"role": "function", "name": "go", "content": KEY},
        ]},
        lambda body: body["messages"][-1]["content"],
    ),
    (
        "responses", "/v1/responses",
        {"input": [
            {"type": "function_call", "call_id": "c", "name": "go", "arguments": CALLED},
            {"type": "function_call_output", "call_id": "c", "output": KEY},
        ]},
        lambda body: body["input"][-1]["output"],
    ),
    (
        "responses, custom", "/v1/responses",
        {"input": [{"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": KEY}]}]},
        lambda body: body["input"][-1]["output"][0]["text"],
    ),
    (
        "responses, a shell", "/v1/responses",
        {"input": [{"type": "shell_call_output", "call_id": "c", "output": [{"stdout": KEY, "stderr": ""}]}]},
        lambda body: body["input"][-1]["output"][0]["stdout"],
    ),
    (
        "responses, a local shell", "/v1/responses",
        {"input": [{"type": "local_shell_call_output", "id": "c", "output": json.dumps({"stdout": KEY})}]},
        lambda body: body["input"][-1]["output"],
    ),
    (
        "gemini", "/v1beta/models/x:streamGenerateContent",
        {"contents": [
            {"role": "model", "parts": [{"functionCall": {"name": "go", "args": {"do": "x"}}}]},
            {"parts": [{"functionResponse": {"id": "of-the-client", "name": "go", "response": {"output": KEY}}}]},
        ]},
        lambda body: body["contents"][-1]["parts"][0]["functionResponse"]["response"]["output"],
    ),
    (
        "gemini, the other spelling", "/v1beta/models/x:generateContent",
        {"contents": [{"parts": [{"function_response": {"name": "go", "response": {"output": KEY}}}]}]},
        lambda body: body["contents"][-1]["parts"][0]["function_response"]["response"]["output"],
    ),
    (
        "gemini, one thing for a list", "/v1beta/models/x:generateContent",
        {"contents": {"parts": {"functionResponse": {"name": "go", "response": {"output": KEY}}}}},
        lambda body: body["contents"]["parts"]["functionResponse"]["response"]["output"],
    ),
    (
        "gemini, files beside the data", "/v1beta/models/x:generateContent",
        {"contents": [{"parts": [{"functionResponse": {
            "name": "go", "response": {"output": "ok"},
            "parts": [{"inlineData": {"mimeType": "text/plain", "data": b64encode(KEY.encode()).decode()}}],
        }}]}]},
        lambda body: b64decode(
            body["contents"][0]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["data"]
        ).decode(),
    ),
    (
        "gemini, as Google's own agents ask", "/v1internal:generateContent",
        {"request": {"contents": [{"parts": [{"functionResponse": {"name": "go", "response": {"output": KEY}}}]}]}},
        lambda body: body["request"]["contents"][0]["parts"][0]["functionResponse"]["response"]["output"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("note", "path", "body", "place"), SHAPES, ids=[row[0] for row in SHAPES])
def test_results_are_found_where_each_api_has_them(
    there: ProxySite, note: str, path: str, body: Any, place: Any
) -> None:
    there.post(path, body)
    assert place(there.model.asked[-1].json).startswith(("[redacted:", '{"stdout": "[redacted:'))


@pytest.mark.parametrize(("note", "path", "body", "place"), SHAPES, ids=[row[0] for row in SHAPES])
def test_results_that_a_rule_refuses_become_the_reason(
    there: ProxySite, service: Service, note: str, path: str, body: Any, place: Any
) -> None:
    watched(service, Withholds(Deny("Not for models.", "no-results")), name="tool.after")
    there.post(path, body)
    got = there.model.asked[-1].body.decode()
    assert KEY not in got
    assert "Interpose withheld this result (no-results): Not for models." in got


class Withholds:
    def __init__(self, decision: Any) -> None:
        self.decision = decision

    def intercept(self, _outcome: ToolOutcome) -> Any:
        return self.decision


def test_a_result_that_needs_a_person_is_withheld_until_they_agree(there: ProxySite, service: Service) -> None:
    watched(service, Withholds(Confirm("Show it?", "show")), name="tool.after")
    there.answers({"content": []})
    body = conversation((tool_use({"do": "x"}), result("plain")))
    there.post("/v1/messages", body)
    assert "until a person agrees" in seen_by_model(there)[0]["content"]
    (question,) = service.desk.asked()
    service.desk.approve(question.id, "ada")
    there.post("/v1/messages", body)
    assert seen_by_model(there)[0]["content"] == "plain"


def test_a_result_that_is_replaced_by_another_shape_becomes_text(there: ProxySite, service: Service) -> None:
    class Replaces:
        def intercept(self, outcome: ToolOutcome) -> Any:
            return Transform(replace(outcome, result={"text": "other"}), "r", "r")

    watched(service, Replaces(), name="tool.after")
    there.answers({"content": []})
    there.post("/v1/messages", conversation((tool_use({}), result([{"type": "text", "text": "x"}]))))
    assert seen_by_model(there)[0]["content"] == "other"


PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
        {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
    ],
)
def test_pictures_pass_unharmed_beside_a_secret(there: ProxySite, part: Any) -> None:
    there.answers({"content": []})
    there.post("/v1/messages", conversation((tool_use({}), result([part, {"type": "text", "text": KEY}]))))
    got = seen_by_model(there)[0]["content"]
    assert got[0] == part
    assert got[1]["text"].startswith("[redacted:")


def test_a_result_of_something_else_than_was_judged_is_an_alarm(there: ProxySite, service: Service) -> None:
    said(there, {"do": "x"})
    there.answers({"content": []})
    there.post("/v1/messages", conversation((tool_use({"do": "something else"}), result("fine"))))
    assert "other-arguments" in str(recorded(service)[-1].after)


def test_a_result_of_a_call_that_nobody_judged_is_said_to_be(there: ProxySite, service: Service) -> None:
    there.answers({"content": []})
    there.post("/v1/messages", conversation((tool_use({"do": "x"}), result("fine"))))
    assert "undecided" in str(recorded(service)[0].findings)


def test_a_rewritten_call_s_result_is_no_alarm(there: ProxySite, service: Service) -> None:
    assert said(there, {"do": "rewrite"})["content"] == [tool_use({"do": "safe"})]
    there.answers({"content": []})
    there.post("/v1/messages", conversation((tool_use({"do": "safe"}), result("fine"))))
    assert "other-arguments" not in str(recorded(service)[-1].after)


# where the server keeps the conversation


def function_call(arguments: Any, key: str = "c") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": key, "name": "go", "arguments": json.dumps(arguments)}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("given", ["and now?", [{"role": "user", "content": "and now?"}]], ids=["text", "items"])
def test_a_server_that_remembers_a_refused_call_is_told_why(there: ProxySite, streamed: bool, given: Any) -> None:
    answer = {"id": "resp_1", "object": "response", "output": [function_call({"do": "deny"})]}
    if streamed:
        there.says(sent(DIALECTS["responses"], {"type": "response.completed", "response": answer}))
    else:
        there.answers(answer)
    there.post("/v1/responses", {"input": "go"})
    there.answers({"id": "resp_2", "output": []})
    there.post("/v1/responses", {"input": given, "previous_response_id": "resp_1"})
    first, second = there.model.asked[-1].json["input"]
    assert first["type"] == "function_call_output"
    assert (first["call_id"], "Interpose refused this" in first["output"]) == ("c", True)
    assert (second["role"], second["content"]) == ("user", "and now?")


def test_a_result_for_a_refused_call_is_withheld_and_answered_once(there: ProxySite) -> None:
    """The client never got this call: whatever ran, the model reads why it was refused, and reads it once."""
    there.answers({"id": "resp_1", "output": [function_call({"do": "deny"})]})
    there.post("/v1/responses", {"input": "go"})
    own = {
        "input": [{"type": "function_call_output", "call_id": "c", "output": "aborted"}],
        "previous_response_id": "resp_1",
    }
    there.post("/v1/responses", own)
    (only,) = there.model.asked[-1].json["input"]
    assert (only["type"], only["call_id"]) == ("function_call_output", "c")
    assert "refused and ran all the same" in only["output"]


def test_results_without_their_calls_are_joined_to_those_that_were_let_through(
    there: ProxySite, service: Service
) -> None:
    there.answers({"id": "resp_1", "output": [function_call({"do": "x"})]})
    there.post("/v1/responses", {"input": "go"})
    there.answers({"id": "resp_2", "output": []})
    output = {"type": "function_call_output", "call_id": "c", "output": "fine"}
    there.post("/v1/responses", {"input": [output], "previous_response_id": "resp_1"})
    (record,) = recorded(service)
    assert (record.tool, record.outcome, record.result) == ("go", "success", "fine")


def test_a_person_who_is_asked_keeps_the_stream_alive(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.proxy.held_streams.PATIENCE", 0.05)
    events = [
        {"type": "content_block_start", "index": 0, "content_block": tool_use({"do": "ask"})},
        {"type": "content_block_stop", "index": 0},
    ]
    with site(service, ProxySettings(wait=0.5)) as there:
        there.model.says = lambda _asked: Said(
            [sent(DIALECTS["anthropic"], event) for event in events], fields=(("Content-Type", "text/event-stream"),)
        )
        found = datas(there.post("/v1/messages", {}).body)
    assert found[0] == {"type": "ping"}
    assert found[-1] == events[-1]


def test_two_sessions_never_share_a_yes(there: ProxySite, service: Service) -> None:
    said(there, {"do": "ask"}, X_Interpose_Session="one")
    (question,) = service.desk.asked()
    service.desk.approve(question.id, "ada")
    assert "was not called" in str(said(there, {"do": "ask"}, X_Interpose_Session="two"))
    assert said(there, {"do": "ask"}, X_Interpose_Session="one")["content"] == [tool_use({"do": "ask"})]


def test_settings_name_session_agent_and_role(service: Service) -> None:
    class Sees:
        def intercept(self, call: ToolCall) -> Allow:
            seen.append(call.context)
            return Allow()

    seen: list[Any] = []
    watched(service, Sees())
    with site(service, ProxySettings(wait=0, session="fixed", agent="a", role="r")) as there:
        said(there, {}, X_Interpose_Session="other")
    with site(service, session="proxy:of-the-command") as there:
        said(there, {}, X_Interpose_Session="a new one, in which nothing has happened yet")
    with site(service) as there:
        said(there, {})
    assert [context.session_id for context in seen] == ["fixed", "proxy:of-the-command", "proxy:local"]
    assert (seen[0].agent_id, seen[0].role) == ("a", "r")
