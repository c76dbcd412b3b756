"""Loops that never end and start something in the background each time round: a fork bomb without a function."""

from __future__ import annotations

from interpose.effects.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    BackgroundJob,
    CaseCommand,
    CommandGroup,
    CommandSubstitution,
    Coprocess,
    For,
    If,
    LiteralText,
    Node,
    Pipeline,
    RawWord,
    Sequence,
    Simple,
    Test,
)

_CONSTANT = frozenset({"true", "false", ":", "/bin/true", "/bin/false", "/usr/bin/true", "/usr/bin/false"})
_PAUSES = frozenset({"wait", "sleep", "read", "break", "return", "exit", "inotifywait", "flock"})


def is_constant(condition: Sequence) -> bool:
    """Whether a loop's condition never changes, as in `while true` and `until false`."""
    if len(condition.items) != 1:
        return False
    match condition.items[0]:
        case Simple(words=words) if words:
            texts = [_literal(word) for word in words]
            return texts[0] in _CONSTANT or (texts[0] == "[" and "?" not in texts and len(texts) == 3)
        case ArithmeticCommand(expression=expression):
            return _number(expression)
        case Test(tokens=tokens):
            return all(isinstance(token, str) or token.plain is not None for token in tokens) and len(tokens) == 1
        case _:
            return False


def is_endless(expressions: str) -> bool:
    """Whether the head of `for ((a; b; c))` has no end: nothing in the middle, or a number."""
    parts = expressions.split(";")
    return len(parts) == 3 and (not parts[1].strip() or parts[1].strip().isdecimal())


def spawns(body: Sequence) -> bool:
    """Whether a body starts something in the background and goes on without waiting for it."""
    waiting = False
    for item in body.items:
        match item:
            case BackgroundJob():
                waiting = True
            case Simple(words=words) if words and words[0].plain in _PAUSES:
                waiting = False
            case CommandGroup(body=inner, subshell=True) if _has_background(inner):
                # What a subshell leaves behind is nobody's child here: `wait` does not see it.
                return True
            case CommandGroup(body=inner):
                waiting = waiting or spawns(inner)
            case _:
                waiting = waiting or _has_background(item)
    return waiting


_QUICK = frozenset({"echo", "printf", "cat", "head", "dd", "date", "cp", "yes", ":", "true", "base64"})


def fills(body: Sequence) -> bool:
    """Whether a loop without an end only writes, without a pause, and so fills the disk."""
    appends = False
    for item in body.items:
        if isinstance(item, Simple) and item.words and item.words[0].plain in ("mkdir", "cd"):
            appends = appends or item.words[0].plain == "mkdir"
            continue
        stages = item.stages if isinstance(item, Pipeline) else (item,)
        for stage in stages:
            if not isinstance(stage, Simple) or not stage.words or stage.words[0].plain not in _QUICK:
                return False
            appends = appends or any(redirect.operator == ">>" for redirect in stage.redirects)
    return appends


_MANY = 1000


def is_many(words: tuple[RawWord, ...]) -> bool:
    """Whether a loop goes round thousands of times: `{1..100000}`, `$(seq 100000)`."""
    if len(words) != 1 or len(words[0].parts) != 1:
        return False
    match words[0].parts[0]:
        case LiteralText(text=text, quoted=False):
            return text.startswith("{") and _is_big(text.rstrip("}").rpartition("..")[2])
        case CommandSubstitution(body=Sequence(items=(Simple(words=(first, *_, last)),))) if first.plain == "seq":
            return _is_big(last.plain or "")
        case _:
            return False


def counts_far(expressions: str) -> bool:
    """Whether `for ((i=0; i<100000; i++))` goes round thousands of times."""
    middle = expressions.split(";")[1:2]
    return any(_is_big(text.rpartition("<")[2].strip("= ")) for text in middle)


def _is_big(number: str) -> bool:
    return number.isdecimal() and int(number[:9]) >= _MANY


def calls_itself(name: str, body: Node) -> bool:
    """Whether a function calls itself whatever happens."""
    items = body.body.items if isinstance(body, CommandGroup) else ()
    return any(isinstance(item, Simple) and item.words and item.words[0].plain == name for item in items)


def _has_background(node: Node) -> bool:
    stack: list[Node] = [node]
    while stack:
        match stack.pop():
            case BackgroundJob() | Coprocess():
                return True
            case Sequence(items=items) | Pipeline(stages=items):
                stack.extend(items)
            case AndOr(first=first, rest=rest):
                stack.extend((first, *(command for _, command in rest)))
            case CommandGroup(body=body) | For(body=body):
                stack.append(body)
            case If(branches=branches, otherwise=otherwise):
                stack.extend(part for branch in branches for part in branch)
                if otherwise is not None:
                    stack.append(otherwise)
            case CaseCommand(clauses=clauses):
                stack.extend(body for _, body, _ in clauses)
            case _:
                pass
    return False


def _number(expression: RawWord) -> bool:
    return _literal(expression).strip().isdecimal()


def _literal(word: RawWord) -> str:
    """The text of a word without expansions; `?` for one with them."""
    if word.plain is not None:
        return word.plain
    return "".join(part.text if isinstance(part, LiteralText) else "?" for part in word.parts)
