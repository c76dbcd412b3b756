"""What the tests of seed 003 share: a governed server, an agent of it, and its HTTP API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.composition.service.service import Service
from interpose.doors.http import all_routes
from tests.support.governance.governed_agents import Claude, opened
from tests.support.governance.seeded_sessions import FILE
from tests.support.servers.servers import Running, running, trusting


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with opened(tmp_path, FILE) as found:
        yield found


@pytest.fixture
def claude(service: Service, tmp_path: Path) -> Claude:
    return Claude(service, tmp_path)


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    with running(all_routes.routes(service, version="0"), trust=trusting()) as found:
        yield found
