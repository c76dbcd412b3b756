"""A governance.yaml is read strictly: all that is wrong is told at once, with its line and what was probably meant."""

from __future__ import annotations

import json

import pytest

from interpose.core.errors import GovernanceError
from interpose.rules.governance.files.load import MAX_OF_PROJECT, json_schema, load_rulebook, ready_names, ready_text

WHOLE = """\
version: 1
# whose word counts
mode: enforce
unknown_role: ask
agents:
  - {role: worker, agent: "w-*"}
scopes:
  PROJECT: {paths: ["**"]}
roles:
  boss:
    tools: {allow: [read]}
    ceiling: {deny: [cron]}
    instead: Delegate it.
  worker:
    parent: boss
    write: [PROJECT]
    mode: watch
"""


def problems(text: str) -> list[str]:
    with pytest.raises(GovernanceError) as raised:
        load_rulebook(text, "g.yaml", "user")
    return [str(problem) for problem in raised.value.problems]


def test_a_file_becomes_a_rulebook() -> None:
    book = load_rulebook(WHOLE, "/etc/interpose/governance.yaml", "user")
    assert (book.mode, book.unknown_role, book.level) == ("enforce", "ask", "user")
    boss, worker = book.roles["boss"], book.roles["worker"]
    assert (boss.parents, boss.tier, worker.parents, worker.tier) == ((), 0, ("boss",), 1)
    assert worker.tools == boss.tools
    assert worker.instead == "Delegate it."
    assert worker.ceilings == boss.ceilings
    assert (boss.mode, worker.mode) == ("enforce", "watch")
    assert (boss.write, worker.write) == (None, ("PROJECT",))


def test_evidence_knows_where_each_key_was_written() -> None:
    book = load_rulebook(WHOLE, "/home/me/.config/interpose/governance.yaml", "user")
    worker = book.roles["worker"]
    assert worker.place("write") == "governance.yaml:16: roles.worker.write"
    assert worker.place("tools.allow") == "governance.yaml:11: roles.boss.tools.allow", "it was taken from the parent"
    assert worker.ceiling_places == ("governance.yaml:12: roles.boss.ceiling",)
    assert book.place("unknown_role") == "governance.yaml:4: unknown_role"


@pytest.mark.parametrize(
    ("level", "file", "said"),
    [
        ("organisation", "/etc/interpose/governance.yaml", "/etc/interpose/governance.yaml:4"),
        ("project", "/home/me/p/.interpose/governance.yaml", ".interpose/governance.yaml:4"),
    ],
)
def test_a_file_is_called_by_whose_it_is(level: str, file: str, said: str) -> None:
    book = load_rulebook(WHOLE, file, level)  # type: ignore[arg-type]  # one of the words
    assert book.place("unknown_role") == f"{said}: unknown_role"


def test_the_revision_is_that_of_the_text_and_of_what_it_includes() -> None:
    plain = load_rulebook("version: 1\n", "a.yaml")
    assert plain.revision == load_rulebook("version: 1\n", "b.yaml").revision
    revisions = {plain.revision, load_rulebook("version: 1\nmode: watch\n", "a.yaml").revision}
    revisions.add(load_rulebook("version: 1\ninclude: [tiers]\n", "a.yaml").revision)
    assert len(revisions) == 3


def test_everything_is_told_at_once_with_its_lines() -> None:
    told = problems("""\
version: 1
mode: wach
roles:
  a:
    write: META
    tools: {alow: [read]}
  b: {tier: x}
""")
    assert [line.split(": ")[0] for line in told] == ["g.yaml:2", "g.yaml:5", "g.yaml:6", "g.yaml:7"]
    told = problems("version: 1\nroles:\n  a: {parent: x, write: [y]}\n  b: {commands: [z]}\n")
    assert [line.split(": ")[0] for line in told] == ["g.yaml:3", "g.yaml:3", "g.yaml:4"]


def test_the_words_of_others_are_read_as_ours() -> None:
    book = load_rulebook("version: 1\nmode: block\nunknown_role: log\nroles: {a: {mode: warn}}", "g.yaml")
    assert (book.mode, book.unknown_role, book.roles["a"].mode) == ("enforce", "note", "watch")


def test_a_ready_file_is_included_and_may_be_changed() -> None:
    own = "agents: [{role: scribe}]\nroles:\n  scribe: {parent: researcher, write: [PROJECT]}\n"
    book = load_rulebook(f"version: 1\ninclude: [tiers]\n{own}", "governance.yaml")
    assert book.roles["scribe"].parents == ("researcher", "project-coordinator", "meta-coordinator")
    assert book.roles["scribe"].tools == book.roles["researcher"].tools
    assert book.roles["researcher"].place("write").startswith("tiers.yaml:")
    assert [agent.role for agent in book.agents] == ["scribe"], "who is who is the file's own word"
    assert book.mode == "enforce"
    changed = load_rulebook("version: 1\ninclude: [tiers]\nroles: {researcher: {tools: {allow: [read]}}}\n", "g.yaml")
    assert changed.roles["researcher"].tools.allow == ("read",)
    assert changed.roles["researcher"].parents == ()


def test_chains_of_ready_files_are_added_behind_those_of_the_file() -> None:
    own = "chains: {rules: [{id: INIT-01, command: x, must_before: [{exists: a}]}]}\n"
    book = load_rulebook(f"version: 1\ninclude: [idumb-chains]\n{own}", "g.yaml")
    ids = [rule.id for rule in book.chains.rules]
    assert ids[0] == "INIT-01"
    assert len(ids) == len(set(ids)) > 5
    assert book.chains.rules[0].command == "x"
    assert book.chains.state_file == ".idumb/brain/state.json"


def test_a_projects_file_is_bounded() -> None:
    text = "version: 1\n" + "# x\n" * MAX_OF_PROJECT
    load_rulebook(text, "g.yaml", "user")
    with pytest.raises(GovernanceError, match="at most"):
        load_rulebook(text, "g.yaml", "project")


def test_groups_in_groups_do_not_explode() -> None:
    """Each group has the one before it twice: opened one by one they would have more members than there are atoms."""
    groups = "\n".join(f"  g{n}: [g{n - 1}, g{n - 1}]" for n in range(1, 90))
    book = load_rulebook(f"version: 1\ntools:\n  g0: [read]\n{groups}\n", "g.yaml")
    assert book.tools["g89"] == ("read",)


def test_a_long_line_of_roles_is_no_problem() -> None:
    roles = "\n".join(f"  r{n}: {{parent: r{n - 1}}}" for n in range(1, 900))
    book = load_rulebook(f"version: 1\nroles:\n  r0: {{ceiling: {{deny: [exec]}}}}\n{roles}\n", "g.yaml")
    assert book.roles["r899"].tier == 899
    assert len(book.roles["r899"].ceilings) == 1
    many = "\n".join(f"  r{n}: {{}}" for n in range(1001))
    assert "more than 1000" in problems(f"version: 1\nroles:\n{many}\n")[0]


@pytest.mark.parametrize("name", ready_names())
def test_every_ready_file_loads_alone_and_included(name: str) -> None:
    alone = load_rulebook(ready_text(name), f"{name}.yaml")
    included = load_rulebook(f"version: 1\ninclude: [{name}]\n", "g.yaml")
    assert included.roles.keys() == alone.roles.keys()
    assert included.scopes == alone.scopes
    assert included.chains.rules == alone.chains.rules


def test_the_schema_describes_what_is_loaded() -> None:
    schema = json.loads(json.dumps(json_schema()))
    form = schema["$defs"]["GovernanceForm"]
    assert {"version", "mode", "unknown_role", "agents", "tools", "scopes", "roles"} <= form["properties"].keys()
    assert form["additionalProperties"] is False
    assert schema["$defs"]["RoleForm"]["properties"]["write"]["description"]
