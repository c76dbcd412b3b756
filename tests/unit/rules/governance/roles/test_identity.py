"""Who acts comes from the transport alone: never from text, and what nobody said fits nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.types import Context
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.roles.identity import host_of, seat_of

BOOK = load_rulebook(
    """\
version: 1
agents:
  - {role: explorer, agent: Explore, host: claude-code, sub_agent: true}
  - {role: bot, principal: "ci-*"}
  - {role: given, given_role: "team-*"}
  - {role: gate, host: gateway}
  - {role: server, host: http, agent: deployer}
  - {role: sub, sub_agent: true}
  - {role: main, host: "hook:*", sub_agent: false}
roles: {explorer: {}, bot: {}, given: {}, gate: {}, server: {}, sub: {}, main: {}}
""",
    "g.yaml",
)


@pytest.mark.parametrize(
    ("note", "context", "role"),
    [
        ("a sub-agent's kind", Context(source="hook:claude-code", agent_id="a1", agent_type="Explore"), "explorer"),
        ("another of its kind", Context(source="hook:claude-code", agent_id="a2", agent_type="Plan"), "sub"),
        ("the same kind on another host", Context(source="hook:codex", agent_id="a1", agent_type="Explore"), "sub"),
        ("no part of a kind", Context(source="hook:claude-code", agent_id="a", agent_type="Explorer"), "sub"),
        ("a main agent", Context(source="hook:claude-code"), "main"),
        ("a main agent of a kind", Context(source="hook:claude-code", agent_type="Explore"), "main"),
        ("a main agent by its name", Context(source="hook:opencode", agent_id="build"), "main"),
        ("a token", Context(source="intercept", principal="ci-7"), "bot"),
        ("a claim is no token", Context(source="library", claimed="ci-7"), None),
        ("a role that a program gave", Context(source="library", role="team-a"), "given"),
        ("another role", Context(source="library", role="explorer"), None),
        ("the gateway", Context(source="mcp"), "gate"),
        ("over HTTP", Context(source="intercept", agent_id="deployer"), "server"),
        ("over HTTP, another", Context(source="intercept", agent_id="other"), None),
        ("nobody", Context(), None),
        ("a name that says it is a role", Context(source="library", agent_id="main", session_id="explorer"), None),
    ],
)  # fmt: skip
def test_the_first_entry_that_fits_gives_the_role(note: str, context: Context, role: str | None) -> None:
    seat = seat_of(BOOK, context)
    assert (seat.role.name if seat.role else None) == role, note


def test_a_seat_knows_who_sits_on_it() -> None:
    seat = seat_of(BOOK, Context(source="hook:claude-code", agent_id="a1", agent_type="Explore"))
    assert (seat.agent, seat.name, seat.is_sub_agent) == ("a1", "Explore", True)
    seat = seat_of(BOOK, Context(source="hook:opencode", agent_id="build"))
    assert (seat.agent, seat.name, seat.is_sub_agent) == ("build", "build", False)


def test_a_star_fits_only_what_is_said() -> None:
    book = load_rulebook("version: 1\nagents: [{role: a, principal: '*'}]\nroles: {a: {}}", "g.yaml")
    assert seat_of(book, Context()).role is None
    assert seat_of(book, Context(principal="x")).role is not None


def test_an_entry_without_a_condition_fits_everybody() -> None:
    book = load_rulebook("version: 1\nagents: [{role: a}]\nroles: {a: {}}", "g.yaml")
    assert seat_of(book, Context()).role is not None


@pytest.mark.parametrize(
    ("source", "host"), [("hook:codex", "codex"), ("mcp", "gateway"), ("intercept", "http"), ("proxy:x", "proxy:x")]
)
def test_surfaces_are_called_as_people_call_them(source: str, host: str) -> None:
    assert host_of(source) == host


def test_a_project_is_where_it_really_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "work" / "a").mkdir(parents=True)
    (home / "other" / "b").mkdir(parents=True)
    (home / "linked").symlink_to(home / "work")
    (home / "work" / "trap").symlink_to(home / "other" / "b")
    monkeypatch.setenv("HOME", str(home))
    text = "version: 1\nagents: [{{role: a, project: {0}}}]\nroles: {{a: {{}}}}"
    work = load_rulebook(text.format("~/work/**"), "g.yaml")
    assert seat_of(work, Context(cwd=str(home / "work" / "a"))).role is not None
    assert seat_of(work, Context(cwd=str(home / "work"))).role is not None
    assert seat_of(work, Context(cwd=str(home / "linked" / "a"))).role is not None
    assert seat_of(work, Context(cwd=str(home / "other" / "b"))).role is None
    assert seat_of(work, Context(cwd=str(home / "work" / "trap"))).role is None, "a link of an agent's own making"
    assert seat_of(work, Context(cwd=str(home / "work" / ".." / "other" / "b"))).role is None
    linked = load_rulebook(text.format(f"{home}/linked/**"), "g.yaml")
    assert seat_of(linked, Context(cwd=str(home / "work" / "a"))).role is not None, "a link of the user's"
    for nowhere in ("", "work", "\0", "/" + "x" * 5000):
        assert seat_of(work, Context(cwd=nowhere)).role is None
