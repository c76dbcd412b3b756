"""An MCP server with one tool, which says a text and leaves a marker: tools of servers must pass our hook, too.

Started by agents as `python mcp_server.py FOLDER`, where it leaves `noted-TEXT.marker`. It speaks JSON-RPC, a line a
message, on standard input and output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "leave_note",
    "description": "Leaves a note.",
    "inputSchema": {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]},
}


def answer(request: dict[str, Any], folder: Path) -> dict[str, Any] | None:
    """The result of one request; None for what this server doesn't know."""
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            about = {"name": "notes", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            note = request["params"]["arguments"]["note"]
            (folder / f"noted-{note}.marker").touch()
            return {"content": [{"type": "text", "text": f"noted {note}"}], "isError": False}
        case _:
            return None


def main() -> None:
    """Serve until standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request, Path(sys.argv[1]))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        told = unknown if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **told}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
