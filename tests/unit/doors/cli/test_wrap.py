"""`interpose mcp wrap` and `interpose mcp gateway`: names made from commands, and mistakes that are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.config.gateway_servers import GatewayServer, wrong_servers
from interpose.core.config.load import load
from interpose.core.config.server_variables import filled
from interpose.core.errors import ConfigError
from interpose.doors.cli import main
from interpose.doors.cli.wrap import name_of


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem /srv", "filesystem"),
        ("npx -y some-server@1.2.3", "some"),
        ("uvx mcp-server-git --repository .", "git"),
        ("uv run weather.py", "weather"),
        ("python -m mcp_server_time", "mcp_server_time"),
        ("/opt/tools/github-mcp-server stdio", "github"),
        ("docker run -i --rm ghcr.io/github/github-mcp-server", "github"),
        ("node dist/index.js", "index"),
        ("server", "server"),
        ("npx", "npx"),
        ("./__x__.py", "x"),
        ("npx -y @a/b__c", "b_c"),
    ],
)
def test_names_made_from_commands(command: str, want: str) -> None:
    name = name_of(command.split())
    assert name == want
    assert not wrong_servers({name: GatewayServer(command="x")})


@pytest.mark.parametrize("arguments", [["wrap"], ["wrap", "npx"], ["wrap", "--"], ["wrap", "--name", "x"]])
def test_a_server_must_be_given(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 64
    assert "behind `--`" in capsys.readouterr().err


def test_a_name_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wrap", "--name", "a__b", "--", "x"]) == 78
    assert "single `_`" in capsys.readouterr().err


def test_a_gateway_without_servers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "interpose.yaml"
    file.write_text("gateway: {servers: {}}", encoding="utf-8")
    file.chmod(0o600)
    assert main(["gateway", "--config", str(file)]) == 78
    assert "interpose mcp wrap -- COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a: {}", "a: a server needs either a command or a url"),
        ("a: {command: x, url: 'http://y'}", "a: a server needs either a command or a url"),
        ("a: {comand: x}", "a: object contains unknown field `comand`"),
        ("a: {command: x, headers: {X: y}}", "are for a server with a url"),
        ("a: {url: 'http://y', env: {X: y}}", "a: args, env and cwd are for a server with a command"),
        ("a: {command: x, cwd: here}", "a: cwd must be an absolute path"),
        ("a: {command: x, args: [1]}", "a.args[0]: expected `str`, got `int`"),
        ("a: {command: x, timeout: 0}", "a.timeout: expected `float` > 0.0"),
        ("a: {command: x, env: {GITHUB_TOKEN: ghp_1}}", "a.env.GITHUB_TOKEN: a secret does not stand in this file"),
        ("a: {url: 'http://y', headers: {Authorization: Bearer x}}", "write ${AUTHORIZATION} here"),
        ("a: {command: x, env: {API_KEY: '$${X}'}}", "a secret does not stand in this file"),
        ("a__b: {command: x}", "'a__b': a name has"),
        ("'a b': {command: x}", "'a b': a name has"),
        ("a_: {command: x}", "'a_': a name has"),
        ("a: {command: x, prefix: b}\n    b: {command: y}", "a and b have the same prefix 'b'"),
        ("a: {command: x}\n    A: {command: y}", "a and A have the same prefix 'A'"),
        ("a: {command: x, prefix: ''}\n    b: {command: y, prefix: ''}", "a and b have the same prefix ''"),
        ("a: 7", "a: expected `object`, got `int`"),
    ],
)
def test_mistakes_in_servers(tmp_path: Path, text: str, want: str) -> None:
    with pytest.raises(ConfigError) as error:
        _servers(tmp_path, text)
    assert want in str(error.value)
    assert "ghp_1" not in str(error.value)


def test_servers_as_they_are_configured(tmp_path: Path) -> None:
    servers = _servers(
        tmp_path,
        "gh: {command: npx, args: [-y, x], env: {GITHUB_TOKEN: '${MY_TOKEN}', PUBLIC_KEY: p}}\n"
        "    docs: {url: 'https://docs.example/mcp', headers: {Authorization: 'Bearer ${MY_TOKEN}'}, timeout: 5}\n"
        "    off: {command: y, enabled: false, prefix: gh}",
    )
    environ = {"MY_TOKEN": "t0p"}
    assert filled(servers["gh"], environ).env == {"GITHUB_TOKEN": "t0p", "PUBLIC_KEY": "p"}
    assert filled(servers["docs"], environ).headers == {"Authorization": "Bearer t0p"}
    with pytest.raises(ValueError, match="the variable MY_TOKEN is not set"):
        filled(servers["gh"], {})
    assert servers["docs"].timeout == 5
    assert not servers["off"].enabled


def _servers(tmp_path: Path, text: str) -> dict[str, GatewayServer]:
    file = tmp_path / "interpose.yaml"
    file.write_text(f"gateway:\n  servers:\n    {text}\n", encoding="utf-8")
    file.chmod(0o600)
    environ = {"HOME": str(tmp_path)}
    return dict(load(file, environ=environ, organisation=tmp_path / "none").config.gateway.servers)
