"""A program with interceptors that says what a test wants, in the generation that it wants. Imports nothing of ours.

PROGRAM is JSON: `interceptors` (descriptors as they are listed), `answers` by name (a result, `{"error": ...}`, or a
word: hang, die, garbage, late-hang), `modern` (knows no `initialize`), `start` (`die`, `hang` or `flood`).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

SAID = json.loads(os.environ["PROGRAM"])
HEARD = Path(os.environ["HEARD"])


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def upper(payload: Any) -> dict[str, Any]:
    new = json.loads(json.dumps(payload))
    new["arguments"]["note"] = new["arguments"]["note"].upper()
    return {"modified": True, "payload": new}


def answer(message: dict[str, Any]) -> None:
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if id is None:
        return
    if method == "initialize":
        if SAID.get("modern"):
            send({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
        else:
            send({"jsonrpc": "2.0", "id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    elif method == "interceptors/list":
        send({"jsonrpc": "2.0", "id": id, "result": {"interceptors": SAID["interceptors"]}})
    else:
        said = SAID["answers"][params["name"]]
        if said == "hang":
            return
        if said == "die":
            sys.exit(3)
        if said == "garbage":
            send({"jsonrpc": "2.0", "id": id, "result": "garbage"})
        elif said == "upper":
            send({"jsonrpc": "2.0", "id": id, "result": upper(params["payload"])})
        elif "error" in said:
            send({"jsonrpc": "2.0", "id": id, "error": said["error"]})
        else:
            send({"jsonrpc": "2.0", "id": id, "result": said})


def main() -> None:
    with HEARD.open("a", encoding="utf-8") as heard:
        heard.write('{"method": "started"}\n')
        heard.flush()
        if SAID.get("start") == "die":
            sys.exit(4)
        if SAID.get("start") == "flood":
            sys.stdout.write("x" * (17 * 1024 * 1024))
            sys.stdout.flush()
        for line in sys.stdin:
            heard.write(line)
            heard.flush()
            if SAID.get("start") != "hang":
                answer(json.loads(line))


main()
