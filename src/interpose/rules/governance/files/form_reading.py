"""Plain data held to a form, all that is wrong with it at once: unknown keys, missing ones, values of another kind.

msgspec says what is wrong first and stops. So the data is walked beside the types of the form, and each value is given
to msgspec alone.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType

from interpose.core.formats.yaml_text import Path

FormProblem = tuple[Path, str]

_SHOWN = 60
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def problems_in(data: Any, form: Any, at: Path = ()) -> Iterator[FormProblem]:
    """Everything in `data` that `form` does not take: where, and why."""
    plain, extra = _plain(form)
    if data is None and _may_be_none(form):
        return
    if isinstance(plain, type) and issubclass(plain, Struct):
        yield from _in_map(data, plain, at)
    elif get_origin(plain) is dict:
        yield from _in_names(data, plain, at)
    elif get_origin(plain) is tuple:
        yield from _in_list(data, plain, form, at)
    else:
        yield from _in_value(data, form, plain, extra, at)


def unknown(what: str, name: str, known: typing.Iterable[str]) -> str:
    """`there is no role 'reseacher', did you mean 'researcher'?`, or what there is if nothing is near."""
    listed = list(known)
    near = get_close_matches(name.casefold(), [one.casefold() for one in listed], 1) if len(name) <= _SHOWN else []
    if near:
        meant = next(one for one in listed if one.casefold() == near[0])
        return f"there is no {what} {shown(name)}, did you mean {meant!r}?"
    there = f"there are {', '.join(listed[:20])}{' ...' if len(listed) > 20 else ''}" if listed else "there are none"
    return f"there is no {what} {shown(name)}; {there}"


def shown(text: str) -> str:
    """A text of the file in quotes, cut if it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _in_map(data: Any, form: type[Struct], at: Path) -> Iterator[FormProblem]:
    fields = _fields(form)
    if not isinstance(data, dict):
        yield at, f"expected a map with {', '.join(fields)}, got {_told(data)}"
        return
    for key in data.keys() - fields.keys():
        yield (*at, key), unknown("key", key, fields)
    for field in msgspec.structs.fields(form):
        if field.name in data:
            yield from problems_in(data[field.name], fields[field.name], (*at, field.name))
        elif field.required:
            yield at, f"the key {field.name!r} is missing"


def _in_names(data: Any, of: Any, at: Path) -> Iterator[FormProblem]:
    if not isinstance(data, dict):
        yield at, f"expected a map of names, got {_told(data)}"
        return
    name_form, value_form = get_args(of)
    for name, value in data.items():
        yield from problems_in(name, name_form, (*at, name))
        yield from problems_in(value, value_form, (*at, name))


def _in_list(data: Any, of: Any, form: Any, at: Path) -> Iterator[FormProblem]:
    if not isinstance(data, list):
        yield at, f"expected a list, got {_told(data)}"
        return
    wrong = [problem for index, item in enumerate(data) for problem in problems_in(item, get_args(of)[0], (*at, index))]
    yield from wrong
    if not wrong:
        yield from _refused(data, form, at)


def _in_value(data: Any, form: Any, plain: Any, extra: dict[str, Any], at: Path) -> Iterator[FormProblem]:
    if get_origin(plain) is Literal:
        words = get_args(plain)
        if data not in words or isinstance(data, bool):
            near = get_close_matches(str(data), [str(word) for word in words], 1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            yield at, f"expected {_either(words)}, got {_told(data)}{hint}"
    elif "form" in extra:
        yield from ((where, f"expected {extra['form']}, got {_told(data)}") for where, _ in _refused(data, form, at))
    elif plain in _WORDS and (type(data) is not plain and not (plain is float and type(data) is int)):
        yield at, f"expected {_WORDS[plain]}, got {_told(data)}"
    else:
        yield from _refused(data, form, at)


def _refused(data: Any, form: Any, at: Path) -> Iterator[FormProblem]:
    try:
        msgspec.convert(data, form, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        why = re.sub(r" - at `.*`$", "", str(error), flags=re.DOTALL)
        yield at, f"{why[:1].lower()}{why[1:]}"


def _either(words: tuple[Any, ...]) -> str:
    *first, last = map(str, words)
    return f"{', '.join(first)} or {last}" if first else last


def _told(data: Any) -> str:
    match data:
        case None:
            return "nothing"
        case dict():
            return "a map"
        case list():
            return "a list"
        case _:
            return shown(data) if isinstance(data, str) else str(data).lower()


def _plain(form: Any) -> tuple[Any, dict[str, Any]]:
    """The type below annotations and beside None, and what the annotations say of it."""
    extra: dict[str, Any] = {}
    while True:
        if get_origin(form) is Annotated:
            metas = [meta for meta in get_args(form)[1:] if isinstance(meta, Meta)]
            extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()} | extra
            form = get_args(form)[0]
        elif get_origin(form) in (Union, UnionType):
            (form,) = (each for each in get_args(form) if each not in (NoneType, UnsetType))
        else:
            return form, extra


def _may_be_none(form: Any) -> bool:
    if get_origin(form) is Annotated:
        return _may_be_none(get_args(form)[0])
    return get_origin(form) in (Union, UnionType) and NoneType in get_args(form)


@cache
def _fields(form: type[Struct]) -> dict[str, Any]:
    hints = typing.get_type_hints(form, include_extras=True)
    return {name: hints[name] for name in form.__struct_fields__}
