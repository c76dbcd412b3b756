"""The configuration, put together: defaults < organisation < the user's file < environment < command line.

Nothing is read from the directory that an agent works in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from interpose.core.config.builtins import BUILTINS
from interpose.core.config.checked_values import WrongValueError, absolute, checked
from interpose.core.config.keys import INTERCEPTORS, Group, Key, interceptor_group, tree
from interpose.core.config.places import ORGANISATION, Places, places_of
from interpose.core.config.problems import Problem, unknown
from interpose.core.config.settings import BUILTIN_INTERCEPTORS, Config
from interpose.core.config.sources import Found, Setting, from_environment, from_file, from_flags
from interpose.core.errors import ConfigError
from interpose.core.types import EMPTY

_TIMES = ("hooks.wait", "hooks.deadline", "intercept.wait_limit", "gateway.wait", "proxy.wait")
"""Keys that may ask for more time than there is."""


class Loaded(Struct, frozen=True):
    """A configuration. `origins` says of each key that was set where that was; what is not there has its default."""

    config: Config
    origins: Mapping[str, str]
    places: Places
    file: Path
    """The user's file, which need not be there."""


def load(
    file: str | Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] = EMPTY,
    organisation: Path = ORGANISATION,
) -> Loaded:
    """The configuration as it holds here. Raises ConfigError with everything that is wrong.

    A `file` that is named must be there; the one in the user's directory need not. `flags` are values by key, such as
    `{"server.port": 8081}`.
    """
    places = places_of(environ)
    chosen = Path(file) if file is not None else places.file
    merging = _Merging(environ, places)
    merging.add(from_file(organisation, required=False))
    merging.lock(organisation)
    merging.add(from_file(chosen, required=file is not None))
    merging.add(from_environment(environ))
    merging.add(from_flags(flags))
    config = merging.config()
    return Loaded(config, merging.origins, places, chosen)


def usual(environ: Mapping[str, str] = os.environ) -> Loaded:
    """The configuration that holds where nobody has set anything: for who must go on when it can't be loaded."""
    places = places_of(environ)
    return Loaded(_Merging(environ, places).config(), {}, places, places.file)


class _Merging:
    """Settings, the later before the earlier. Collects every problem instead of stopping at the first."""

    def __init__(self, environ: Mapping[str, str], places: Places) -> None:
        self._environ, self._places = environ, places
        self._values: dict[str, Any] = {}
        self._locked: tuple[str, ...] | None = None
        self._locked_by = ""
        self._problems: list[Problem] = []
        self._others: dict[str, str] = {}
        """Interceptors that are not built in, and where they are named."""
        self.origins: dict[str, str] = {}

    def add(self, found: Iterable[Found]) -> None:
        """Settings of one source."""
        for each in found:
            if isinstance(each, Problem):
                self._problems.append(each)
            else:
                self._set(each)

    def lock(self, organisation: Path) -> None:
        """From now on the keys that the organisation locked can't be changed, nor what is locked."""
        self._locked = self._values.get("lock", ())
        self._locked_by = str(organisation)
        known = [name for key in tree().all_keys() for name in _prefixes(key)] if self._locked else ()
        for name in self._locked or ():
            if name not in known:
                self._problems.append(Problem(self.origins["lock"], "lock", unknown("key", name, dict.fromkeys(known))))

    def _set(self, setting: Setting) -> None:
        key = setting.key
        try:
            value = checked(key, setting.value, self._environ, self._places, is_text=setting.is_text)
        except WrongValueError as error:
            self._problems.append(Problem(setting.where, key.name, str(error)))
            return
        if self._locked is not None and (why := self._refusal(key, value)):
            self._problems.append(Problem(setting.where, key.name, why))
            return
        if key.path[0] == INTERCEPTORS and key.path[1] not in BUILTIN_INTERCEPTORS:
            self._others.setdefault(key.path[1], setting.where)
        self._values[key.name] = value
        self.origins[key.name] = setting.where

    def _refusal(self, key: Key, value: Any) -> str:
        if key.name == "lock":
            return f"only {self._locked_by} can lock keys"
        locked = self._locked and any(name in self._locked for name in _prefixes(key))
        if locked and value != self._values.get(key.name, self._default(key)):
            return f"locked by {self._locked_by}"
        return ""

    def _default(self, key: Key) -> Any:
        return absolute(key.default, self._places) if key.is_path else key.default

    def config(self) -> Config:
        """The whole, or a ConfigError with all problems."""
        if self._others and not self._values.get("plugins"):
            for id, where in self._others.items():
                why = unknown("interceptor", id, BUILTIN_INTERCEPTORS)
                self._problems.append(Problem(where, INTERCEPTORS, f"{why} (those of packages need `plugins`)"))
        self._problems.extend(self._without_effect())
        config = self._built(tree())
        if not self._problems:
            self._problems.extend(self._contradictions(config))
        if self._problems:
            raise ConfigError(tuple(self._problems))
        assert isinstance(config, Config)  # noqa: S101 - the root of the tree
        return config

    def _contradictions(self, config: Config) -> Iterator[Problem]:
        """Times that can't both be meant."""
        if not any(name in self.origins for name in _TIMES):
            return  # a hook has nothing to load for this
        from interpose.core.config.waiting_times import contradictions

        for name, why in contradictions(config, self.origins):
            yield Problem(self.origins.get(name, ""), name, why)

    def _without_effect(self) -> Iterator[Problem]:
        """Who sets up an interceptor that is off by default, and forgets to switch it on, believes to be guarded."""
        for one in BUILTINS:
            name = f"{INTERCEPTORS}.{one.id}"
            where = next((where for key, where in self.origins.items() if key.startswith(f"{name}.")), "")
            if where and not one.on and f"{name}.enabled" not in self.origins:
                yield Problem(where, name, "it is off by default: say `enabled: true`, or `enabled: false`")

    def _built(self, group: Group) -> Any:
        members = dict(group.members)
        if group.path == (INTERCEPTORS,):
            members |= {id: interceptor_group(id) for id in self._others}
        values: dict[str, Any] = {}
        for name, member in members.items():
            if isinstance(member, Group):
                values[name] = self._built(member)
            else:
                values[name] = self._values.get(member.name, self._default(member))
        if group.struct is None:
            return values
        try:
            return group.struct(**values)
        except ValueError as error:
            self._problems.append(self._of_group(group, str(error)))
            return group.struct()

    def _of_group(self, group: Group, message: str) -> Problem:
        """A group says which of its keys is wrong in the first word of its message."""
        name = message.split(maxsplit=1)[0].rstrip(":")
        inside = ".".join(group.path) or name
        where = self.origins.get(name) or next(
            (where for key, where in self.origins.items() if key.startswith(inside)), ""
        )
        return Problem(where, name, message.removeprefix(name).lstrip(": "))


def _prefixes(key: Key) -> list[str]:
    """`server.tls.key_file` is locked by itself, by `server.tls` and by `server`."""
    return [".".join(key.path[:length]) for length in range(1, len(key.path) + 1)]
