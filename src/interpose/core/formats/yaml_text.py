"""YAML text to plain data, with the line of everything in it.

Stricter than YAML: no duplicate keys, no aliases, no tags, one document. And plainer: only `true` and `false` are
booleans (`on`, `no` and `off` are words here), only decimal numbers are numbers, keys are always text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from msgspec import Struct

MAX_BYTES = 1_000_000
MAX_DEPTH = 40

Path = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
_MAX_DIGITS = 18


class YamlError(ValueError):
    """The text is no YAML that we take."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


class Document(Struct, frozen=True):
    """Plain data, and on which line each part of it begins."""

    data: Any
    lines: dict[Path, int]

    def line_at(self, path: Path) -> int:
        """The line of a part, or of the innermost part around it that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_yaml(text: str) -> Document:
    """The data of one YAML document. Raises YamlError and nothing else."""
    if len(text) > MAX_BYTES:
        raise YamlError(1, f"the file is larger than {MAX_BYTES} characters")
    _refuse_unusual(text)
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, f"not YAML: {error.problem or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(1, f"not YAML: {error}") from None
    if len(nodes) != 1:
        raise YamlError(1, "expected one YAML document" + (", the file is empty" if not nodes else ""))
    reader = _Reader()
    return Document(reader.value(nodes[0], ()), reader.lines)


def _refuse_unusual(text: str) -> None:
    """Refuse depth, aliases and tags. INVARIANT: composing recurses, so depth is bounded before a tree is built."""
    depth = 0
    event: Any
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise YamlError(line, f"nested deeper than {MAX_DEPTH} levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if getattr(event, "tag", None) not in (None, "!"):
                raise YamlError(line, f"tags are not supported: {event.tag}")
            if isinstance(event, yaml.AliasEvent):
                raise YamlError(line, "aliases are not supported: write the value out")
    except yaml.YAMLError:
        return  # read_yaml meets the same error and says where it is


class _Reader:
    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return _scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, item in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise YamlError(line, "expected a text as key")
            key = str(key_node.value)
            if key in found:
                raise YamlError(line, f"the key {key!r} is there twice")
            self.lines[(*path, key)] = line
            found[key] = self.value(item, (*path, key))
        return found


def _scalar(node: Any) -> Any:
    text = str(node.value)
    if node.style:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
