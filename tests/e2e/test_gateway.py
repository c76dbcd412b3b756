"""`interpose mcp wrap` and `interpose mcp gateway` as processes, driven by the official SDK's client.

Every server and every era: `tests/unit/doors/mcp/test_sdk_clients.py`, in one process.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.e2e.processes import clean_environment
from tests.support.peers.sdk_peers import MODES, said, say_red, use_both, use_toy
from tests.support.timing.patience import PATIENCE

HERE = Path(__file__).parent / "mcp_servers"
SDK, BAD = str(HERE / "sdk_server.py"), str(HERE / "bad_server.py")


@asynccontextmanager
async def client(home: Path, era: str, *arguments: str, **options: Any) -> AsyncIterator[Client]:
    home.mkdir(exist_ok=True)
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "interpose", *arguments], env=dict(clean_environment(home)), cwd=home
    )
    with (home / "stderr").open("w", encoding="utf-8") as log:
        async with Client(
            stdio_client(program, errlog=log), mode=MODES[era], elicitation_callback=say_red, **options
        ) as one:
            yield one


def configured(home: Path, servers: Mapping[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"gateway": {"servers": servers}}), encoding="utf-8")
    file.chmod(0o600)


def test_a_wrapped_server_is_the_server_with_rules_before_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with client(tmp_path / "home", "modern", "wrap", "--", sys.executable, SDK, "both") as one:
            await use_toy(one, "modern")
            assert (await one.read_resource("toy://item/7")).contents

    asyncio.run(main())


def test_a_gateway_before_servers_of_both_eras(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configured(
        home,
        {
            "old": {"command": sys.executable, "args": [SDK, "old"]},
            "new": {"command": sys.executable, "args": [SDK, "both"]},
            "absent": {"command": "there-is-no-such-program"},
        },
    )

    async def main() -> None:
        async with client(home, "handshake", "gateway") as one:
            await use_both(one)

    asyncio.run(main())
    decided = [row for row in records(home) if row["tool"].startswith("mcp__")]
    assert {"mcp__old__add", "mcp__new__run_command"} <= {row["tool"] for row in decided}


def records(home: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "audit", "search", "--json"],
        env=dict(clean_environment(home)), cwd=home, capture_output=True, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


DEEDS = {
    "dies": "it ended with exit code 3: I am gone",
    "grows": "a line has more than",
    "floods": "frames a second unasked",
    "chatters": "frames a second unasked",
    "hangs": "did not answer within 1 seconds",
    "lies": "something that is no result",
    "splits": "",
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_bad_server_is_contained(tmp_path: Path, deed: str) -> None:
    home, done = tmp_path / "home", tmp_path / "done"
    bad = {"command": sys.executable, "args": [BAD, deed, str(done)], "timeout": 1 if deed == "hangs" else 30}
    good = {"command": sys.executable, "args": [BAD, "nothing", str(done)]}
    configured(home, {"bad": bad, "good": good})

    async def main() -> None:
        async with client(home, "handshake", "gateway") as one:
            await one.list_tools()
            if DEEDS[deed]:
                with pytest.raises(MCPError, match=DEEDS[deed]):
                    await one.call_tool("bad__deed", {})
            else:
                assert said(await one.call_tool("bad__deed", {})) == "in pieces é"
            assert said(await one.call_tool("good__deed", {})) == "honest"
            with anyio.fail_after(20):
                while True:  # it is started anew, after a pause; one that only hangs or lies goes on
                    try:
                        assert said(await one.call_tool("bad__deed", {})) == "honest"
                        break
                    except MCPError:
                        await anyio.sleep(0.1)
                        if deed == "hangs":
                            return

    asyncio.run(main())
    left = [one.name for one in Path("/proc").iterdir() if one.name.isdigit() and str(done) in _command_line(one)]
    assert left == [], "nothing is left behind"


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
