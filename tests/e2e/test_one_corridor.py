"""Every call passes one pipeline: the same cases through every door, under a configuration that is not the default.

A strict profile, a plugin, rules of the user and rules of the project. What is compared is the decision, the rule that
decided and the arguments that would run.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pytest
from msgspec import Struct

from interpose import (
    AutoApprove,
    BlockedError,
    Context,
    InterceptorRegistry,
    ToolCall,
    guarded,
    open_engine,
    reset_global_interceptors,
)
from interpose.build import open_service
from interpose.config.load import load
from interpose.driving import drive
from interpose.server import hook_routes
from interpose.service.service import Service
from interpose.surfaces.hosts.all_hosts import HOSTS
from interpose.surfaces.hosts.event_answer import answer
from interpose.surfaces.hosts.events import Reply
from interpose.surfaces.http import events, intercept, validate
from tests import hosting
from tests.servers import Running, running
from tests.unit.test_plugins import distribution

SETTINGS = """
interceptors:
  builtin:command-safety-guard: {profile: strict}
plugins: [corridor]
intercept: {shell_tool_names: [my-shell]}
"""
USER_RULES = """
version: 1
rules:
  - {id: own-deny, action: deny, when: 'command.exists(c, c.name == "frobnicate")', message: Not with us.}
  - {id: own-ask, action: ask, when: 'command.exists(c, c.name == "ls" && "/srv" in c.args)', message: Really there?}
  - {id: own-question, action: ask, when: 'command.exists(c, c.name == "ls" && "/opt" in c.args)', message: And there?}
  - {id: own-answer, action: allow, when: "true", answers: {rules: [own-question], scope: everywhere}}
  - id: own-rewrite
    action: transform
    on: {tools: [exec]}
    when: 'command.exists(c, c.name == "date")'
    rewrite: {command: '"date -u"'}
"""
PROJECT_RULES = """
version: 1
rules:
  - {id: of-the-project, action: deny, when: 'command.exists(c, c.name == "wc")', message: Nobody counts here.}
"""
PLUGIN = """
from interpose import Allow, Deny, Transform, command_of

class Corridor:
    def intercept(self, call):
        command = command_of(call) or ""
        if "uname -a" in command:
            return Deny("The plugin says no.", rule="of-the-plugin")
        if command == "echo plugin":
            changed = {name: "echo other" if value == command else value for name, value in call.arguments.items()}
            return Transform(call.with_arguments(changed), "another word", "plugin-rewrite")
        return Allow()

def register(registry):
    registry.add(id="corridor", name="tool.before", interceptor=Corridor(), priority=5)
"""


class Wanted(Struct, frozen=True):
    """What the library says: the word, the rule, and the command that would run."""

    outcome: str
    rule: str
    command: str


class Case(Struct, frozen=True):
    """One call, and the rule that is expected to decide."""

    note: str
    command: str
    outcome: str
    rule: str = ""
    runs: str = ""


CASES = (
    Case("nobody objects", "echo hello", "allow"),
    Case("a guard denies", "rm -rf /", "deny", "delete-system"),
    Case("a guard asks", "git reset --hard", "ask", "git-reset-hard"),
    Case("only the strict profile asks", "sudo ls", "ask", "privilege"),
    Case("the baseline denies what a guard asks", "git push --force origin main", "deny", "baseline/force-push-main"),
    Case("a rule of the user denies", "frobnicate --all", "deny", "own-deny"),
    Case("a rule of the user asks", "ls /srv", "ask", "own-ask"),
    Case("a rule of the user answers another's question", "ls /opt", "allow"),
    Case("a rule of the user rewrites", "date", "rewrite", "own-rewrite", "date -u"),
    Case("a rule of the project denies", "wc -l README.md", "deny", "of-the-project"),
    Case("a plugin denies", "uname -a", "deny", "of-the-plugin"),
    Case("a plugin rewrites", "echo plugin", "rewrite", "plugin-rewrite", "echo other"),
)
every_case = pytest.mark.parametrize("case", CASES, ids=[case.note for case in CASES])


class World(Struct, frozen=True):
    """A user's home with a configuration, and a project in it."""

    project: str
    environment: dict[str, str]

    def script(self, code: str, *words: str) -> str:
        """What a new process prints, started in the project."""
        done = subprocess.run(
            [sys.executable, "-c", code, *words], env=self.environment, cwd=self.project, capture_output=True,
            text=True, check=False, timeout=50,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("corridor").resolve()
    site = distribution(
        home / "site", "corridor", points="corridor = corridor_plugin:register", modules={"corridor_plugin": PLUGIN}
    )
    for name, text in (
        (".config/interpose/interpose.yaml", SETTINGS),
        (".config/interpose/policy/own.yaml", USER_RULES),
        ("project/.interpose/policy.yaml", PROJECT_RULES),
    ):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "INTERPOSE_", "PYTHON"))}
    environment = kept | {"HOME": str(home), "PYTHONPATH": str(site)}
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(environment):
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.syspath_prepend(str(site))
        patch.chdir(home / "project")
        reset_global_interceptors()
        yield World(str(home / "project"), environment)
        reset_global_interceptors()


@pytest.fixture(scope="module")
def service(world: World) -> Iterator[Service]:
    with open_service(load(environ=world.environment).config, follow=False, serving=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def over_http(service: Service) -> Iterator[Running]:
    with running(
        (*intercept.routes(service), *events.routes(service), *validate.routes(service), *hook_routes.routes(service))
    ) as server:
        yield server


@every_case
def test_the_readmes_library_lines(world: World, case: Case) -> None:
    engine = open_engine()
    verdict = engine.decide(ToolCall("Bash", {"command": case.command}, context=Context(cwd=world.project)))
    assert (verdict.outcome, verdict.rule if case.rule else "") == (case.outcome, case.rule), verdict
    assert verdict.payload.arguments["command"] == (case.runs or case.command)


@every_case
def test_a_guarded_function(world: World, case: Case) -> None:
    @guarded("Bash", on_block="raise", context=Context(cwd=world.project))
    def run(command: str) -> str:
        return command

    if case.outcome in ("allow", "rewrite"):
        assert run(case.command) == (case.runs or case.command)
        return
    with pytest.raises(BlockedError) as blocked:
        run(case.command)
    verdict = blocked.value.verdict
    asked = next((finding.rule for finding in verdict.findings if finding.said == "ask"), "")
    assert (asked if case.outcome == "ask" else verdict.rule) == case.rule


@every_case
def test_a_tool_by_name(world: World, case: Case) -> None:
    engine = open_engine(confirm=AutoApprove())
    engine.add_tool(lambda command: command, "Bash")
    run = engine.run(Context(cwd=world.project)).call("Bash", {"command": case.command})
    if case.outcome == "deny":
        assert (run.verdict.outcome, run.verdict.rule) == ("deny", case.rule)
    else:
        assert run.response == (case.runs or case.command)
    assert (run.verdict.approver == "AutoApprove") is (case.outcome == "ask")


@every_case
def test_an_engine_that_was_opened_elsewhere(world: World, case: Case, tmp_path: Path) -> None:
    """The rules of the directory hold in which a call runs, and what a program added holds there, too."""
    engine = open_engine(cwd=tmp_path)
    seen: list[str] = []
    cast("InterceptorRegistry", engine.interceptors).add(
        id="mine", name="tool.before", handler=lambda given, _: seen.append(given.tool_name), priority=200
    )
    verdict = engine.decide(ToolCall("Bash", {"command": case.command}, context=Context(cwd=world.project)))
    assert (verdict.outcome, verdict.rule if case.rule else "") == (case.outcome, case.rule), verdict
    assert seen


@pytest.fixture(scope="module")
def checked(world: World) -> dict[str, Any]:
    rows = "".join(json.dumps({"id": case.note, "args": {"command": case.command}}) + "\n" for case in CASES)
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "check", "--jsonl"], input=rows.encode(), env=world.environment,
        cwd=world.project, capture_output=True, check=True,
    )  # fmt: skip
    return {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}


@every_case
def test_check(checked: dict[str, Any], case: Case) -> None:
    said = checked[case.note]
    assert (said["decision"], said["rule"]) == (case.outcome, case.rule)
    assert said.get("arguments", {}).get("command", "") == case.runs


EXPLAIN = """
import json, sys
from interpose.cli import main
for command in json.loads(sys.argv[1]):
    main(["explain", "--json", command])
"""


@pytest.fixture(scope="module")
def explained(world: World) -> dict[str, Any]:
    text = world.script(EXPLAIN, json.dumps([case.command for case in CASES]))
    found: dict[str, Any] = {}
    for case in CASES:
        found[case.note], end = json.JSONDecoder().raw_decode(text)
        text = text[end:].lstrip()
    return found


@every_case
def test_explain(explained: dict[str, Any], case: Case) -> None:
    said = explained[case.note]
    assert (said["decision"], said["rule"]) == (case.outcome, case.rule)
    assert said.get("arguments", {}).get("command", "") == case.runs


DRY_RUN = """
import contextlib, io, json, shlex, sys
from interpose.cli import main
told = []
for command in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(["run", "--dry-run", "--", *shlex.split(command)])
    told.append((code, out.getvalue()))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def dry_run(world: World) -> dict[str, tuple[int, str]]:
    told = json.loads(world.script(DRY_RUN, json.dumps([case.command for case in CASES])))
    return dict(zip([case.note for case in CASES], map(tuple, told), strict=True))


@every_case
def test_run_dry_run(dry_run: dict[str, tuple[int, str]], case: Case) -> None:
    assert shlex.join(shlex.split(case.command)) == case.command, "or another text would be judged"
    code, text = dry_run[case.note]
    if case.outcome == "allow":
        assert (code, text) == (0, f"would run: {case.command}\n")
        return
    assert code == 77
    assert ("needs approval" in text) is (case.outcome == "ask")
    if case.outcome == "rewrite":  # it would start the words that it was given: the other form is named
        assert "Policy: rewritten" in text
        assert f"Instead: {case.runs}" in text
    else:
        assert f"Policy: {case.rule}" in text


@every_case
def test_http(over_http: Running, world: World, case: Case) -> None:
    said = over_http.post(
        "/api/v1/intercept",
        {
            "event": "tools/call",
            "phase": "request",
            "payload": {"name": "Bash", "arguments": {"command": case.command}},
            "context": {"sessionId": f"http {case.note}"},
            "config": {"working_directory": world.project},
        },
    ).json
    assert said["info"]["decision"] == case.outcome
    if case.rule:
        assert said["info"]["results"][0]["policy_name"] == case.rule
    assert said.get("payload", {}).get("arguments", {}).get("command", "") == case.runs


@every_case
def test_events(over_http: Running, world: World, case: Case) -> None:
    event = {"name": "Bash", "arguments": {"command": case.command}, "cwd": world.project}
    said = over_http.post("/api/v1/events/tool.before", event).json
    assert said["decision"] == case.outcome
    if case.rule:
        assert case.rule in [finding["rule"] for finding in said["findings"] if finding["said"] == case.outcome]
    assert said.get("payload", {}).get("arguments", {}).get("command", "") == case.runs


@every_case
def test_commands_that_are_validated(over_http: Running, world: World, case: Case) -> None:
    body = {"command": case.command, "working_directory": world.project}
    said = over_http.post("/api/v1/cli/validate", body).json
    assert said["allowed"] is (case.outcome == "allow"), said


@pytest.mark.parametrize("way", ["in process", "warm"])
@pytest.mark.parametrize("name", sorted(HOSTS))
@every_case
def test_hooks(over_http: Running, service: Service, world: World, name: str, way: str, case: Case) -> None:
    host = HOSTS[name]
    event = json.dumps(hosting.shell_event(name, case.command, world.project)).encode()
    if way == "warm":
        got = over_http.ask("POST", f"/hook/{name}", event)
        reply = Reply(got.body, unquote(got.headers["x-interpose-stderr"]), int(got.headers["x-interpose-exit"]))
    else:
        reply = drive(answer(service, host, event))
    facts, heard = host.facts, host.read(json.loads(event))
    told = reply.stdout.decode() + reply.stderr
    outcome = case.outcome
    if outcome == "ask" and not facts.can_ask(heard):
        outcome = "deny"
    if outcome == "rewrite" and heard.name not in facts.rewrites:
        outcome = "deny"
    decided = "ask" if hosting.asks(reply) else "deny" if hosting.refuses(host, reply) else "allow"
    if outcome == "rewrite":  # some hosts show the changed call to their person first
        assert decided in ("allow", "ask"), told
    else:
        assert decided == outcome, told
    if case.outcome == "deny":
        assert f"Interpose refused this ({case.rule})" in told
    if case.runs:
        assert case.runs in told


def test_tools_that_the_configuration_calls_shells(over_http: Running, service: Service, world: World) -> None:
    """The name counts at every door, not only where it was first looked up."""
    call = ToolCall("my-shell", {"command": "rm -rf /"}, context=Context(cwd=world.project))
    assert open_engine().decide(call).rule == "delete-system"
    assert service.run(call.context).decide(call).rule == "delete-system"
    payload = {"name": "my-shell", "arguments": {"command": "rm -rf /"}}
    said = over_http.post("/api/v1/intercept", {"event": "tools/call", "phase": "request", "payload": payload}).json
    assert said["info"]["results"][0]["policy_name"] == "delete-system"


def test_rules_that_can_not_be_loaded_hold_everything_at_every_door(world: World, tmp_path: Path) -> None:
    (tmp_path / ".interpose").mkdir()
    (tmp_path / ".interpose" / "policy.yaml").write_text("version: 1\nrules: [broken]\n", encoding="utf-8")
    engine = open_engine(cwd=str(tmp_path))
    context = Context(cwd=str(tmp_path))
    assert engine.decide(ToolCall("Bash", {"command": "ls"}, context=context)).rule == "policy-unreadable"
    with open_service(load(environ=world.environment).config, follow=False) as service:
        verdict = service.run(context).decide(ToolCall("Bash", {"command": "ls"}))
    assert verdict.rule == "policy-unreadable"
