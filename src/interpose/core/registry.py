"""The registry: which interceptors there are. Changing it never disturbs a call that is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, Unpack

from interpose.core.errors import DuplicateIdError, RegistrationError
from interpose.core.interceptor import Registration
from interpose.core.registration import RegistrationOptions, hook_point, options_of, registration
from interpose.core.tool_descriptions import describe_tools
from interpose.core.tools import normalize_tool_name
from interpose.core.types import HookPoint

H = TypeVar("H", bound=Callable[[Any, Any], object])

_MAX_SELECTIONS = 512


class Snapshot:
    """The interceptors at one moment. A call takes one snapshot and keeps it to its end."""

    __slots__ = ("_selections", "entries")

    def __init__(self, entries: tuple[Registration, ...] = ()) -> None:
        self.entries = entries
        self._selections: dict[tuple[HookPoint, str | None, str | None], tuple[Registration, ...]] = {}

    @property
    def standing(self) -> tuple[Any, ...]:
        """Those who answer questions without a person, of the same moment as those who ask."""
        return tuple(entry.standing for entry in self.entries if entry.standing is not None)

    def select(self, point: HookPoint, tool: str | None = None, agent: str | None = None) -> tuple[Registration, ...]:
        """Those that stand at `point` and match, in the order of law 1. None means: do not ask that matcher."""
        key = (point, tool, agent)
        found = self._selections.get(key)
        if found is None:
            if len(self._selections) >= _MAX_SELECTIONS:
                self._selections.clear()  # agents choose names: the memory must not grow with them
            found = self._selections[key] = tuple(sorted(self._matching(point, tool, agent), key=_order))
        return found

    def _matching(self, point: HookPoint, tool: str | None, agent: str | None) -> Iterable[Registration]:
        for entry in self.entries:
            if entry.name is not point:
                continue
            if tool is not None and entry.tool_matcher is not None and not entry.tool_matcher.search(tool):
                continue
            if agent is not None and entry.agent_matcher is not None and not entry.agent_matcher.search(agent):
                continue
            yield entry


def _order(entry: Registration) -> int:
    return -entry.priority  # sorted() is stable: equal priorities stay in registration order


class InterceptorRegistry:
    """An ordered set of interceptors with unique ids. Safe to change from any thread at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot = Snapshot()
        self._declared: tuple[str, ...] = ()

    def add(self, entry: object = None, /, **options: Unpack[RegistrationOptions]) -> Registration:
        """Register a handler or an interceptor object at a hook point: `add(id=..., name=..., handler=...)`.

        `entry` may be an object with `intercept`, which can say its `id`, `point`, `priority` and `guard` itself, a
        registration, or a dict of options. `priority`: higher runs first, below 0 only observes. `tool_matcher`,
        `agent_matcher`: regular expressions on the canonical tool name and the agent id. `timeout`: seconds;
        `on_error`: what a failure means. `guard`: sees the payload again when an interceptor below rewrites it.
        `mode`: `watch` says but never blocks. `standing`: answers questions without a person.
        """
        given = options_of(entry, options)
        with self._lock:
            one = registration(**given, declared=self._declared)
            if any(known.id == one.id for known in self._snapshot.entries):
                raise DuplicateIdError(f'Interceptor "{one.id}": this id is registered already')
            self._snapshot = Snapshot((*self._snapshot.entries, one))
            return one

    def __repr__(self) -> str:
        return f"InterceptorRegistry({[entry.id for entry in self._snapshot.entries]})"

    def __len__(self) -> int:
        return len(self._snapshot.entries)

    def __bool__(self) -> bool:
        return True  # an empty registry is one

    def on(self, name: str | HookPoint = "", *, id: str | None = None, **options: Any) -> Callable[[H], H]:
        """`add` as a decorator. Without an id, the function's own name is taken."""
        given: object = name
        if callable(given):
            raise RegistrationError(
                "@registry.on needs the name of a hook point: write "
                f'@registry.on("tool.before") above {getattr(given, "__qualname__", given)}'
            )
        if not given:
            raise RegistrationError(
                f'@registry.on needs the name of a hook point: write @registry.on("tool.before"), or one of '
                f"{', '.join(HookPoint)}"
            )

        def register(handler: H) -> H:
            self.add(id=id or f"{handler.__module__}.{handler.__qualname__}", name=name, handler=handler, **options)
            return handler

        return register

    def remove(self, id: str) -> bool:
        """Remove one. Says whether there was one."""
        with self._lock:
            kept = tuple(entry for entry in self._snapshot.entries if entry.id != id)
            found = len(kept) < len(self._snapshot.entries)
            if found:
                self._snapshot = Snapshot(kept)
            return found

    def swap(self, entries: Iterable[Registration]) -> None:
        """Put registrations in the place of those with the same ids, all at once; new ids are added at the end.

        A call that is under way keeps the old ones to its end, and no call ever sees some old and some new.
        """
        new = {entry.id: entry for entry in entries}
        with self._lock:
            kept = tuple(new.pop(entry.id, entry) for entry in self._snapshot.entries)
            self._snapshot = Snapshot((*kept, *new.values()))

    def get(
        self, name: str | HookPoint, tool_name: str | None = None, agent_id: str | None = None
    ) -> tuple[Registration, ...]:
        """Those that would run at a hook point, in order, for a tool by any of its names. Without a tool or an agent,
        that matcher is not asked."""
        tool = None if tool_name is None else normalize_tool_name(tool_name)
        return self._snapshot.select(hook_point(name), tool, agent_id)

    def list(self) -> tuple[Registration, ...]:
        """All, in registration order."""
        return self._snapshot.entries

    def clear(self) -> None:
        """Remove all."""
        with self._lock:
            self._snapshot = Snapshot()

    def declare_tools(self, tools: Iterable[str | Mapping[str, Any]]) -> None:
        """Make the tools of plugins and MCP servers known, so that matchers may name them.

        A tool is a name, or its definition as MCP's `tools/list` gives it. What a definition says (`annotations`,
        `inputSchema`) can only make the guards of this process stricter.
        """
        if isinstance(tools, str):
            raise RegistrationError(f"declare_tools takes a list of names, not the one text {tools!r}")
        if isinstance(tools, Mapping):
            raise RegistrationError("declare_tools takes a list of definitions, not the one definition of a tool")
        names: list[str] = []
        try:
            for tool in tools:
                names += [tool] if isinstance(tool, str) else describe_tools([tool])
        except (ValueError, AttributeError) as error:
            raise RegistrationError(f"declare_tools: {error}") from None
        with self._lock:
            # Under the names that interceptors see: a matcher for an alias would never match.
            self._declared = tuple(dict.fromkeys((*self._declared, *map(normalize_tool_name, names))))

    def snapshot(self) -> Snapshot:
        """The interceptors as they are now."""
        return self._snapshot


class Snapshots(Protocol):
    """Who has interceptors."""

    def snapshot(self) -> Snapshot:
        """The interceptors as they are now."""


class JoinedInterceptors:
    """An engine's own interceptors, and those that hold only where a call runs.

    INVARIANT: nothing gets lost by joining. Only rules are taken from there where both have them under one id: those
    of a directory are those of everywhere, tightened.
    """

    def __init__(self, own: Snapshots, there: Snapshots) -> None:
        self._own, self._there = own, there

    def snapshot(self) -> Snapshot:
        """The interceptors as they are now."""
        there = {entry.id: entry for entry in self._there.snapshot().entries}
        own = {entry.id: entry for entry in self._own.snapshot().entries}
        rules = {id: entry for id, entry in there.items() if entry.kind != "guard"}
        return Snapshot(tuple({**own, **rules, **{id: entry for id, entry in there.items() if id not in own}}.values()))


def create_interceptor_registry() -> InterceptorRegistry:
    """An empty registry."""
    return InterceptorRegistry()
