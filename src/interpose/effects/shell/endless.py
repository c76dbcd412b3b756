"""Loops that never end and start something in the background each time round: a fork bomb without a function."""

from __future__ import annotations

from interpose.effects.invocation import Lowering
from interpose.effects.late_patterns import late
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


# --- programs in other languages: judged by their text ----------------------------------------------------------------

# Which loops have no end is the same in every language, and what a program does in one without ever pausing is a small
# set of words. Long programs that wait for something have one of the words that pause.
_LONGEST = 4_000
_LOOP = late(
    r"\bwhile *\(? *(?:1|true|True|!0|:)\b|\bfor *\( *;[^;\n]{0,40}; *\)|\bloop *(?:do\b|\{)|\biter\( *int *, *1 *\)"
    r"|\bitertools\.(?:count|cycle|repeat)\b|\bsetInterval *\(|\bfork +while\b|\bdo +\{.{0,80}\} *while *\(? *1\b"
    r"|\buntil +false\b|\brepeat\b.{0,80}\buntil +false\b"
)
_SPAWN = late(
    r"\bfork\b|\bPopen\b|\bspawn\w*|\bpcntl_fork\b|\bchild_process\b|\bThread\b|\bProcess\b"
    r"|\b(?:system|exec|execute|popen|shell_exec)\b.{0,80}&"
)
_GROW = late(r"\.append\b|\.push\b|\barray_push\b|\+=|\*=|\.concat\b|<<|\bx *1e\d+|\bstr_repeat\b")
_WRITE = late(r"\.write\w*\b|\bfwrite\b|\bfputs\b|\bfile_put_contents\b|\bappendFile\w*|\bwriteFile\w*|\bsyswrite\b")
_PRINT = late(r"\b(?:print|puts|say|echo|printf|console\.log|io\.write)\b")
_PAUSE = late(
    r"\b(?:sleep|usleep|wait|waitpid|break|last|join|exit|return|raise|throw|die|await|yield|accept|recv\w*|read\w*"
    r"|getline|input|select|poll|next|getch|get|receive|timeout|gets|STDIN|stdin|quit)\b"
)
_HUGE = late(r"\* *10 *\*\* *(?:1\d|[2-9]\d)|\bx *1e(?:1\d|[2-9]\d)|\* *1<< *[3-9]\d|\b(?:allocUnsafe|alloc)\(1e1\d")

_WHAT = {
    "fork-bomb": "A loop without an end starts processes",
    "memory-fill": "A loop without an end takes memory until none is left",
    "disk-fill": "A loop without an end writes until the disk is full",
}


def state_endless(text: str, low: Lowering, via: str) -> bool:
    """State what a program takes without an end. Whether it prints without one."""
    if len(text) > _LONGEST:
        return False
    rule = "memory-fill" if _HUGE.search(text) else ""
    loops = _LOOP.search(text) is not None and _PAUSE.search(text) is None
    if loops and not rule:
        rule = (
            "fork-bomb" if _SPAWN.search(text)
            else "disk-fill" if _WRITE.search(text)
            else "memory-fill" if _GROW.search(text) and not _PRINT.search(text)
            else ""
        )  # fmt: skip
    if rule:
        low.emit("system", via, certainty="possible", rule=rule, wide=rule == "fork-bomb", reason=_WHAT[rule])
    return loops and _PRINT.search(text) is not None
