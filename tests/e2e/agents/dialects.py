"""How models are spoken to: four wire formats, each with what it takes to play one tool call at a time.

A dialect finds the results of tools in a request, and says one turn of the model: a call of a tool, or a text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct


class ToolUse(Struct, frozen=True):
    """One call of a tool, as the model makes it."""

    tool: str
    arguments: dict[str, Any]
    namespace: str = ""
    """Of the tool, for models that are told of tools in namespaces."""


Turn = ToolUse | str
"""A text ends the run."""


class Dialect(Struct, frozen=True):
    """One wire format. `results` are in the order of the calls; `stream` is what a streaming answer consists of."""

    path: str
    results: Callable[[Mapping[str, Any]], Iterator[str]]
    stream: Callable[[Turn, str], Iterator[bytes]]


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def text_of(content: Any) -> str:
    """The text of a result in any of the shapes in which agents send it."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(text_of(part) for part in content)
        case {"text": str(text)}:
            return text
        case _:
            return json.dumps(content)


def _anthropic_results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_result":
                yield text_of(block.get("content", ""))


def _anthropic_stream(turn: Turn, key: str) -> Iterator[bytes]:
    start: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": turn}
    if isinstance(turn, ToolUse):
        start = {"type": "tool_use", "id": f"toolu_{key}", "name": turn.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
    reason = "tool_use" if isinstance(turn, ToolUse) else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{key}", "type": "message", "role": "assistant", "model": "fake", "content": []}
    said: tuple[dict[str, Any], ...] = (
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    )
    yield from (_event(one, one["type"]) for one in said)


def _responses_results(body: Mapping[str, Any]) -> Iterator[str]:
    for item in body["input"] if isinstance(body["input"], list) else ():
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            yield text_of(item["output"])


def _responses_stream(turn: Turn, key: str) -> Iterator[bytes]:
    item: dict[str, Any] = {
        "type": "message",
        "id": f"msg_{key}",
        "role": "assistant",
        "content": [{"type": "output_text", "text": turn}],
    }
    if isinstance(turn, ToolUse):
        called = {"call_id": f"call_{key}", "name": turn.tool, "arguments": json.dumps(turn.arguments)}
        named = {"namespace": turn.namespace} if turn.namespace else {}
        item = {"type": "function_call", "id": f"fc_{key}", **called, **named}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    said: tuple[dict[str, Any], ...] = (
        {"type": "response.created", "response": {"id": f"resp_{key}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"resp_{key}", "usage": usage}},
    )
    yield from (_event(one, one["type"]) for one in said)


def _chat_results(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        if message["role"] == "tool":
            yield text_of(message["content"])


def _chat_stream(turn: Turn, key: str) -> Iterator[bytes]:
    delta: dict[str, Any] = {"role": "assistant", "content": turn}
    if isinstance(turn, ToolUse):
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        called = {"index": 0, "id": f"call_{key}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [called]}
    reason = "tool_calls" if isinstance(turn, ToolUse) else "stop"
    chunk = {"id": f"chat_{key}", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield _event({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage})
    yield _event("[DONE]")


def _gemini_results(body: Mapping[str, Any]) -> Iterator[str]:
    for content in body["contents"]:
        for part in content.get("parts", ()):
            if "functionResponse" in part:
                response = part["functionResponse"]["response"]
                yield text_of(response.get("output", response.get("error", response)))


def _gemini_stream(turn: Turn, key: str) -> Iterator[bytes]:
    part: dict[str, Any] = {"text": turn}
    if isinstance(turn, ToolUse):
        part = {"functionCall": {"id": f"call_{key}", "name": turn.tool, "args": turn.arguments}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    yield _event({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"})


DIALECTS = (
    Dialect("/messages", _anthropic_results, _anthropic_stream),
    Dialect("/responses", _responses_results, _responses_stream),
    Dialect("/chat/completions", _chat_results, _chat_stream),
    Dialect(":streamGenerateContent", _gemini_results, _gemini_stream),
)
"""The path of a request ends with `path`."""
