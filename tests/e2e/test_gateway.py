"""`interpose wrap` and `interpose gateway` as processes, driven by the official SDK's client, in both eras."""

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
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.e2e.processes import clean_environment

HERE = Path(__file__).parent / "mcp_servers"
SDK, BAD = str(HERE / "sdk_server.py"), str(HERE / "bad_server.py")
MODES = {"handshake": "legacy", "modern": "auto"}
VERSIONS = {"handshake": "2025-11-25", "modern": "2026-07-28"}
ERAS = ("handshake", "modern")
SERVERS = ("old", "both")


async def red(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"colour": "red"})


@asynccontextmanager
async def client(home: Path, era: str, *arguments: str, **options: Any) -> AsyncIterator[Client]:
    home.mkdir(exist_ok=True)
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "interpose", *arguments], env=dict(clean_environment(home)), cwd=home
    )
    with (home / "stderr").open("w", encoding="utf-8") as log:
        async with Client(
            stdio_client(program, errlog=log), mode=MODES[era], elicitation_callback=red, **options
        ) as one:
            yield one


def configured(home: Path, servers: Mapping[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"gateway": {"servers": servers}}), encoding="utf-8")
    file.chmod(0o600)


def said(result: types.CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, types.TextContent))


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("era", ERAS)
def test_a_wrapped_server_is_the_server_with_rules_before_it(tmp_path: Path, era: str, server: str) -> None:
    async def main() -> None:
        steps: list[float] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        async with client(tmp_path / "home", era, "wrap", "--", sys.executable, SDK, server) as one:
            assert one.protocol_version == VERSIONS[era]
            assert one.instructions == "Be kind to the toy."
            names = [tool.name for tool in (await one.list_tools()).tools]
            assert names == ["add", "run_command", "show_key", "count", "wait", "favourite"]
            assert said(await one.call_tool("add", {"a": 2, "b": 3})) == "5"

            denied = await one.call_tool("run_command", {"command": "rm -rf /"})
            assert denied.is_error
            assert "would have run" not in said(denied)
            assert said(await one.call_tool("run_command", {"command": "ls"})) == "would have run ls"
            assert "kJ8xkJ8x" not in said(await one.call_tool("show_key", {}))

            assert said(await one.call_tool("favourite", {})) == "It is red."
            assert said(await one.call_tool("count", {"to": 3}, progress_callback=progressed)) == "counted to 3"
            assert steps == [1, 2, 3]
            with anyio.move_on_after(0.5):
                await one.call_tool("wait", {})
            assert said(await one.call_tool("add", {"a": 1, "b": 1})) == "2"

            (resource,) = (await one.list_resources()).resources
            read = await one.read_resource(resource.uri)
            assert isinstance(read.contents[0], types.TextResourceContents)
            assert read.contents[0].text == "hello"
            assert (await one.read_resource("toy://item/7")).contents
            prompt = await one.get_prompt("greet", {"name": "Ada"})
            assert isinstance(prompt.messages[0].content, types.TextContent)
            assert prompt.messages[0].content.text == "Greet Ada."
            with pytest.raises(MCPError, match="Unknown tool"):
                await one.call_tool("nothing", {})

    asyncio.run(main())


@pytest.mark.parametrize("era", ERAS)
def test_a_gateway_before_servers_of_both_eras(tmp_path: Path, era: str) -> None:
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
        async with client(home, era, "gateway") as one:
            names = [tool.name for tool in (await one.list_tools()).tools]
            assert "old__add" in names
            assert "new__add" in names
            for server in ("old", "new"):
                assert said(await one.call_tool(f"{server}__add", {"a": 2, "b": 3})) == "5"
                assert said(await one.call_tool(f"{server}__favourite", {})) == "It is red."
                assert (await one.call_tool(f"{server}__run_command", {"command": "rm -rf /"})).is_error
            uris = [str(resource.uri) for resource in (await one.list_resources()).resources]
            assert len(uris) == 2
            assert all(uri.startswith("interpose://") for uri in uris), "both have toy://greeting"
            for uri in uris:
                assert (await one.read_resource(uri)).contents
            with pytest.raises(MCPError, match="there is no program"):
                await one.call_tool("absent__x", {})

    asyncio.run(main())
    decided = [row for row in records(home) if row["tool"].startswith("mcp__")]
    assert {"mcp__old__add", "mcp__new__run_command"} <= {row["tool"] for row in decided}


def records(home: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "audit", "search", "--json"],
        env=dict(clean_environment(home)), cwd=home, capture_output=True, text=True, check=True, timeout=50,
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
