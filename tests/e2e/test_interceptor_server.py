"""`interpose mcp interceptor-server` as a process, with raw JSON-RPC over stdio and over HTTP: the vectors of one
plugin's interceptors, and our own pipeline. All are in tests/unit/doors/mcp/test_interceptor_vectors.py."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import clean_environment
from tests.support.peers.interceptor_vectors import Vector, run_step, vectors
from tests.support.timing.patience import PATIENCE

PLUGIN = Path(__file__).parents[1] / "support" / "peers" / "interceptor_plugin.py"
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
ALL = list(vectors())
SHARED = Counter(json.dumps(vector["interceptors"]) for vector in ALL).most_common(1)[0][0]
VECTORS = [vector for vector in ALL if json.dumps(vector["interceptors"]) == SHARED]
"""Those that one server plays: each other set of interceptors would be one more process."""
SECRET = "ghp_" + "Xa2bC3dEf4gH5iJk6Lm7nN8oP9qR1sT2uV3w"


class Interceptors:
    """A server process, and one client of it."""

    def __init__(self, home: Path, transport: str, described: list[dict[str, Any]] | None = None) -> None:
        home.mkdir(parents=True)
        site = home / "site"
        info = site / "behaviours-1.0.dist-info"
        info.mkdir(parents=True)
        shutil.copy(PLUGIN, site / "interceptor_plugin.py")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: behaviours\nVersion: 1.0\n", encoding="utf-8")
        points = "[interpose.offered_interceptors]\nbehaviours = interceptor_plugin:offer\n"
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        work = home / "work"
        work.mkdir()
        more = [] if described is None else ["--offer", "behaviours", "--only-offered"]
        more += ["--http", "0"] if transport == "http" else []
        self.environment = clean_environment(home) | {
            "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep),
            "OFFERED": json.dumps(described or []), "SINK_FILE": str(home / "sink"),
        }  # fmt: skip
        self.home, self._id = home, 0
        self.log = (home / "stderr").open("wb")
        self.child = subprocess.Popen(
            [sys.executable, "-m", "interpose", "interceptor-server", *more], cwd=work, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )  # fmt: skip
        self.port = self._read_port() if transport == "http" else 0

    def _read_port(self) -> int:
        assert self.child.stdout is not None
        found = re.search(rb"http://127\.0\.0\.1:(\d+)/mcp", self.child.stdout.readline())
        assert found, (self.home / "stderr").read_text()
        return int(found[1])

    @property
    def token(self) -> str:
        """The operator's."""
        lines = (self.home / ".config" / "interpose" / "tokens").read_text().splitlines()
        return next(line.split()[2] for line in lines if not line.startswith("#"))

    def send(self, line: bytes, headers: Mapping[str, str] | None = None) -> Any:
        """One frame, and the frame that comes back."""
        if self.port:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            named = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"} | dict(headers or {})
            try:
                connection.request("POST", "/mcp", line, named)
                return json.loads(connection.getresponse().read())
            finally:
                connection.close()
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(line + b"\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        assert answer, (self.home / "stderr").read_text()
        return json.loads(answer)

    def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        self._id += 1
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        answer = self.send(json.dumps(frame).encode())
        assert answer["id"] == self._id
        assert answer["jsonrpc"] == "2.0"
        result: Mapping[str, Any] = answer.get("result", {"error": answer.get("error")})
        return result

    def close(self) -> None:
        self.child.kill()
        self.child.wait(PATIENCE)
        for stream in (self.child.stdin, self.child.stdout, self.log):
            if stream is not None:
                stream.close()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Interceptors]]:
    """Those that run, by transport and by what they offer: sessions keep the vectors apart."""
    running: dict[str, Interceptors] = {}
    yield running
    for one in running.values():
        one.close()


def of(
    servers: dict[str, Interceptors],
    factory: pytest.TempPathFactory,
    transport: str,
    described: list[dict[str, Any]] | None,
) -> Interceptors:
    key = transport + json.dumps(described)
    if key not in servers:
        servers[key] = Interceptors(factory.mktemp("interceptors") / "home", transport, described)
    return servers[key]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vector(
    servers: dict[str, Interceptors], tmp_path_factory: pytest.TempPathFactory, transport: str, vector: Vector
) -> None:
    server = of(servers, tmp_path_factory, transport, vector["interceptors"])
    for step in vector["steps"]:
        run_step(server.ask, step)


def invoke(server: Interceptors, name: str, phase: str, payload: Any, **more: Any) -> Mapping[str, Any]:
    params = {"name": name, "event": "tools/call", "phase": phase, "payload": payload} | more
    return server.ask("interceptor/invoke", params)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_our_pipeline_is_two_interceptors(
    servers: dict[str, Interceptors], tmp_path_factory: pytest.TempPathFactory, transport: str
) -> None:
    server = of(servers, tmp_path_factory, transport, None)
    said = server.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    extension = said["capabilities"]["extensions"]["io.modelcontextprotocol/interceptors"]
    assert extension == {"supportedEvents": ["tools/call", "prompts/get", "resources/read", "llm/completion"]}
    found = server.ask("server/discover", {"_meta": MODERN})
    assert server.ask("interceptors/list", {"_meta": MODERN})["resultType"] == "complete"
    assert found["capabilities"] == said["capabilities"]
    names = [one["name"] for one in server.ask("interceptors/list", {})["interceptors"]]
    assert names == ["interpose/decide", "interpose/rewrite"]
    assert server.ask("tools/list", {})["error"]["code"] == -32601

    session = {"context": {"timestamp": "2026-11-17T12:00:00Z", "sessionId": "s1"}}
    hostile = {"name": "Bash", "arguments": {"command": "rm -rf /"}}
    refused = invoke(server, "interpose/decide", "request", hostile, **session)
    assert (refused["valid"], refused["severity"]) == (False, "error")
    assert refused["messages"][0]["path"] == "arguments.command"
    whole = invoke(server, "interpose/decide", "request", {"method": "tools/call", "params": hostile}, **session)
    assert whole["messages"][0]["path"] == "params.arguments.command"
    ordinary = {"name": "Bash", "arguments": {"command": "ls"}}
    assert invoke(server, "interpose/decide", "request", ordinary, **session)["valid"]
    assert not invoke(server, "interpose/rewrite", "request", ordinary, **session)["modified"]

    result = {"content": [{"type": "text", "text": f"token: {SECRET}"}]}
    looked = invoke(server, "interpose/decide", "response", result, **session)
    assert (looked["valid"], looked["severity"]) == (True, "warning")
    rewritten = invoke(server, "interpose/rewrite", "response", {"result": result}, **session)
    assert rewritten["modified"]
    assert SECRET not in json.dumps(rewritten)
    assert rewritten["payload"]["result"]["content"][0]["type"] == "text"
    chain = {"event": "tools/call", "phase": "response", "payload": result}
    done = server.ask("interceptor/executeChain", chain)
    assert done["status"] == "success"
    assert SECRET not in json.dumps(done)

    assert invoke(server, "interpose/decide", "request", ["no object"])["error"]["code"] == -32602
    spoken = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]}
    assert invoke(server, "interpose/decide", "request", spoken, event="llm/completion")["valid"]
    read = {"uri": "file:///root/.ssh/id_rsa"}
    assert not invoke(server, "interpose/decide", "request", read, event="resources/read")["valid"]


def test_what_is_no_frame_is_answered_and_harms_nobody(
    servers: dict[str, Interceptors], tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = of(servers, tmp_path_factory, "stdio", None)
    for line, code in (
        (b"nonsense", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":77,"method":"interceptor/invoke","params":[1]}', -32602),
        (b'{"jsonrpc":"2.0","id":77,"method":"interceptor/invoke","params":{"name":"a","name":"b"}}', -32602),
    ):
        assert server.send(line)["error"]["code"] == code
    assert server.ask("ping", {}) == {}


def test_http_keeps_to_its_headers(servers: dict[str, Interceptors], tmp_path_factory: pytest.TempPathFactory) -> None:
    server = of(servers, tmp_path_factory, "http", None)
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert server.send(ping, {"Mcp-Method": "ping"})["result"] == {}
    assert server.send(ping, {"Mcp-Method": "interceptors/list"})["error"]["code"] == -32020
    assert server.send(ping, {"Host": "evil.example"})["error"]
    assert server.send(ping, {"Origin": "https://evil.example"})["error"]
    assert server.send(ping, {"Content-Type": "text/plain"})["error"] == "invalid_content_type"
    assert server.send(ping, {"Authorization": "Bearer wrong"})["error"]


def test_a_stranger_gets_verdicts_and_no_session(
    servers: dict[str, Interceptors], tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = of(servers, tmp_path_factory, "http", None)

    def asked(phase: str, payload: Any) -> Any:
        params = {"name": "interpose/decide", "event": "tools/call", "phase": phase, "payload": payload}
        body = {"jsonrpc": "2.0", "id": 1, "method": "interceptor/invoke", "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/mcp", json.dumps(body), {"Content-Type": "application/json"})
            return json.loads(connection.getresponse().read())["result"]
        finally:
            connection.close()

    assert not asked("request", {"name": "Bash", "arguments": {"command": "rm -rf /"}})["valid"]
    assert asked("request", {"name": "Bash", "arguments": {"command": "ls"}})["valid"]
    assert asked("response", {"content": [{"type": "text", "text": SECRET}]})["severity"] == "warning"


def test_a_sink_is_told_and_not_waited_for(tmp_path: Path) -> None:
    described = [{"name": "own/s", "type": "sink", "behavior": "record", "events": ["*"]}]
    server = Interceptors(tmp_path / "home", "stdio", described)
    try:
        done = server.ask("interceptor/executeChain", {"event": "tools/call", "phase": "request", "payload": {"a": 1}})
        assert (done["status"], done["results"], done["finalPayload"]) == ("success", [], {"a": 1})
        alone = invoke(server, "own/s", "request", {"a": 2})
        assert (alone["type"], alone["recorded"]) == ("sink", True)
        assert server.child.stdin is not None
        server.child.stdin.close()
        server.child.wait(PATIENCE)
        told = [json.loads(line) for line in (server.home / "sink").read_text().splitlines()]
        assert sorted(one["a"] for one in told) == [1, 2]
    finally:
        server.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_our_server_is_a_remote_interceptor_of_our_pipeline(tmp_path: Path, transport: str) -> None:
    """Both halves of the protocol, ours on either side."""
    from interpose.composition.build import open_guards
    from interpose.core.config.remote_interceptors import RemoteInterceptorProgram
    from interpose.core.config.settings import Config
    from interpose.core.types import ToolCall

    described = [
        {"name": "own/upper", "type": "mutation", "behavior": "uppercase-note", "events": ["tools/call"]},
        {"name": "own/note", "type": "validation", "behavior": "require-uppercase-note", "events": ["tools/call"]},
    ]
    server = Interceptors(tmp_path / "home", "http", described) if transport == "http" else None
    try:
        if server is not None:
            url, headers = f"http://127.0.0.1:{server.port}/mcp", {"Authorization": f"Bearer {server.token}"}
            program = RemoteInterceptorProgram(url=url, headers=headers, timeout=30)
        else:
            site = Interceptors(tmp_path / "home", "stdio", described)
            site.close()
            command = ("-m", "interpose", "interceptor-server", "--offer", "behaviours", "--only-offered")
            program = RemoteInterceptorProgram(
                command=sys.executable,
                args=command,
                env=dict(site.environment),
                timeout=30,
                cwd=str(site.home / "work"),
            )
        engine = open_guards(Config(remote_interceptors={"ours": program}))
        verdict = engine.decide(ToolCall("mcp__notes__write", {"note": "hello"}))
        assert (verdict.outcome, verdict.payload.arguments) == ("rewrite", {"note": "HELLO"}), verdict.reason
        refused = engine.decide(ToolCall("mcp__notes__write", {"other": 1}))
        assert (refused.outcome, refused.rule) == ("deny", "own/note"), refused.reason
        if server is not None:
            server.close()
            assert engine.decide(ToolCall("mcp__notes__write", {"note": "hello"})).outcome == "deny"
    finally:
        if server is not None:
            server.close()
