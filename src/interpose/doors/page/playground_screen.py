"""The playground: a rule on the left, a call on the right, and what the rule says to it, as you type.

It is a form. Without script it is sent and comes back with the answer; with it, the answer alone is fetched again
whenever somebody stops typing. Nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, MsgspecError, Struct, convert
from msgspec import json as fast

from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.doors.http.playground import (
    MAX_BODY,
    PlayedExample,
    PlayedRule,
    PlayedVerdict,
    Playground,
    PlaygroundAnswer,
    PlaygroundBody,
    SeenValue,
)
from interpose.doors.http_server.messages import Refusal
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, exact, is_plain, spelled, tag
from interpose.doors.page.ledger_reads import read_ledger
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import badge, block, cut
from interpose.doors.page.plots import STYLES
from interpose.doors.page.screens import Screen
from interpose.record.ledger import Record, named
from interpose.rules.policy.file_format import CallForm
from interpose.rules.policy.load import pack_names, pack_text
from interpose.rules.policy.rules import Level

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

PATH = "/rules/playground"
MAX_RULES_TEXT = 20_000

EXAMPLE = """\
version: 1
rules:
  - id: no-friday-deploys
    on: {tools: [exec]}
    when: command.exists(c, c.name == "deploy")
    action: ask
    message: Deploy now?
    examples:
      match: [deploy --env prod]
      no_match: [echo deploy]
"""
_LEVELS = {level.value: level for level in Level}
_HINT = 'A command, or arguments as JSON: {"path": "/etc/hosts"}'


class _Typed(Struct, frozen=True, kw_only=True):
    """What stands in the form."""

    rules: str = EXAMPLE
    tool: str = "exec"
    call: str = "deploy --env prod"
    cwd: str = ""
    agent: str = ""
    role: str = ""
    result: str = ""
    level: Level = Level.USER


def screens(service: Service) -> tuple[Screen, ...]:
    """The form, and the same with its answer."""
    playground = Playground(service)

    async def show(visit: Visit) -> Shown:
        typed = await _prefilled(visit)
        return await _screen(playground, visit, typed)

    async def played(visit: Visit) -> Shown:
        if len(visit.request.body) > 4 * MAX_BODY:
            raise Refusal(413, "too_large", "that is too long to be tried out")
        return await _screen(playground, visit, _typed(visit))

    return (
        Screen("GET", PATH, "auditor", show, "Try rules out"),
        Screen("POST", PATH, "auditor", played, "What rules say to a call"),
    )


async def _screen(playground: Playground, visit: Visit, typed: _Typed) -> Shown:
    try:
        answer = await playground.played(visit.session.name, _body(typed))
        result = tag("div", *_answer(answer), id="played", aria_live="polite")
    except Refusal as refusal:
        said = tag("p", refusal.message, class_="problem", role="alert", data_error=refusal.code)
        result = tag("div", said, id="played", aria_live="polite")
    return shown(
        "Playground",
        tag("p", "Nothing here is kept, recorded or sent anywhere. Rules that hold stay as they are.", class_="quiet"),
        _form(visit, typed), result,
        scripts=("playground.js",), styles=STYLES,
    )  # fmt: skip


async def _prefilled(visit: Visit) -> _Typed:
    """The example; or a pack, or a call that was recorded, where the address names one."""
    query, service = visit.request.query, visit.service
    pack, call = query.get("pack", ""), query.get("call", "")
    typed = _Typed()
    if pack in pack_names():
        text = pack_text(pack).text
        fits = len(text) <= MAX_RULES_TEXT
        typed = _Typed(
            rules=text if fits else f"# The pack is too long to be shown here.\nversion: 1\npacks: [{pack}]\n"
        )
    if call:
        found = await read_ledger(service, lambda: named(service.store, call, 1))
        if found:
            typed = _of_record(typed, found[0])
    return typed


def _of_record(typed: _Typed, record: Record) -> _Typed:
    arguments = record.arguments
    command = arguments.get("command") if isinstance(arguments, dict) and len(arguments) == 1 else None
    text = (
        command if isinstance(command, str) else fast.encode(arguments).decode() if isinstance(arguments, dict) else ""
    )
    # An agent wrote it: in a field that is edited, nothing must look like something else.
    return _Typed(
        rules=typed.rules, tool=record.tool, call=spelled(text[:MAX_BODY]), cwd=record.cwd, agent=record.agent,
        role=record.role, level=typed.level,
    )  # fmt: skip


def _typed(visit: Visit) -> _Typed:
    return _Typed(
        # Browsers send line ends as on paper.
        rules=visit.field("rules").replace("\r\n", "\n"), tool=visit.field("tool"),
        call=visit.field("call").replace("\r\n", "\n"), cwd=visit.field("cwd"), agent=visit.field("agent"),
        role=visit.field("role"), result=visit.field("result").replace("\r\n", "\n"),
        level=_LEVELS.get(visit.field("level"), Level.USER),
    )  # fmt: skip


def _body(typed: _Typed) -> PlaygroundBody:
    """Raises Refusal."""
    if len(typed.rules) > MAX_RULES_TEXT:
        raise Refusal(400, "invalid_request", f"the rules are longer than {MAX_RULES_TEXT:,} characters")
    if len(typed.call) + len(typed.result) > MAX_BODY:
        raise Refusal(400, "invalid_request", f"the call is longer than {MAX_BODY:,} characters")
    if not typed.tool.strip():
        raise Refusal(400, "invalid_request", "the call has no tool")
    call = CallForm(
        tool=typed.tool.strip(), args=_arguments(typed), cwd=typed.cwd, agent=typed.agent, role=typed.role,
        result=typed.result or None,
    )  # fmt: skip
    return PlaygroundBody(rules=typed.rules, call=call, level=typed.level)


def _arguments(typed: _Typed) -> dict[str, Any]:
    text = typed.call.strip()
    if typed.tool.strip() == "exec" and not text.startswith("{"):
        return {"command": typed.call}
    if not text:
        return {}
    try:
        return convert(fast.decode(text), dict[str, Any])
    except (MsgspecError, RecursionError) as error:
        raise Refusal(400, "invalid_request", f"the arguments are no JSON object: {error}") from None


def _form(visit: Visit, typed: _Typed) -> Html:
    tools = tag("datalist", [tag("option", value=name) for name in KNOWN_TOOL_NAMES], id="tools")
    levels = [tag("option", word, value=word, selected=word == typed.level) for word in _LEVELS]
    return tag(
        "form",
        visit.csrf_field(),
        tag(
            "div",
            tag("div", tag("label", "Rules, as in a rule file", _area("rules", typed.rules, 18)),
                tag("label", "They are rules of ", tag("select", levels, name="level"))),
            tag(
                "div",
                tag("label", "Tool ", tag("input", name="tool", value=typed.tool, list="tools", maxlength=1000), tools),
                tag("label", _HINT, _area("call", typed.call, 6)),
                tag(
                    "details",
                    tag("summary", "Where, who, and what came of it"),
                    [
                        tag("label", f"{name} ", tag("input", name=name, value=getattr(typed, name), maxlength=1000))
                        for name in ("cwd", "agent", "role")
                    ],
                    tag("label", "The tool's result, for rules about results", _area("result", typed.result, 3)),
                    open=bool(typed.cwd or typed.agent or typed.role or typed.result),
                ),
                tag("button", "Try it"),
            ),
            class_="two",
        ),
        method="post", action=PATH, id="playground",
    )  # fmt: skip


def _area(name: str, text: str, rows: int) -> list[Content]:
    """A field for text. What would be hidden in it is spelled out, and that is said: what is sent is what is seen."""
    plain = is_plain(text)
    # Browsers leave out a line end right behind the start of a field.
    field = tag("textarea", exact("\n" + (text if plain else spelled(text))), name=name, rows=rows, spellcheck="false",
                autocomplete="off", autocapitalize="off")  # fmt: skip
    note = tag("small", "Letters that are not seen were spelled out here.", class_="problem")
    return [field] if plain else [field, note]


def _answer(told: PlaygroundAnswer) -> Iterator[Content]:
    if told.problems:
        items = [tag("li", f"line {one.line}: ", tag("b", one.rule), " " if one.rule else "", one.message)
                 for one in told.problems]  # fmt: skip
        yield tag("section", tag("h2", "These are no rules yet"), tag("ul", items), class_="wrong", role="alert")
        return
    if told.late:
        yield tag(
            "p", "The rules take too long: their time here is used up, and some were not asked.", class_="problem"
        )
    yield tag(
        "div", _said("The rules say", told.alone), _said("Together with the guards", told.guarded),
        _said("To the result they say", told.after) if told.after is not None else None, class_="two",
    )  # fmt: skip
    yield from _refused(told)
    yield tag("section", tag("h2", "Examples"), _examples(told.examples))
    yield tag(
        "section", tag("h2", "Why"), [_rule(one) for one in told.rules] or tag("p", "No rule is about this call.")
    )
    yield tag("p", f"Revision {told.revision}, tried out in {told.duration_ms} ms.", class_="quiet")


def _refused(told: PlaygroundAnswer) -> Iterator[Html]:
    for one in told.refused:
        yield tag("p", f"line {one.line}: {one.rule} {one.message}", class_="problem")


def _said(what: str, verdict: PlayedVerdict | None) -> Html:
    if verdict is None:
        return tag("section")
    rewritten = verdict.payload is not UNSET
    return tag(
        "section",
        tag("h2", what),
        tag("p", badge(verdict.decision), tag("b", verdict.rule), " ",
            tag("small", verdict.interceptor) if verdict.interceptor else None, class_="lead",
            data_decision=verdict.decision),
        tag("p", verdict.reason) if verdict.reason else None,
        tag("p", "answered by ", verdict.approver) if verdict.approver else None,
        [tag("h3", "What would go on"), block(verdict.payload)] if rewritten else None,
        class_=f"said {verdict.decision}",
    )  # fmt: skip


def _examples(examples: Sequence[PlayedExample]) -> Html:
    if not examples:
        return tag("p", "These rules have none. With examples a rule that is wrong does not load.", class_="quiet")
    items = [
        tag("li", one.name, f" (line {one.line})", f": {one.message}" if one.message else "", class_=one.status)
        for one in examples
    ]  # fmt: skip
    return tag("ul", items, id="examples")


def _rule(one: PlayedRule) -> Html:
    where = f"pack {one.pack}" if one.pack else f"line {one.line}"
    return tag(
        "details",
        tag("summary", badge(one.said), one.id, tag("small", f" {where}", " watches" if one.mode == "watch" else "")),
        tag("p", one.text) if one.said in ("deny", "ask", "rewrite", "note", "answer") else None,
        tag("p", one.why) if one.why else None,
        _values("It fires because of", one.because),
        _values("It saw", one.saw),
        open=one.said not in ("silent", "elsewhere", "off"),
    )  # fmt: skip


def _values(what: str, values: Sequence[SeenValue]) -> Content:
    if not values:
        return None
    return [
        tag("h3", what),
        tag("ul", [tag("li", tag("b", one.variable), " ", tag("code", cut(one.value, 600))) for one in values]),
    ]
