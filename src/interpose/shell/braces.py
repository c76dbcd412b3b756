"""Brace expansion, bounded: what would become too many words becomes one word with an unknown part."""

from __future__ import annotations

import re
from itertools import islice

from interpose.shell.invocation import UNKNOWN
from interpose.shell.syntax.tree import LiteralText, Part

MAX_WORDS = 128
_MAX_DEPTH = 12
_FIRST_MARK = 0xF0000
_MAX_MARKS = 0xFFF0
_RANGE = re.compile(
    r"(?:([+-]?[0-9]{1,18})\.\.([+-]?[0-9]{1,18})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.([+-]?[0-9]{1,18}))?\Z", re.ASCII
)


def brace_expand(parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """The words that one word becomes. Quoted text and expansions are carried along as single marks."""
    carried: list[Part] = []
    pieces: list[str] = []
    for part in parts:
        if isinstance(part, LiteralText) and not part.quoted and part.text.isascii():
            pieces.append(part.text)
        elif len(carried) < _MAX_MARKS:
            pieces.append(chr(_FIRST_MARK + len(carried)))
            carried.append(part)
        else:
            return [parts]
    template = "".join(pieces)
    tree = _tree(template)
    if tree is None:
        return [parts]
    return [tuple(_restore(text, carried)) for text in _texts(tree, 0)]


def _restore(text: str, carried: list[Part]) -> list[Part]:
    parts: list[Part] = []
    start = 0
    for position, character in enumerate(text):
        if ord(character) >= _FIRST_MARK:
            if position > start:
                parts.append(LiteralText(text[start:position], False))
            parts.append(carried[ord(character) - _FIRST_MARK])
            start = position + 1
    if start < len(text):
        parts.append(LiteralText(text[start:], False))
    return parts


Tree = list["str | list[Tree]"]
"""A word as a list of literal texts and groups; a group is a list of alternatives."""


def _tree(template: str) -> Tree | None:
    """The groups of a word, or None when it has none. One pass; unclosed braces are ordinary."""
    stack: list[list[Tree]] = [[[]]]
    groups = False
    for piece in re.split(r"([{},])", template):
        if piece == "{":
            stack.append([[]])
        elif piece == "," and len(stack) > 1:
            stack[-1].append([])
        elif piece == "}" and len(stack) > 1:
            alternatives = stack.pop()
            target = stack[-1][-1]
            series = _series(alternatives)
            if series is not None:
                target.append(series)
                groups = True
            elif len(alternatives) > 1:
                target.append(alternatives)
                groups = True
            else:
                target.extend(["{", *alternatives[0], "}"])
        elif piece:
            stack[-1][-1].append(piece)
    if not groups:
        return None
    while len(stack) > 1:
        alternatives = stack.pop()
        target = stack[-1][-1]
        target.append("{")
        for position, alternative in enumerate(alternatives):
            target.extend([",", *alternative] if position else alternative)
    return stack[0][0]


def _series(alternatives: list[Tree]) -> list[Tree] | None:
    if len(alternatives) != 1 or len(alternatives[0]) != 1 or not isinstance(alternatives[0][0], str):
        return None
    found = _RANGE.match(alternatives[0][0])
    if found is None:
        return None
    low, high, first, last, step = found.groups()
    begin, end = (int(low), int(high)) if low is not None else (ord(first), ord(last))
    stride = abs(int(step or 1)) or 1
    if abs(end - begin) // stride >= MAX_WORDS:
        return [[UNKNOWN]]
    numbers = range(begin, end + 1, stride) if begin <= end else range(begin, end - 1, -stride)
    if low is None:
        return [[chr(number)] for number in numbers]
    padded = any(re.match(r"[+-]?0[0-9]", edge) for edge in (low, high))
    width = max(len(low), len(high)) if padded else 0
    return [[f"{number:0{width}d}" if width else str(number)] for number in numbers]


def _texts(tree: Tree, depth: int) -> list[str]:
    results = [""]
    for piece in tree:
        if isinstance(piece, str):
            results = [result + piece for result in results]
            continue
        if depth > _MAX_DEPTH:
            choices = [UNKNOWN]
        else:
            choices = list(islice((text for branch in piece for text in _texts(branch, depth + 1)), MAX_WORDS + 1))
        if len(results) * len(choices) > MAX_WORDS:
            choices = [UNKNOWN]
        results = [result + choice for result in results for choice in choices]
    return results
