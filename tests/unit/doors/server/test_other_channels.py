"""Whether only the person at this machine can answer: it decides how long a hook waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.notifications import NotificationChannel, NotificationSettings
from interpose.core.config.settings import WebhookSettings
from interpose.doors.page.page_sessions import PageSessions
from interpose.doors.server.other_channels import only_this_desk
from interpose.effects.agents.hook_times import wait_for
from tests.support.servers.servers import service_in

DESKTOP = NotificationSettings(channels={"desk": NotificationChannel(kind="desktop")})
OTHERS: list[tuple[str, str, dict[str, Any]]] = [
    ("a notification", "notifications", {"channels": DESKTOP.channels}),
    ("a webhook", "approvals", {"webhook": WebhookSettings(url="https://chat.example/x")}),
    ("another user", "approvals", {"proof": "user", "operator": "bob", "socket": "/x"}),
    ("whoever has a token", "approvals", {"proof": "token"}),
    ("other machines, by its address", "server", {"host": "10.0.0.1"}),
    ("other machines, by a proxy", "server", {"public_url": "https://interpose.example"}),
]


@contextmanager
def alone_in(directory: Path) -> Iterator[Service]:
    with service_in(directory) as service:
        service.config = replace(service.config, approvals=replace(service.config.approvals, proof="terminal"))
        yield service


@pytest.mark.parametrize(("note", "group", "changed"), OTHERS, ids=[case[0] for case in OTHERS])
def test_others_can_answer(note: str, group: str, changed: dict[str, Any], tmp_path: Path) -> None:
    with alone_in(tmp_path) as service:
        assert only_this_desk(service)
        config = service.config
        service.config = replace(config, **{group: replace(getattr(config, group), **changed)})
        assert not only_this_desk(service), note


def test_a_page_that_is_signed_in_is_another_way(tmp_path: Path) -> None:
    with alone_in(tmp_path) as service:
        assert service.answering is not None
        pages = PageSessions(service.store, service.answering)
        signed_in = pages.begin("ann", "approver", proven="terminal")
        assert not only_this_desk(service)
        pages.end(signed_in.session.id)
        assert only_this_desk(service)


WAITS = [
    ("nobody else can answer", {}, True, 30.0),
    ("others can", {}, False, 240.0),
    ("the user said how long for this host", {"claude-code": 100.0}, True, 100.0),
    ("the user said how long for all", {"all": 100.0}, True, 100.0),
    ("the user said: not at all", {"claude-code": 0.0}, True, 0.0),
]


@pytest.mark.parametrize(("note", "waits", "alone", "want"), WAITS, ids=[case[0] for case in WAITS])
def test_how_long_a_hook_waits(note: str, waits: dict[str, float], alone: bool, want: float) -> None:
    assert wait_for("claude-code", waits, 30.0, 300.0, alone=alone) == want, note
