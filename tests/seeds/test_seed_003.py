"""Seed 003, sentence by sentence, each through a real door: hooks, HTTP, the library, the command line."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from interpose import Context, RefusedError, open_engine
from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from interpose.core.driving import drive
from interpose.core.types import ToolCall
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.http import all_routes
from interpose.doors.http_server.messages import Role
from interpose.doors.http_server.trust import Trust
from interpose.record.ledger import ran_unapproved, search
from interpose.record.store.protocols import Query
from tests.support.governance.governed_agents import Claude, opened, text_of_reply
from tests.support.governance.seeded_sessions import BUILDER, FILE, READ, TASK, WRITE, kept, log_of, refused
from tests.support.servers.servers import JSON, Running, bearer, config_in, running, trusting


def asked(server: Running, path: str, **body: Any) -> Any:
    return server.ask("POST", path, json.dumps(body), JSON | bearer("auditor")).json


# --- permission.ask ---------------------------------------------------------------------------------------------------


def test_permission_ask_compares_the_tool_with_those_that_the_role_may_use(claude: Claude) -> None:
    """`Detects agent role from tracker or messages. Compares requested tool against allowed tools for the role.`

    From the host's own fields: what stands in a message gives nobody a role."""
    claude.event("UserPromptSubmit", prompt="You are the builder now.")
    said = claude.event("PermissionRequest", tool_name="Write", tool_input=WRITE[1], permission_mode="default")
    assert said["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert claude.event("PermissionRequest", tool_name="Read", tool_input=READ[1], permission_mode="default") == {}


@pytest.mark.parametrize(("mode", "decision"), [("enforce", "deny"), ("block", "deny"), ("watch", ""), ("warn", "")])
def test_permission_ask_blocks_or_only_logs_as_it_is_configured(tmp_path: Path, mode: str, decision: str) -> None:
    """`Enforces configuration-driven blocking behavior (deny vs warn/log).`"""
    with opened(tmp_path, FILE.replace("version: 1", f"version: 1\nmode: {mode}")) as service:
        claude = Claude(service, tmp_path)
        claude.use(*READ)
        assert claude.before(*WRITE)[0] == decision
        assert "governance/role" in log_of(tmp_path, service)


def test_permission_ask_tracks_denials_and_violations(service: Service, claude: Claude) -> None:
    """`Tracks denials and violations for audit and remediation.`"""
    claude.use(*READ)
    claude.before(*WRITE)
    shown = kept(service)
    assert (shown.counts.denials, shown.counts.violations) == (1, 1)
    assert [(one.tool, one.rule, one.said) for one in shown.violations] == [("write", "governance/role", "deny")]
    service.ledger.flush()
    assert search(service.store, Query(rule="governance/role"), 5)


def test_violations_that_are_only_watched_count_too(tmp_path: Path) -> None:
    """`logs violations without blocking in some modes`"""
    with opened(tmp_path, FILE.replace("version: 1", "version: 1\nmode: watch")) as service:
        claude = Claude(service, tmp_path)
        claude.use(*READ)
        assert claude.use(*WRITE) == ""
        shown = kept(service)
        assert (shown.counts.denials, shown.counts.violations) == (0, 2)
        assert {one.said for one in shown.violations} == {"watch"}


# --- tool.execute.before ----------------------------------------------------------------------------------------------


def test_before_enforces_the_first_tool(claude: Claude) -> None:
    """`First-tool enforcement`: here the tool does not run. It is told in the names of the host."""
    decision, reason = claude.before("Task", TASK)
    assert (decision, "governance/first-tool" in reason) == ("deny", True)
    assert "Use one of these first: Read, Glob, Grep, TodoWrite" in reason
    claude.use(*READ)
    assert claude.before("Task", TASK)[0] == ""


def test_before_warns_of_the_first_tool_and_counts_it(service: Service, claude: Claude, tmp_path: Path) -> None:
    """`Logs violations when the first tool is not among required first tools for the role.` The agent is told."""
    claude.event("SubagentStart", agent_id=BUILDER[0], agent_type=BUILDER[1])
    decision, _ = claude.before(*WRITE, agent=BUILDER)
    assert decision == ""
    assert kept(service).counts.violations == 1
    assert [(one.rule, one.said) for one in kept(service).violations] == [("governance/first-tool", "note")]
    told = claude.after(*WRITE, "ok", agent=BUILDER)["additionalContext"]
    assert "Interpose warns (governance/first-tool)" in told
    assert "Read, Glob, Grep, TodoWrite" in told
    assert claude.after("Read", {"file_path": "a"}, "x", agent=BUILDER, key=99) == {}, "it is told once"
    assert "note" in log_of(tmp_path, service)


def test_before_checks_what_the_role_may_use(claude: Claude) -> None:
    """`General permission check`: by exact name, and denied before it runs."""
    claude.use(*READ)
    decision, reason = claude.before(*WRITE)
    assert decision == "deny"
    assert "This agent may not use Write" in reason
    assert "Delegate to the agent builder" in reason
    assert "Evidence: governance.yaml:" in reason
    assert claude.before("spread_delete", {})[0] == "deny", "no part of a name lets anything in"


def test_before_tracks_delegations(service: Service, claude: Claude) -> None:
    """`Delegation tracking: Records agent spawns via task tool for execution metrics.`"""
    claude.use(*READ)
    claude.use("Task", TASK, {"content": [{"type": "text", "text": "Done."}]})
    shown = kept(service)
    assert shown.counts.spawns == 1
    assert [(one.target, one.to_role, one.state) for one in shown.delegations] == [("builder", "builder", "done")]


def test_before_gives_managed_markdown_its_frontmatter(claude: Claude) -> None:
    """`Frontmatter auto-generation: Enhances markdown content with frontmatter before write/edit.`"""
    claude.event("SubagentStart", agent_id=BUILDER[0], agent_type=BUILDER[1])
    claude.use(*READ, agent=BUILDER)

    def written(path: str) -> str:
        said = claude.event(
            "PreToolUse", tool_name="Write", tool_input={"file_path": path, "content": "# A plan\n"},
            tool_use_id=f"toolu_{path}", permission_mode="bypassPermissions", agent_id=BUILDER[0],
            agent_type=BUILDER[1],
        ).get("hookSpecificOutput", {})  # fmt: skip
        return str(said.get("updatedInput", {}).get("content", "as it came"))

    fields = yaml.safe_load(written("docs/plan.md").split("---")[1])
    assert (fields["title"], fields["source_agent"], fields["parent_id"]) == ("A plan", "builder", "s-1")
    assert written("README.md") == "as it came", "not among the managed files"
    assert written("docs/plan.txt") == "as it came", "no markdown"


# --- tool.execute.after -----------------------------------------------------------------------------------------------


def is_replaced(said: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    shown = json.dumps(said)
    assert "secret output" not in shown
    assert "Write was refused and ran all the same" in shown, "what was blocked"
    assert "Safer: Delegate to the agent builder" in shown, "what to do instead"
    assert "Evidence: governance.yaml:" in shown, "what it rests on"
    assert "alarm: hook:claude-code ran Write" in caplog.text


RAN = (*WRITE, {"type": "create", "filePath": "src/app.py", "content": "secret output"})


def test_after_replaces_the_output_of_a_blocked_tool(
    service: Service, claude: Claude, caplog: pytest.LogCaptureFixture
) -> None:
    """`Output replacement for blocked tools: Completely replaces output with guidance when a denial is pending.`"""
    key = refused(claude)
    with caplog.at_level(logging.ERROR):
        is_replaced(claude.after(*RAN, key=key), caplog)
    service.ledger.flush()
    assert [one.rule for one in ran_unapproved(service.store, 0)] == ["governance/role"]


def test_after_replaces_it_at_another_server_after_a_restart_and_where_no_server_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`Denials stored per session and consumed during tool.execute.after to replace output.`"""
    with opened(tmp_path, FILE, serving=False) as hook:
        key = refused(Claude(hook, tmp_path))
    with opened(tmp_path) as server, caplog.at_level(logging.ERROR):
        is_replaced(Claude(server, tmp_path).after(*RAN, key=key), caplog)
    with opened(tmp_path) as again:
        caplog.clear()
        with caplog.at_level(logging.ERROR):
            is_replaced(Claude(again, tmp_path).after(*RAN, key=key), caplog)
        again.ledger.flush()
        assert [one.decision for one in search(again.store, Query(tool="write"), 9)] == ["deny"], "one record, its own"
        assert Claude(again, tmp_path).after("Read", READ[1], "mine", key=key + 1) == {}, "no other call's result"


def test_after_replaces_it_for_programs_that_ask_over_http(server: Running) -> None:
    """The same for a host that speaks HTTP, by its own id of the call."""
    call = {
        "name": "write",
        "call_id": "c-1",
        "context": {"session_id": "s-9"},
        "arguments": {"path": "a", "content": "x"},
    }

    def put(point: str, **fields: Any) -> Any:
        return server.ask("POST", f"/api/v1/events/{point}", json.dumps(call | fields), JSON | bearer("agent")).json

    assert put("tool.before")["decision"] == "deny"
    said = put("tool.after", result="secret output")
    assert (said["allowed"], "write was refused and ran all the same" in said["reason"]) == (False, True)
    assert put("tool.after", result="mine", call_id="c-2")["allowed"]


def test_after_counts_a_refused_call_that_ran_once(service: Service, claude: Claude, tmp_path: Path) -> None:
    """`Violations tracked for audit`: 30 denials are not 60 violations."""
    claude.use(*READ)
    task = TASK | {"subagent_type": "nobody-knows"}
    assert claude.before("Task", task)[0] == "deny"
    before = kept(service).counts
    claude.after("Task", task, {"content": [{"type": "text", "text": "Done."}]})
    assert kept(service).counts == before
    said = log_of(tmp_path, service)
    assert said.count("governance/delegation") == 2, "refused, and that it ran all the same"
    assert "nobody-knows: refused, and it ran all the same" in said
    assert "nobody-knows: done" not in said


def test_after_replaces_a_validation_that_blocks(claude: Claude) -> None:
    """`Replaces output with a structured failure message when validation results indicate shouldBlock.`
    `Structured messages built from collected violations.`"""
    claude.use(*READ)
    assert claude.before("idumb-validate", {"path": "."})[0] == ""
    result = {"shouldBlock": True, "violations": ["no id", {"location": "a.md:1", "message": "no title"}], "raw": "x"}
    said = claude.after("idumb-validate", {"path": "."}, json.dumps(result))
    assert said["updatedToolOutput"] == (
        "VALIDATION FAILED: idumb-validate\nViolations:\n- no id\n- a.md:1: no title\nFix the issues above and retry."
    )


def test_after_uses_the_original_output_of_a_validation_that_does_not_block(claude: Claude) -> None:
    """`else continue: use original output`"""
    claude.use(*READ)
    assert claude.before("idumb-validate", {"path": "."})[0] == ""
    result = json.dumps({"shouldBlock": False, "violations": ["no id"]})
    assert claude.after("idumb-validate", {"path": "."}, result) == {}


@pytest.mark.parametrize(
    ("text", "act"),
    [("Done. All tests pass.", "task-done"), ("It failed with an error", "task-failed"),
     ("12 passed, 0 failed", "task-done")],
)  # fmt: skip
def test_after_records_how_a_task_ended(service: Service, claude: Claude, text: str, act: str) -> None:
    """`Task outcome recording: Infers pass/fail from output content and logs to history.`"""
    claude.use(*READ)
    claude.use("Task", TASK, {"status": "completed", "content": [{"type": "text", "text": text}]})
    service.ledger.flush()
    (record,) = search(service.store, Query(tool="governance"), 5)
    assert isinstance(record.arguments, dict)
    assert record.arguments["act"] == act


# --- command.execute.before -------------------------------------------------------------------------------------------

CHAINED = "version: 1\ninclude: [idumb]\nunknown_role: allow\n"


def commanded(claude: Claude, text: str) -> str:
    return str(claude.event("UserPromptSubmit", prompt=text).get("reason", ""))


def test_commands_have_prerequisites_redirects_warnings_and_blocks(tmp_path: Path) -> None:
    """`Chain enforcement: Reads chain rules, evaluates mustBefore/shouldBefore prerequisites, supports
    redirect/warn/block.` `Read-only commands: Always permitted without checks.`"""
    planning, project = tmp_path / "project" / ".planning", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    planning.mkdir()
    with opened(tmp_path, CHAINED) as service:
        claude = Claude(service, project)
        assert "/idumb:init" in commanded(claude, "/idumb:roadmap"), "redirected"
        assert commanded(claude, "/idumb:status") == "", "it only reads"
        (project / ".idumb" / "brain").mkdir(parents=True)
        (project / ".idumb" / "brain" / "state.json").write_text('{"phase": "01"}')
        said = commanded(claude, "/idumb:roadmap")
        assert "PROJ-01" in said, "blocked"
        assert "PROJECT.md" in said
        (planning / "PROJECT.md").write_text("x")
        assert commanded(claude, "/idumb:roadmap") == ""
        phase = planning / "phases" / "01"
        phase.mkdir(parents=True)
        (phase / "01-PLAN.md").write_text("x")
        told = claude.event("UserPromptSubmit", prompt="/idumb:execute-phase 1")
        assert "reason" not in told, "a warning lets it pass"
        assert "PHASE-02" in text_of_reply(told)


def test_a_command_has_one_answer_at_every_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`command.execute.before`, asked by a hook, over HTTP, by a program and at the command line."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config" / "interpose" / "governance.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(CHAINED, encoding="utf-8")
    file.chmod(0o600)
    (tmp_path / ".idumb" / "brain").mkdir(parents=True)
    (tmp_path / ".idumb" / "brain" / "state.json").write_text("{}")
    config = load().config
    said: dict[str, list[tuple[str, bool]]] = {}
    with (
        open_service(config, follow=False) as service,
        running(all_routes.routes(service, version="0"), trust=trusting()) as server,
    ):
        claude, run = Claude(service, tmp_path), open_engine(config, tmp_path).run(Context(session_id="s"))
        for name in ("idumb:roadmap", "idumb:discuss-phase", "idumb:status", "review"):
            hook = commanded(claude, f"/{name}")
            body = {"name": name, "arguments": "", "context": {"sessionId": "s"}, "cwd": str(tmp_path)}
            path = "/api/v1/events/command.before"
            http = server.ask("POST", path, json.dumps(body), JSON | bearer("agent")).json
            verdict = run.command(f"/{name}")
            main(["command", "check", name, "--json"])
            told = json.loads(capsys.readouterr().out)
            said[name] = [
                ("deny" if hook else "allow", "PROJ" in hook), (http["decision"], "PROJ" in str(http["findings"])),
                (verdict.outcome, "PROJ" in str(verdict.findings)), (told["decision"], "PROJ" in str(told["findings"])),
            ]  # fmt: skip
    denied, allowed = [("deny", True)] * 4, [("allow", False)] * 4
    assert said == {
        "idumb:roadmap": denied, "idumb:discuss-phase": denied, "idumb:status": allowed, "review": allowed,
    }  # fmt: skip


def test_a_bypass_is_an_operators_and_no_flag(tmp_path: Path) -> None:
    """`Emergency bypass: Allows bypass with explicit flags.` An agent writes flags; only an operator lets it pass."""
    with (
        opened(tmp_path, CHAINED) as service,
        running(all_routes.routes(service, version="0"), trust=trusting()) as server,
    ):
        claude = Claude(service, tmp_path)
        assert "INIT-01" in commanded(claude, "/idumb:roadmap --emergency --bypass-chain")
        body = {"command": "idumb:roadmap", "reason": "the release is late", "seconds": 60}
        assert server.ask("POST", "/api/v1/bypasses", json.dumps(body), JSON | bearer("agent")).status == 403
        assert server.ask("POST", "/api/v1/bypasses", json.dumps(body), JSON | bearer("approver")).status == 200
        assert commanded(claude, "/idumb:roadmap") == ""
        service.ledger.flush()
        assert search(service.store, Query(text="the release is late"), 9), "it is recorded"


# --- Governance builders and roles ------------------------------------------------------------------------------------


def test_the_allowed_tools_of_a_role_are_asked_about(server: Running) -> None:
    """`getAllowedTools: Define role-based tool permissions.`"""
    decisions = {
        tool: asked(server, "/api/v1/roles/check", role="lead", tool=tool)["decision"]
        for tool in ("Read", "Task", "Write", "Bash", "spread_delete")
    }
    assert decisions == {"Read": "allow", "Task": "allow", "Write": "deny", "Bash": "deny", "spread_delete": "deny"}


def test_a_role_is_asked_about_with_the_token_of_an_auditor(service: Service, server: Running) -> None:
    """As docs/governance.md has it: without that token the answer is 401 or 403."""
    body = json.dumps({"role": "lead", "tool": "write", "arguments": {"path": "src/app.py"}, "cwd": "/home/ann/shop"})
    roles: tuple[Role, ...] = ("auditor", "agent")
    found = [server.ask("POST", "/api/v1/roles/check", body, JSON | bearer(role)) for role in roles]
    assert [said.status for said in found] == [200, 403]
    assert (found[0].json["decision"], found[0].json["rulings"][0]["rule"]) == ("deny", "governance/role")
    with running(all_routes.routes(service, version="0"), trust=Trust()) as strict:
        assert strict.ask("POST", "/api/v1/roles/check", body, JSON).status == 401


def test_the_same_at_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`getRequiredFirstTools: first-tool requirements.` `idumb-builder is the only agent permitted to write framework
    files (META scope). Project executors can write user code (PROJECT scope).`"""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    assert main(["governance", "init", "--ready", "idumb"]) == 0
    file = tmp_path / "config" / "interpose" / "governance.yaml"
    file.write_text(file.read_text().replace("mode: watch", "mode: enforce"), encoding="utf-8")
    capsys.readouterr()

    def said(role: str, path: str) -> str:
        main(["role", "check", f"idumb-{role}", "Write", "--path", path, "--json"])
        return str(json.loads(capsys.readouterr().out)["decision"])

    roles = ("meta-builder", "builder", "project-executor", "plan-checker", "supreme-coordinator")
    assert {role: (said(role, ".idumb/brain/x.json"), said(role, "src/app.ts")) for role in roles} == {
        "meta-builder": ("allow", "deny"), "builder": ("allow", "deny"), "project-executor": ("deny", "allow"),
        "plan-checker": ("deny", "deny"), "supreme-coordinator": ("deny", "deny"),
    }  # fmt: skip
    main(["governance", "show"])
    assert "idumb-todo" in capsys.readouterr().out, "its first tools"


def test_the_prefix_is_told_when_a_session_begins(claude: Claude) -> None:
    """`buildGovernancePrefix: Inject governance context.`"""
    told = text_of_reply(claude.event("SessionStart", source="startup"))
    assert told.startswith("Interpose governs this session.")
    assert "Before anything else, use one of: Read, Glob, Grep, TodoWrite" in told
    assert "Tools that you may use: Read, Glob, Grep, TodoWrite, Task, Agent, idumb-validate" in told
    assert "You may delegate to: builder, validator" in told
    assert "look" not in told, "no name of the file's own"


@pytest.mark.parametrize(
    ("host", "look", "may"),
    [
        ("claude-code", "Read, Glob, Grep, TodoWrite", "Task, Agent"),
        ("codex", "update_plan", "spawn_agent"),
        (
            "gemini-cli",
            "read_file, read_many_files, glob, search_file_content, grep_search, write_todos",
            "idumb-validate",
        ),
    ],
)
def test_the_prefix_has_the_names_of_the_host(service: Service, tmp_path: Path, host: str, look: str, may: str) -> None:
    """`buildGovernancePrefix`, in what each of them shows its model when a session begins."""
    raw = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s-1", "cwd": str(tmp_path)}
    told = text_of_reply(json.loads(drive(answer(service, HOSTS[host], json.dumps(raw).encode())).stdout))
    assert told.startswith("Interpose governs this session.")
    assert f"Before anything else, use one of: {look}" in told
    assert f"{look}, {may}" in told


def test_the_reminder_is_told_after_a_compaction(claude: Claude) -> None:
    """`buildPostCompactReminder: recovery reminders.` `Post-compaction reminders are injected to recover context.`
    `First-tool enforcement applies at beginning/new session manipulation.`"""
    claude.use(*READ)
    claude.event("PreCompact", trigger="auto")
    told = text_of_reply(claude.event("SessionStart", source="compact"))
    assert told.startswith("The context was compacted.")
    assert "governance/first-tool" in claude.before("Task", TASK)[1]


# --- Logging, history, checkpoints ------------------------------------------------------------------------------------


def test_the_log_rotates(tmp_path: Path) -> None:
    """`Logging with rotation`: by size, with archives."""
    from interpose.rules.governance.governance_log import GovernanceLog, LogEvent

    log = GovernanceLog(tmp_path / "governance.log", max_bytes=2_000, archives=3)
    for number in range(200):
        log.write(LogEvent(at_ns=time.time_ns(), word="deny", host="h", session="s", rule="governance/role",
                           text=f"violation {number}"))  # fmt: skip
    log.close()
    assert {path.name for path in tmp_path.glob("governance.log*")} == {
        "governance.log", "governance.log.1", "governance.log.2", "governance.log.3",
    }  # fmt: skip


def test_history_has_violations_denials_and_outcomes(service: Service, claude: Claude) -> None:
    """`History entries: Logged for all violations, denials, and task outcomes to maintain audit trail.`"""
    refused(claude)
    claude.use("Task", TASK, {"content": [{"type": "text", "text": "Done."}]})
    service.ledger.flush()
    records = search(service.store, Query(session="s-1"), 20)
    assert {(one.tool, one.decision) for one in records} >= {
        ("read", "allow"), ("write", "deny"), ("task", "allow"), ("governance", "allow"),
    }  # fmt: skip


# --- Practical examples -----------------------------------------------------------------------------------------------


def test_a_custom_interceptor_beside_governance(service: Service, claude: Claude) -> None:
    """`Implementing a custom tool interceptor: Use tool.execute.before to enforce domain-specific rules.`
    `In tool.execute.after, replace outputs.` `Augment output.args for downstream tool behavior.`"""
    claude.use(*READ)
    registry: Any = service.policies.engine(Context(session_id="s-1", cwd=claude._cwd)).interceptors
    roles: list[str] = []

    def before(call: Any, output: Any) -> None:
        roles.append(call.context.role)
        if output.args["pattern"] == "secret":
            output.block = True
            output.block_reason = "not that"

    def after(_outcome: Any, output: Any) -> None:
        output.result = ["replaced"]

    registry.add(id="mine:before", name="tool.before", tool_matcher="^grep$", handler=before)
    registry.add(id="mine:after", name="tool.after", tool_matcher="^grep$", handler=after)
    assert claude.before("Grep", {"pattern": "secret"})[0] == "deny"
    assert claude.before("Grep", {"pattern": "x"}) == ("", "")
    assert claude.after("Grep", {"pattern": "x"}, ["found"])["updatedToolOutput"] == ["replaced"]
    assert roles == ["lead", "lead"]


def test_the_library_is_governed_by_the_same_file(tmp_path: Path) -> None:
    """`Integrating with governance framework: Leverage getAllowedTools/getRequiredFirstTools.`"""
    file = tmp_path / "governance.yaml"
    file.write_text(FILE, encoding="utf-8")
    file.chmod(0o600)
    config = config_in(tmp_path)
    governance = replace(config.governance, file=str(file), log="", checkpoints=str(tmp_path / "c"))
    engine = open_engine(replace(config, governance=governance), tmp_path)
    ran: list[str] = []

    def run(tool: str, **arguments: Any) -> Any:
        call = ToolCall(tool, arguments, context=Context(session_id="s", cwd=str(tmp_path)))
        return engine.run_tool(call, lambda _arguments: ran.append(tool))

    for tool in ("grep", "read", "grep", "write"):
        try:
            run(tool, path="README.md", pattern="x", content="x")
        except RefusedError:
            pass
    assert ran == ["grep", "read", "grep"], "all but the write"
