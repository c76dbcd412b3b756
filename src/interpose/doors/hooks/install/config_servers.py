"""Servers put into our own interpose.yaml: everything else in it stays as it is, comments and all.

INVARIANT: the new text is read again before it is written, and says exactly what the old one said and the new servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from interpose.core.errors import SetupError
from interpose.core.formats.yaml_text import YamlError, read_yaml

_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_/@.+-]*", re.ASCII)
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def with_servers(text: str, servers: Mapping[str, Mapping[str, Any]], file: str) -> str:
    """The text with these servers in `gateway.servers`. Raises SetupError."""
    if not servers:
        return text
    before = _read(text, file)
    gateway = before.get("gateway")
    if gateway is not None and not isinstance(gateway, dict):
        raise SetupError(f"{file}: gateway is no map")
    after = _inserted(text, servers)
    wanted = before | {"gateway": {**(gateway or {}), "servers": {**((gateway or {}).get("servers") or {}), **servers}}}
    try:
        if _read(after, file) == wanted:
            return after
    except SetupError:
        pass
    block = "\n".join(_block(servers, "  "))
    raise SetupError(f"{file} can't be changed without changing more of it. Write this into it yourself:\n{block}")


def _read(text: str, file: str) -> dict[str, Any]:
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}
    try:
        data = read_yaml(text).data
    except YamlError as error:
        raise SetupError(f"{file}:{error.line}: {error}") from None
    if not isinstance(data, dict):
        raise SetupError(f"{file}: expected a map")
    return data


def _inserted(text: str, servers: Mapping[str, Mapping[str, Any]]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    top = _line_of(text, ("gateway",))
    if top is None:
        blank = [""] if lines and lines[-1].strip() else []
        return newline.join((*lines, *blank, "gateway:", "  servers:", *_block(servers, "    "), ""))
    inner = _line_of(text, ("gateway", "servers"))
    if inner is None:
        lines[top] = _without_empty(lines[top])
        step = _step(lines, top)
        lines[top + 1 : top + 1] = [f"{step}servers:", *_block(servers, f"{step}  ")]
    else:
        lines[inner] = _without_empty(lines[inner])
        indent = _indent(lines[inner])
        end = _end(lines, inner)
        step = next((_indent(line) for line in lines[inner + 1 : end] if _says(line)), f"{indent}  ")
        lines[end:end] = _block(servers, step)
    return newline.join((*lines, ""))


def _line_of(text: str, path: tuple[str, ...]) -> int | None:
    try:
        line = read_yaml(text).lines.get(path)
    except YamlError:
        return None
    return None if line is None else line - 1


def _without_empty(line: str) -> str:
    """`servers: {}` and `servers: null` become `servers:`; what else stands there shows when it is read again."""
    return re.sub(r":\s*(?:\{\s*\}|null|~)(?=\s*(?:#|$))", ":", line, count=1)


def _step(lines: list[str], at: int) -> str:
    found = next((line for line in lines[at + 1 :] if _says(line)), "")
    return _indent(found) if len(_indent(found)) > len(_indent(lines[at])) else f"{_indent(lines[at])}  "


def _end(lines: list[str], at: int) -> int:
    """Behind the last line of a block that says something."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        if _says(lines[number]):
            if len(_indent(lines[number])) <= len(_indent(lines[at])):
                break
            end = number + 1
    return end


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _block(servers: Mapping[str, Mapping[str, Any]], indent: str) -> list[str]:
    return [
        line for name, server in servers.items() for line in (f"{indent}{_scalar(name)}:", *_fields(server, indent))
    ]


def _fields(server: Mapping[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    for key, value in server.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}  {key}:")
            lines += [f"{indent}    {_scalar(name)}: {_scalar(each)}" for name, each in value.items()]
        elif isinstance(value, list):
            lines.append(f"{indent}  {key}: [{', '.join(map(_scalar, value))}]")
        else:
            lines.append(f"{indent}  {key}: {_scalar(value)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
