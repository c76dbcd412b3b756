"""Each channel against the real thing: a server that takes posts, one that takes mail, a program that shows."""

from __future__ import annotations

import os
import socketserver
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.notifications import NotificationChannel
from interpose.core.errors import NotificationError
from interpose.people.notifications import posting
from interpose.people.notifications.notices import TRYOUT, Notice, NoticeEntry, NoticeLine
from interpose.people.notifications.sending import send
from tests.support.peers.receivers import receiving, taking_mail

ENTRY = NoticeEntry(
    id="kj4m2qxr", lines=(NoticeLine("The agent's call", "git push <b>&é", quoted=True),),
    link="https://i.example/a/" + "x" * 240, deny="https://i.example/a/no",
)  # fmt: skip
NOTICE = Notice(title="Interpose: question kj4m2qxr", entries=(ENTRY,), severity="critical")


def sent(notice: Notice = NOTICE, environ: dict[str, str] | None = None, **settings: Any) -> None:
    send(notice, NotificationChannel(**settings), environ or {})


def secret(directory: Path, text: str, mode: int = 0o600) -> str:
    file = directory / "secret"
    file.write_text(text, encoding="utf-8")
    file.chmod(mode)
    return str(file)


def test_ntfy(tmp_path: Path) -> None:
    with receiving() as receiver:
        sent(kind="ntfy", url=f"{receiver.url}/agents", secret_file=secret(tmp_path, "tk_1\n"))
        came = receiver.next()
    assert (came.path, came.headers["authorization"]) == ("/", "Bearer tk_1")
    told = came.json
    assert (told["topic"], told["title"], told["priority"]) == ("agents", NOTICE.title, 5)
    assert told["click"] == ENTRY.link
    assert "git push <b>&é" in told["message"]


def test_ntfy_below_a_path() -> None:
    with receiving() as receiver:
        sent(kind="ntfy", url=f"{receiver.url}/push/agents")
        came = receiver.next()
    assert (came.path, came.json["topic"], "authorization" in came.headers) == ("/push/", "agents", False)


def test_slack_by_an_address_of_a_file(tmp_path: Path) -> None:
    with receiving() as receiver:
        sent(kind="slack", url_file=secret(tmp_path, f"{receiver.url}/services/T/B/x"))
        came = receiver.next()
    assert came.path == "/services/T/B/x"
    assert came.json["text"].splitlines() == [
        "*`Interpose: question kj4m2qxr`*",
        "The agent's call: `git push &lt;b&gt;&amp;é`",
        f"Answer: {ENTRY.link}",
    ]


def test_mail(tmp_path: Path) -> None:
    with taking_mail() as box:
        sent(
            kind="mail", url=box.url, user="interpose", secret_file=secret(tmp_path, "pw"), sender="i@example.org",
            to=("ann@example.org", "bob@example.org"),
        )  # fmt: skip
        came = box.next()
    assert (came["Subject"], came["From"]) == (NOTICE.title, "i@example.org")
    assert came["To"] == "ann@example.org, bob@example.org"
    assert came["Auto-Submitted"] == "auto-generated"
    assert came.get_content_type() == "text/plain"
    text = came.get_content().replace("\r\n", "\n")
    assert f"Answer: {ENTRY.link}\n" in text, "the link is whole, however long it is"
    assert "git push <b>&é" in text
    assert box.logins


def test_desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tmp_path / "shown"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {shown}\n', encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    sent(kind="desktop")
    words = shown.read_text(encoding="utf-8").split("\n")
    assert words[:4] == ["--app-name=Interpose", "--urgency=critical", "--", NOTICE.title]
    assert words[4] == "The agent's call: git push &lt;b&gt;&amp;é"


def test_a_desktop_that_fails_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "notify-send"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotificationError, match="there is no notify-send here"):
        sent(kind="desktop")
    program.write_text("#!/bin/sh\necho 'Cannot autolaunch D-Bus' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o700)
    with pytest.raises(NotificationError, match="ended with 1: Cannot autolaunch D-Bus") as raised:
        sent(kind="desktop")
    assert raised.value.again


def test_a_variable_is_filled_in_when_it_is_sent() -> None:
    with receiving() as receiver:
        sent(environ={"TOPIC": f"{receiver.url}/t", "TOKEN": "tk"}, kind="ntfy", url="${TOPIC}", secret="${TOKEN}")
        assert receiver.next().headers["authorization"] == "Bearer tk"
    with pytest.raises(NotificationError, match="the variable TOPIC is not set"):
        sent(kind="ntfy", url="${TOPIC}")


@pytest.mark.parametrize(
    ("status", "again"), [(301, False), (403, False), (404, False), (408, True), (429, True), (500, True), (503, True)]
)
def test_what_a_server_refuses(status: int, again: bool) -> None:
    with receiving(status) as receiver:
        with pytest.raises(NotificationError, match=f"it answered {status}") as raised:
            sent(kind="slack", url=f"{receiver.url}/secret-path")
        assert receiver.came.qsize() == 1, "it is not sent elsewhere"
    assert raised.value.again == again
    assert "secret-path" not in str(raised.value)


@pytest.mark.parametrize(
    ("note", "settings", "problem"),
    [
        ("nobody listens", {"kind": "slack", "url": "http://127.0.0.1:9/s3cret"}, "it can't be reached"),
        ("nobody takes mail", {"kind": "mail", "url": "smtp://127.0.0.1:9"}, "it can't be reached"),
        ("no topic", {"kind": "ntfy", "url": "http://127.0.0.1"}, "names no topic"),
        ("no port", {"kind": "ntfy", "url": "http://127.0.0.1:x/t"}, "it can't be reached"),
        ("a file that is not there", {"kind": "slack", "url_file": "/nowhere/s"}, "can't be read"),
        ("another kind of address in a variable", {"kind": "slack", "url": "${MAIL}"}, "begins with http"),
    ],
)
def test_what_can_not_be_sent(note: str, settings: dict[str, Any], problem: str) -> None:
    mail: dict[str, Any] = {"sender": "a@b.c", "to": ("d@e.f",)} if settings["kind"] == "mail" else {}
    with pytest.raises(NotificationError, match=problem) as raised:
        sent(environ={"MAIL": "smtp://x"}, **settings, **mail)
    assert "s3cret" not in str(raised.value), note


def test_a_mail_server_that_takes_nothing() -> None:
    with taking_mail(refuses="550 no such user") as box, pytest.raises(NotificationError, match="takes no mail"):
        sent(TRYOUT, kind="mail", url=box.url, sender="a@b.c", to=("d@e.f",))


@pytest.mark.parametrize(("mode", "text", "why"), [(0o644, "x", "chmod 600"), (0o600, " \n", "it is empty")])
def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path, mode: int, text: str, why: str) -> None:
    with receiving() as receiver, pytest.raises(NotificationError, match=why):
        sent(kind="ntfy", url=f"{receiver.url}/t", secret_file=secret(tmp_path, text, mode))


def test_mail_leaves_the_machine_over_tls_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is here, and looks as if it were elsewhere."""
    from interpose.people.notifications import mail

    monkeypatch.setattr(mail, "_is_loopback", lambda _host: False)
    with taking_mail() as box, pytest.raises(NotificationError, match="only over TLS"):
        sent(kind="mail", url=box.url, sender="a@b.c", to=("d@e.f",))
    assert box.came.empty()


def test_whoever_answers_letter_by_letter_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter comes in time, and the last one never."""
    monkeypatch.setattr(posting, "LONGEST", 0.2)
    over = threading.Event()

    class Dripping(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.request.sendall(b"HTTP/1.1 ")
                while not over.wait(0.01):
                    self.request.sendall(b"x")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with pytest.raises(NotificationError, match="it can't be reached"):
                sent(kind="slack", url=f"http://127.0.0.1:{server.server_address[1]}/")
        finally:
            over.set()
            server.shutdown()
            thread.join()
