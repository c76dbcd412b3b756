"""An agent is pointed at the gateway and back: to the byte, whatever its file looks like."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.load import load
from interpose.doors.cli import main
from interpose.doors.hooks.install.gateway_records import GatewayRecords
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS, mcp_place

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
SERVERS = {"files": {"command": "npx", "args": ["-y", "fs"]}, "hub": {"command": "hub", "env": {"HUB_TOKEN": TOKEN}}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("XDG_", "INTERPOSE_")) or name.endswith("_HOME")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words, "--yes"])
    out = capsys.readouterr()
    return code, out.out, out.err


def place(host: str) -> Path:
    return mcp_place(MCP_HOSTS[host], "user", Path.cwd()).path


def put(host: str, text: str | bytes) -> Path:
    file = place(host)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def common(**more: Any) -> str:
    return json.dumps({"mcpServers": SERVERS} | more, indent=2) + "\n"


TEXTS: list[tuple[str, str, str]] = [
    ("indented", "cursor", common()),
    ("with state beside it", "claude-code", common(numStartups=3, projects={"/a": {"mcpServers": {}}})),
    ("on one line", "claude-desktop", json.dumps({"mcpServers": SERVERS})),
    ("with tabs and CRLF", "windsurf", json.dumps({"mcpServers": SERVERS}, indent="\t").replace("\n", "\r\n")),
    ("with comments and trailing commas", "vscode",
     ('{\n  // inputs\n  "inputs": [],\n  "servers": {\n    "a": {"command": "x"}, // first\n    /* b */ "b": '
     '{"command": "y"},\n  },\n}\n')),
    ("with a byte order mark", "copilot", "\ufeff" + common()),
    ("servers in the middle", "gemini-cli", json.dumps({"theme": "x", "mcpServers": SERVERS, "hooks": {}}, indent=4)),
    ("no servers yet", "qwen-code", '{"theme": "x"}'),
    ("an empty map of servers", "kiro", '{"mcpServers": {}}'),
    ("an empty object", "droid", "{}"),
    ("an empty file", "droid", ""),
    ("lists as commands", "opencode", '{"$schema": "x", "mcp": {"a": {"type": "local", "command": ["x", "y"]}}}'),
    ("tables", "codex",
     'model = "m"\n\n[mcp_servers.files]\ncommand = "npx"\n\n[mcp_servers.files.env]\nA = "b"\n\n[tui]\nx = 1\n'),
    ("tables at the end, no line break", "codex", '[tui]\nx = 1\n[mcp_servers."a b"]\ncommand = "x"'),
    ("no tables", "codex", "model = 'm'\n"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "host", "text"), TEXTS, ids=[row[0] for row in TEXTS])
def test_there_and_back_to_the_byte(home: Path, note: str, host: str, text: str, capsys: Any) -> None:
    file = put(host, text)
    file.chmod(0o640)
    code, _, err = said(capsys, "gateway", "install", host)
    assert code == 0, err
    assert file.read_text(encoding="utf-8") != text
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert said(capsys, "gateway", "install", host)[1].startswith("Nothing was changed: it is so already")
    assert said(capsys, "gateway", "uninstall", host)[0] == 0
    assert file.read_bytes() == text.encode()
    assert said(capsys, "gateway", "uninstall", host)[0] == 1


def test_a_file_that_was_not_there_is_gone_again(home: Path, capsys: Any) -> None:
    assert said(capsys, "gateway", "install", "cursor")[0] == 0
    assert json.loads(place("cursor").read_text())["mcpServers"]["interpose"]["args"] == ["gateway"]
    assert said(capsys, "gateway", "uninstall", "cursor")[0] == 0
    assert not place("cursor").parent.exists()


@pytest.mark.parametrize(("text", "told"), [("{}", True), (common(), False)])
def test_a_gateway_without_a_server_is_told(home: Path, text: str, told: bool, capsys: Any) -> None:
    """The agent would start it, and it would end at once."""
    put("cursor", text)
    code, out, err = said(capsys, "gateway", "install", "cursor")
    assert (code, "name one as gateway.servers" in out + err) == (0, told)


def test_the_agent_gets_one_server_and_our_file_the_others(home: Path, capsys: Any) -> None:
    file = put("claude-code", common(theme="dark"))
    config = home / ".config" / "interpose" / "interpose.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\nserver:\n  port: 9000  # stays\n")
    code, out, _ = said(capsys, "gateway", "install", "claude-code")
    assert code == 0
    now = json.loads(file.read_text())
    assert now["theme"] == "dark"
    ((name, entry),) = now["mcpServers"].items()
    assert (name, entry["args"], entry["env"]) == (
        "interpose", ["gateway", "--servers", "files,hub"], {"HUB_TOKEN": TOKEN},
    )  # fmt: skip
    assert entry["command"].endswith("/interpose")
    text = config.read_text()
    assert text.startswith("# mine\nserver:\n  port: 9000  # stays\n")
    servers = load(environ={"HOME": str(home)}).config.gateway.servers
    assert {name: server.command for name, server in servers.items()} == {"files": "npx", "hub": "hub"}
    assert servers["hub"].env == {"HUB_TOKEN": "${HUB_TOKEN}"}
    assert TOKEN not in text  # not in our file
    assert TOKEN not in out  # nor on the screen
    assert TOKEN not in said(capsys, "gateway", "uninstall", "claude-code")[1]


def test_servers_for_one_project_in_the_users_file(home: Path, capsys: Any) -> None:
    """Where `claude mcp add` puts them, unless it is told otherwise."""
    here = {str(home): {"history": [1], "mcpServers": SERVERS}, "/else": {"mcpServers": {"x": {"command": "x"}}}}
    text = json.dumps({"mcpServers": {"mine": {"command": "m"}}, "projects": here}, indent=2)
    file = put("claude-code", text)
    out = said(capsys, "gateway", "import", "--dry-run", "--json")[1]
    assert list(json.loads(out)["servers"]) == ["mine", "files", "hub"]
    for words in (("install", "claude-code"), ("install", "claude-code", "--local")):
        assert said(capsys, "gateway", *words)[0] == 0
    now = json.loads(file.read_text())
    assert list(now["mcpServers"]) == list(now["projects"][str(home)]["mcpServers"]) == ["interpose"]
    assert now["projects"]["/else"] == here["/else"]
    for words in (("uninstall", "claude-code"), ("uninstall", "claude-code", "--local")):
        assert said(capsys, "gateway", *words)[0] == 0
    assert file.read_text() == text
    (home / "elsewhere").mkdir()
    code, _, err = said(capsys, "gateway", "install", "claude-code", "--local", "--cwd", str(home / "elsewhere"))
    assert (code, "it has nothing for" in err) == (1, True)


def test_what_others_changed_meanwhile_stays(home: Path, capsys: Any) -> None:
    file = put("claude-code", common(count=1))
    said(capsys, "gateway", "install", "claude-code")
    now = json.loads(file.read_text())
    file.write_text(json.dumps(now | {"count": 2}, indent=2))  # the agent writes its own state all the time
    assert said(capsys, "gateway", "uninstall", "claude-code")[0] == 0
    assert json.loads(file.read_text()) == {"mcpServers": SERVERS, "count": 2}


def test_a_server_that_was_added_meanwhile_stays(home: Path, capsys: Any) -> None:
    file = put("cursor", common())
    said(capsys, "gateway", "install", "cursor")
    now = json.loads(file.read_text())
    now["mcpServers"]["late"] = {"command": "late"}
    file.write_text(json.dumps(now))
    assert said(capsys, "gateway", "uninstall", "cursor")[0] == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"late": {"command": "late"}} | SERVERS}


def test_a_server_that_was_added_meanwhile_is_taken_over_by_the_next_install(home: Path, capsys: Any) -> None:
    file = put("cursor", common())
    said(capsys, "gateway", "install", "cursor")
    now = json.loads(file.read_text())
    now["mcpServers"]["late"] = {"command": "late"}
    file.write_text(json.dumps(now))
    assert said(capsys, "gateway", "install", "cursor")[0] == 0
    assert list(json.loads(file.read_text())["mcpServers"]) == ["interpose"]
    assert set(load(environ={"HOME": str(home)}).config.gateway.servers) == {"files", "hub", "late"}
    assert said(capsys, "gateway", "uninstall", "cursor")[0] == 0
    assert json.loads(file.read_text()) == {"mcpServers": {"late": {"command": "late"}} | SERVERS}


def test_status_says_what_gets_round_the_gateway(home: Path, capsys: Any) -> None:
    file = put("cursor", common())
    said(capsys, "gateway", "install", "cursor")

    def status() -> str:
        main(["status"])
        return str(capsys.readouterr().out)

    assert "Cursor starts its MCP servers through the gateway" in status()
    now = json.loads(file.read_text())
    file.write_text(json.dumps({"mcpServers": now["mcpServers"] | {"late": {"command": "late"}}}))
    assert "Cursor starts late past the gateway" in status()
    file.write_text("{}")
    assert "Cursor does not start the gateway any more" in status()
    file.write_text("{")
    assert "can't be understood" in status()


def test_tables_that_others_added_meanwhile_stay(home: Path, capsys: Any) -> None:
    file = put("codex", '[mcp_servers.files]\ncommand = "npx"\n')
    said(capsys, "gateway", "install", "codex")
    file.write_text(file.read_text() + "\n[tui]\nnotifications = true\n")
    assert said(capsys, "gateway", "uninstall", "codex")[0] == 0
    assert tomllib.loads(file.read_text()) == {
        "mcp_servers": {"files": {"command": "npx"}}, "tui": {"notifications": True},
    }  # fmt: skip


def test_two_agents_with_servers_of_one_name_keep_their_own(home: Path, capsys: Any) -> None:
    put("cursor", json.dumps({"mcpServers": {"files": {"command": "one"}}}))
    put("windsurf", json.dumps({"mcpServers": {"files": {"command": "two"}, "same": {"command": "x"}}}))
    put("kiro", json.dumps({"mcpServers": {"same": {"command": "x"}}}))
    for host in ("cursor", "windsurf", "kiro"):
        assert said(capsys, "gateway", "install", host)[0] == 0
    names = {
        host: json.loads(place(host).read_text())["mcpServers"]["interpose"]["args"][-1]
        for host in ("cursor", "windsurf", "kiro")
    }
    assert names == {"cursor": "files", "windsurf": "files-windsurf,same", "kiro": "same"}
    assert set(load(environ={"HOME": str(home)}).config.gateway.servers) == {"files", "files-windsurf", "same"}


REFUSED: list[tuple[str, str, str, str]] = [
    ("no JSON", "cursor", '{"mcpServers": ', "can't be understood"),
    ("no object", "cursor", "[]", "holds no object"),
    ("servers that are none", "cursor", '{"mcpServers": []}', "is no object"),
    ("no TOML", "codex", "[mcp_servers", "can't be understood"),
    ("inline tables", "codex", 'mcp_servers = {a = {command = "x"}}\n', "without changing more of the file"),
    ("no UTF-8", "cursor", "\udcff", "is not UTF-8"),
]


@pytest.mark.parametrize(("note", "host", "text", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_can_not_be_changed_stays_as_it_is(
    home: Path, note: str, host: str, text: str, why: str, capsys: Any
) -> None:
    data = text.encode(errors="surrogateescape")
    file = put(host, data)
    code, _, err = said(capsys, "gateway", "install", host)
    assert (code, why in err) == (1, True), err
    assert file.read_bytes() == data
    assert not (home / ".config" / "interpose").exists()


def test_our_file_that_can_not_be_changed_is_told_what_to_write(home: Path, capsys: Any) -> None:
    file = put("cursor", common())
    config = home / ".config" / "interpose" / "interpose.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("gateway: {servers: {a: {command: x}}}\n")
    code, _, err = said(capsys, "gateway", "install", "cursor")
    assert (code, "Write this into it yourself" in err) == (1, True)
    assert file.read_text() == common()


def test_names_that_differ_by_case_are_told_apart(home: Path, capsys: Any) -> None:
    put(
        "cursor",
        json.dumps({"mcpServers": {"Files": {"command": "a"}, "files": {"command": "b"}, "a b__c": {"command": "c"}}}),
    )
    assert said(capsys, "gateway", "install", "cursor")[0] == 0
    assert set(load(environ={"HOME": str(home)}).config.gateway.servers) == {"Files", "files-cursor", "a-b_c"}


def test_what_would_not_load_is_not_written(home: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An organisation that locks its servers: with others in the user's file, every hook would refuse."""
    from interpose.core.config import load as loading

    organisation = home / "organisation.yaml"
    organisation.write_text("lock: [gateway.servers]\n")
    organisation.chmod(0o644)
    defaults = loading.load.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "organisation", organisation)
    file = put("cursor", common())
    code, _, err = said(capsys, "gateway", "install", "cursor")
    assert (code, "would not load" in err, "locked by" in err) == (1, True, True), err
    assert file.read_text() == common()
    assert not (home / ".config" / "interpose").exists()


def test_import_reads_users_files_and_a_named_one(home: Path, capsys: Any) -> None:
    put("cursor", common())
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": {"command": "evil"}}}))
    code, out, _ = said(capsys, "gateway", "import", "--dry-run")
    assert (code, "files:" in out, "evil" in out) == (0, True, False)  # what a repository brings is not asked for
    code, out, _ = said(capsys, "gateway", "import", ".mcp.json", "--json")
    assert (code, json.loads(out)["servers"]) == (0, {"evil": {"command": "evil"}})
    assert "evil" in load(environ={"HOME": str(home)}).config.gateway.servers
    code, out, _ = said(capsys, "gateway", "import", "cursor")
    assert "set $HUB_TOKEN where `interpose mcp gateway` is started" in out
    assert said(capsys, "gateway", "import", "nobody")[0] == 1


def test_uninstall_of_an_agent_and_of_everything_takes_it_back(home: Path, capsys: Any) -> None:
    for host in ("cursor", "claude-desktop"):
        put(host, common())
        assert said(capsys, "gateway", "install", host)[0] == 0
    assert said(capsys, "uninstall", "cursor")[0] == 0
    assert place("cursor").read_text() == common()
    code, out, err = said(capsys, "uninstall", "--all", "--purge")
    assert code == 0, err
    assert "its own MCP servers come back" in out
    assert place("claude-desktop").read_text() == common()
    assert not (home / ".config" / "interpose").exists()
    assert not (home / ".local" / "state" / "interpose").exists()


@pytest.mark.parametrize("number", range(4))
def test_killed_between_two_writes_it_can_be_taken_back(home: Path, number: int, capsys: Any) -> None:
    """A record, our file, the agent's file: wherever it ends, the agent's file is whole and comes back."""
    file = put("cursor", common())
    code = f"""
import os, signal, sys
from interpose.doors.hooks.install import careful_files
real, left = os.rename, {number}
def rename(*given, **named):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return real(*given, **named)
os.rename = rename
from interpose.doors.cli import main
sys.exit(main(["gateway", "install", "cursor", "--yes"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env={"HOME": str(home)}, check=False)
    assert done.returncode == (-signal.SIGKILL if number < 3 else 0), done.stderr
    assert "mcpServers" in json.loads(file.read_text())
    kept = GatewayRecords(load(environ={"HOME": str(home)}).places).all()
    assert said(capsys, "gateway", "uninstall", "cursor")[0] == (0 if kept else 1)
    assert file.read_text() == common()
    assert said(capsys, "gateway", "install", "cursor")[0] == 0
    assert said(capsys, "gateway", "uninstall", "cursor")[0] == 0
    assert file.read_text() == common()
