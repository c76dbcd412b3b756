"""The doors that are programs of their own: the MCP gateway, the proxy before a model, the interceptor server."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Literal, Self

from tests.e2e.corridor.calls import SCOUT, SERVER_TOOLS, Case
from tests.e2e.corridor.doors import Told, session_of, texts_in, told_of_text
from tests.e2e.corridor.world import World
from tests.support.peers.model_clients import CLIENTS
from tests.support.peers.model_site import ModelServer, Said
from tests.support.timing.patience import PATIENCE

BOX = "box"
"""The server behind the gateway."""


class Program:
    """A verb of ours that runs in the project until it is left."""

    name = ""
    keeps = True
    asks: Literal["the desk", "its caller"] = "the desk"
    names_sessions = True

    def __init__(self, world: World, *words: str) -> None:
        self.world, self._words, self._id = world, words, 0

    def __enter__(self) -> Self:
        self._log = (self.world.home / f"{self._words[0]}.log").open("ab")
        self._child = subprocess.Popen(
            [sys.executable, "-m", "interpose", *self._words], cwd=self.world.project, env=self.world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
        )  # fmt: skip
        return self

    def __exit__(self, *_error: object) -> None:
        self._child.terminate()
        self._child.wait(PATIENCE)
        for stream in (self._child.stdin, self._child.stdout, self._log):
            if stream is not None:
                stream.close()

    def takes(self, case: Case) -> bool:
        return True

    def tool(self, case: Case) -> str:
        return case.tool

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        return kept

    def play(self, cases: Sequence[Case]) -> list[Told]:
        return [self.put(case) for case in cases]

    def put(self, case: Case) -> Told:
        raise NotImplementedError

    def line(self) -> bytes:
        """The next line that it prints."""
        assert self._child.stdout is not None
        said = self._child.stdout.readline()
        assert said, (self.world.home / f"{self._words[0]}.log").read_text(encoding="utf-8")
        return said

    def say(self, message: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self._child.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of one JSON-RPC request over its streams."""
        self._id += 1
        self.say({"id": self._id, "method": method, "params": params})
        while (answer := json.loads(self.line())).get("id") != self._id or "method" in answer:
            pass
        assert "result" in answer, answer
        return answer["result"]

    def greet(self) -> None:
        """Open a conversation as MCP clients do."""
        said = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "corridor", "version": "1"}}
        self.ask("initialize", said)
        self.say({"method": "notifications/initialized"})


class GatewayDoor(Program):
    """`interpose mcp gateway` before a server whose tools say what they were called with."""

    name = "MCP gateway"

    def __init__(self, world: World) -> None:
        super().__init__(world, "gateway")

    def __enter__(self) -> Self:
        super().__enter__()
        self.greet()
        self.ask("tools/list", {})
        return self

    def takes(self, case: Case) -> bool:
        """It acts for one agent, which its settings name."""
        return case.agent == (SCOUT if self.world.governed else "")

    def tool(self, case: Case) -> str:
        return f"mcp__{BOX}__{SERVER_TOOLS[case.tool]}"

    def put(self, case: Case) -> Told:
        meta = {"interpose/session": session_of(self, case)}
        said = self.ask(
            "tools/call", {"name": f"{BOX}__{SERVER_TOOLS[case.tool]}", "arguments": case.arguments, "_meta": meta}
        )
        text = "".join(part["text"] for part in said["content"])
        if said.get("isError"):
            return told_of_text(text)
        ran = json.loads(text)
        return Told(outcome="allow" if ran == case.arguments else "rewrite", arguments=ran)


class InterceptorDoor(Program):
    """`interpose mcp interceptor-server`, asked as its page says: for a rewrite, then for a decision."""

    name = "interceptor server"

    def __init__(self, world: World) -> None:
        super().__init__(world, "interceptor-server")

    def takes(self, case: Case) -> bool:
        """The protocol has no agents."""
        return not case.agent

    def put(self, case: Case) -> Told:
        payload: dict[str, Any] = {"name": case.tool, "arguments": case.arguments}
        changed = self._invoke("interpose/rewrite", case, payload)
        if changed["modified"]:
            payload = changed["payload"]
        said = self._invoke("interpose/decide", case, payload)
        if not said["valid"]:
            told = told_of_text("\n".join(one["message"] for one in said["messages"]))
            return Told(outcome=told.outcome, text=told.text, arguments=payload["arguments"])
        return Told(outcome="rewrite" if changed["modified"] else "allow", arguments=payload["arguments"])

    def _invoke(self, interceptor: str, case: Case, payload: dict[str, Any]) -> Any:
        about = {"event": "tools/call", "phase": "request", "payload": payload}
        context = {"sessionId": session_of(self, case)}
        return self.ask("interceptor/invoke", {"name": interceptor, "context": context} | about)


def _anthropic(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "id": "t1", "name": name, "input": arguments}], "stop_reason": "tool_use"}


def _chat(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "t1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def _responses(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "function_call", "id": "f1", "call_id": "t1", "name": name, "arguments": json.dumps(arguments)}
    return {"id": "r1", "object": "response", "status": "completed", "output": [call | {"status": "completed"}]}


def _gemini(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"functionCall": {"name": name, "args": arguments}}]}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}]}


MODELS = {
    "anthropic": ("/v1/messages", _anthropic),
    "chat": ("/v1/chat/completions", _chat),
    "responses": ("/v1/responses", _responses),
    "gemini": ("/v1beta/models/m:generateContent", _gemini),
}
"""For each API of models: the path, and an answer that calls one tool."""


class ProxyProgram(Program):
    """`interpose proxy` before a model that calls what it is told to."""

    def __init__(self, world: World, model: ModelServer) -> None:
        super().__init__(world, "proxy", "--port", "0", "--wait", "0", "--upstream", f"model={model.url}")
        self.model = model

    def __enter__(self) -> Self:
        super().__enter__()
        found = None
        while b"GEMINI_BASE_URL" not in (line := self.line()):
            found = found or re.search(rb"http://(127\.0\.0\.1:\d+)", line)
        assert found is not None
        self.connection = http.client.HTTPConnection(found[1].decode(), timeout=PATIENCE)
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()
        super().__exit__(*error)


class ProxyDoor:
    """One API of models at the proxy."""

    keeps = True
    asks: Literal["the desk", "its caller"] = "the desk"
    names_sessions = True

    def __init__(self, program: ProxyProgram, dialect: str) -> None:
        self._program, self._dialect = program, dialect
        self.name = f"proxy {dialect}"

    def takes(self, case: Case) -> bool:
        """It acts for one agent, which its settings name."""
        return case.agent == (SCOUT if self._program.world.governed else "")

    def tool(self, case: Case) -> str:
        return case.tool

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        return kept

    def play(self, cases: Sequence[Case]) -> list[Told]:
        return [self.put(case) for case in cases]

    def put(self, case: Case) -> Told:
        path, calling = MODELS[self._dialect]
        answer = json.dumps(calling(case.tool, case.arguments)).encode()
        self._program.model.says = lambda _asked: Said(answer)
        connection = self._program.connection
        headers = {"Content-Type": "application/json", "X-Interpose-Session": session_of(self, case)}
        connection.request("POST", f"/model{path}", b"{}", headers)
        reply = connection.getresponse()
        body = reply.read()
        assert reply.status == 200, body
        said = json.loads(body)
        for client in CLIENTS[self._dialect]:
            for name, given in client([said]):
                assert name == case.tool
                ran = json.loads(given) if isinstance(given, str) else given
                return Told(outcome="allow" if ran == case.arguments else "rewrite", arguments=ran)
        return told_of_text("\n".join(texts_in(said)))
