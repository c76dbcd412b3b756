"""Both stores, for tests that ask for `place`: each test gets an empty one."""

from tests.unit.store.conftest import place, server, store

__all__ = ["place", "server", "store"]
