"""What holds at every door because it is looked up in one place: names of shells, and rules that can't be loaded."""

from __future__ import annotations

from pathlib import Path

from interpose import Context, ToolCall, open_engine
from interpose.composition.build import open_service
from interpose.core.config.load import load
from tests.e2e.corridor.conftest import Place


def test_tools_that_the_configuration_calls_shells(place: Place) -> None:
    """The name counts at every door, not only where it was first looked up."""
    world = place.world
    call = ToolCall("my-shell", {"command": "frobnicate"}, context=Context(cwd=world.project))
    assert open_engine().decide(call).rule == "own-deny"
    assert place.service.run(call.context).decide(call).rule == "own-deny"
    payload = {"name": "my-shell", "arguments": {"command": "frobnicate"}}
    body = {"event": "tools/call", "phase": "request", "payload": payload}
    said = world.server.ask("POST", "/api/v1/intercept", body).body
    assert said["info"]["results"][0]["policy_name"] == "own-deny"


def test_rules_that_can_not_be_loaded_hold_everything_at_every_door(place: Place, tmp_path: Path) -> None:
    (tmp_path / ".interpose").mkdir()
    (tmp_path / ".interpose" / "policy.yaml").write_text("version: 1\nrules: [broken]\n", encoding="utf-8")
    engine = open_engine(cwd=str(tmp_path))
    context = Context(cwd=str(tmp_path))
    assert engine.decide(ToolCall("Bash", {"command": "ls"}, context=context)).rule == "policy-unreadable"
    with open_service(load(environ=place.world.environment).config, follow=False) as service:
        verdict = service.run(context).decide(ToolCall("Bash", {"command": "ls"}))
    assert verdict.rule == "policy-unreadable"
    payload = {"name": "Bash", "arguments": {"command": "ls"}}
    body = {"event": "tools/call", "phase": "request", "payload": payload}
    said = place.world.server.ask("POST", "/api/v1/intercept", body | {"config": {"working_directory": str(tmp_path)}})
    assert said.body["info"]["results"][0]["policy_name"] == "policy-unreadable"
