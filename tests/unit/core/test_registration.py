"""What can't be registered is refused at once, with an error that names the interceptor and says what was expected."""

from __future__ import annotations

import re
from typing import Any

import pytest

from interpose import (
    KNOWN_TOOL_NAMES,
    DuplicateIdError,
    HookPoint,
    InterceptorChain,
    MatcherError,
    RegistrationError,
    UnknownHookPointError,
    create_interceptor_registry,
)
from interpose.core.types import Allow


def nothing(_input: Any, _output: Any) -> None:
    pass


class Silent:
    def intercept(self, _payload: Any) -> Allow:
        return Allow()


BAD: list[tuple[str, dict[str, Any], type[RegistrationError], str]] = [
    ("unknown point", {"name": "tool.befor"}, UnknownHookPointError, "no hook point 'tool.befor'. Hook points: "),
    ("point of another type", {"name": 5}, UnknownHookPointError, "no hook point 5"),
    ("unhashable point", {"name": ["tool.before"]}, UnknownHookPointError, "no hook point"),
    ("text priority", {"priority": "10"}, RegistrationError, "priority must be an int, not '10'"),
    ("float priority", {"priority": 1.5}, RegistrationError, "priority must be an int"),
    ("bool priority", {"priority": True}, RegistrationError, "priority must be an int"),
    ("no priority", {"priority": None}, RegistrationError, "priority must be an int"),
    ("zero timeout", {"timeout": 0}, RegistrationError, "timeout must be seconds above 0, not 0"),
    ("negative timeout", {"timeout": -1}, RegistrationError, "timeout must be seconds"),
    ("nan timeout", {"timeout": float("nan")}, RegistrationError, "timeout must be seconds"),
    ("endless timeout", {"timeout": float("inf")}, RegistrationError, "timeout must be seconds"),
    ("timeout that can't be waited", {"timeout": 1e300}, RegistrationError, "timeout must be seconds"),
    ("huge int timeout", {"timeout": 10**400}, RegistrationError, "timeout must be seconds"),
    ("text timeout", {"timeout": "1"}, RegistrationError, "timeout must be seconds"),
    ("bool timeout", {"timeout": True}, RegistrationError, "timeout must be seconds"),
    ("on_error", {"on_error": "block"}, RegistrationError, "on_error must be deny, ask or allow, not 'block'"),
    ("no on_error", {"on_error": None}, RegistrationError, "on_error must be"),
    ("unhashable on_error", {"on_error": []}, RegistrationError, "on_error must be"),
    ("mode", {"mode": "dry-run"}, RegistrationError, "mode must be enforce or watch, not 'dry-run'"),
    ("guard", {"guard": "yes"}, RegistrationError, "guard must be True or False, not 'yes'"),
    ("guarding observer", {"guard": True, "priority": -1}, RegistrationError, "an observer (priority -1) can't"),
    ("bad regex", {"tool_matcher": "("}, MatcherError, "tool_matcher '(' is no regular expression"),
    ("bad agent regex", {"agent_matcher": "[z-a]"}, MatcherError, "agent_matcher '[z-a]' is no regular expression"),
    ("bytes regex", {"tool_matcher": re.compile(b"exec")}, MatcherError, "tool_matcher must be a regular expression"),
    ("number as regex", {"agent_matcher": 5}, MatcherError, "agent_matcher must be a regular expression"),
    ("typo", {"tool_matcher": "^exce$"}, MatcherError, "tool_matcher /^exce$/ does not match any known tool name"),
    ("matcher at a message", {"name": "message.before", "tool_matcher": "exec"}, MatcherError, "means nothing at"),
    ("no handler", {"handler": None}, RegistrationError, "give either handler= or interceptor="),
    ("both", {"interceptor": Silent()}, RegistrationError, "give either handler= or interceptor="),
    ("no function", {"handler": "print"}, RegistrationError, "the handler must be callable, not str"),
    ("no intercept", {"handler": None, "interceptor": object()}, RegistrationError, "no object with an intercept()"),
    ("a class", {"handler": None, "interceptor": Silent}, RegistrationError, "no object with an intercept()"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "kind", "text"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_each_error_names_the_interceptor(options: dict[str, Any], kind: type[RegistrationError], text: str) -> None:
    registry = create_interceptor_registry()
    with pytest.raises(kind) as caught:
        registry.add(**({"id": "mine", "name": "tool.before", "handler": nothing} | options))  # type: ignore[arg-type]
    assert str(caught.value).startswith('Interceptor "mine": ')
    assert text in str(caught.value)
    assert registry.list() == ()


@pytest.mark.parametrize("id", ["", "  ", None, 5, b"id"])
def test_an_id_is_needed(id: Any) -> None:
    with pytest.raises(RegistrationError, match="an interceptor needs an id"):
        create_interceptor_registry().add(id=id, name="tool.before", handler=nothing)


def test_a_duplicate_names_the_interceptor() -> None:
    registry = create_interceptor_registry()
    registry.add(id="mine", name="tool.before", handler=nothing)
    with pytest.raises(DuplicateIdError, match='"mine": this id is registered already'):
        registry.add(id="mine", name="tool.after", handler=nothing)
    assert len(registry.list()) == 1


def test_a_matcher_that_can_match_nothing_lists_the_names() -> None:
    with pytest.raises(MatcherError) as caught:
        create_interceptor_registry().add(id="bad", name="tool.before", tool_matcher="^nonexistent$", handler=nothing)
    assert str(caught.value).endswith(f"Known tools: {', '.join(KNOWN_TOOL_NAMES)}")


def test_a_matcher_on_an_alias_is_told_the_canonical_name() -> None:
    with pytest.raises(MatcherError, match="It matches 'bash', which interceptors see as 'exec'"):
        create_interceptor_registry().add(id="bad", name="tool.before", tool_matcher="^bash$", handler=nothing)


@pytest.mark.parametrize("point", ["tool.before", "tool.after", "permission.ask"])
def test_a_tool_matcher_may_stand_where_tools_are(point: str) -> None:
    entry = create_interceptor_registry().add(id="x", name=point, tool_matcher="exec", handler=nothing)
    assert entry.name is HookPoint(point)


@pytest.mark.parametrize("timeout", [0.001, 1, 3600, None])
def test_good_timeouts(timeout: float | None) -> None:
    entry = create_interceptor_registry().add(id="x", name="tool.before", handler=nothing, timeout=timeout)
    assert entry.inline is (timeout is None)


def test_a_chain_of_its_own_takes_objects_only() -> None:
    chain: InterceptorChain[str, str] = InterceptorChain()
    with pytest.raises(RegistrationError, match="no object with an intercept"):
        chain.with_(nothing)  # type: ignore[arg-type]
    with pytest.raises(DuplicateIdError, match="one"):
        chain.with_(Silent(), id="one").with_(Silent(), id="one")
