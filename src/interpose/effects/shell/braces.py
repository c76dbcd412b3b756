"""Brace expansion, bounded: what would become too many words becomes one word with an unknown part."""

from __future__ import annotations

import re

from interpose.effects.invocation import UNKNOWN
from interpose.effects.late_patterns import late
from interpose.effects.syntax.budget import CHARACTERS, Budget, ExhaustedError
from interpose.effects.syntax.tree import LiteralText, Part

MAX_WORDS = 128
_MAX_DEPTH = 12
_COPIED = 1024
"""Characters that are copied in the time of an eighth of a step."""
_FIRST_MARK = 0xF0000
_MAX_MARKS = 0xFFF0
_RANGE = late(
    r"(?:([+-]?[0-9]{1,18})\.\.([+-]?[0-9]{1,18})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.([+-]?[0-9]{1,18}))?\Z", re.ASCII
)


def brace_expand(parts: tuple[Part, ...], budget: Budget) -> list[tuple[Part, ...]]:
    """The words that one word becomes. Quoted text and expansions are carried along as single marks.

    ExhaustedError if they are more than are looked at: a word among them may be the one that matters.
    """
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
    budget.spend(3 * template.count("{") + template.count(","))
    tree = _tree(template)
    if tree is None:
        return [parts]
    words: list[tuple[Part, ...]] = []
    for text in _texts(tree, 0, budget):
        budget.spend(1 + len(text) // CHARACTERS)
        words.append(tuple(_restore(text, carried)))
    return words


def _restore(text: str, carried: list[Part]) -> list[Part]:
    if not carried:
        return [LiteralText(text, False)] if text else []
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
    padded = any(edge.lstrip("+-")[0] == "0" and edge.lstrip("+-") != "0" for edge in (low, high))
    width = max(len(low), len(high)) if padded else 0
    return [[f"{number:0{width}d}" if width else str(number)] for number in numbers]


def _texts(tree: Tree, depth: int, budget: Budget) -> list[str]:
    """The texts of a tree. A long range may be unknown; what is written out is looked at, or all of it is refused."""
    results = [""]
    length = 0
    for piece in tree:
        # INVARIANT: each text is copied for each piece that is added to it, so that is what a piece costs.
        budget.spend(1 + len(results) * (1 + length // _COPIED) // 8)
        if isinstance(piece, str):
            results = [result + piece for result in results]
            length += len(piece)
            continue
        if depth > _MAX_DEPTH:
            raise ExhaustedError
        choices = [text for branch in piece for text in _texts(branch, depth + 1, budget)]
        if len(results) * len(choices) > MAX_WORDS and _is_range(piece):
            choices = [UNKNOWN]
        budget.spend(len(results) * len(choices) * (1 + length // _COPIED) // 8)
        results = [result + choice for result in results for choice in choices]
        length += max(map(len, choices), default=0)
    return results


def _is_range(alternatives: list[Tree]) -> bool:
    """Whether this came of `{1..9}`. INVARIANT: no text of a range is empty or holds a slash."""
    return all(len(tree) == 1 and isinstance(tree[0], str) and tree[0].lstrip("-").isalnum() for tree in alternatives)
