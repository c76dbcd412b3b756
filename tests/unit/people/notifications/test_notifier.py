"""Who is told when: staggered, collected, muted without forgetting, bounded, and each channel for itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from queue import Empty
from time import time_ns
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.notifications import NotificationChannel, NotificationSettings
from interpose.core.errors import StoreError
from interpose.core.types import Context, ToolCall
from interpose.people.notifications.notifier import Notifier
from interpose.people.notifications.standing import read_standing
from tests.support.peers.receivers import Receiver, receiving
from tests.support.servers.servers import service_in
from tests.support.timing.patience import PATIENCE

RULES = """\
version: 1
rules:
  - id: publishing
    on: {tools: [exec]}
    when: args.command.startsWith("publish")
    action: ask
    message: Really publish?
"""
SESSIONS = count()
"""Each question is of a session of its own: what was denied a moment ago is not asked again."""


class Played:
    """A notifier over a real service, and a clock that is set by hand."""

    def __init__(self, service: Service, **channels: dict[str, Any]) -> None:
        self.service, self.began, self.seconds = service, time_ns(), 0.0
        self.settings = NotificationSettings(
            channels={name: NotificationChannel(**{"kind": "slack"} | how) for name, how in channels.items()}
        )
        self.notifier = self.another()

    def another(self) -> Notifier:
        """One of another server over the same store."""
        return Notifier(
            self.service.store, lambda: self.service.desk, lambda: self.settings,
            clock_ns=lambda: self.began + round(self.seconds * 1e9), steady=lambda: self.seconds, pauses=(0.0, 0.0),
            public_url=lambda: "https://i.example",
        )  # fmt: skip

    def look(self, seconds: float) -> None:
        """Look at this time, and wait for what is sent."""
        self.seconds = seconds
        self.notifier.look()
        self.notifier.settle()


def ask(service: Service, command: str) -> str:
    context = Context(session_id=f"s{next(SESSIONS)}", agent_id="main", principal="user:ann", cwd="/work")
    verdict = service.run(context).before(ToolCall("exec", {"command": command}, context=context))
    assert verdict.outcome == "ask"
    return verdict.approval


def texts(receiver: Receiver) -> list[str]:
    found = []
    while not receiver.came.empty():
        found.append(str(receiver.came.get().json["text"]))
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("notifier"), RULES) as opened:
        yield opened


@pytest.fixture
def service(shared: Service) -> Iterator[Service]:
    """Nothing is open and nothing is mute, however a test leaves it."""
    yield shared
    for question in shared.desk.asked():
        shared.desk.deny(question.id, "ann")
    shared.notifier.mute(0, "ann")


def test_a_question_is_told_once(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        id = ask(service, "publish")
        for seconds in (1, 2, 4, 5, 60, 200):
            played.look(seconds)
        (text,) = texts(receiver)
    assert id in text
    assert "Answer: https://i.example/a/" in text


def test_several_are_one_notification(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        ids = [ask(service, f"publish {number}") for number in range(3)]
        played.look(1)
        assert texts(receiver) == []
        played.look(4)
        (text,) = texts(receiver)
    assert all(f"Question {id}" in text for id in ids)


def test_the_second_channel_is_told_only_if_it_is_still_open(service: Service) -> None:
    with receiving() as first, receiving() as second:
        played = Played(service, one={"url": first.url}, two={"url": second.url, "after": 60})
        answered, left = ask(service, "publish a"), ask(service, "publish b")
        played.look(5)
        service.desk.deny(answered, "ann")
        played.look(62)
        played.look(66)
        (text,) = texts(second)
        assert len(texts(first)) == 1
    assert left in text
    assert answered not in text


def test_what_is_asked_while_it_is_mute_is_told_when_that_ends(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        played.notifier.mute(1, "ann")
        answered, ids = ask(service, "publish x"), [ask(service, f"publish {number}") for number in range(2)]
        for seconds in (5, 30, 59):
            played.look(seconds)
        assert texts(receiver) == []
        muted = played.notifier.muted()
        assert muted is not None
        assert muted.by == "ann"
        service.desk.deny(answered, "ann")
        for seconds in (64, 65, 70):
            played.look(seconds)
        assert played.notifier.muted() is None
        (text,) = texts(receiver)
    assert "Notifications were muted; these are still open." in text
    assert all(id in text for id in ids)
    assert answered not in text


def test_a_mute_ends_before_its_time(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        played.notifier.mute(60, "ann")
        ask(service, "publish")
        played.look(10)
        played.notifier.mute(0, "ann")
        played.look(14)
        assert len(texts(receiver)) == 1


def test_a_mute_that_no_server_wrote_is_none(service: Service) -> None:
    """An agent that writes to the store keeps nobody from being told."""
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        played.notifier.mute(1, "ann")
        state = service.store.load_session("notifications:mute")
        assert state is not None
        forged = state.body.replace(b"ann", b"eve")
        assert service.store.save_session("notifications:mute", forged, version=state.version, now_ns=1)
        ask(service, "publish")
        played.look(5)
        assert len(texts(receiver)) == 1


def test_only_so_many_a_minute_and_none_is_lost(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        played.settings = replace(played.settings, per_minute=2, group=0.0)
        ids = []
        for number in range(6):
            ids.append(ask(service, f"publish {number}"))
            played.look(number + 1)
        assert len(texts(receiver)) == 2
        played.look(62)
        (text,) = texts(receiver)
    assert "4 questions wait" in text
    assert all(id in text for id in ids[2:])


def test_the_rate_holds_when_nothing_waits_meanwhile(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        played.settings = replace(played.settings, per_minute=2, group=0.0)
        for number in range(4):
            id = ask(service, f"publish {number}")
            played.look(number * 2 + 1)
            service.desk.deny(id, "ann")
            played.look(number * 2 + 2)
        assert len(texts(receiver)) == 2


def test_a_channel_that_fails_touches_no_other(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, bad={"url": "http://127.0.0.1:9/"}, good={"url": receiver.url})
        ask(service, "publish")
        played.look(5)
        assert len(texts(receiver)) == 1
    bad, good = played.notifier.standings()
    assert (bad.failed, "can't be reached" in bad.problem, good.problem) == (1, True, "")


def test_a_channel_that_hangs_holds_up_nothing(service: Service) -> None:
    with receiving() as hanging, receiving() as receiver:
        hanging.gate.clear()
        played = Played(service, slow={"url": hanging.url}, good={"url": receiver.url})
        ask(service, "publish a")
        played.seconds = 5
        played.notifier.look()
        receiver.next()
        ask(service, "publish b")
        played.seconds = 10
        look_until_told(played, receiver)
        hanging.gate.set()
        played.notifier.settle()
        played.look(20)
        first, second = texts(hanging)
    assert "publish a" in first
    assert "publish b" in second


def look_until_told(played: Played, receiver: Receiver) -> None:
    """A channel whose last message is not quite done is told at a later look."""
    for _ in range(300):
        played.notifier.look()
        try:
            receiver.next(0.1)
        except Empty:
            continue
        return
    raise AssertionError("the channel was not told")


def test_it_is_tried_again_and_given_up(service: Service) -> None:
    with receiving(500, 500, 200) as receiver:
        played = Played(service, one={"url": receiver.url})
        ask(service, "publish")
        played.look(5)
        assert len(texts(receiver)) == 3
        assert played.notifier.standings()[0].problem == ""
    with receiving(500) as receiver:
        played = Played(service, two={"url": receiver.url})
        played.look(5)
        assert len(texts(receiver)) == 3
        assert played.notifier.standings()[0].problem == "it answered 500"


def test_it_is_not_tried_again_when_it_was_answered(service: Service) -> None:
    with receiving(500) as receiver:
        receiver.gate.clear()
        played = Played(service, one={"url": receiver.url})
        id = ask(service, "publish")
        played.seconds = 5
        played.notifier._pauses = (0.001,)
        played.notifier.look()
        service.desk.deny(id, "ann")
        receiver.gate.set()
        played.notifier.settle()
        assert len(texts(receiver)) == 1


def test_two_servers_tell_of_it_once(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        other = played.another()
        ask(service, "publish")
        played.seconds = 5
        threads = [threading.Thread(target=one.look) for one in (played.notifier, other) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        played.notifier.settle()
        other.settle()
        assert len(texts(receiver)) == 1


def test_after_a_restart_what_was_told_is_known(service: Service) -> None:
    with receiving() as receiver:
        played = Played(service, one={"url": receiver.url})
        ask(service, "publish a")
        played.look(5)
        played.notifier = played.another()
        played.look(6)
        assert len(texts(receiver)) == 1


def test_a_channel_that_works_again_is_well(service: Service) -> None:
    with receiving(403, 200) as receiver:
        played = Played(service, one={"url": receiver.url})
        (tried,) = played.notifier.try_out()
        assert (tried.sent, tried.problem) == (False, "it answered 403")
        assert read_standing(service.store, "one").failed == 1
        (tried,) = played.notifier.try_out(["one"])
        assert tried.sent
        assert read_standing(service.store, "one").problem == ""


def test_a_store_that_is_gone_is_no_end(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """The thread goes on, and says it once."""
    played = Played(service, one={"url": "http://127.0.0.1:9/"})
    looked = threading.Semaphore(0)

    def gone() -> None:
        looked.release()
        raise StoreError("the disk is gone")

    played.notifier.look = gone  # type: ignore[method-assign]
    played.notifier._over = _Quick()
    played.notifier.start()
    for _ in range(3):
        assert looked.acquire(timeout=PATIENCE)
    played.notifier.stop()
    assert caplog.text.count("nobody is told of questions now: the disk is gone") == 1


class _Quick(threading.Event):
    """Does not wait between two looks."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.001 if timeout else timeout)


def test_without_channels_there_is_no_thread(service: Service) -> None:
    service.notifier.start("http://127.0.0.1:1")
    assert not [one for one in threading.enumerate() if one.name == "interpose:notifications"]
