"""A new user's home, with Interpose from a wheel and nothing of this checkout; and one real use of every verb."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from msgspec import Struct

from tests.package.built import ROOT
from tests.support.timing.patience import PATIENCE

AGENT = "claude-code"
ASKED = "git push --force origin feature"
"""What a person is asked about. Nothing is executed: hooks only decide."""


class Use(Struct, frozen=True):
    """One use of a verb: its words, what it must end with, and a part of what it must say."""

    words: tuple[str, ...]
    code: int = 0
    part: str = ""
    stdin: str = ""


def _event(command: str) -> str:
    return json.dumps({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "Bash",
        "tool_input": {"command": command},
    })  # fmt: skip


_LISTING = '{"jsonrpc": "2.0", "id": 1, "method": "interceptors/list"}\n'
RULE = """version: 1
rules:
  - id: no-make
    on: {tools: [exec]}
    when: args.command == "make"
    action: deny
    message: No make.
    examples:
      match: ["make"]
"""

USES = (
    Use(("install", AGENT, "--yes"), part="installed at"),
    Use(("install", "opencode", "--project", "--cwd", "project", "--yes"), part="installed at"),
    Use(("hook", AGENT), part='"deny"', stdin=_event("rm -rf /")),
    Use(("hook", AGENT), part="Overwrites what others", stdin=_event(ASKED)),
    Use(("config", "init"), part="interpose.yaml"),
    Use(("config", "check")),
    Use(("policy", "enable", "git"), part="git is on"),
    Use(("policy", "test", "rules.yaml")),
    Use(("serve", "token", "new", "my-agent")),
    Use(("check", "rm -rf /"), code=2, part="DENY"),
    Use(("check", "--explain", "git push --force origin main"), code=2, part="force-push"),
    Use(("demo", "--tour"), part="rm -rf"),
    Use(("run", "--", "echo", "ran"), part="ran"),
    Use(("audit", "redact"), part="[redacted", stdin="the key is AKIA" + "QYLPMN5HIEXAMPLZ\n"),
    Use(("approvals", "list")),
    Use(("approvals", "grants", "list")),
    Use(("approvals", "pause", "list")),
    Use(("governance", "session", "list"), part="last active"),
    Use(("audit", "search", "--decision", "deny"), part="rm -rf /"),
    Use(("audit", "verify")),
    Use(("completion", "bash"), part="interpose"),
    Use(("help", "approvals"), part="# Approvals"),
    Use(("approvals", "operator", "init", "--passphrase"), code=64, part="needs a terminal"),
    Use(("open", "--no-browser", "short"), code=64, part="is no code"),
    Use(("doctor", AGENT), part="refuses"),
    Use(("status",), part="Claude Code"),
    Use(("serve", "--port", "70000"), code=78, part="server.port"),
    Use(("wrap",), code=64, part="wrap -- npx some-server"),
    Use(("mcp",), part="no MCP servers are configured"),
    Use(("gateway",), code=78, part="gateway.servers"),
    Use(("mcp", "pins"), part="nothing is pinned"),
    Use(("approvals", "notify", "mute"), code=64, part="say for how long"),
    Use(("mcp", "interceptor-server"), part="interpose/decide", stdin=_LISTING),
    Use(("proxy", "--port", "70000"), code=78, part="proxy.port"),
    Use(("session", "list"), part="s"),
    Use(("governance", "command", "check", "review"), part="review"),
    Use(("governance", "init", "--ready", "tiers"), part="governance.yaml"),
    Use(("governance", "role", "check", "researcher", "write"), part="may not use write"),
    Use(("uninstall", AGENT, "--dry-run"), part="dry run"),
)
"""In this order, in one home."""


class Trial:
    """An empty home, and the programs of an environment in it."""

    def __init__(self, programs: Path, place: Path) -> None:
        self.home, self._programs = place / "h", programs
        (self.home / "project").mkdir(parents=True)
        (self.home / "rules.yaml").write_text(RULE)
        self._environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for pid in self.processes():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def write(self, name: str, text: str) -> None:
        """A file of the home, for its owner."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Our command line, as a user has it."""
        return subprocess.run(
            [self._programs / "interpose", *words], check=False, cwd=self.home, env=self._environment, input=stdin,
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The same, for what does not end by itself."""
        return subprocess.Popen(
            [self._programs / "interpose", *words], cwd=self.home, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def files(self) -> set[str]:
        """Everything in the home, directories included."""
        return {str(path.relative_to(self.home)) for path in self.home.rglob("*")}

    def is_private(self, name: str) -> bool:
        """Whether nobody else reads a file: by its mode, or by that of a directory above it."""
        path = self.home / name
        below = [each for each in (path, *path.parents) if each.is_relative_to(self.home) and each != self.home]
        return any(not each.stat().st_mode & 0o077 for each in below)

    def processes(self) -> list[int]:
        """Processes that have this home."""
        found: list[int] = []
        for place in Path("/proc").iterdir():
            if not place.name.isdecimal() or int(place.name) == os.getpid():
                continue
            try:
                if f"HOME={self.home}\0".encode() in (place / "environ").read_bytes():
                    found.append(int(place.name))
            except OSError:
                continue
        return found


def documented() -> list[str]:
    """The files of a home that docs/install.md lists."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    section = page.partition("\n## Where every file lies\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `~/([^`]+)`", section, re.MULTILINE)
    assert len(found) > 8
    return found


AGENTS_FILES = (".claude/settings.json", "project/.opencode/plugins/interpose.js")


def is_documented(name: str, listed: list[str]) -> bool:
    """Whether a file or directory of the home is in the list, below one of it, or on the way to one."""
    return any(
        fnmatchcase(name, f"{each}*") or fnmatchcase(name, f"{each}/*") or each.startswith(f"{name}/")
        for each in (*listed, *AGENTS_FILES)
    )
