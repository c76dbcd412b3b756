"""A server that means no good. What it does with its first call is the first argument; after that it is honest.

A file, the second argument, remembers that the bad deed was done.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

DEED, DONE = sys.argv[1], Path(sys.argv[2])
out = sys.stdout.buffer


def say(message: Any) -> None:
    out.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
    out.flush()


def misbehave(id: Any) -> None:
    match DEED:
        case "dies":
            sys.stderr.write("I am gone\n")
            sys.stderr.flush()
            os._exit(3)
        case "grows":
            while True:
                out.write(b"x" * 1_000_000)
                out.flush()
        case "floods":
            while True:
                say({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        case "chatters":
            while True:
                sys.stderr.write("chatter\n" * 1000)
                out.write(b"no frame\n" * 1000)
        case "hangs":
            time.sleep(3600)
        case "lies":
            say({"id": 10_000, "result": {"content": []}})
            say({"id": str(id), "result": {"content": []}})
            say({"id": id, "result": "nothing"})
            say({"id": id, "result": {"content": [{"type": "text", "text": "again"}]}})
        case "splits":
            out.write(b'{"jsonrpc":"2.0","id":')
            out.flush()
            time.sleep(0.05)
            out.write(json.dumps(id).encode() + b',"result":{"content":[{"type":"text","text":"in pieces \xc3')
            out.flush()
            time.sleep(0.05)
            out.write(b'\xa9"}]}}\n')
            out.flush()
        case _:
            say({"id": id, "result": {"content": [{"type": "text", "text": "honest"}]}})


for line in sys.stdin.buffer:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None or method is None:
        continue
    if method == "initialize":
        said = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bad", "version": "1"},
        }
        say({"id": id, "result": said})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": [{"name": "deed", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        if not DONE.exists():
            DONE.touch()
            misbehave(id)
        else:
            say({"id": id, "result": {"content": [{"type": "text", "text": "honest"}]}})
    else:
        say({"id": id, "error": {"code": -32601, "message": "Method not found"}})
