"""Governance through the hooks of an agent, event by event, as the host sends them: one file, one ledger, no mocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.doors.http import roles
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.support.governance.governed_agents import Claude, governed, text_of_reply
from tests.support.servers.servers import JSON, bearer, config_in, running, service_in, trusting

FILE = """
version: 1
unknown_role: deny
agents:
  - {role: worker, agent: builder, sub_agent: true}
  - {role: researcher, agent: scout, sub_agent: true}
  - {role: coordinator, host: claude-code, sub_agent: false}
scopes:
  META: {paths: [".framework/**"]}
  PROJECT: {paths: ["**"], others: [META]}
roles:
  coordinator:
    ceiling: {deny: [web_fetch]}
    tools: {allow: [read, glob, grep, task, todo]}
    write: []
    first_tools: {any_of: [read, todo], mode: block}
    delegates: {to: [worker, researcher], depth: 1, at_most: 3}
    instead: Delegate to the agent builder
  worker:
    parent: coordinator
    tools: {allow: [read, glob, grep, write, edit, exec, web_fetch]}
    write: [PROJECT]
    first_tools: {any_of: [read, write, exec], mode: off}
    delegates: {to: []}
    instead: Stay within the project
  researcher:
    parent: coordinator
    tools: {allow: [read, glob, grep]}
    first_tools: {any_of: [read], mode: off}
    instead: Report to the coordinator
stalls: {same_call: 3, same_error: 2, errors: 6}
budgets:
  - {per: session, calls: 40}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    yield from governed(tmp_path, FILE)


READ = ("Read", {"file_path": "README.md"})
WRITE = ("Write", {"file_path": "src/app.py", "content": "x = 1"})
BUILDER, SCOUT = ("agent-1", "builder"), ("agent-2", "scout")


def test_a_session_is_governed_from_its_first_word_to_its_last(service: Service, tmp_path: Path) -> None:
    claude = Claude(service, tmp_path)
    told = claude.event("SessionStart", source="startup")
    assert "Tools that you may use: Read, Glob, Grep, Task, Agent, TodoWrite" in text_of_reply(told)

    decision, reason = claude.before("Glob", {"pattern": "*.py"})
    assert (decision, "governance/first-tool" in reason) == ("deny", True), "first a first tool"
    assert claude.use(*READ) == ""
    assert claude.use("Glob", {"pattern": "*.py"}, ["a.py"]) == ""

    decision, reason = claude.before(*WRITE)
    assert decision == "deny"
    assert "governance/role" in reason
    assert "Delegate to the agent builder" in reason, "what to do instead"
    assert "Evidence: " in reason

    task = {"description": "write it", "prompt": "write src/app.py", "subagent_type": "builder"}
    assert claude.before("Task", task)[0] == ""
    claude.event("SubagentStart", agent_id=BUILDER[0], agent_type=BUILDER[1])
    assert claude.use(*WRITE, agent=BUILDER) == ""
    decision, reason = claude.before("Write", {"file_path": ".framework/x.md", "content": "x"}, agent=BUILDER)
    assert (decision, "governance/scope" in reason) == ("deny", True)
    inside = {"command": "echo x > .framework/x.md"}  # only ever analysed
    decision, reason = claude.before("Bash", inside, agent=BUILDER)
    assert (decision, "governance/scope" in reason) == ("deny", True), "an effect inside a command"
    decision, reason = claude.before("WebFetch", {"url": "https://example.com", "prompt": "x"}, agent=BUILDER)
    assert (decision, "governance/ceiling" in reason) == ("deny", True), "what no role below the coordinator may do"
    decision, reason = claude.before("Task", task | {"subagent_type": "scout"}, agent=BUILDER)
    assert decision == "deny", "a worker starts nobody"
    decision, reason = claude.before("Write", WRITE[1], agent=("agent-9", "stranger"))
    assert (decision, "governance/unknown-role" in reason) == ("deny", True)

    claude.event("PreCompact", trigger="auto")
    told = claude.event("SessionStart", source="compact")
    assert "You may delegate to: builder, scout" in text_of_reply(told), "a reminder after the compaction"
    decision, reason = claude.before("Grep", {"pattern": "x"})
    assert (decision, "governance/first-tool" in reason) == ("deny", True), "first tools are due again"
    claude.event("SessionEnd", reason="exit")

    service.ledger.flush()
    rules = {record.rule for record in search(service.store, Query(decision="deny"), 50)}
    assert {"governance/role", "governance/scope", "governance/ceiling", "governance/first-tool"} <= rules


def test_delegation_goes_neither_too_far_nor_too_often(service: Service, tmp_path: Path) -> None:
    claude = Claude(service, tmp_path)
    claude.use(*READ)

    def delegate(to: str) -> str:
        return claude.before("Task", {"description": "x", "prompt": "x", "subagent_type": to})[1]

    assert "governance/delegation" in delegate("coordinator")
    assert [delegate("builder"), delegate("scout"), delegate("builder")] == ["", "", ""]
    assert "governance/delegation" in delegate("builder"), "three agents, and no more"


def test_an_agent_that_gets_nowhere_is_reminded_asked_about_and_halted(service: Service, tmp_path: Path) -> None:
    claude = Claude(service, tmp_path)
    claude.use(*READ)
    claude.event("SubagentStart", agent_id=BUILDER[0], agent_type=BUILDER[1])
    told = []
    decisions = []
    for number in range(12):
        command = {"command": f"curl -s http://localhost:{8000 + number}/health"}
        decision, _ = claude.before("Bash", command, agent=BUILDER)
        decisions.append(decision)
        if decision != "deny":
            said = claude.after("Bash", command, {"stdout": "not ready"}, agent=BUILDER)
            told.append(said.get("additionalContext", ""))
    assert any("in a row" in text for text in told), "a reminder, where the agent reads it"
    assert decisions.index("ask") < decisions.index("deny"), decisions
    reason = claude.before("Bash", {"command": "ls"}, agent=BUILDER)[1]
    assert "governance/halt" in reason
    assert "interpose governance session lift" in reason
    assert claude.before(*READ, agent=BUILDER)[0] == "", "reading passes a halt"
    [checkpoint] = (tmp_path / "checkpoints").glob("*.json")
    assert json.loads(checkpoint.read_text())["session"] == "s-1"
    service.ledger.flush()
    assert [one.rule for one in search(service.store, Query(tool="governance"), 5)] == ["governance/halt"]


def test_a_budget_is_exact_and_saving_work_still_passes(tmp_path: Path) -> None:
    text = FILE.replace("calls: 40", "calls: 5").replace("mode: block", "mode: off")
    for service in governed(tmp_path, text):
        claude = Claude(service, tmp_path)
        said = [
            claude.use("Grep", {"pattern": word}, [f"{word}.py"])
            for word in ("alpha", "beta", "gamma", "delta", "epsilon")
        ]
        assert said == [""] * 5
        assert (
            "governance/budget"
            in claude.before("Task", {"description": "x", "prompt": "x", "subagent_type": "builder"})[1]
        )
        assert claude.use(*READ) == "", "reading saves work"


def test_a_projects_file_saves_nothing_past_the_users_budget(tmp_path: Path) -> None:
    text = FILE.replace("calls: 40", "calls: 2").replace("mode: block", "mode: off")
    project = tmp_path / "project"
    (project / ".interpose").mkdir(parents=True)
    generous = 'version: 1\nsave_work: {tools: ["*"], at_most: 1000}\n'
    (project / ".interpose" / "governance.yaml").write_text(generous, encoding="utf-8")
    for service in governed(tmp_path, text):
        claude = Claude(service, project)
        assert [claude.use("Grep", {"pattern": word}, [word]) for word in ("alpha", "beta")] == ["", ""]
        task = {"description": "x", "prompt": "x", "subagent_type": "builder"}
        assert "governance/budget" in claude.before("Task", task)[1]


def test_what_a_host_ran_all_the_same_is_replaced_by_guidance(service: Service, tmp_path: Path) -> None:
    claude = Claude(service, tmp_path)
    claude.use(*READ)
    assert claude.before(*WRITE)[0] == "deny"
    denied = claude._calls
    assert claude.use("Grep", {"pattern": "x"}, ["found"]) == ""
    said = claude.after(*WRITE, {"type": "create", "filePath": "src/app.py"}, key=denied)
    shown = json.dumps(said)
    assert "ran all the same" in shown
    assert "Delegate to the agent builder" in shown


def test_bug_4_a_refusal_that_held_touches_no_other_calls_result(service: Service, tmp_path: Path) -> None:
    claude = Claude(service, tmp_path)
    claude.use(*READ)
    assert claude.before(*WRITE)[0] == "deny"
    for word in ("alpha", "beta"):
        assert claude.before("Grep", {"pattern": word})[0] == ""
        assert claude.after("Grep", {"pattern": word}, [f"{word}.py"]) == {}, "the next results are their own"


def test_a_role_is_asked_about_over_http(service: Service) -> None:
    with running(roles.routes(service), trust=trusting()) as server:
        headers = JSON | bearer("auditor")

        def ask(**asked: Any) -> Any:
            return server.ask("POST", roles.CHECK, json.dumps(asked), headers).json

        told = ask(role="researcher", tool="Write", arguments={"file_path": "a.py", "content": ""})
        assert (told["decision"], told["rulings"][0]["rule"]) == ("deny", "governance/role")
        assert ask(role="researcher", tool="Read", arguments={"file_path": "a.py"})["decision"] == "allow"
        assert "governance.yaml" in str(ask(role="nobody", tool="Read"))


def test_watching_blocks_nothing_and_records_what_it_would_have_done(tmp_path: Path) -> None:
    for service in governed(tmp_path, FILE.replace("version: 1", "version: 1\nmode: watch")):
        claude = Claude(service, tmp_path)
        assert claude.use(*WRITE) == ""
        assert claude.use("Task", {"description": "x", "prompt": "x", "subagent_type": "stranger"}) == ""
        for _ in range(10):
            assert claude.use("Bash", {"command": "false"}, {"stdout": "", "stderr": "no"}) == ""
        service.ledger.flush()
        found = [
            finding for record in search(service.store, Query(), 50) for finding in record.findings
            if finding.rule.startswith("governance/")
        ]  # fmt: skip
        assert [finding for finding in found if finding.mode == "enforce" and finding.said != "note"] == []
        assert {"governance/role", "governance/first-tool"} <= {finding.rule for finding in found}


CHAINED = """
version: 1
chains:
  rules:
    - {id: TESTED, command: deploy, must_before: [{validated: check, within: 1h}]}
    - {id: BUILT, command: check, must_before: [{exists: BUILD}]}
"""


def test_a_command_that_was_let_through_is_what_another_waits_for(tmp_path: Path) -> None:
    for service in governed(tmp_path, CHAINED):
        claude, other = Claude(service, tmp_path), Claude(service, tmp_path, "s-2")

        def typed(text: str, who: Claude = claude) -> str:
            return str(who.event("UserPromptSubmit", prompt=text).get("reason", ""))

        assert "governance/chain/TESTED" in typed("/deploy")
        assert "governance/chain/BUILT" in typed("/check")
        assert "governance/chain/TESTED" in typed("/deploy"), "a refused command is no success"
        (tmp_path / "BUILD").touch()
        assert "governance/chain/TESTED" in typed("/deploy"), "nobody typed it since"
        assert typed("/check all") == ""
        assert "governance/chain/TESTED" in typed("/deploy", other), "it was typed in another session"
        assert typed("/deploy") == ""
        another = Claude(service, tmp_path, "s-3")
        assert another.use("Skill", {"skill": "harmless", "Skill": "check"}) == ""
        assert "governance/chain/TESTED" in another.use("Skill", {"skill": "deploy"}), "nobody knows that it ran"
        assert another.use("Skill", {"skill": "check"}) == ""
        assert another.use("Skill", {"skill": "deploy"}) == ""
    lines = (tmp_path / "governance.log").read_text(encoding="utf-8").splitlines()
    assert sum("governance/chain/TESTED" in line for line in lines) == 5, "people read of refused commands, too"


def test_nothing_of_it_is_there_without_the_file(tmp_path: Path) -> None:
    with service_in(tmp_path, packs=()) as service:
        claude = Claude(service, tmp_path)
        assert claude.event("SessionStart", source="startup") == {}
        assert claude.use(*WRITE) == ""
        assert service.policies.shared.engine.governor is None


def test_a_file_that_appears_governs_and_one_that_is_broken_refuses(tmp_path: Path) -> None:
    from msgspec.structs import replace

    file = tmp_path / "governance.yaml"
    settings = replace(config_in(tmp_path).governance, file=str(file), log="", checkpoints=str(tmp_path / "c"))
    with service_in(tmp_path, packs=(), governance=settings) as service:
        claude = Claude(service, tmp_path)
        assert claude.use(*WRITE) == ""
        file.write_text("version: 1\nroles: {x: {parent: nobody}}\n", encoding="utf-8")
        service.policies._standing = (0.0, ())
        decision, reason = claude.before(*WRITE)
        assert (decision, "governance.yaml:2" in reason) == ("deny", True)
        file.write_text(FILE, encoding="utf-8")
        service.policies._broken.clear()
        assert "governance/" in claude.before(*WRITE)[1]
