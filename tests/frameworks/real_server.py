"""A real decision server on loopback, with a queue of questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interpose.composition.service.service import Service
from interpose.doors.http.all_routes import routes
from tests.support.servers.servers import running, service_in, trusting

ASKING = """\
version: 1
rules:
  - id: ask-about-notes
    on: {tools: ["*note"]}
    when: "true"
    action: ask
    message: Really take this note?
"""


@contextmanager
def serving(directory: Path, rules: str) -> Iterator[tuple[str, Service]]:
    """The address of a server with these rules, and what is behind it."""
    place = directory / "server"
    place.mkdir()
    with service_in(place, rules) as service, running(routes(service, version="0"), trust=trusting()) as server:
        yield server.url, service


def answered_yes(service: Service) -> None:
    """A person says yes to the question that waits."""
    (waiting,) = service.desk.asked()
    service.desk.approve(waiting.id, "kim")
