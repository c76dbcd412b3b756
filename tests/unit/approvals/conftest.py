"""Both stores, as the tests of the stores have them."""

from tests.unit.store.conftest import place, server, store

__all__ = ["place", "server", "store"]
