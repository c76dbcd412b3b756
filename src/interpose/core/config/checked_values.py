"""One value: read from text, held to its type, its paths and `${VARIABLES}` filled in, and described in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from interpose.core.config.gateway_servers import written_secrets, wrong_server
from interpose.core.config.keys import Key, extras, metas
from interpose.core.config.places import Places
from interpose.effects.late_patterns import late

_INTEGER = late(r"[-+]?[0-9]{1,18}", re.ASCII)
_NUMBER = late(r"[-+]?[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_DOLLAR = late(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")
_SHOWN = 60


class WrongValueError(ValueError):
    """A value that a key does not take; `str` says what was expected."""


def checked(key: Key, value: Any, environ: Mapping[str, str], places: Places, *, is_text: bool = False) -> Any:
    """The value as the model has it. Raises WrongValueError.

    `is_text` says that it comes from where everything is text. A text of a file counts as such if a variable made it.
    """
    if "servers" in extras(key.type) and (why := written_secrets(value)):
        raise WrongValueError(why)
    # The variables of servers are filled in by who starts them: see server_variables.
    filled = value if "servers" in extras(key.type) and not is_text else substituted(value, environ)
    if isinstance(filled, str) and not filled.isascii():
        try:
            filled.encode()
        except UnicodeEncodeError:
            raise WrongValueError("expected UTF-8 text") from None
    if isinstance(filled, str) and (is_text or filled != value):
        filled = from_text(filled, key.type)
    try:
        converted = msgspec.convert(filled, key.type, strict=True)
    except (msgspec.ValidationError, RecursionError):
        kind = extras(key.type).get("servers")
        if kind is not None and (why := wrong_server(filled, kind)):
            raise WrongValueError(why) from None
        got = "something else (not shown, it may be a secret)" if key.secret else shown(filled)
        raise WrongValueError(f"expected {expected(key.type)}, got {got}") from None
    return absolute(converted, places) if key.is_path else converted


def substituted(value: Any, environ: Mapping[str, str]) -> Any:
    """`${NAME}` becomes the variable's value in every text, `$${` becomes `${`."""
    if isinstance(value, str):
        return _DOLLAR.sub(lambda found: _variable(found, environ), value) if "${" in value else value
    if isinstance(value, list):
        return [substituted(item, environ) for item in value]
    if isinstance(value, dict):
        return {name: substituted(item, environ) for name, item in value.items()}
    return value


def _variable(found: re.Match[str], environ: Mapping[str, str]) -> str:
    if found[0] == "$${":
        return "${"
    name = found[1]
    if name is None:
        raise WrongValueError("`${` needs the name of a variable and `}`; write `$${` for the text itself")
    if name not in environ:
        raise WrongValueError(f"the variable {name} is not set; write `$${{` for the text itself")
    return environ[name]


def absolute(value: Any, places: Places) -> Any:
    """A path, or each path of a list. What is not set stays so."""
    if isinstance(value, tuple):
        return tuple(path_text(text, places) for text in value)
    return value if value is None else path_text(value, places)


def path_text(text: str, places: Places) -> str:
    """An absolute path: `~/`, `{config}`, `{state}` and `{runtime}` at its start are filled in. Empty stays empty."""
    for start, directory in (
        ("~/", places.home), ("{config}/", places.config), ("{state}/", places.state), ("{runtime}/", places.runtime),
    ):  # fmt: skip
        if text.startswith(start):
            return str(directory / text.removeprefix(start))
    if text and not text.startswith("/"):
        raise WrongValueError(f"expected a path that starts with / or ~/, got {shown(text)}")
    if "\0" in text:
        raise WrongValueError("expected a path without NUL")
    return text


def from_text(text: str, of: Any) -> Any:
    """What a text means for a key of this type; the text itself if it means nothing there."""
    base, optional = _base(of)
    if optional and not text:
        return None
    if base is bool:
        return _BOOLEANS.get(text.strip().lower(), text)
    if base is int:
        return int(text) if _INTEGER.fullmatch(text.strip()) else text
    if base is float:
        return float(text) if _NUMBER.fullmatch(text.strip()) else text
    if base is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    if base is dict:
        try:
            return msgspec.json.decode(text) if text else {}
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def _base(of: Any) -> tuple[Any, bool]:
    """The type below annotations, and whether it may be null."""
    if get_origin(of) is Annotated:
        return _base(get_args(of)[0])
    if get_origin(of) in (Union, UnionType):
        (one,) = (each for each in get_args(of) if each is not NoneType)
        return _base(one)[0], True
    return get_origin(of) or of, False


def expected(of: Any) -> str:
    """What a type takes, in words."""
    if get_origin(of) in (Union, UnionType):
        return " or ".join("null" if each is NoneType else expected(each) for each in get_args(of))
    extra = extras(of)
    if "path" in extra:
        return "a list of absolute paths" if _base(of)[0] is tuple else "an absolute path"
    if "form" in extra:
        return str(extra["form"])
    plain = get_args(of)[0] if get_origin(of) is Annotated else of
    base = get_origin(plain) or plain
    if base is Literal:
        return f"one of {', '.join(get_args(plain))}"
    if base is tuple and get_origin(get_args(plain)[0]) is Literal:
        return f"a list of {', '.join(get_args(get_args(plain)[0]))}"
    if base in _WORDS:
        return _WORDS[base] + _bounds(of)
    return expected(plain)


_WORDS = {
    bool: "true or false", int: "an integer", float: "a number", str: "a text", tuple: "a list of texts",
    dict: "a map of texts",
}  # fmt: skip


def _bounds(of: Any) -> str:
    said = {name: value for meta in metas(of) for name in _LIMITS if (value := getattr(meta, name)) is not None}
    words = []
    if "ge" in said:
        words.append(f"from {said['ge']} to {said['le']}" if "le" in said else f"of at least {said['ge']}")
    elif "gt" in said:
        words.append(f"above {said['gt']}, at most {said['le']}")
    if said.get("min_length"):
        words.append("that is not empty")
    return "".join(f" {word}" for word in words)


_LIMITS = ("ge", "gt", "le", "min_length")


def shown(value: Any) -> str:
    """A value for an error message, cut if it is long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
