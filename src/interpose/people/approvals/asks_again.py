"""Why a person is asked again about what looks like something that was granted: what differs, in facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec import json as fast

from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import Question

_SHOWN = 300


class Difference(Struct, frozen=True):
    """One thing that is not as it was. `what` is an argument, an effect, or where and for whom the yes counted."""

    what: str
    was: str
    now: str


class AsksAgain(Struct, frozen=True, kw_only=True):
    """The answer or grant that this question looks like, and why it is none for it."""

    question: str
    by: str
    at: datetime
    text: str
    differs: tuple[Difference, ...] = ()


def asks_again(question: Question, earlier: Sequence[Question], kinds: Sequence[tuple[Given, str]]) -> AsksAgain | None:
    """Why it is asked again. `earlier` are questions that were answered, `kinds` are grants for kinds of calls that
    whoever asks has, each with what of this call it has not."""
    for given, why in kinds:
        if given.kind is not None and given.id != question.id:
            text = f"{given.by} granted: {given.kind.text}. This is not of that kind: {why}"
            if not why:  # it was granted after this was asked
                text = f"{given.by} granted: {given.kind.text}. This is of that kind: made again, it is not asked about"
            return AsksAgain(question=given.id, by=given.by, at=given.given, text=text, differs=(
                Difference("kind", given.kind.text, why),
            ))  # fmt: skip
    alike = [(tuple(_differences(question, one)), one) for one in earlier if _is_like(question, one)]
    if not alike:
        return None
    differs, nearest = min(alike, key=lambda pair: (len(pair[0]), -pair[1].asked.timestamp()))
    assert nearest.answer is not None  # noqa: S101 - those without one are not alike
    answer = nearest.answer
    scope = "" if answer.scope is None else f", {answer.scope.text()}"
    said = f"{answer.by} approved a call like this one{scope}"
    if answer.arguments is not None:
        text = f"{said}, but in another form"
    elif differs:
        text = f"{said}. What differs: {', '.join(dict.fromkeys(one.what for one in differs))}"
    else:
        text = f"{answer.by} approved this very call{scope}: that was used up, is over, or was revoked"
    return AsksAgain(question=nearest.id, by=answer.by, at=answer.at, text=text, differs=differs)


def _is_like(question: Question, other: Question) -> bool:
    """Whether somebody who was asked the one would ask themselves why the other comes."""
    if other.id == question.id or other.answer is None or not other.answer.approved or other.asked > question.asked:
        return False
    if (other.tool, other.point, other.principal) != (question.tool, question.point, question.principal):
        return False
    one, two = question.arguments, other.arguments
    if not isinstance(one, dict) or not isinstance(two, dict):
        return False
    if isinstance(one.get("command"), str) and isinstance(two.get("command"), str):
        return str(one["command"]).split()[:2] == str(two["command"]).split()[:2]
    return bool(one.keys() & two.keys())


def _differences(question: Question, other: Question) -> Iterator[Difference]:
    now, was = question.arguments, other.arguments
    for name in {**was, **now}:
        if name not in was or name not in now or was[name] != now[name]:
            yield Difference(f"argument {name}", _shown(was, name), _shown(now, name))
    known = {effect.text for effect in other.effects}
    yield from (Difference("effect", "", effect.text) for effect in question.effects if effect.text not in known)
    for what, before, after in (
        ("session", other.session, question.session), ("directory", other.cwd, question.cwd),
        ("agent", other.agent, question.agent), ("name of the tool", other.said, question.said),
        ("claim to be", other.claimed, question.claimed),
    ):  # fmt: skip
        if before != after:
            yield Difference(what, before, after)


def _shown(arguments: dict[str, object], name: str) -> str:
    if name not in arguments:
        return ""
    value = arguments[name]
    text = value if isinstance(value, str) else fast.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
