"""A question as a card, written from facts. What the agent says of its call stands apart, as its own words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from interpose.composition.service.question_views import ShownQuestion, diff_of, own_words
from interpose.core.formats.counted import plural
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import badge, block, clock, code, cut, diff, facts, session_path, span
from interpose.people.approvals.questions import Question, Widening

MOST_EFFECTS = 12
_SHORT_EFFECTS = 4
_SHORT_COMMAND = 600


def short_card(question: Question, *actions: Content) -> Html:
    """What a list shows: enough to know which question it is, and the exact call if that is short."""
    return tag(
        "article",
        _head(question),
        _effects(question, _SHORT_EFFECTS),
        _call(question, short=True),
        _reasons(question),
        tag("p", cut(_whose(question), 120), class_="facts quiet"),
        *actions,
        id=f"q-{question.id}",
        class_="card",
        aria_label=f"Question {question.id}",
    )


def full_card(question: ShownQuestion, visit: Visit) -> Html:
    """Everything that a person needs to answer."""
    return tag(
        "article",
        tag(
            "div",
            _head(question),
            _state(question),
            _onlookers(question, visit.session.name),
            id="state",
            data_live="questions",
        ),
        _section("What would happen", _effects(question, MOST_EFFECTS)),
        _section("The exact call", _call(question, short=False)),
        _section("Why it is asked", _reasons(question), _again(question)),
        _section("Safer", tag("pre", question.instead, class_="code")) if question.instead else None,
        _section("What changes", diff(changed)) if (changed := diff_of(question)) else None,
        _own_words(question),
        _section("Whose call it is", facts(_facts(question, visit))),
        class_="card full",
        aria_label=f"Question {question.id}",
    )


def _section(title: str, *content: Content) -> Html:
    return tag("section", tag("h2", title), *content)


def _head(question: Question) -> Html:
    what = cut(question.tool or question.point.value, 80)
    return tag(
        "p", badge(question.state), tag("b", what), " ", tag("code", question.id, class_="quiet"), " ",
        countdown(question), class_="lead",
    )  # fmt: skip


def countdown(question: Question) -> Html | None:
    """How long it can still be answered."""
    if question.state != "waiting":
        return None
    left = (question.expires - datetime.now(UTC)).total_seconds()
    return tag(
        "span", f"{span(left)} left", class_="countdown", data_until=int(question.expires.timestamp()),
        role="timer", aria_label="time left to answer",
    )  # fmt: skip


def _effects(question: Question, most: int) -> Html:
    if not question.effects:
        return tag("p", "What it would do is not known.", class_="quiet")
    lines = [
        tag("li", effect.text, class_="" if effect.certainty == "proven" else "perhaps")
        for effect in question.effects[:most]
    ]
    if (left := len(question.effects) - most) > 0:
        lines.append(tag("li", f"and {left} more", class_="quiet"))
    return tag("ul", lines, class_="effects")


def _call(question: Question, *, short: bool) -> list[Content]:
    arguments, parts = question.arguments, [found.part for found in question.findings if found.part]
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str) and isinstance(arguments, dict):
        if short and len(command) > _SHORT_COMMAND:
            return [tag("p", "The command is long: open the question to see all of it.", class_="problem")]
        others = {name: value for name, value in arguments.items() if name != "command"}
        return [code(command, parts), block(others) if others and not short else None]
    if short:
        return [tag("pre", cut(str(arguments), 200), class_="code")]
    told = tag("p", "This is not all: the rest was too long to be kept.", class_="problem")
    return [block(arguments), told if isinstance(arguments, str) else None]


def _reasons(question: Question) -> Html:
    lines = [
        tag("li", badge("ask"), tag("b", found.rule) if found.rule else None, " ", found.reason)
        for found in question.findings
        if found.said == "ask"
    ]
    return tag("ul", lines or tag("li", question.message), class_="reasons")


def _again(question: ShownQuestion) -> list[Content]:
    again = question.asks_again
    if again is None:
        return []
    differs = [
        tag("li", one.what, ": ", tag("del", one.was or "-"), " ", tag("ins", one.now or "-"))
        for one in again.differs
        if one.what != "kind"
    ]
    return [tag("p", tag("b", "Asked again: "), again.text), tag("ul", differs) if differs else None]


def _own_words(question: Question) -> Html | None:
    words = own_words(question)
    if not words:
        return None
    said = tag("blockquote", words)
    return _section(
        "What the agent says", said, tag("p", "These are its own words. It may say anything.", class_="quiet")
    )


def _onlookers(question: ShownQuestion, you: str) -> Html | None:
    others = [name for name in question.looked_at_by if name != you]
    return tag("p", "Also looking: ", ", ".join(others), class_="onlookers") if others else None


def _state(question: ShownQuestion) -> list[Content]:
    lines: list[Content] = [
        tag("p", f"{vote.by} agreed ({vote.role}), ", clock(vote.at)) for vote in question.votes
    ]  # fmt: skip
    lines += [
        tag("p", "Needs ", plural(left.count, f"more {left.role}", f"more of the role {left.role}"))
        for left in question.missing
    ]
    lines += [tag("p", f"Goes to {each.to} at ", clock(each.at)) for each in question.escalates]
    if (put_off := question.deferred) is not None:
        lines.append(
            tag("p", f"Put off by {put_off.by}, ", clock(put_off.at), f": {put_off.comment}" * bool(put_off.comment))
        )
    if (answer := question.answer) is not None:
        word = "Approved" if answer.approved else "Denied"
        scope = "" if answer.scope is None else f", {answer.scope.text()}"
        edited = ", edited" if answer.arguments is not None else ""
        lines.append(tag("p", f"{word} by {answer.by}{scope}{edited}, ", clock(answer.at), class_="answered"))
        lines.append(tag("p", "Word to the agent: ", answer.word) if answer.word else None)
    elif question.state == "expired":
        lines.append(tag("p", "Nobody answered in time, so the call was refused.", class_="answered"))
    return lines


def _whose(question: Question) -> str:
    directory = question.cwd.rstrip("/").rpartition("/")[2]
    return " · ".join(word for word in (question.agent, question.principal, directory, question.source) if word)


def _facts(question: Question, visit: Visit) -> Iterator[tuple[str, Content]]:
    yield "agent", question.agent
    yield "role", question.role
    yield "session", visit.link(session_path(question.session), question.session) if question.session else ""
    yield "principal", question.principal
    yield "claims to be", question.claimed
    yield "directory", question.cwd
    yield "source", question.source
    yield "asked as", question.said if question.said != question.tool else ""
    yield "asked", clock(question.asked)
    yield "until", clock(question.expires)


def widening_text(widening: Widening) -> list[Content]:
    """A widening with what it would have let through."""
    past = widening.would_have_let_through
    if past is None:
        return [widening.text]
    told = (
        f" (of the last {past.of} that were asked about: {past.count})"
        if past.of
        else " (nothing like it was asked before)"
    )
    examples = tag("ul", [tag("li", tag("code", one)) for one in past.examples]) if past.examples else None
    return [widening.text, tag("small", told), examples]
