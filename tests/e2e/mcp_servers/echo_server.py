"""An MCP server whose tools run nothing: each says what it was called with. Needs no package, and starts at once."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS = ("run_command", "read_file", "write_file")


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "echo", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        said = unknown if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | said) + "\n")
        sys.stdout.flush()
