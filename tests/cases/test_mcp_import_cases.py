"""MCP servers as agents write them, in our words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from interpose.core.config.gateway_servers import GatewayServer, written_secrets, wrong_servers
from interpose.core.config.server_variables import filled
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS
from interpose.doors.hooks.install.mcp_servers import ImportedServer, Untranslated, translated
from tests.support.case_files import read_cases

CASES = read_cases(Path(__file__).parent / "install" / "mcp_servers.yaml")["cases"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case["note"]) for case in CASES])
def test_import(case: dict[str, Any]) -> None:
    (found,) = translated({"mine": case["entry"]}, MCP_HOSTS[case["host"]], {})
    if "left" in case:
        assert isinstance(found, Untranslated)
        assert case["left"] in found.why
        return
    assert isinstance(found, ImportedServer), found
    assert found.server == case["want"]
    assert found.variables == case.get("variables", {})
    # Our configuration takes it, and with its variables it is what the agent would have started.
    server = msgspec.convert(found.server, GatewayServer)
    assert wrong_servers({"mine": server}) == ""
    assert written_secrets({"mine": found.server}) == ""
    if "${" not in "".join(found.variables.values()):
        filled(server, found.variables)
