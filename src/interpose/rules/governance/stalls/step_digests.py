"""What stalls are found by: digests of a call, of what it would do, and of what came of it. No value is kept.

    exact    the call as it is
    shape    the call without numbers, times, ids and temporary names; the names of files stay
    target   what it would do to what, however it is worded
    error    what went wrong, without numbers
    result   what came of it, without times and without the numbers that the call itself has

Everything here is bounded: of a long text the beginning and the end are looked at, the middle is only hashed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, cast

from interpose.core.errors import name_of
from interpose.core.types import Effect, EffectKind, ToolCall, ToolOutcome
from interpose.reading.calls import DEFAULT_CWD, reading_of
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.sessions import SeenStep
from interpose.rules.governance.stalls.failures import failure_of
from interpose.rules.governance.stalls.volatile_text import NUMBER, unnumbered, untimed

MOST_TEXT = 20_000
"""Letters of a value that are looked at; of those beyond, only a hash counts."""
_MOST_PARTS = 5_000
_DEEPEST = 40
_MOST_NUMBERS = 200
_MOST_EFFECTS = 200
_MOST_BITS = 1024
_NAME = 200

# Words that agents write beside a command for people. Another one makes no other call.
_COMMENTS = frozenset({"description", "explanation", "reason", "rationale", "thought", "summary", "title", "goal"})
_FILE_TOOLS = frozenset({"read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "glob", "list"})
_FAMILIES: dict[EffectKind, str] = {
    "fs.read": "read", "secret.read": "read", "fs.write": "write", "fs.permission": "write", "fs.delete": "delete",
    "net.upload": "net", "net.download": "net", "net.listen": "listen", "process.kill": "kill",
    "code.remote": "code", "vcs.discard": "discard", "vcs.publish": "publish", "data.destroy": "destroy",
    "infra.destroy": "destroy", "package.install": "install", "package.publish": "publish", "world.change": "change",
    "persistence": "persist", "system": "system", "guard.tamper": "tamper",
}  # fmt: skip
"""What different wordings of one wish have in common. How it is started (`process.exec`, `privilege`) is no part."""
_LESS = frozenset({"read"})
"""What only accompanies others: it is the target if there is nothing else."""


def step_of(call: ToolCall, outcome: ToolOutcome, home: str, *, key: bytes = b"") -> SeenStep:
    """One finished call as a step. With a `key`, nobody without it can tell what was called."""
    tool = short(call.name)
    text = _text_of(_told(call))
    effects = reading_of(call, home).effects[:_MOST_EFFECTS]
    files = sorted({_path(call, effect.resource) for effect in effects if effect.kind.startswith("fs.")})
    shape = _digest(key, "shape", tool, unnumbered(text), *map(untimed, files))
    target = _target(key, call, effects) or shape
    error = result = ""
    if outcome.denied:
        pass
    elif (failure := failure_of(outcome)) is not None:
        where = target if tool in _FILE_TOOLS else shape if failure.vague else ""
        error = _digest(key, "error", tool, where, *failure.lines)
    else:
        said = untimed(_text_of(outcome.result))
        result = _digest(key, "result", _without(said, frozenset(NUMBER.findall(text)[:_MOST_NUMBERS])))
    return SeenStep(
        agent=short(call.context.agent_id), tool=tool, exact=_digest(key, "exact", tool, text), shape=shape,
        target=target, error=error, result=result, denied=outcome.denied, approved=bool(outcome.approver),
    )  # fmt: skip


def digest(*texts: str, key: bytes = b"") -> str:
    """The digest of some texts that somebody reports, such as the issues of a checker, without their numbers."""
    return _digest(key, "told", *(unnumbered(_cut(text)) for text in texts))


def _told(call: ToolCall) -> Any:
    """The arguments that make a call what it is."""
    if call.name != "exec":
        return call.arguments
    return {name: value for name, value in call.arguments.items() if str(name).lower() not in _COMMENTS}


def _target(key: bytes, call: ToolCall, effects: Iterable[Effect]) -> str:
    """Empty if nobody knows what the call would do."""
    found = {
        (family, _path(call, effect.resource) if effect.kind.startswith(("fs.", "secret.")) else effect.resource)
        for effect in effects
        if (family := _FAMILIES.get(effect.kind))
    }
    most = {each for each in found if each[0] not in _LESS} or found
    return _digest(key, "target", *(f"{family} {_folded(what)}" for family, what in sorted(most))) if most else ""


def _folded(resource: str) -> str:
    return untimed(resource) if resource.startswith("/") else unnumbered(resource)


def _path(call: ToolCall, path: str) -> str:
    return posixpath.normpath(posixpath.join(call.context.cwd or DEFAULT_CWD, path[:4096]))


def _without(text: str, numbers: frozenset[str]) -> str:
    """A text without those numbers: a result that only repeats the counter of its call is no other result."""
    if not numbers:
        return text
    return NUMBER.sub(lambda found: "#" if found[0] in numbers else found[0], text)


def _text_of(value: object) -> str:
    """A value as text: the same for the same data, in whatever order its keys stand."""
    parts: list[str] = []
    _spell(value, parts, _DEEPEST)
    return _cut("\n".join(parts))


def _spell(value: object, parts: list[str], depth: int) -> None:
    kind = type(value)
    if len(parts) >= _MOST_PARTS or depth <= 0:
        return
    if kind is str:
        parts.append(cast("str", value))
    elif issubclass(kind, dict):
        items = cast("dict[Any, Any]", value)
        for name in sorted(key for key in items if type(key) is str):
            parts.append(f"{name[:_NAME]}:")
            _spell(items[name], parts, depth - 1)
    elif issubclass(kind, list | tuple):
        for item in cast("list[Any]", value):
            _spell(item, parts, depth - 1)
    elif kind is int and cast("int", value).bit_length() > _MOST_BITS:
        parts.append("int")  # the text of a number that long takes its time
    elif kind in (int, float, bool) or value is None:
        parts.append(repr(value))
    elif kind is bytes:
        parts.append(blake2b(cast("bytes", value)[: MOST_TEXT * 10], digest_size=8).hexdigest())
    else:
        parts.append(name_of(value))  # a class of somebody's own is not asked what it holds


def _cut(text: str) -> str:
    """A text that is not longer than what is looked at. What is left out in the middle stands there as its hash."""
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    middle = blake2b(text[half:-half].encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    letters = middle.translate(_LETTERS)  # or the numbers in it would be taken out
    return f"{text[:half]}\n{letters}\n{text[-half:]}"


_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def _digest(key: bytes, use: str, *texts: str) -> str:
    made = blake2b(digest_size=8, key=key[:64], person=use.encode())
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        made.update(b"%d:" % len(data))
        made.update(data)
    return made.hexdigest()
