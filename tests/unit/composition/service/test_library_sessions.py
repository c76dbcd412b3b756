"""Governed sessions of programs that open an engine themselves: their texts, and the store that they share."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose import Context, Engine, NoRoleError, Run, get_allowed_tools, get_required_first_tools, open_engine
from interpose.composition.build import open_service
from interpose.core.config.settings import Config, GovernanceSettings
from tests.support.servers.servers import config_in

GOVERNANCE = """version: 1
agents:
  - {role: helper, agent: helper}
  - {role: worker, host: "*"}
tools: {look: [read, glob], more: [look, grep]}
roles:
  worker:
    description: Work on files
    tools: {allow: [more, exec, "notes_*", "mcp__files__write_file"], deny: [grep], ask: [web_fetch]}
    first_tools: {any_of: [look]}
  helper: {description: Help by reading, tools: {allow: [read]}}
  free: {}
sessions: {resume_after: 1h}
budgets: [{per: session, calls: 3}]
save_work: {tools: [], commands: [], writes: []}
stalls: {same_call: 2}
"""
BEGINS = "Interpose governs this session."


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
    governance = GovernanceSettings(
        file=str(tmp_path / "governance.yaml"), log=str(tmp_path / "log"), checkpoints=str(tmp_path / "checkpoints")
    )
    return config_in(tmp_path, governance=governance)


def opened(config: Config, tmp_path: Path) -> Engine:
    engine = open_engine(config, tmp_path)
    engine.add_tool(lambda path: f"text of {path}", "read")
    return engine


def run_of(config: Config, tmp_path: Path, session: str = "s1", **more: Any) -> Run:
    """A run of an engine that nothing else holds, as programs write it."""
    return opened(config, tmp_path).run(Context(session_id=session, agent_id="main", **more))


def reads(run: Run, path: str = "a") -> Any:
    return run.call("read", {"path": path}).response


def test_an_agent_is_told_its_role_when_its_session_begins(config: Config, tmp_path: Path) -> None:
    run = run_of(config, tmp_path)
    told = run.start()
    assert told.startswith(BEGINS)
    assert "Your part here: Work on files" in told
    assert run.remind() == "", "it was told"


def test_what_was_not_told_is_still_to_be_told_once(config: Config, tmp_path: Path) -> None:
    run = run_of(config, tmp_path)
    reads(run)
    assert run.remind().startswith(BEGINS)
    assert run.remind() == ""


def test_a_compaction_a_stall_and_an_end(config: Config, tmp_path: Path) -> None:
    run = run_of(config, tmp_path)
    run.start()
    reads(run)
    reads(run)
    assert "2 times in a row" in run.remind()
    assert run.compact().startswith("The context was compacted.")
    assert run.resume() == "", "it was left a moment ago: the agent still has what it was told"
    run.end()
    assert run.start().startswith(BEGINS)


def test_an_agent_that_waits_is_idle_and_a_sub_agent_leaves_it_at_work(config: Config, tmp_path: Path) -> None:
    with open_service(config, follow=False) as service:
        run = run_of(config, tmp_path)
        reads(run)
        opened(config, tmp_path).run(Context(session_id="s1", agent_id="h1", agent_type="helper")).idle()
        assert service.governed.session("s1").state == "active"
        run.idle()
        assert service.governed.session("s1").state == "idle"
        asyncio.run(run.aidle())
        reads(run, "b")
        assert service.governed.session("s1").state == "active"


def test_a_sub_agent_is_told_its_own_and_the_session_goes_on(config: Config, tmp_path: Path) -> None:
    engine = opened(config, tmp_path)
    main = engine.run(Context(session_id="s1", agent_id="main"))
    helper = engine.run(Context(session_id="s1", agent_id="h1", agent_type="helper"))
    main.start()
    assert "Your part here: Help by reading" in helper.start()
    assert "Your part here: Help by reading" in helper.compact()
    helper.end()
    assert main.remind() == "", "nothing of it was the main agent's"
    assert reads(main) == "text of a"


def test_the_same_for_async_callers(config: Config, tmp_path: Path) -> None:
    async def walk() -> list[str | None]:
        run = run_of(config, tmp_path)
        texts: list[str | None] = [await run.astart(), await run.aremind(), await run.acompact(), await run.aresume()]
        await run.aend()
        return texts

    begins, nothing, compacted, resumed = asyncio.run(walk())
    assert (begins or "").startswith(BEGINS)
    assert (compacted or "").startswith("The context was compacted.")
    assert (nothing, resumed) == ("", "")


def test_where_nothing_governs_there_is_nothing_to_say_and_no_store(config: Config, tmp_path: Path) -> None:
    (tmp_path / "governance.yaml").unlink()
    run = run_of(config, tmp_path)
    assert (run.start(), run.resume(), run.compact(), run.remind()) == ("", "", "", "")
    run.idle()
    run.end()
    assert reads(run) == "text of a"
    assert not Path(config.ledger.directory).exists()
    assert Engine().run().start() == ""


def test_a_budget_goes_on_in_the_next_engine(config: Config, tmp_path: Path) -> None:
    for path in ("a", "b"):
        assert reads(run_of(config, tmp_path), path) == f"text of {path}"
    gc.collect()  # an engine that is gone leaves its store, and a run that is not keeps it
    run = run_of(config, tmp_path)
    gc.collect()
    assert reads(run, "c") == "text of c"
    run.end()
    run.start()
    refused = reads(run, "d")
    assert refused["status"] == "blocked"
    assert "3 of 3" in refused["reason"] or "budget" in refused["reason"]
    assert reads(run_of(config, tmp_path, "another")) == "text of a"


def test_an_operators_halt_holds_for_an_engine_that_runs(config: Config, tmp_path: Path) -> None:
    with open_service(config, follow=False, serving=True) as service:
        engine = opened(config, tmp_path)
        engine.add_tool(lambda command: "ran", "bash")
        run = engine.run(Context(session_id="s1", agent_id="main"))
        reads(run)
        assert run.call("bash", {"command": "ls"}).response == "ran"
        service.governed.halt("s1", "ann", "it deletes too much")
        refused = run.call("bash", {"command": "ls"}).response
    assert refused["status"] == "blocked"
    assert "it deletes too much" in refused["reason"]
    assert "This session is halted" in run.start(), "no event lifts it"
    assert run.call("bash", {"command": "ls"}).response["status"] == "blocked"


def test_a_store_that_can_not_be_opened_refuses(config: Config, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    broken = replace(config, ledger=replace(config.ledger, directory=str(tmp_path / "file" / "ledger")))
    run = run_of(broken, tmp_path)
    refused = reads(run)
    assert refused["status"] == "blocked"
    assert "governed sessions can't be kept" in refused["reason"]
    assert run.start() == ""


def test_tools_of_a_role_by_name(config: Config, tmp_path: Path) -> None:
    assert get_allowed_tools("worker", config=config, cwd=tmp_path) == (
        "read", "glob", "exec", "notes_*", "mcp__files__write_file", "web_fetch",
    )  # fmt: skip
    assert get_required_first_tools("worker", config=config, cwd=tmp_path) == ("read", "glob")
    assert get_allowed_tools("free", config=config, cwd=tmp_path) == ("*",)
    assert get_required_first_tools("free", config=config, cwd=tmp_path) == ()
    with pytest.raises(NoRoleError, match="'nobody'"):
        get_allowed_tools("nobody", config=config, cwd=tmp_path)


def test_a_projects_file_only_takes_tools_away(config: Config, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".interpose").mkdir()
    (project / ".interpose" / "governance.yaml").write_text(
        "version: 1\nroles:\n  worker: {tools: {allow: [read, exec, write]}}\n", encoding="utf-8"
    )
    assert get_allowed_tools("worker", config=config, cwd=project) == ("read", "exec")
