"""Checking what someone wants to register. Every error names the interceptor and says what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from threading import TIMEOUT_MAX
from typing import Any, TypedDict, get_args

from interpose.core.driving import is_generator
from interpose.core.errors import MatcherError, RegistrationError, UnknownHookPointError
from interpose.core.interceptor import Behaviour, Registration, class_style, handler_style
from interpose.core.tool_names import KNOWN_TOOL_NAMES, TOOL_ALIASES, plain_name
from interpose.core.types import HookPoint, InterceptorKind, Mode, OnError

Matcher = str | re.Pattern[str]

_TOOL_POINTS = (HookPoint.TOOL_BEFORE, HookPoint.TOOL_AFTER, HookPoint.PERMISSION_ASK)


class RegistrationOptions(TypedDict, total=False):
    """What `registry.add` takes by keyword."""

    id: str
    """Unique. An object with an `id` of its own needs none."""
    name: str | HookPoint
    """The hook point."""
    handler: Callable[[Any, Any], object] | None
    """A function of input and output. Or:"""
    interceptor: object | None
    """An object with `intercept`."""
    priority: int
    """Higher runs first; below 0 it only observes."""
    tool_matcher: Matcher | None
    """A regular expression on the canonical name of the tool."""
    agent_matcher: Matcher | None
    """A regular expression on the id of the agent."""
    timeout: float | None
    """Seconds for one answer."""
    on_error: OnError
    """What a failure means: deny, ask or allow."""
    guard: bool
    """Whether it sees the payload again when an interceptor below rewrites it."""
    mode: Mode
    """`watch` says what it would have done and never blocks."""
    standing: object | None
    """Answers questions without a person."""


_OPTIONS = tuple(RegistrationOptions.__annotations__)


def options_of(entry: object, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a registration: those of an object with `intercept`, of a mapping or of another registration,
    and those by keyword, which win. RegistrationError names what is missing or misspelt."""
    found = {**_own_options(entry), **options}
    interceptor = found.get("interceptor")
    for option in ("id", "name"):
        if option not in found and interceptor is not None and (own := getattr(interceptor, _OWN[option], None)):
            found[option] = own
    who = found.get("id", "")
    for option in found:
        if option not in _OPTIONS and option != "kind":
            raise RegistrationError(f'Interceptor "{who}": {_misspelt(option)} Options: {", ".join(_OPTIONS)}')
    if not found.get("id"):
        raise RegistrationError('an interceptor needs an id: write registry.add(id="...", ...)')
    if not found.get("name"):
        points = ", ".join(HookPoint)
        raise RegistrationError(f'Interceptor "{who}": it needs the name of a hook point, name= one of {points}')
    return found


_OWN = {"id": "id", "name": "point"}
"""The attributes in which an interceptor says its own id, and where it belongs."""


def _own_options(entry: object) -> dict[str, Any]:
    if entry is None:
        return {}
    if isinstance(entry, Registration):
        style = "interceptor" if callable(getattr(entry.handler, "intercept", None)) else "handler"
        kept = {name: getattr(entry, name) for name in _OPTIONS if name not in ("handler", "interceptor")}
        return {**kept, "kind": entry.kind, style: entry.handler}
    if isinstance(entry, Mapping):
        return dict(entry)
    if isinstance(entry, type) or not callable(getattr(entry, "intercept", None)):
        raise RegistrationError(
            f"{entry!r} can't be registered by itself: give an object with intercept(), a registration or a dict of "
            'options, or write registry.add(id="...", name="tool.before", handler=...)'
        )
    own = {name: value for name in ("priority", "guard") if (value := getattr(entry, name, None)) is not None}
    kind = type(entry)
    named = {"id": getattr(entry, "id", "") or f"{kind.__module__}.{kind.__qualname__}"}
    return {**named, "name": getattr(entry, "point", HookPoint.TOOL_BEFORE), "interceptor": entry, **own}


def _misspelt(option: str) -> str:
    meant = next((known for known in _OPTIONS if plain_name(known) == plain_name(str(option))), "")
    if not meant:
        from difflib import get_close_matches

        meant = next(iter(get_close_matches(str(option), _OPTIONS, 1)), "")
    return f"there is no option {option!r}" + (f": did you mean {meant}=?" if meant else ".")


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
