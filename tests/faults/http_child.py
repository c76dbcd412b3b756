"""A server to be abused: `python http_child.py LIMITS` prints its port. LIMITS is JSON."""

from __future__ import annotations

import asyncio
import sys

import msgspec

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server import json_body as strict_json
from interpose.doors.http_server.listener import Listener, Tcp, run
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.trust import make_trust


async def echo(request: Request) -> Response:
    return json_response(strict_json.decode(request.body))


async def much(_request: Request) -> Response:
    return Response(body=b"x" * (1 << 20), headers=(("Content-Type", "text/plain"),))


async def main() -> None:
    routes = [Route("POST", "/echo", echo, "agent", ""), Route("GET", "/much", much, "agent", "")]
    limits = msgspec.json.decode(sys.argv[1], type=ServerLimits)
    listener = Listener(routes, [Tcp("127.0.0.1")], make_trust(loopback="open"), limits)
    await listener.start()
    sys.stdout.write(listener.addresses[0].rpartition(":")[2] + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await listener.stop()


if __name__ == "__main__":
    run(main())
