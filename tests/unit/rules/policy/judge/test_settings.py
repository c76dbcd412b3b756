"""Settings of judges: strict, filled from the environment, and shown without their keys."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest

from interpose.core.errors import PolicyError
from interpose.rules.policy.judge.settings import JudgeLimits, Secret, choice_of, limits_of
from tests.support.peers.judges import KEY, ai_rule

ENVIRON = {"KEY": KEY, "HOST": "judge.example", "EMPTY": "", "NESTED": "${KEY}", "LINES": "a\r\nx: y"}
OPENAI = {"provider": "openai", "model": "m"}
COMMAND = {"provider": "command", "command": ["/usr/bin/judge"]}

WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("no provider", {}, "provider: expected openai, anthropic or command"),
    ("another provider", {"provider": "oracle"}, "Invalid enum value 'oracle'"),
    ("an unknown key", {**OPENAI, "colour": "red"}, "unknown field `colour`"),
    ("no model", {"provider": "openai"}, "model: expected the name of a model"),
    ("a number for a model", {**OPENAI, "model": 5}, "Expected `str`, got `int`"),
    ("no time", {**OPENAI, "timeout": 0}, "timeout: expected seconds above 0"),
    ("less than no time", {**OPENAI, "timeout": -1}, "timeout: expected seconds above 0"),
    ("all the time", {**OPENAI, "timeout": 1e9}, "timeout: expected seconds above 0"),
    ("a time that is none", {**OPENAI, "timeout": float("nan")}, "timeout: expected seconds above 0"),
    ("a time in words", {**OPENAI, "timeout": "10"}, "Expected `float`, got `str`"),
    ("a missing variable", {**OPENAI, "key": "${NOWHERE}"}, "key: the environment has no NOWHERE"),
    ("an empty variable", {**OPENAI, "key": "${EMPTY}"}, "key: the environment has no EMPTY"),
    ("lines in a key", {**OPENAI, "key": "${LINES}"}, "key: expected printable ASCII"),
    ("lines in a header", {**OPENAI, "headers": {"x": "${LINES}"}}, "x: expected printable ASCII"),
    ("lines in a name", {**OPENAI, "headers": {"x\r\ny": "z"}}, "headers: expected names"),
    ("a key in the file", {**OPENAI, "key": KEY}, "keys don't belong in files"),
    ("a key in a header", {**OPENAI, "headers": {"X-Api-Key": KEY}}, "headers: expected ${NAME}"),
    ("a word in a header", {**OPENAI, "headers": {"Authorization": f"Bearer {KEY}"}}, "headers: expected ${NAME}"),
    ("a key in a query", {**OPENAI, "endpoint": f"https://h/v1?v=1&api_key={KEY}"}, "endpoint: expected ${NAME}"),
    ("our own parameters", {**OPENAI, "parameters": {"messages": [], "tools": []}}, "messages, tools can't be set"),
    ("no URL", {**OPENAI, "endpoint": "judge.example"}, "expected an URL that begins with https://"),
    ("a file", {**OPENAI, "endpoint": "file:///etc/passwd"}, "expected an URL that begins with https://"),
    ("a broken URL", {**OPENAI, "endpoint": "https://[::1"}, "endpoint: expected an URL"),
    ("a broken port", {**OPENAI, "endpoint": "https://h:99999"}, "endpoint: expected an URL"),
    ("a password", {**OPENAI, "endpoint": f"https://u:{KEY}@h"}, "without a user"),
    ("plain http", {**OPENAI, "endpoint": "http://judge.example"}, "http would show operations and key"),
    ("almost loopback", {**OPENAI, "endpoint": "http://127.0.0.1.judge.example"}, "http would show"),
    ("a command for http", {**OPENAI, "command": ["x"]}, "command: only the provider `command` has one"),
    ("no command", {"provider": "command"}, "command: expected a program"),
    ("a line for a command", {"provider": "command", "command": "judge --all"}, "Expected `array`, got `str`"),
    ("a program of the repository", {"provider": "command", "command": ["./judge"]}, "expected an absolute path"),
    ("a key for a command", {**COMMAND, "key": "${KEY}"}, "key: a command has none"),
    ("an endpoint for a command", {**COMMAND, "endpoint": "https://h"}, "endpoint: a command has none"),
    ("NUL", {"provider": "command", "command": ["x", "a\0b"]}, "has a NUL"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "settings", "message"), WRONG, ids=[note for note, *_ in WRONG])
def test_what_cannot_work_is_refused(note: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        choice_of(ai_rule(judge=settings), {}, ENVIRON)
    assert message in str(caught.value), note
    assert str(caught.value).startswith("rules.yaml:1: rule 'no-bombs': judge: ")
    assert KEY not in str(caught.value)


def test_variables_are_filled_in_once() -> None:
    settings = {
        **OPENAI, "endpoint": "https://${HOST}/v1/", "key": "a-${KEY}-b", "headers": {"x-tenant": "${NESTED}"},
        "model": "${HOST}-m",
    }  # fmt: skip
    provider = choice_of(ai_rule(judge=settings), {}, ENVIRON).provider
    assert provider.url.reveal() == "https://judge.example/v1"
    assert provider.key.reveal() == f"a-{KEY}-b"
    assert provider.headers[0][1].reveal() == "${KEY}"
    assert provider.name == "judge.example-m at judge.example"


def test_what_is_no_key_may_stand_in_the_file() -> None:
    settings = {**OPENAI, "headers": {"X-Tenant": "blue"}, "endpoint": "https://h/v1?api-version=2"}
    provider = choice_of(ai_rule(judge=settings), {}, {}).provider
    assert provider.headers[0][1].reveal() == "blue"
    assert provider.url.reveal() == "https://h/v1?api-version=2"


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:1", "http://localhost:1/v1", "http://[::1]:1", "https://judge.example"]
)
def test_loopback_may_be_plain(endpoint: str) -> None:
    assert choice_of(ai_rule(), {**OPENAI, "endpoint": endpoint}, {}).provider.url.reveal() == endpoint


def test_plain_http_elsewhere_is_a_choice() -> None:
    shared = {**OPENAI, "endpoint": "http://ollama:11434/v1", "allow_http": True}
    assert choice_of(ai_rule(), shared, {}).provider.name == "m at ollama"


INHERITED: list[tuple[str, dict[str, Any], bool]] = [
    ("nothing of its own", {}, True),
    ("another model", {"model": "large"}, True),
    ("another endpoint", {"endpoint": "https://other.example"}, False),
    ("another provider", {"provider": "anthropic"}, False),
    ("its own key", {"endpoint": "https://other.example", "key": "${OTHER}"}, False),
]


@pytest.mark.parametrize(("note", "own", "inherits"), INHERITED, ids=[note for note, *_ in INHERITED])
def test_a_key_is_sent_to_its_own_endpoint_only(note: str, own: dict[str, Any], inherits: bool) -> None:
    own = {"provider": "openai", **own} if "endpoint" in own else own
    shared = {**OPENAI, "key": "${KEY}", "headers": {"x-key": "${KEY}"}}
    provider = choice_of(ai_rule(judge=own), shared, {**ENVIRON, "OTHER": "other"}).provider
    assert (provider.key.reveal() == KEY) is inherits, note
    assert bool(provider.headers) is inherits


def test_a_secret_cannot_be_written_anywhere() -> None:
    provider = choice_of(ai_rule(judge={**OPENAI, "key": "${KEY}", "headers": {"x": "${KEY}"}}), {}, ENVIRON).provider
    secret = provider.key
    for shown in (
        repr(provider),
        str(provider),
        f"{provider}",
        repr(secret),
        str(secret),
        f"{secret}",
        repr([provider]),
    ):
        assert KEY not in shown
    for write in (pickle.dumps, copy.deepcopy, msgspec.json.encode):
        with pytest.raises(TypeError):
            write(secret)


def test_secrets_are_compared_by_what_they_hold() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"


@pytest.mark.parametrize("name", JudgeLimits.__struct_fields__)
@pytest.mark.parametrize("value", [-1, "10", None, [], float("inf"), float("nan")])
def test_limits_are_numbers(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        limits_of({name: value})


def test_limits_stand_beside_the_settings_of_the_judge() -> None:
    assert limits_of({**OPENAI, "concurrency": 3}) == JudgeLimits(concurrency=3)
