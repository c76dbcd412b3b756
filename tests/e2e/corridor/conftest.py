"""Two worlds, one of them governed, and a service of this process in each. Each is opened once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec import Struct

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from tests.e2e.corridor.world import World, opened


class Place(Struct, frozen=True):
    """A world, and a service in it that this process opened."""

    world: World
    service: Service


@pytest.fixture(scope="module", params=["as configured", "governed"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    governed = request.param == "governed"
    with (
        opened(tmp_path_factory.mktemp("corridor"), governed=governed) as world,
        open_service(load(environ=world.environment).config, follow=False, serving=True) as service,
    ):
        yield Place(world, service)
