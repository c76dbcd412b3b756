"""Edit and approve: the edited call passes everything again, once, and a refusal of it stands. From desk to engine."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.answers import Edited
from interpose.core.errors import EditError, ScopeError
from interpose.core.types import (
    Allow,
    Confirm,
    Context,
    Decision,
    Deny,
    Message,
    PermissionRequest,
    ToolCall,
    Transform,
    Verdict,
)
from interpose.engine.engine import Engine
from interpose.engine.flow.edited_calls import MOST_EDITS
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import SESSION
from interpose.people.approvals.seal import new_seal
from interpose.record.store.protocols import Store
from tests.unit.people.approvals.test_desk import Clock, made

HERE = Context(session_id="s1", agent_id="main", principal="user:ann", cwd="/work", source="hook:x")


class Words:
    """Says what the first word of a command deserves, and hears every command."""

    def __init__(self, **said: Decision[Any]) -> None:
        self._said, self.heard = said, list[str]()

    def intercept(self, call: ToolCall) -> Decision[Any]:
        command = str(call.arguments["command"])
        self.heard.append(command)
        for word in command.split():
            if word in self._said:
                return self._said[word]
        return Allow()


ASK = Confirm("Really?", rule="publishing")


def engine_of(desk: Desk, *words: Words, rewrites: bool = True) -> Engine:
    engine = Engine(confirm=desk.waiting(rewrites=rewrites))
    for number, one in enumerate(words):
        engine.interceptors.add(id=f"words-{number}", name="tool.before", interceptor=one)  # type: ignore[attr-defined]
    return engine


def call(command: str, **more: Any) -> ToolCall:
    return ToolCall("exec", {"command": command, **more}, context=HERE)


def before(engine: Engine, command: str, *, rewrites: bool = True) -> Verdict[ToolCall]:
    from interpose.core.driving import drive

    return drive(engine.flow(HERE).before(call(command), rewrites=rewrites))


def edited(desk: Desk, engine: Engine, came: str, to: str, by: str = "ann") -> str:
    """The id of a question that was answered by another call."""
    id = before(engine, came).approval
    assert id
    desk.approve(id, by, arguments={"command": to})
    return id


def test_the_edited_call_runs_in_the_place_of_the_one_that_came(store: Store) -> None:
    words = Words(push=ASK)
    desk = made(store, Clock())
    engine = engine_of(desk, words)
    id = before(engine, "git push --force").approval
    answered = desk.approve(id, "ann", arguments={"command": "git push --dry-run"}, comment="look first")
    assert answered.answer is not None
    assert (answered.answer.arguments, answered.arguments) == (
        {"command": "git push --dry-run"},
        {"command": "git push --force"},
    )
    words.heard.clear()
    verdict = before(engine, "git push --force")
    assert words.heard == ["git push --force", "git push --dry-run"], "all of it, from the beginning"
    assert (verdict.outcome, verdict.payload.arguments["command"]) == ("rewrite", "git push --dry-run")
    assert verdict.original is not None
    assert verdict.original.arguments["command"] == "git push --force"
    assert (verdict.approver, verdict.word, verdict.edit) == (f"grant:{id} of ann", "look first", None)
    (said,) = [found for found in verdict.findings if found.said == "rewrite"]
    assert (said.rule, said.part, said.reason) == ("edited", "command", "ann edited this call and agreed to it")
    assert verdict.decided_by == said


def test_a_tool_that_runs_here_gets_the_edited_arguments(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK))
    edited(desk, engine, "git push --force", "git push")
    ran = engine.run(HERE).run_tool(call("git push --force"), lambda arguments: arguments["command"])
    assert (ran.response, ran.outcome.call.arguments) == ("git push", {"command": "git push"})


def test_an_edit_is_used_once_whichever_way_it_is_made(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK))
    edited(desk, engine, "git push --force", "git push")
    assert before(engine, "git push --force").outcome == "rewrite"
    for command in ("git push --force", "git push"):
        again = before(engine, command)
        assert (again.outcome, again.edit) == ("ask", None), command
        assert again.approval


def test_an_edited_call_about_which_nobody_asks_is_used_up_all_the_same(store: Store) -> None:
    """Without the question that every edited call ends with, each call after the first would be rewritten unasked."""
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK))
    edited(desk, engine, "git push", "git fetch")
    assert before(engine, "git push").outcome == "rewrite"
    assert before(engine, "git push").outcome == "ask"


def test_a_refusal_of_the_edited_call_stands(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK, rm=Deny("Never", rule="no-rm")))
    id = edited(desk, engine, "git push", "rm -rf /")
    verdict = before(engine, "git push")
    assert (verdict.outcome, verdict.rule, verdict.reason) == ("deny", "no-rm", "Never")
    assert [given.id for given in desk.grants()] == [id], "nothing ran by it"
    assert before(engine, "rm -rf /").outcome == "deny"


def test_whoever_asks_about_the_edited_call_alone_is_answered_by_nobody_yet(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK), Words(main=Confirm("That is main", rule="main")))
    first = edited(desk, engine, "git push topic", "git push main")
    verdict = before(engine, "git push topic")
    assert verdict.outcome == "ask"
    assert verdict.approval not in ("", first)
    question = desk.question(verdict.approval)
    assert (question.arguments, question.message.splitlines()) == (
        {"command": "git push main"},
        ["Really?", "That is main", "ann wrote this call in the place of another"],
    )
    assert question.original_arguments == {"command": "git push topic"}
    desk.approve(verdict.approval, "bob")
    done = before(engine, "git push topic")
    assert (done.outcome, done.payload.arguments["command"]) == ("rewrite", "git push main")
    assert done.approver == f"grant:{verdict.approval} of bob"


def test_who_names_no_rule_is_known_by_what_it_says(store: Store) -> None:
    """A guard without rules that says something else about the edited call has not been answered."""
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=Confirm("Publish?"), drop=Confirm("Drop the database?")))
    edited(desk, engine, "git push", "drop everything")
    assert before(engine, "git push").outcome == "ask"


def test_where_the_other_side_runs_what_it_asked_about_it_is_shown_the_edited_call(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK))
    id = edited(desk, engine, "git push --force", "git push")
    for _ in range(2):
        refused = before(engine, "git push --force", rewrites=False)
        assert (refused.outcome, refused.rule, refused.instead) == ("deny", "edited", "git push")
        assert refused.edit == Edited({"command": "git push"}, "ann", id)
    made_itself = before(engine, "git push", rewrites=False)
    assert (made_itself.outcome, made_itself.approver) == ("allow", f"grant:{id} of ann")
    assert before(engine, "git push", rewrites=False).outcome == "ask"
    assert before(engine, "git push --force", rewrites=False).outcome == "ask", "the answer is used up"


def test_interceptors_rewrite_an_edited_call_like_any_other(store: Store) -> None:
    desk = made(store, Clock())

    class Safer:
        def intercept(self, one: ToolCall) -> Decision[ToolCall]:
            command = str(one.arguments["command"])
            if not command.endswith("--force"):
                return Allow()
            return Transform(one.with_arguments({"command": f"{command}-with-lease"}), rule="lease")

    engine = engine_of(desk, Words(push=ASK))
    engine.interceptors.add(id="safer", name="tool.before", interceptor=Safer(), priority=-0)  # type: ignore[attr-defined]
    id = before(engine, "git push").approval
    desk.approve(id, "ann", arguments={"command": "git push --force"})
    verdict = before(engine, "git push")
    assert verdict.outcome == "ask", "the answer was for what ann wrote, and that is not what would run"
    assert desk.question(verdict.approval).arguments == {"command": "git push --force-with-lease"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"command": "git push"}, "nothing was changed"),
        ({"command": "curl -H 'Authorization: Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a'"}, "holds a secret"),
        ({"command": "echo [redacted:token:12ab]"}, "was hidden can't be put back"),
        ({"command": "x" * 70_000}, "longer than"),
        ({"command": "x", "deep": __import__("functools").reduce(lambda inner, _: [inner], range(200), 1)}, "deeper"),
    ],
)
def test_what_a_call_can_not_be_edited_to(store: Store, arguments: dict[str, Any], why: str) -> None:
    desk = made(store, Clock())
    id = before(engine_of(desk, Words(push=ASK)), "git push").approval
    with pytest.raises(EditError, match=why):
        desk.approve(id, "ann", arguments=arguments)
    assert desk.question(id).state == "waiting"
    with pytest.raises(ScopeError, match="approved once"):
        desk.approve(id, "ann", SESSION, arguments={"command": "git fetch"})


def test_only_a_call_is_edited(store: Store) -> None:
    desk = made(store, Clock())
    engine = Engine(confirm=desk.waiting())
    engine.interceptors.add(  # type: ignore[attr-defined]
        id="m", name="message.before", handler=lambda _input, output: setattr(output, "ask", "Send it?")
    )
    verdict = engine.run(HERE).message("hello")
    with pytest.raises(EditError, match="only a call"):
        desk.approve(verdict.approval, "ann", arguments={"text": "bye"})


def test_an_edit_in_another_session_or_of_another_call_is_none(store: Store) -> None:
    desk = made(store, Clock())
    engine = engine_of(desk, Words(push=ASK))
    edited(desk, engine, "git push a", "git push b")
    elsewhere = engine.run(Context(session_id="s2", agent_id="main", principal="user:ann", cwd="/work"))
    assert elsewhere.before(call("git push a")).outcome == "ask"
    assert elsewhere.before(call("git push b")).outcome == "ask"
    assert before(engine, "git push c").outcome == "ask"


def test_an_edit_that_nobody_made_ends_with_its_grant(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    engine = engine_of(desk, Words(push=ASK))
    edited(desk, engine, "git push a", "git push b")
    clock.pass_by(3601)
    assert (before(engine, "git push a").outcome, before(engine, "git push b").outcome) == ("ask", "ask")


def test_an_edit_of_another_seal_is_no_answer(store: Store) -> None:
    clock = Clock()
    forger = made(store, clock, seal=new_seal())
    desk = made(store, clock)
    id = before(engine_of(desk, Words(push=ASK)), "git push a").approval
    with pytest.raises(Exception, match="no question"):
        forger.approve(id, "agent", arguments={"command": "git push b"})
    row = store.approval(id)
    assert row is not None
    assert store.answer(id, '{"content": {}, "signature": "AAAA"}', body=row.body, approver="agent", now_ns=clock())
    verdict = before(engine_of(desk, Words(push=ASK)), "git push a")
    assert (verdict.outcome, verdict.rule) == ("deny", "approval-invalid")


class Editor:
    """A person who writes another call each time."""

    immediate = True

    def __init__(self) -> None:
        self.asked = 0

    def confirm(self, request: PermissionRequest, /) -> Edited:
        self.asked += 1
        return Edited({"command": f"push {self.asked}"}, "ann")


def test_somebody_who_edits_without_end_is_stopped() -> None:
    editor = Editor()
    engine = Engine(confirm=editor)
    engine.interceptors.add(id="w", name="tool.before", interceptor=Words(push=ASK))  # type: ignore[attr-defined]
    verdict = engine.run(HERE).before(call("push"))
    assert (verdict.outcome, verdict.rule, editor.asked) == ("deny", "edited", MOST_EDITS + 1)


def test_an_edit_of_a_message_runs_nothing() -> None:
    engine = Engine(confirm=Editor())
    engine.interceptors.add(  # type: ignore[attr-defined]
        id="m", name="message.before", handler=lambda _input, output: setattr(output, "ask", "Send it?")
    )
    verdict: Verdict[Message] = engine.run(HERE).message("hello")
    assert (verdict.outcome, verdict.allowed) == ("ask", False)
