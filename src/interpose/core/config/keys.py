"""The model as a tree of groups and keys, for all that goes through every key: reading, printing, documenting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from interpose.core.config.builtins import owners
from interpose.core.config.settings import Config, InterceptorSettings

Path = tuple[str, ...]

PREFIX = "INTERPOSE_"
OTHERS_PREFIX = "MAYBE_DONT_"
INTERCEPTORS = "interceptors"
OF_PLUGINS = "settings"
"""The key with whatever a plugin of another package wants to know."""


class Key(Struct, frozen=True):
    """One value that can be set."""

    path: Path
    type: Any
    default: Any
    description: str
    secret: bool = False
    is_path: bool = False

    @property
    def name(self) -> str:
        """`server.port`."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """`INTERPOSE_SERVER_PORT`."""
        return PREFIX + variable_part(self.path)


class Group(Struct, frozen=True):
    """Values that belong together, as one struct of the model or as a map of interceptors."""

    path: Path
    doc: str
    struct: type[Struct] | None
    """None: a map by interceptor id."""
    members: Mapping[str, Key | Group]

    def all_keys(self) -> Iterator[Key]:
        """Every key in here, in the order of the model."""
        for member in self.members.values():
            if isinstance(member, Key):
                yield member
            else:
                yield from member.all_keys()


@cache
def tree() -> Group:
    """All there is to set."""
    return _group(Config(), ())


def interceptor_group(id: str) -> Group:
    """The settings of an interceptor that is not built in."""
    return _group(InterceptorSettings(), (INTERCEPTORS, id))


def variable_part(path: Path) -> str:
    """A key's path as it is spelled in the name of a variable."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(path).upper())


@cache  # the settings of interceptors are one type, and working out its annotations is most of loading
def _fields(of: type[Struct]) -> tuple[FieldInfo, ...]:
    return fields(of)


def _group(defaults: Struct, path: Path) -> Group:
    members: dict[str, Key | Group] = {}
    for field in _fields(type(defaults)):
        at, value = (*path, field.name), getattr(defaults, field.name)
        if isinstance(value, Struct):
            members[field.name] = _group(value, at)
        elif at == (INTERCEPTORS,):
            by_id = {id: _group(settings, (*at, id)) for id, settings in value.items()}
            members[field.name] = Group(at, _description(field.type), None, by_id)
        elif path[:1] != (INTERCEPTORS,) or _has_setting(path[-1], field.name):
            members[field.name] = _key(at, field.type, value)
    doc = (type(defaults).__doc__ or "").partition("\n")[0]
    return Group(path, doc, type(defaults), members)


def _has_setting(interceptor: str, name: str) -> bool:
    """Whether an interceptor can be set so: by a key that all have, by its own, or by the plugin's `settings`."""
    if name == OF_PLUGINS:
        return not interceptor.startswith("builtin:")
    return interceptor in (owners(name) or (interceptor,))


def _key(path: Path, of: Any, default: Any) -> Key:
    extra = extras(of)
    return Key(path, of, default, _description(of), "secret" in extra, "path" in extra)


def _description(of: Any) -> str:
    return next((meta.description for meta in reversed(metas(of)) if meta.description), "")


def metas(of: Any) -> list[Meta]:
    """What a type says about itself."""
    return [meta for meta in get_args(of)[1:] if isinstance(meta, Meta)] if get_origin(of) is Annotated else []


def extras(of: Any) -> dict[str, Any]:
    """What the model says about a type beyond its bounds: `secret`, `path`, `form`."""
    return {name: value for meta in metas(of) for name, value in (meta.extra or {}).items()}
