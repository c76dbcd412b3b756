"""Checking what someone wants to register. Every error names the interceptor and says what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from threading import TIMEOUT_MAX
from typing import Any, get_args

from interpose.driving import is_generator
from interpose.errors import MatcherError, RegistrationError, UnknownHookPointError
from interpose.interceptor import Behaviour, Registration, class_style, handler_style
from interpose.tools import KNOWN_TOOL_NAMES, TOOL_ALIASES
from interpose.types import HookPoint, InterceptorKind, Mode, OnError

Matcher = str | re.Pattern[str]

_TOOL_POINTS = (HookPoint.TOOL_BEFORE, HookPoint.TOOL_AFTER, HookPoint.PERMISSION_ASK)


def registration(
    *,
    id: str,
    name: str | HookPoint | None,
    handler: Callable[[Any, Any], object] | None = None,
    interceptor: object | None = None,
    priority: int = 0,
    tool_matcher: Matcher | None = None,
    agent_matcher: Matcher | None = None,
    timeout: float | None = None,
    on_error: OnError = "deny",
    guard: bool = False,
    mode: Mode = "enforce",
    standing: object | None = None,
    kind: InterceptorKind = "guard",
    declared: Iterable[str] = (),
) -> Registration:
    """A checked registration. `name` is None in a chain over types of one's own."""
    given: object = id
    if not isinstance(given, str) or not given.strip():
        raise RegistrationError(f"an interceptor needs an id, not {id!r}")
    point = None if name is None else hook_point(name, f'Interceptor "{id}": ')
    _check_options(id, priority=priority, timeout=timeout, on_error=on_error, guard=guard, mode=mode)
    tools = _matcher(id, "tool_matcher", tool_matcher)
    if tools is not None:
        _check_tool_matcher(id, point, tools, declared)
    behaviour = _behaviour(id, point, handler, interceptor)
    if standing is not None and not callable(getattr(standing, "answer", None)):
        raise RegistrationError(f'Interceptor "{id}": standing must have a method answer(request), not {standing!r}')
    return Registration(
        id=id, name=point, priority=priority, tool_matcher=tools,
        agent_matcher=_matcher(id, "agent_matcher", agent_matcher),
        timeout=timeout, on_error=on_error, guard=guard, mode=mode, kind=kind, handler=handler or interceptor,
        consult=behaviour.consult, look=behaviour.look, observe=behaviour.observe, standing=standing,
        inline=timeout is None or behaviour.is_async,
    )  # fmt: skip


def hook_point(name: str, who: str = "") -> HookPoint:
    """The hook point of that name. The error says whose mistake it is."""
    try:
        return HookPoint(name)
    except ValueError:
        points = ", ".join(HookPoint)
        raise UnknownHookPointError(f"{who}there is no hook point {name!r}. Hook points: {points}") from None


def _check_options(
    id: str, *, priority: object, timeout: object, on_error: object, guard: object, mode: object
) -> None:
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise RegistrationError(f'Interceptor "{id}": priority must be an int, not {priority!r}')
    if timeout is not None and not _is_duration(timeout):
        raise RegistrationError(f'Interceptor "{id}": timeout must be seconds above 0, not {timeout!r}')
    if on_error not in get_args(OnError):
        raise RegistrationError(f'Interceptor "{id}": on_error must be deny, ask or allow, not {on_error!r}')
    if mode not in get_args(Mode):
        raise RegistrationError(f'Interceptor "{id}": mode must be enforce or watch, not {mode!r}')
    if not isinstance(guard, bool):
        raise RegistrationError(f'Interceptor "{id}": guard must be True or False, not {guard!r}')
    if guard and priority < 0:
        raise RegistrationError(f'Interceptor "{id}": an observer (priority {priority}) can\'t be a guard')


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= TIMEOUT_MAX


def _matcher(id: str, what: str, matcher: object) -> re.Pattern[str] | None:
    if matcher is None:
        return None
    if isinstance(matcher, re.Pattern) and isinstance(matcher.pattern, str):
        return matcher
    if not isinstance(matcher, str):
        raise MatcherError(f'Interceptor "{id}": {what} must be a regular expression, not {matcher!r}')
    try:
        return re.compile(matcher)
    except (re.error, RecursionError, OverflowError) as error:
        raise MatcherError(f'Interceptor "{id}": {what} {matcher!r} is no regular expression: {error}') from None


def _check_tool_matcher(id: str, point: HookPoint | None, matcher: re.Pattern[str], declared: Iterable[str]) -> None:
    if point not in _TOOL_POINTS:
        raise MatcherError(f'Interceptor "{id}": a tool_matcher means nothing at {point or "a chain of its own"}')
    known = (*KNOWN_TOOL_NAMES, *declared)
    if any(matcher.search(name) for name in known):
        return
    hint = _alias_hint(matcher)
    raise MatcherError(
        f'Interceptor "{id}": tool_matcher /{matcher.pattern}/ does not match any known tool name.{hint} '
        "Tools of plugins and MCP servers can be declared with registry.declare_tools(). "
        f"Known tools: {', '.join(known)}"
    )


def _alias_hint(matcher: re.Pattern[str]) -> str:
    """What a matcher for an agent's own name of a tool should say instead: interceptors see one name for all."""
    anyway = re.compile(matcher.pattern, matcher.flags | re.IGNORECASE)
    alias = next((alias for alias in TOOL_ALIASES if anyway.search(alias)), "")
    return f" It matches {alias!r}, which interceptors see as {TOOL_ALIASES[alias]!r}." if alias else ""


def _behaviour(id: str, point: HookPoint | None, handler: object, interceptor: object) -> Behaviour:
    if (handler is None) == (interceptor is None):
        raise RegistrationError(f'Interceptor "{id}": give either handler= or interceptor=')
    if interceptor is not None:
        if isinstance(interceptor, type) or not callable(getattr(interceptor, "intercept", None)):
            raise RegistrationError(f'Interceptor "{id}": {interceptor!r} is no object with an intercept() method')
        return class_style(interceptor)
    if not callable(handler):
        raise RegistrationError(f'Interceptor "{id}": the handler must be callable, not {type(handler).__name__}')
    if is_generator(handler):
        raise RegistrationError(f'Interceptor "{id}": the handler has `yield` in it, so calling it would do nothing')
    if point is None:
        raise RegistrationError(f'Interceptor "{id}": a chain of its own takes objects with intercept(), no handlers')
    return handler_style(point, handler)
