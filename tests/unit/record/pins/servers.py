"""Toy servers' listings and desks for tests of pins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interpose.record.pins.definitions import Definition, connection_of, definitions_of
from interpose.record.pins.pin_desk import PinDesk, PinEvent, choices_of
from interpose.record.pins.pin_files import PinFiles
from interpose.record.pins.pinned_server import Mode, Pin, ServerPins
from interpose.record.store import open_store
from interpose.record.store.protocols import Counters

KEY = b"k" * 32


def tool(name: str, description: str = "Does something.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}} | more


class Toy:
    """A desk over a directory, and the events that it told."""

    def __init__(self, directory: Path, *, counted: bool = True) -> None:
        self.directory = directory
        self.store = open_store(directory / "store.db") if counted else None
        self.events: list[PinEvent] = []
        self.desk = self.again()

    def close(self) -> None:
        if self.store is not None:
            self.store.close()

    def again(self) -> PinDesk:
        """As after a restart."""
        return PinDesk(self.files(), told=self.events.append)

    def files(self) -> PinFiles:
        counters: Counters | None = self.store
        return PinFiles(self.directory / "pins", KEY, counters)

    def shows(
        self,
        *items: dict[str, Any],
        server: str = "fs",
        command: str = "npx",
        servers: Sequence[str] = ("fs",),
        mode: Mode = "first-use",
        desk: PinDesk | None = None,
    ) -> ServerPins:
        shown: dict[Any, list[Definition]] = {
            "connection": [connection_of(command=command)], "tools": definitions_of("tools", items),
        }  # fmt: skip
        return (desk or self.desk).listed(server, shown, servers, mode=mode)

    def states(self, server: str = "fs") -> dict[str, str]:
        return {pin.name: pin.state for pin in self.again().known(server).pins if pin.kind == "tools"}

    def pin(self, name: str, server: str = "fs") -> Pin:
        found = self.again().known(server).get("tools", name)
        assert found is not None
        return found

    def approve(self, *names: str, server: str = "fs") -> None:
        pins = [pin for pin in self.desk.known(server).pins if pin.name in names]
        self.desk.approve(server, choices_of(pins), "ann")
