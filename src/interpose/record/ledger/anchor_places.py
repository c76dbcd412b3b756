"""Where heads are kept besides the ledger's own directory: a file, a git ref, an address. Each does one thing: it keeps
a line, and gives back what it has.

Nothing in here may hold up a call: it is used by a thread of its own, and by those who verify.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from interpose.core.config.ledger import AnchorSettings
from interpose.core.errors import LedgerError, text_of

_SECONDS = 10.0
_LARGEST = 16 << 20
_NAME = "heads.json"


class AnchorPlace(Protocol):
    """One place. Both raise LedgerError."""

    name: str

    def put(self, line: bytes) -> None:
        """Keep a line."""

    def lines(self) -> list[bytes]:
        """What is kept: at least the newest line; nothing if nobody kept one yet."""


def places_of(settings: AnchorSettings) -> tuple[AnchorPlace, ...]:
    """The places that are configured."""
    found: list[AnchorPlace] = []
    if settings.file:
        found.append(FileAnchor(Path(settings.file).expanduser()))
    if settings.git:
        found.append(GitAnchor(str(Path(settings.git).expanduser()), settings.git_ref, settings.git_remote))
    if settings.url:
        found.append(HttpAnchor(settings.url, settings.token))
    return tuple(found)


class FileAnchor:
    """A file that lines are added to, best on another disk."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, f"the file {path}"

    def put(self, line: bytes) -> None:
        """Add a line."""
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, line + b"\n")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise LedgerError(f"{self.name}: {text_of(error)}") from error

    def lines(self) -> list[bytes]:
        """All lines."""
        try:
            return self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise LedgerError(f"{self.name}: {text_of(error)}") from error


class GitAnchor:
    """A ref of a repository: a commit for each line, pushed if a remote is named."""

    def __init__(self, repository: str, ref: str, remote: str) -> None:
        self._repository, self._ref, self._remote = repository, ref, remote
        self.name = f"{ref} of {repository}"

    def put(self, line: bytes) -> None:
        """Commit a line."""
        blob = self._git("hash-object", "-w", "--stdin", given=line + b"\n")
        tree = self._git("mktree", given=f"100644 blob {blob}\t{_NAME}\n".encode())
        parent = self._git("rev-parse", "--quiet", "--verify", self._ref, missing=True)
        commit = self._git("commit-tree", tree, "-m", "heads of the ledger", *(("-p", parent) if parent else ()))
        self._git("update-ref", self._ref, commit, parent or "0" * len(commit))
        if self._remote:
            self._git("push", "--quiet", self._remote, f"{self._ref}:{self._ref}")

    def lines(self) -> list[bytes]:
        """The line of the newest commit, of the remote if there is one."""
        ref = self._ref
        if self._remote:
            if not self._git("ls-remote", self._remote, self._ref):
                return []
            self._git("fetch", "--quiet", self._remote, self._ref)
            ref = "FETCH_HEAD"
        elif not self._git("rev-parse", "--quiet", "--verify", ref, missing=True):
            return []
        return self._git("cat-file", "blob", f"{ref}:{_NAME}").encode().splitlines()

    def _git(self, *words: str, given: bytes = b"", missing: bool = False) -> str:
        import subprocess  # few ledgers have anchors, and every hook opens a ledger

        # No hook of the repository runs: it may be one that an agent works in.
        command = ["git", "-C", self._repository, "-c", "core.hooksPath=/dev/null", *words]
        who = {f"GIT_{role}_{part}": "interpose" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        try:
            done = subprocess.run(  # noqa: S603 - git, with words of ours
                command, input=given, capture_output=True, check=False, timeout=_SECONDS,
                env=os.environ | who | {"GIT_TERMINAL_PROMPT": "0"},
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise LedgerError(f"{self.name}: {text_of(error)}") from error
        if done.returncode and not missing:
            raise LedgerError(f"{self.name}: git {words[0]}: {done.stderr.decode('utf-8', 'replace').strip()}")
        return "" if done.returncode else done.stdout.decode("utf-8", "replace").strip()


class HttpAnchor:
    """An address that takes a line by POST and gives the newest back by GET: another server, a log of checkpoints."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token, self.name = url, token, url

    def put(self, line: bytes) -> None:
        """Post a line."""
        self._ask("POST", line)

    def lines(self) -> list[bytes]:
        """What it gives."""
        return self._ask("GET", None).splitlines()

    def _ask(self, method: str, body: bytes | None) -> bytes:
        import urllib.request  # as above

        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self._token}"} if self._token else {}
        )
        request = urllib.request.Request(self._url, body, headers, method=method)  # noqa: S310 - checked when it is set
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
                return bytes(answer.read(_LARGEST))
        except (OSError, ValueError) as error:
            raise LedgerError(f"{self.name}: {text_of(error)}") from error
