"""How each kind of provider is asked: the request in its protocol, and the judge's own words out of its answer.

What a provider wraps around the answer is read leniently, as providers keep adding to it; the answer itself is not.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeVar

from msgspec import Struct, ValidationError, convert

from interpose.core.types import thaw
from interpose.rules.policy.judge import command_transport, http_transport
from interpose.rules.policy.judge.answer_json import strict_json
from interpose.rules.policy.judge.prompt import Prompt
from interpose.rules.policy.judge.rulings import MisansweredError, UnavailableError
from interpose.rules.policy.judge.settings import Provider

T = TypeVar("T")

TOOL = "verdicts"
MAX_TOKENS = 4096
"""Anthropic's protocol demands a bound; parameters may set another."""


async def ask(provider: Provider, prompt: Prompt, timeout: float) -> object:
    """The judge's answer as plain JSON data, whatever it says. Raises JudgeError."""
    match provider.kind:
        case "openai":
            return _of_openai(await _post(provider, "/chat/completions", _to_openai(provider, prompt), timeout))
        case "anthropic":
            return _of_anthropic(await _post(provider, "/messages", _to_anthropic(provider, prompt), timeout))
        case "command":
            question = {"model": provider.model, "parameters": thaw(provider.parameters), "system": prompt.system,
                        "user": prompt.user, "schema": prompt.schema}  # fmt: skip
            words = tuple(word.reveal() for word in provider.command)
            return strict_json(await command_transport.run(words, _encoded(question)))


async def _post(provider: Provider, path: str, body: dict[str, Any], timeout: float) -> Any:
    address, mark, query = provider.url.reveal().partition("?")
    answer = await http_transport.post(address + path + mark + query, _headers(provider), _encoded(body), timeout)
    try:
        return strict_json(answer)
    except MisansweredError as error:  # not the judge's words but what carries them
        raise UnavailableError(str(error)) from None


def _headers(provider: Provider) -> dict[str, str]:
    headers = {name: value.reveal() for name, value in provider.headers}
    if provider.kind == "anthropic":
        headers = {"anthropic-version": "2023-06-01", **headers}
        return {**headers, "x-api-key": provider.key.reveal()} if provider.key else headers
    return {**headers, "authorization": f"Bearer {provider.key.reveal()}"} if provider.key else headers


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True).encode("ascii")


def _to_openai(provider: Provider, prompt: Prompt) -> dict[str, Any]:
    form = {"name": TOOL, "strict": True, "schema": prompt.schema}
    return {
        **thaw(provider.parameters),
        "model": provider.model,
        "messages": [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}],
        "response_format": {"type": "json_schema", "json_schema": form},
    }


class _OpenAIMessage(Struct):
    content: str | None = None
    refusal: str | None = None


class _OpenAIChoice(Struct):
    message: _OpenAIMessage
    finish_reason: str | None = None


class _OpenAIAnswer(Struct):
    choices: list[_OpenAIChoice]


def _of_openai(data: Any) -> object:
    choices = _envelope(data, _OpenAIAnswer).choices
    if len(choices) != 1:
        raise UnavailableError(f"answered with {len(choices)} choices")
    choice = choices[0]
    if choice.message.refusal or choice.finish_reason != "stop" or choice.message.content is None:
        raise MisansweredError("the judge did not finish its answer")
    return strict_json(choice.message.content)


def _to_anthropic(provider: Provider, prompt: Prompt) -> dict[str, Any]:
    tool = {"name": TOOL, "description": "Give the verdicts.", "input_schema": prompt.schema}
    return {
        "max_tokens": MAX_TOKENS,
        **thaw(provider.parameters),
        "model": provider.model,
        "system": prompt.system,
        "messages": [{"role": "user", "content": prompt.user}],
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": TOOL},
    }


class _AnthropicBlock(Struct):
    type: str
    name: str = ""
    input: Any = None


class _AnthropicAnswer(Struct):
    role: Literal["assistant"]
    content: list[_AnthropicBlock]
    stop_reason: str | None = None


def _of_anthropic(data: Any) -> object:
    answer = _envelope(data, _AnthropicAnswer)
    match answer.content:
        case [_AnthropicBlock(type="tool_use", name=name, input=said)] if name == TOOL:
            if answer.stop_reason == "tool_use":
                return said
    raise MisansweredError("the judge did not give its verdicts and nothing else")


def _envelope(data: Any, shape: type[T]) -> T:
    try:
        return convert(data, shape)
    except ValidationError:
        raise UnavailableError("answered in another protocol") from None
