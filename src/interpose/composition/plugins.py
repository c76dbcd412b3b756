"""Interceptors of other packages, from the entry point group `interpose.interceptors`.

A package offers them in its metadata; they run only when they are switched on by name:

    [project.entry-points."interpose.interceptors"]
    no-fridays = "no_fridays:register"

An entry point is a function that takes the registry and adds what it has. If it takes a second argument, it gets
`interceptors.NAME.settings` of the configuration, a read-only map. Those of the group
`interpose.offered_interceptors` return what is offered over the interceptor protocol. Nothing is ever loaded from the
directory that an agent works in: neither metadata nor modules there count, or a repository could bring its own rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Any

from interpose.core.errors import InterposeError, PluginError, text_of
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import EMPTY

GROUP = "interpose.interceptors"
OFFERED = "interpose.offered_interceptors"
"""Functions that return what `interpose mcp interceptor-server` offers beside our pipeline."""


def available_plugins(group: str = GROUP) -> dict[str, EntryPoint]:
    """What the installed packages offer, by name."""
    found: dict[str, EntryPoint] = {}
    for distribution in distributions(path=_trusted_paths()):
        for point in _points(distribution, group):
            if point.name in found and found[point.name].value != point.value:
                raise PluginError(
                    f"two packages offer interceptors named {point.name!r}: {found[point.name].value}, {point.value}"
                )
            found[point.name] = point
    return found


def load_plugins(
    registry: InterceptorRegistry, names: Iterable[str], settings: Mapping[str, Mapping[str, Any]] = EMPTY
) -> None:
    """Switch on the interceptors of these names, each with its own settings. Raises PluginError."""
    for point in _wanted(names, GROUP):
        register = _loaded(point)
        with _only_trusted_paths():  # it may import more of its package
            _register(point, register, registry, settings.get(point.name, EMPTY))


def _register(
    point: EntryPoint, register: Callable[..., Any], registry: InterceptorRegistry, settings: Mapping[str, Any]
) -> None:
    key = f"interceptors.{point.name}.settings"
    takes = _takes_settings(register)
    if settings and not takes:
        raise PluginError(f"{key}: the plugin {point.name!r} ({point.value}) takes no settings", key)
    try:
        register(registry, *((settings,) if takes else ()))
    except Exception as error:
        # What Interpose refuses is an interceptor that it adds; anything else is what it says of its settings.
        if takes and not isinstance(error, InterposeError):
            raise PluginError(f"{key}: the plugin {point.name!r} refuses them: {text_of(error)}", key) from error
        raise PluginError(f"{point.name!r} ({point.value}) can't be registered: {text_of(error)}") from error


def _takes_settings(register: Callable[..., Any]) -> bool:
    """Whether a function takes a second argument by its place."""
    from inspect import Parameter, signature

    places = {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    taken = [one for one in signature(register).parameters.values() if one.kind in places]
    return len(taken) > 1


def load_offered(names: Iterable[str]) -> tuple[object, ...]:
    """What these plugins offer over the interceptor protocol."""
    found: list[object] = []
    for point in _wanted(names, OFFERED):
        offer = _loaded(point)
        with _only_trusted_paths():
            try:
                found.extend(offer())
            except Exception as error:
                raise PluginError(f"{point.name!r} ({point.value}) offers nothing: {text_of(error)}") from error
    return tuple(found)


def _wanted(names: Iterable[str], group: str) -> Iterator[EntryPoint]:
    offered = available_plugins(group)
    for name in names:
        if name not in offered:
            known = ", ".join(sorted(offered)) or "none"
            raise PluginError(f"no installed package offers interceptors named {name!r}; offered: {known}")
        yield offered[name]


def _loaded(point: EntryPoint) -> Callable[..., Any]:
    with _only_trusted_paths():
        try:
            function: Any = point.load()
        except Exception as error:
            raise PluginError(f"{point.name!r} ({point.value}) can't be loaded: {text_of(error)}") from error
    module = sys.modules.get(point.module)
    origin = getattr(module, "__file__", None)
    if origin is None or _in_working_directory(Path(origin)):
        raise PluginError(f"{point.name!r} ({point.value}) comes from the working directory; that is never trusted")
    if not callable(function):
        what = "that takes the registry" if point.group == GROUP else "that returns what it offers"
        raise PluginError(f"{point.name!r} ({point.value}) is no function {what}")
    return function  # type: ignore[no-any-return]  # what a package brings has no type


def _points(distribution: Distribution, group: str) -> Iterator[EntryPoint]:
    return (point for point in distribution.entry_points if point.group == group)


def _trusted_paths() -> list[str]:
    """Where installed packages are: `sys.path` without what stands for, or lies in, the working directory."""
    return [entry for entry in sys.path if entry and not _in_working_directory(Path(entry))]


def _in_working_directory(path: Path) -> bool:
    """The interpreter's own environment is trusted wherever it lies, often as `.venv` inside the project."""
    real, cwd = path.resolve(), Path.cwd().resolve()
    prefixes = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
    if any(real.is_relative_to(prefix) and prefix != cwd for prefix in prefixes):
        return False
    return real.is_relative_to(cwd)


@contextmanager
def _only_trusted_paths() -> Iterator[None]:
    """Import without the working directory: a module there must not stand in for an installed one."""
    before = sys.path[:]
    sys.path[:] = _trusted_paths()
    try:
        yield
    finally:
        sys.path[:] = before
