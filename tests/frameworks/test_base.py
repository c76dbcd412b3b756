"""What all adapters stand on, without any framework: every behaviour, and what only the base knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.driving import drive
from interpose.core.types import Transform
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import FrameworkCall, FrameworkGuard, Result, RunWith, Told
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.frameworks import plain_driver
from tests.frameworks.behaviours import BEHAVIOURS, Behaviour, Play
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, by_text, engine_of, hiding
from tests.frameworks.playing import Mode
from tests.support.servers.servers import service_in

MILK = FrameworkCall(name="note", arguments={"text": "milk"})


@pytest.mark.parametrize("mode", plain_driver.modes)
@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda one: one.name)
def test_every_behaviour(behaviour: Behaviour, mode: Mode, tmp_path: Path) -> None:
    behaviour.check(Play(plain_driver, mode, tmp_path))


def test_a_framework_that_can_not_ask_says_so() -> None:
    mute = FrameworkFacts(name="mute", title="Mute")
    with pytest.raises(FrameworkLimitError, match="Mute has no way of its own to ask"):
        FrameworkGuard(mute, {"engine": engine_of(), "confirm": "framework"})
    with pytest.raises(FrameworkLimitError, match="Mute has no place in which messages"):
        FrameworkGuard(mute, {"engine": engine_of(), "messages": True})
    guard = FrameworkGuard(mute, {"engine": engine_of(before=Saying(lambda _call: Confirm("Really?")))})
    answer = drive(guard.before(MILK))
    assert isinstance(answer, Told), "nobody can be asked: the answer is no"


WRONG: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"confirm": "quue"}, ValueError),
    ({"confirm": "Queue"}, ValueError),
    ({"confirm": ""}, ValueError),
    ({"confirm": 7}, TypeError),
    ({"confirm": True}, TypeError),
    ({"wait": -1}, ValueError),
    ({"wait": "30"}, ValueError),
    ({"wait": float("nan")}, ValueError),
    ({"wait": True}, ValueError),
]


@pytest.mark.parametrize(("wrong", "error"), WRONG, ids=[str(case[0]) for case in WRONG])
@pytest.mark.parametrize("kind", ["an engine", "a service"])
def test_a_wrong_value_moves_no_question_elsewhere(
    kind: str, wrong: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    able = FrameworkFacts(name="able", title="Able", asks="interrupt")
    with service_in(tmp_path) as service, pytest.raises(error, match=next(iter(wrong))):
        FrameworkGuard(able, {"engine": engine_of() if kind == "an engine" else service, **wrong})  # type: ignore[typeddict-item]  # that is what is tried


def test_a_framework_that_can_not_rewrite_refuses_and_says_what_would_do() -> None:
    stiff = FrameworkFacts(name="stiff", title="Stiff", rewrites=False)
    change = Saying(lambda call: Transform(call.with_arguments({"text": "safe"})))
    answer = drive(FrameworkGuard(stiff, {"engine": engine_of(before=change)}).before(MILK))
    assert isinstance(answer, Told)
    assert '{"text":"safe"}' in answer.text


def test_what_runs_is_a_copy_that_nobody_else_can_change() -> None:
    arguments: dict[str, Any] = {"text": "milk", "parts": ["a"]}

    def meddle(call: Any) -> Any:
        arguments["parts"].append("poison")
        return by_text(call)

    guard = plain_driver.guard(engine=engine_of(before=Saying(meddle)))
    answer = drive(guard.before(FrameworkCall(name="note", arguments=arguments)))
    assert isinstance(answer, RunWith)
    assert answer.arguments == {"text": "milk", "parts": ["a"]}


def test_a_service_records_and_asks_as_its_configuration_says(tmp_path: Path) -> None:
    """With `approvals.ask: queue` the framework does not ask, whatever it could."""
    from interpose.core.config.settings import Config
    from tests.support.servers.servers import answered_by_token

    rules = 'version: 1\nrules:\n  - {id: ask, on: {tools: ["*note"]}, when: "true", action: ask, message: "Really?"}\n'
    ways = {"host": "AskPerson", "queue": "Told", "refuse": "Told"}
    for word, kind in ways.items():
        place = tmp_path / word
        place.mkdir()
        with service_in(place, rules, approvals=answered_by_token(place, ask=word)) as service:
            assert isinstance(service.config, Config)
            guard = plain_driver.guard(engine=service, wait=0)
            answer = drive(guard.before(MILK))
            assert type(answer).__name__ == kind, word
            assert len(service.desk.asked()) == (1 if word == "queue" else 0)


def test_the_ledger_knows_a_call_from_a_framework(tmp_path: Path) -> None:
    with service_in(tmp_path) as service:
        guard = plain_driver.guard(engine=service, session="s-1", agent="clerk")
        ending = drive(guard.around(MILK, lambda arguments: f"noted {arguments['text']}"))
        assert ending == Result("noted milk")
        service.ledger.flush()
        (record,) = search(service.store, Query(), 10)
        assert record.outcome == "success"
        assert (record.source, record.session, record.agent) == ("framework:plain", "s-1", "clerk")


def pieces() -> Iterator[str]:
    yield "one "
    yield f"{SECRET} "
    yield "two"


def test_a_result_inside_of_which_something_yields_is_judged_as_it_is_read() -> None:
    guard = plain_driver.guard(engine=engine_of(after=Saying(hiding)))
    ending = drive(guard.around(MILK, lambda _arguments: pieces()))
    assert isinstance(ending, Result)
    assert HIDDEN in "".join(ending.value)


def test_a_refusal_of_a_question_is_recorded_as_not_run() -> None:
    class Recording:
        def __init__(self) -> None:
            self.denied: list[bool] = []

        def decided(self, _verdict: Any, /) -> None:
            return None

        def finished(self, _verdict: Any, outcome: Any, _after: Any, /) -> None:
            self.denied.append(outcome.denied)

    recorder = Recording()
    guard = plain_driver.guard(engine=engine_of(before=Saying(lambda _call: Confirm("Really?")), recorder=recorder))
    ending = drive(guard.around(MILK, lambda _arguments: "ran", ask=lambda _question: Deny("too late")))
    assert isinstance(ending, Told)
    assert "too late" in ending.text
    assert recorder.denied == [True]
