"""Where pins are looked at and decided: the server that runs here, or their files for who only looks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import msgspec

from interpose.composition.service.pin_records import pins_directory
from interpose.core.config.load import load
from interpose.core.config.settings import Config
from interpose.core.errors import InterposeError, text_of
from interpose.doors.cli.approving.approvals_desk import ServerDesk, listening_desk, server_named, started_desk
from interpose.doors.cli.auditing.kept_store import kept_store
from interpose.record.ledger.keys import load_keys
from interpose.record.pins.pin_desk import PinChoice, PinDesk
from interpose.record.pins.pin_files import PinFiles
from interpose.record.pins.pin_rows import PinRow, PinsAnswer, rows_of


class PinsPlace(Protocol):
    """Where pins are."""

    def rows(self, server: str = "") -> list[PinRow]:
        """The pins of all servers, or of one."""

    def approve(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say yes."""

    def reject(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say no."""

    def forget(self, server: str) -> None:
        """Forget a server."""


class ServedPins:
    """The pins of a server."""

    def __init__(self, desk: ServerDesk) -> None:
        self._desk = desk

    def rows(self, server: str = "") -> list[PinRow]:
        """The pins of all servers, or of one."""
        return self._desk.do("pins", PinsAnswer, query=f"server={quote(server, safe='')}" if server else "").pins

    def approve(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say yes. The server knows by whom, and asks for proof."""
        body = {"items": msgspec.to_builtins(choices)}
        return self._desk.do("approve-pins", PinsAnswer, body, server=server).pins

    def reject(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say no."""
        body = {"items": msgspec.to_builtins(choices)}
        return self._desk.do("reject-pins", PinsAnswer, body, server=server).pins

    def forget(self, server: str) -> None:
        """Forget a server."""
        self._desk.do("forget-pins", dict[str, object], {}, server=server)


class KeptPins:
    """The files, for who only looks."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def rows(self, server: str = "") -> list[PinRow]:
        """The pins of all servers, or of one."""
        config, directory = self._config, pins_directory(self._config)
        keys = load_keys(Path(config.ledger.directory))
        if keys is None or not directory.is_dir():
            return []
        with kept_store(config) as store:
            return rows_of(PinDesk(PinFiles(directory, keys.digests, store)), server, config.gateway.servers)

    def approve(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say yes, at a server that is started for it."""
        return self._served().approve(server, choices)

    def reject(self, server: str, choices: Sequence[PinChoice]) -> list[PinRow]:
        """Say no, in the same way."""
        return self._served().reject(server, choices)

    def forget(self, server: str) -> None:
        """Forget a server, in the same way."""
        self._served().forget(server)

    def _served(self) -> ServedPins:
        """INVARIANT: who says yes is proven by a server, never by this process, which an agent could have started."""
        return ServedPins(started_desk(self._config))


def pins_place(args: argparse.Namespace) -> PinsPlace:
    """The pins that are meant. Raises UsageError or ConfigError."""
    if (named := server_named(args)) is not None:
        return ServedPins(named)
    config = load(args.config).config
    desk = listening_desk(config)
    return ServedPins(desk) if desk is not None else KeptPins(config)


def pins_waiting(config: Config) -> str:
    """What MCP servers show that waits for a person, in a line; empty if nothing does."""
    try:
        rows = KeptPins(config).rows()
    except (InterposeError, OSError) as error:
        return f"pins of MCP servers can't be read: {text_of(error)}"
    tampered = sorted({row.server for row in rows if row.state == "tampered"})
    if tampered:
        return f"pins of {', '.join(tampered)} were tampered with: interpose mcp pins"
    waiting = [row for row in rows if row.waits]
    if not waiting:
        return ""
    servers = ", ".join(sorted({row.server for row in waiting}))
    what = "1 definition of an MCP server waits" if len(waiting) == 1 else f"{len(waiting)} definitions wait"
    return f"{what} for you ({servers}): interpose mcp pins"
