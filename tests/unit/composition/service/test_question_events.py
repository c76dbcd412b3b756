"""What happens to questions, as those who watch hear of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from interpose.composition.service import question_events
from interpose.composition.service.question_events import QuestionEvent
from interpose.composition.service.service import Service
from interpose.core.types import Context, ToolCall
from tests.support.servers.servers import service_in
from tests.support.timing.patience import PATIENCE

RULES = """\
version: 1
rules:
  - {id: publishing, on: {tools: [exec]}, when: 'args.command.startsWith("publish")', action: ask}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, RULES, packs=()) as opened:
        yield opened


def asked(service: Service, command: str) -> str:
    context = Context(session_id="s1", principal="user:ann", cwd="/work")
    return service.run(context).before(ToolCall("exec", {"command": command}, context=context)).approval


def until(heard: Queue[QuestionEvent | None], word: str) -> QuestionEvent:
    while (event := heard.get(timeout=PATIENCE)) is not None:
        if event.event == word:
            return event
    raise AssertionError(f"the end came before {word}")


def test_what_others_do_and_that_the_time_is_up_is_seen_in_the_store(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_events, "EVERY_SECONDS", 0.02)
    heard: Queue[QuestionEvent | None] = Queue()
    first = asked(service, "publish 1")
    assert service.events.watch(heard.put)
    assert until(heard, "waiting").ids == (first,)
    # Another server over the same store: this one hears nothing of it but what the store says.
    assert service.answering is not None
    from interpose.people.approvals.desk import Desk

    other = Desk(
        service.store, timeout=300, key=service.ledger.keys.digests, seal=service.answering.seal,
        clock=service.answering.clock,
    )  # fmt: skip
    other.deny(first, "bob")
    assert until(heard, "answered").id == first
    hasty = Desk(
        service.store, timeout=0.2, key=service.ledger.keys.digests, seal=service.answering.seal,
        clock=service.answering.clock,
    )  # fmt: skip
    context = Context(session_id="s2", principal="user:ann", cwd="/work")
    run = service.policies.engine(context).run(context, confirm=hasty.waiting())
    id = run.before(ToolCall("exec", {"command": "publish 2"}, context=context)).approval
    assert until(heard, "expired").id == id


def test_nobody_watches_and_no_thread_does(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_events, "EVERY_SECONDS", 0.02)
    heard: Queue[QuestionEvent | None] = Queue()
    service.events.watch(heard.put)
    thread = service.events._thread
    assert thread is not None
    service.events.leave(heard.put)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    service.events.watch(heard.put)
    assert service.events._thread is not None


def test_too_many_watch(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_events, "MOST_WATCHERS", 2)
    watchers = [Queue[QuestionEvent | None]().put for _ in range(3)]
    assert [service.events.watch(watcher) for watcher in watchers] == [True, True, False]
    service.events.leave(watchers[0])
    assert service.events.watch(watchers[2])


def test_the_end_of_the_server_is_the_end_of_the_stream(service: Service) -> None:
    heard: Queue[QuestionEvent | None] = Queue()
    service.events.watch(heard.put)
    service.events.end()
    while heard.get(timeout=PATIENCE) is not None:
        pass
    assert not service.events.watch(heard.put)


def test_a_desk_that_is_made_anew_is_heard_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from interpose.composition.build import reconfigure

    monkeypatch.setattr(question_events, "EVERY_SECONDS", 30.0)
    heard: Queue[QuestionEvent | None] = Queue()
    service.events.watch(heard.put)
    service.desk.onlookers.look("q", "ann")
    reconfigure(service, service.config)
    assert service.desk.onlookers.of("q") == ("ann",)
    id = asked(service, "publish 3")
    assert until(heard, "opened").id == id, "at once, and not with the next look"
