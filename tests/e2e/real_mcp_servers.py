"""Real MCP servers of the ecosystem behind `interpose mcp wrap` and `interpose mcp gateway`, with the official client.

    python -m tests.e2e.real_mcp_servers [SERVER ...]

They come from npm and PyPI once, and are kept in ~/.cache/interpose-mcp (INTERPOSE_MCP).
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from msgspec import Struct

from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

NPM = ("@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-everything")
PYPI = ("mcp-server-git", "mcp-server-time", "mcp-server-fetch")
MODES = {"handshake": "legacy", "modern": "auto"}


class Trial(Struct, frozen=True):
    """A call, and what must be in its answer. `refused`: it must not reach the server."""

    tool: str
    arguments: Mapping[str, Any]
    want: str = ""
    refused: bool = False


class RealServer(Struct, frozen=True):
    """A server, and what is tried with it."""

    command: Sequence[str]
    trials: Sequence[Trial]


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><p>A page of this machine.</p></body></html>"
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def installed(place: Path) -> Path:
    """Where the servers are. Installs them if they are not there."""
    if not (place / "venv" / "bin" / "mcp-server-git").exists():
        place.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit("scripts/gateway needs npm")
        subprocess.run(
            [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), *NPM], check=True
        )
        subprocess.run([sys.executable, "-m", "venv", str(place / "venv")], check=True)
        subprocess.run([str(place / "venv" / "bin" / "pip"), "install", "--quiet", *PYPI], check=True)
    return place


def servers(place: Path, work: Path, page: int) -> dict[str, RealServer]:
    """What is tried."""
    node = [shutil.which("node") or "node"]
    modules, bins = place / "node_modules" / "@modelcontextprotocol", place / "venv" / "bin"
    file, repo, key = work / "notes.txt", work / "repo", work / ".ssh" / "id_ed25519"
    return {
        "filesystem": RealServer(
            [*node, str(modules / "server-filesystem" / "dist" / "index.js"), str(work)],
            [
                Trial("list_directory", {"path": str(work)}, "notes.txt"),
                Trial("read_text_file", {"path": str(file)}, "remember the milk"),
                Trial("write_file", {"path": str(work / "new.txt"), "content": "x"}, "Successfully"),
                Trial("read_text_file", {"path": str(key)}, "secret key", refused=True),
            ],
        ),
        "everything": RealServer(
            [*node, str(modules / "server-everything" / "dist" / "index.js")],
            [
                Trial("echo", {"message": "hello"}, "hello"),
                Trial("trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
                Trial("trigger-elicitation-request", {}, "accept"),
            ],
        ),
        "git": RealServer(
            [str(bins / "mcp-server-git"), "--repository", str(repo)],
            [
                Trial("git_status", {"repo_path": str(repo)}, "On branch"),
                Trial("git_log", {"repo_path": str(repo), "max_count": 1}, "first"),
            ],
        ),
        "time": RealServer(
            [str(bins / "mcp-server-time"), "--local-timezone", "UTC"],
            [Trial("get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin")],
        ),
        "fetch": RealServer(
            [str(bins / "mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips"],
            [Trial("fetch", {"url": f"http://127.0.0.1:{page}/"}, "A page of this machine")],
        ),
    }  # fmt: skip


async def accepting(context: Any, params: Any) -> types.ElicitResult:
    """A person who fills in every form."""
    schema = getattr(params, "requested_schema", None)
    wanted = schema if isinstance(schema, dict) else schema.model_dump() if schema is not None else {}
    content: dict[str, Any] = {}
    for name in wanted.get("required") or ():
        content[name] = "x"
    return types.ElicitResult(action="accept", content=content)


async def tried(
    home: Path, era: str, arguments: Sequence[str], name_of: Callable[[str], str], trials: Sequence[Trial]
) -> str:
    """What went wrong; empty if nothing did."""
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "interpose", *arguments], env=dict(clean_environment(home)), cwd=home
    )
    with (home / "stderr").open("a", encoding="utf-8") as log:
        async with Client(stdio_client(program, errlog=log), mode=MODES[era], elicitation_callback=accepting) as one:
            shown = {tool.name for tool in (await one.list_tools()).tools}
            for trial in trials:
                if (name := name_of(trial.tool)) not in shown:
                    return f"{name} is not shown"
                try:
                    result = await asyncio.wait_for(one.call_tool(name, dict(trial.arguments)), PATIENCE)
                except MCPError as error:
                    return f"{name}: {error}"
                said = "".join(part.text for part in result.content if isinstance(part, types.TextContent))
                if trial.refused:
                    if not result.is_error or trial.want in said:
                        return f"{name} was not refused: {said[:200]}"
                elif result.is_error or trial.want not in said:
                    return f"{name}: {said[:300]}"
    return ""


def prepared(work: Path) -> None:
    """Files that the servers find."""
    (work / "repo").mkdir(parents=True)
    (work / "notes.txt").write_text("remember the milk", encoding="utf-8")
    (work / ".ssh").mkdir()
    (work / ".ssh" / "id_ed25519").write_text("secret key", encoding="utf-8")
    git = ["git", "-C", str(work / "repo"), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)


async def run(wanted: Sequence[str]) -> int:
    place = installed(Path(os.environ.get("INTERPOSE_MCP", Path.home() / ".cache" / "interpose-mcp")))
    page = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    failures = 0
    for era in MODES:
        with tempfile.TemporaryDirectory() as temporary:
            home, work = Path(temporary) / "home", Path(temporary) / "work"
            home.mkdir()
            prepared(work)
            known = servers(place, work, page.server_address[1])
            known = {name: known[name] for name in wanted or known}
            for name, server in known.items():
                why = await tried(home, era, ["wrap", "--name", name, "--", *server.command], str, server.trials)
                failures += told(f"wrap {name}", era, why)
            file = home / ".config" / "interpose" / "interpose.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            given = {name: {"command": one.command[0], "args": list(one.command[1:])} for name, one in known.items()}
            file.write_text(json.dumps({"gateway": {"servers": given}}), encoding="utf-8")
            file.chmod(0o600)
            for name, server in known.items():
                why = await tried(home, era, ["gateway"], f"{name}__{{}}".format, server.trials)
                failures += told(f"gateway {name}", era, why)
            if failures:
                print((home / "stderr").read_text(encoding="utf-8")[-3000:])  # noqa: T201 - a script
    return 1 if failures else 0


def told(what: str, era: str, why: str) -> bool:
    print(f"{'ok' if not why else 'FAILS':6} {era:10} {what:20} {why}", flush=True)  # noqa: T201 - a script
    return bool(why)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(run(sys.argv[1:])))
