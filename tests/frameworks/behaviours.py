"""What every adapter must do, once for all frameworks. A driver plays the runs, these look at what came of them.

Each behaviour belongs to a column of the table in docs/frameworks/README.md. What a framework can't do stands in its
file of tests/frameworks/known with the reason, and is not played.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from interpose import Approved, Confirm, Deny, PermissionRequest
from interpose.core.types import Allow
from interpose.doors.frameworks.guarding import SAID_NO
from tests.frameworks.interceptors import (
    HIDDEN,
    INSTEAD,
    OTHER_WORDS,
    QUESTION,
    REASON,
    RULE,
    SAFE,
    SECRET,
    Hanging,
    HangingAsync,
    Saying,
    by_text,
    engine_of,
    garbage,
    hiding,
    raising,
    replacing,
    rewording,
    withholding,
)
from tests.frameworks.playing import ASKED, DONE, HELPER, SESSION, Driver, Mode, NoteTool, Played, Script

Column = Literal[
    "deny", "ask", "rewrite", "redact", "fails closed", "sub-agent", "messages", "parallel", "streaming tools"
]  # fmt: skip
COLUMNS: tuple[Column, ...] = get_args(Column)


class Play(Struct, frozen=True):
    """A driver in one of its modes, and a directory."""

    driver: Driver
    mode: Mode
    directory: Path

    def run(self, *calls: str, tool: NoteTool | None = None, **script: Any) -> tuple[Played, list[str]]:
        """Play these calls: what came of them, and what the tool was really called with."""
        tool = tool or NoteTool()
        played = self.driver.play(Script(calls=calls, mode=self.mode, tool=tool, **script))
        return played, tool.ran


class Behaviour(Struct, frozen=True):
    """One thing that holds for all."""

    name: str
    column: Column
    check: Callable[[Play], None]


BEHAVIOURS: list[Behaviour] = []


def behaviour(column: Column) -> Callable[[Callable[[Play], None]], Callable[[Play], None]]:
    def register(check: Callable[[Play], None]) -> Callable[[Play], None]:
        BEHAVIOURS.append(Behaviour(check.__name__.replace("_", "-"), column, check))
        return check

    return register


def deciding(**options: Any) -> dict[str, Any]:
    """The options of a guard that decides by the text of a note."""
    return {"engine": engine_of(before=Saying(by_text), **options)}


# deny


@behaviour("deny")
def what_is_allowed_runs(play: Play) -> None:
    played, ran = play.run("milk", options=deciding())
    assert ran == ["milk"]
    assert "noted milk" in played.seen[0]
    assert played.said == DONE
    assert played.error is None


@behaviour("deny")
def what_is_denied_does_not_run_and_the_model_sees_why(play: Play) -> None:
    played, ran = play.run("bad idea", options=deciding())
    assert ran == []
    assert f"{REASON}: bad idea" in played.seen[0]
    assert RULE in played.seen[0]
    assert played.said == DONE, "the run goes on: the model may try something else"


@behaviour("deny")
def records_say_whose_call_it_was(play: Play) -> None:
    heard = Saying(by_text)
    play.run("milk", options={"engine": engine_of(before=heard), "role": "clerk", "principal": "kim", "cwd": "/srv"})
    context = heard.heard[0].context
    assert context.source.startswith("framework:")
    assert (context.role, context.principal, context.cwd) == ("clerk", "kim", "/srv")
    assert context.session_id


@behaviour("deny")
def session_and_agent_can_be_given(play: Play) -> None:
    heard = Saying(by_text)
    play.run("milk", options={"engine": engine_of(before=heard), "session": "s-1", "agent": "a-1"})
    context = heard.heard[0].context
    assert (context.session_id, context.agent_id) == ("s-1", "a-1")


# ask


@behaviour("ask")
def asked_in_the_frameworks_own_way_yes(play: Play) -> None:
    played, ran = play.run("ask first", options=deciding(), person="yes")
    assert len(played.questions) == 1
    assert QUESTION in played.questions[0]
    assert "ask first" in played.questions[0], "the person sees what would run"
    assert ran == ["ask first"]
    assert "noted ask first" in played.seen[0]


@behaviour("ask")
def asked_in_the_frameworks_own_way_no(play: Play) -> None:
    played, ran = play.run("ask first", options=deciding(), person="no")
    assert len(played.questions) == 1
    assert ran == []
    assert all("noted ask first" not in text for text in played.seen)


@behaviour("ask")
def the_model_is_told_that_a_person_said_no(play: Play) -> None:
    played, _ran = play.run("ask first", options=deciding(), person="no")
    assert SAID_NO in played.seen[0], "a crash at the no keeps the call from running, too, and says nothing of a person"


@behaviour("ask")
def the_person_is_shown_what_would_really_run(play: Play) -> None:
    played, ran = play.run("milk", options={"engine": _changing_and_asking()}, person="yes")
    assert SAFE in played.questions[0]
    assert ran == [SAFE]


def _changing_and_asking() -> Any:
    from interpose import Engine, create_interceptor_registry
    from interpose.core.types import Transform

    registry = create_interceptor_registry()
    changing = Saying(lambda call: Transform(call.with_arguments({"text": SAFE})))
    asking = Saying(lambda _call: Confirm(QUESTION, rule=RULE))
    registry.add(id="changing", name="tool.before", priority=2, interceptor=changing)
    registry.add(id="asking", name="tool.before", priority=1, interceptor=asking)
    return Engine(registry)


@behaviour("ask")
def asked_through_a_handler(play: Play) -> None:
    asked: list[PermissionRequest] = []

    def answer(request: PermissionRequest) -> Any:
        asked.append(request)
        return Approved("kim") if request.arguments["text"].endswith("kindly") else Deny("Kim says no")

    played, ran = play.run("ask kindly", "ask rudely", options=deciding() | {"confirm": answer})
    assert sorted(request.arguments["text"] for request in asked) == ["ask kindly", "ask rudely"]
    assert ran == ["ask kindly"]
    assert "noted ask kindly" in played.seen[0]
    assert "Kim says no" in played.seen[1]
    assert played.questions == []


@behaviour("ask")
def asked_in_the_queue_of_a_server(play: Play) -> None:
    from tests.frameworks.real_server import ASKING, answered_yes, serving

    with serving(play.directory, ASKING) as (url, service):
        options = {"server": url, "wait": 0, "session": "s-2", "cwd": str(play.directory)}  # a yes is for one place
        played, ran = play.run("ask the server", options=options)
        assert ran == []
        assert "interpose approvals approve" in played.seen[0]
        answered_yes(service)
        played, ran = play.run("ask the server", options=options)
        assert ran == ["ask the server"]
        assert "noted ask the server" in played.seen[0]


# rewrite


@behaviour("rewrite")
def what_is_rewritten_runs_so(play: Play) -> None:
    played, ran = play.run("change me", options=deciding())
    assert ran == [f"{SAFE}, not change me"]
    assert f"noted {SAFE}, not change me" in played.seen[0]


# redact


def telling_the_secret() -> NoteTool:
    return NoteTool(lambda text: f"{text}: {SECRET} and more")


@behaviour("redact")
def what_is_hidden_in_a_result_the_model_never_sees(play: Play) -> None:
    played, ran = play.run("milk", tool=telling_the_secret(), options={"engine": engine_of(after=Saying(hiding))})
    assert ran == ["milk"]
    assert f"milk: {HIDDEN} and more" in played.seen[0]
    assert SECRET not in repr(played)


@behaviour("redact")
def a_result_can_be_replaced(play: Play) -> None:
    played, ran = play.run("milk", tool=telling_the_secret(), options={"engine": engine_of(after=Saying(replacing))})
    assert ran == ["milk"]
    assert INSTEAD in played.seen[0]
    assert SECRET not in repr(played)


@behaviour("redact")
def a_result_can_be_withheld(play: Play) -> None:
    played, ran = play.run("milk", tool=telling_the_secret(), options={"engine": engine_of(after=Saying(withholding))})
    assert ran == ["milk"]
    assert REASON in played.seen[0]
    assert SECRET not in repr(played)


@behaviour("redact")
def what_is_hidden_in_an_error_nobody_sees(play: Play) -> None:
    def fails(text: str) -> str:
        raise LookupError(f"no {text}, but {SECRET}")

    played, ran = play.run("milk", tool=NoteTool(fails), options={"engine": engine_of(after=Saying(hiding))})
    assert ran == ["milk"]
    assert HIDDEN in played.seen[0]
    assert SECRET not in repr(played)
    assert SECRET not in str(played.error)


# messages


@behaviour("messages")
def a_message_can_be_refused(play: Play) -> None:
    refuse = Saying(lambda _message: Deny(REASON, rule=RULE))
    played, ran = play.run("milk", options={"engine": engine_of(message=refuse)})
    assert ran == []
    assert played.heard == "", "the model was never asked"
    assert REASON in played.said


@behaviour("messages")
def a_message_can_be_reworded(play: Play) -> None:
    played, ran = play.run("milk", options={"engine": engine_of(message=Saying(rewording))})
    assert played.heard == OTHER_WORDS
    assert ran == ["milk"]


@behaviour("messages")
def a_message_that_nobody_can_judge_is_refused(play: Play) -> None:
    from tests.frameworks.fake_server import answering, free_port

    gone = f"http://127.0.0.1:{free_port()}"
    with answering(["it is fine"]) as nonsense:
        for options in ({"server": gone}, {"server": nonsense}, {"engine": engine_of(message=Saying(raising))}):
            played, ran = play.run("milk", options=options)
            assert ran == []
            assert played.heard == ""


@behaviour("messages")
def a_message_is_left_alone_if_nobody_is_to_look(play: Play) -> None:
    refuse = Saying(lambda _message: Deny(REASON, rule=RULE))
    played, _ = play.run("milk", options={"engine": engine_of(message=refuse), "messages": False})
    assert played.heard == ASKED
    assert refuse.heard == []


# fails closed


def nothing_ran(played: Played, ran: list[str]) -> None:
    assert ran == []
    assert all("noted " not in text for text in played.seen)
    assert played.seen or played.error is not None or played.said != DONE, "somebody is told"


def nothing_is_seen(played: Played, ran: list[str]) -> None:
    assert ran == ["milk"]
    assert "noted milk" not in repr(played)
    assert played.seen or played.error is not None


@behaviour("fails closed")
def an_interceptor_raises(play: Play) -> None:
    nothing_ran(*play.run("milk", options={"engine": engine_of(before=Saying(raising))}))
    nothing_is_seen(*play.run("milk", options={"engine": engine_of(after=Saying(raising))}))


@behaviour("fails closed")
def an_interceptor_gives_garbage(play: Play) -> None:
    nothing_ran(*play.run("milk", options={"engine": engine_of(before=Saying(garbage))}))
    nothing_is_seen(*play.run("milk", options={"engine": engine_of(after=Saying(garbage))}))


@behaviour("fails closed")
def an_interceptor_hangs(play: Play) -> None:
    for hanging in (Hanging(), HangingAsync()):
        try:
            nothing_ran(*play.run("milk", options={"engine": engine_of(before=hanging, timeout=0.05)}))
            nothing_is_seen(*play.run("milk", options={"engine": engine_of(after=hanging, timeout=0.05)}))
        finally:
            if isinstance(hanging, Hanging):
                hanging.go.set()


@behaviour("fails closed")
def nobody_can_be_asked(play: Play) -> None:
    played, ran = play.run("ask first", options=deciding() | {"confirm": lambda _request: None})
    nothing_ran(played, ran)


@behaviour("fails closed")
def the_one_who_asks_fails(play: Play) -> None:
    played, ran = play.run("ask first", options=deciding() | {"confirm": raising})
    nothing_ran(played, ran)


@behaviour("fails closed")
def the_server_is_gone(play: Play) -> None:
    from tests.frameworks.fake_server import free_port

    nothing_ran(*play.run("milk", options=_server(f"http://127.0.0.1:{free_port()}")))


@behaviour("fails closed")
def the_server_talks_nonsense(play: Play) -> None:
    from tests.frameworks.fake_server import ALLOWED, answering

    contradictions = (ALLOWED.replace('"allow"', '"deny"'), ALLOWED.replace("true", "false"))
    rewritten = ALLOWED.replace('"allow"', '"rewrite"')  # and not said into what
    halves = ('{"decision": "allow", "reason": ""}', '{"allowed": true, "reason": ""}')
    others = ("it is fine", *halves, "[]", None)
    for nonsense in (*contradictions, rewritten, *others):
        with answering([nonsense]) as url:
            nothing_ran(*play.run("milk", options=_server(url)))


@behaviour("fails closed")
def the_server_goes_while_a_tool_runs(play: Play) -> None:
    from tests.frameworks.fake_server import ALLOWED, answering

    with answering([ALLOWED]) as url:
        nothing_is_seen(*play.run("milk", options=_server(url)))


def _server(url: str) -> dict[str, Any]:
    return {"server": url, "messages": False, "wait": 0}


@behaviour("fails closed")
def arguments_that_nobody_can_read(play: Play) -> None:
    """What is nested too deep to be judged is refused. Played as a rewrite, as models don't write such calls."""
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]

    def nest(call: Any) -> Any:
        from interpose.core.types import Transform

        return Transform(call.with_arguments({"text": deep}))

    nothing_ran(*play.run("milk", options={"engine": engine_of(before=Saying(nest))}))


# sub-agent


@behaviour("sub-agent")
def a_sub_agent_is_known_by_its_own_name(play: Play) -> None:
    heard = Saying(lambda call: Deny(REASON, rule=RULE) if call.context.agent_id == HELPER else Allow())
    played, ran = play.run("milk", options={"engine": engine_of(before=heard)}, sub_agent=True)
    noted = [call for call in heard.heard if call.original_name.endswith("note") or call.name.endswith("note")]
    assert [call.context.agent_id for call in noted] == [HELPER]
    assert ran == []
    assert REASON in played.seen[0]
    sessions = {call.context.session_id for call in heard.heard}
    assert len(sessions) == 1, "the sub-agent acts in the session of its agent"
    assert "" not in sessions


@behaviour("sub-agent")
def a_conversation_is_a_session(play: Play) -> None:
    heard = Saying(by_text)
    play.run("milk", options={"engine": engine_of(before=heard)})
    assert {call.context.session_id for call in heard.heard} == {SESSION}


# parallel


@behaviour("parallel")
def calls_of_one_turn_keep_their_own_answers(play: Play) -> None:
    kinds = ("bad", "change", "plain", "ask")
    calls = [f"{kinds[number % 4]} {number}" for number in range(16)]

    def answer(request: PermissionRequest) -> Any:
        text = request.arguments["text"]
        return Deny(f"not {text}") if text.endswith(("3", "5")) else Approved("kim")

    played, ran = play.run(*calls, options=deciding() | {"confirm": answer})
    for call, seen in zip(calls, played.seen, strict=True):
        kind, _, number = call.partition(" ")
        match kind:
            case "bad":
                assert f"{REASON}: {call}" in seen
            case "change":
                assert f"noted {SAFE}, not {call}" in seen
            case "plain":
                assert f"noted {call}" in seen
            case _ if number.endswith(("3", "5")):
                assert f"not {call}" in seen
            case _:
                assert f"noted {call}" in seen
    wanted = [call for call in calls if call.startswith("plain")]
    wanted += [f"{SAFE}, not {call}" for call in calls if call.startswith("change")]
    wanted += [call for call in calls if call.startswith("ask") and not call.endswith(("3", "5"))]
    assert sorted(ran) == sorted(wanted)


# streaming tools


@behaviour("streaming tools")
def a_tool_that_yields_is_judged_as_it_does(play: Play) -> None:
    played, ran = play.run(
        "milk", tool=telling_the_secret(), streaming_tool=True, options={"engine": engine_of(after=Saying(hiding))}
    )
    assert ran == ["milk"]
    assert HIDDEN in played.seen[0]
    assert SECRET not in repr(played)
