"""The ready files do what they promise: the tiers of the seed, and the matrix of 23 roles."""

from __future__ import annotations

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.commands.command_categories import command_rulings
from interpose.rules.governance.files.book_notes import notes_of
from interpose.rules.governance.files.load import load_rulebook, ready_text
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.roles.identity import seat_of
from interpose.rules.governance.roles.name_patterns import fits_any
from interpose.rules.governance.roles.role_uses import may_use
from interpose.rules.governance.roles.scopes import scope_rulings

TIERS = load_rulebook(ready_text("tiers"), "tiers.yaml")
IDUMB = load_rulebook(ready_text("idumb"), "idumb.yaml")
CHUNKS = ("idumb-chunker", "idumb-chunker_read", "idumb-chunker_overview", "idumb-chunker_parseHierarchy")
LOOK = ("read", "glob", "grep")
SETS = {
    "tier1": ("task", "todowrite", *LOOK, "idumb-todo", "idumb-todo_list", "idumb-todo_hierarchy", "idumb-state",
              "idumb-state_read", "idumb-state_anchor", "idumb-state_getAnchors", "idumb-state_history",
              "idumb-context", "idumb-context_summary", "idumb-config", "idumb-config_read", "idumb-config_status",
              "idumb-validate", "idumb-manifest", *CHUNKS),
    "tier2": ("task", "todowrite", *LOOK, "idumb-todo", "idumb-todo_list", "idumb-state", "idumb-state_read",
              "idumb-state_anchor", "idumb-state_getAnchors", "idumb-context", "idumb-config", "idumb-config_read",
              "idumb-validate", *CHUNKS),
    "tier3": (*LOOK, "idumb-todo", "idumb-todo_list", "idumb-state", "idumb-state_read", "idumb-state_anchor",
              "idumb-context", "idumb-config_read", "idumb-validate", *CHUNKS),
    "builder": ("todowrite", "read", "write", "edit", "bash", "filesystem_write_file", "filesystem_edit_file",
                "filesystem_list_directory", "filesystem_read_file", "idumb-todo", "idumb-todo_complete",
                "idumb-todo_update", "idumb-state", "idumb-state_anchor", "idumb-state_history", *CHUNKS,
                "idumb-chunker_insert", "idumb-chunker_targetEdit"),
    "validator": (*LOOK, "bash", "filesystem_read_file", "filesystem_list_directory", "idumb-todo", "idumb-todo_list",
                  "idumb-state", "idumb-state_read", "idumb-state_anchor", "idumb-validate",
                  "idumb-validate_structure", "idumb-validate_schema", "idumb-validate_freshness",
                  "idumb-validate_integrationPoints", "idumb-context", "idumb-config_read", "idumb-manifest",
                  "idumb-manifest_drift", "idumb-manifest_conflicts", *CHUNKS),
}  # fmt: skip
MATRIX = {
    "supreme-coordinator": "tier1", "high-governance": "tier1", "mid-coordinator": "tier1", "meta-builder": "builder",
    "builder": "builder", "meta-validator": "validator", "low-validator": "validator", "project-coordinator": "tier2",
    "project-executor": "tier2", "executor": "tier2", "verifier": "tier2", "debugger": "tier2",
    "project-validator": "tier3", "project-explorer": "tier3", "codebase-mapper": "tier3", "planner": "tier3",
    "roadmapper": "tier3", "plan-checker": "tier3", "skeptic-validator": "tier3", "integration-checker": "tier3",
    "project-researcher": "tier3", "phase-researcher": "tier3", "research-synthesizer": "tier3",
}  # fmt: skip
WRITERS = {"project-executor", "executor"}
"""The documents let them write the user's code; the matrix gave them nothing to do it with."""


def test_the_matrix_has_all_roles() -> None:
    assert len(MATRIX) == 23
    assert set(IDUMB.roles) == {f"idumb-{name}" for name in MATRIX}


@pytest.mark.parametrize("name", MATRIX)
def test_a_role_of_the_matrix_has_its_tools_and_no_others(name: str) -> None:
    role = IDUMB.roles[f"idumb-{name}"]
    own = SETS[MATRIX[name]] + (("write", "edit", "bash") if name in WRITERS else ())
    assert [tool for tool in own if not may_use(IDUMB, role, tool)] == []
    others = {tool for tools in SETS.values() for tool in tools} - set(own)
    assert [tool for tool in sorted(others) if may_use(IDUMB, role, tool)] == []
    assert not may_use(IDUMB, role, "spread_delete")


@pytest.mark.parametrize("name", MATRIX)
def test_the_file_server_is_the_same_in_both_spellings(name: str) -> None:
    """OpenCode says `filesystem_write_file`; our plugin and other hosts say `mcp__filesystem__write_file`."""
    role = IDUMB.roles[f"idumb-{name}"]
    written = sorted({tool for tools in SETS.values() for tool in tools if tool.startswith("filesystem_")})
    assert written
    for tool in written:
        spelled = tool.replace("filesystem_", "mcp__filesystem__")
        assert may_use(IDUMB, role, spelled) == may_use(IDUMB, role, tool) == (tool in SETS[MATRIX[name]]), spelled


@pytest.mark.parametrize("name", MATRIX)
def test_each_of_the_23_is_known_by_its_agent(name: str) -> None:
    for context in (Context(agent_type=f"idumb-{name}", agent_id="a"), Context(agent_id=f"idumb-{name}")):
        seat = seat_of(IDUMB, context)
        assert seat.role is not None
        assert seat.role.name == f"idumb-{name}"


FIRST = {
    "supreme-coordinator": "idumb-state idumb-context glob", "high-governance": "idumb-state glob",
    "mid-coordinator": "idumb-state glob", "meta-builder": "", "builder": "",
    "meta-validator": "idumb-validate glob grep",
    "low-validator": "idumb-validate glob grep", "project-coordinator": "idumb-state glob",
    "project-executor": "idumb-state", "executor": "idumb-state", "verifier": "idumb-state",
    "debugger": "idumb-state grep", "project-validator": "idumb-validate glob grep", "project-explorer": "glob grep",
    "codebase-mapper": "glob grep", "planner": "idumb-state", "roadmapper": "idumb-state",
    "plan-checker": "idumb-validate", "skeptic-validator": "idumb-validate grep",
    "integration-checker": "idumb-validate grep", "project-researcher": "glob", "phase-researcher": "glob",
    "research-synthesizer": "",
}  # fmt: skip
"""Beside `idumb-todo` and `read`, which all of them have."""


@pytest.mark.parametrize("name", MATRIX)
def test_each_has_the_first_tools_of_the_table(name: str) -> None:
    first = IDUMB.roles[f"idumb-{name}"].first_tools
    assert first is not None
    assert set(first.any_of) == {"idumb-todo", "read", *FIRST[name].split()}


@pytest.mark.parametrize(
    ("role", "path", "allowed"),
    [
        ("meta-builder", ".idumb/brain/state.json", True),
        ("meta-builder", "src/app.ts", False),
        ("project-executor", "src/app.ts", True),
        ("project-executor", ".idumb/brain/state.json", False),
        ("project-executor", ".opencode/agent/x.md", False),
        ("meta-validator", ".idumb/x", False),
        ("supreme-coordinator", "src/app.ts", False),
    ],
)
def test_framework_files_have_one_writer_and_code_another(role: str, path: str, allowed: bool) -> None:
    seat = Seat(book=IDUMB, role=IDUMB.roles[f"idumb-{role}"])
    call = canonical(ToolCall("write", {"path": path, "content": "x"}, context=Context(cwd="/w/p")))
    assert (scope_rulings(seat, call, "/home/dev") == ()) is allowed


@pytest.mark.parametrize(
    ("role", "command", "allowed"),
    [
        ("supreme-coordinator", "git status", True),
        ("supreme-coordinator", "git log --oneline -5", True),
        ("supreme-coordinator", "git push", False),
        ("meta-validator", "pytest && git diff", True),
        ("meta-validator", "rm x", False),
        ("project-executor", "npm test && npm run build && git diff", True),
        ("project-executor", "npm publish", False),
    ],
)
def test_commands_are_those_of_the_role(role: str, command: str, allowed: bool) -> None:
    seat = Seat(book=IDUMB, role=IDUMB.roles[f"idumb-{role}"])
    call = canonical(ToolCall("bash", {"command": command}, context=Context(cwd="/w/p")))
    assert (command_rulings(seat, call, "/home/dev") == ()) is allowed


@pytest.mark.parametrize("name", ["tiers", "idumb"])
def test_nobody_delegates_upwards(name: str) -> None:
    book = {"tiers": TIERS, "idumb": IDUMB}[name]
    for role in book.roles.values():
        targets = role.delegates.to if role.delegates else ()
        above = [one.name for one in book.roles.values() if one.tier < role.tier and fits_any(targets, one.name)]
        assert above == [], role.name


def test_a_coordinator_that_may_not_write_has_workers_that_may() -> None:
    assert not may_use(TIERS, TIERS.roles["project-coordinator"], "write")
    assert may_use(TIERS, TIERS.roles["project-worker"], "write")
    assert TIERS.roles["project-worker"].parents[0] == "project-coordinator"


def test_ceilings_of_the_tiers_bind_all_below() -> None:
    for role in TIERS.roles.values():
        assert not may_use(TIERS, role, "cron")
    worker = TIERS.roles["project-worker"]
    call = canonical(ToolCall("write", {"path": ".claude/x", "content": "x"}, context=Context(cwd="/w/p")))
    assert len(scope_rulings(Seat(book=TIERS, role=worker), call, "/home/dev")) == 2, "its own scope and the ceiling"


def test_the_tiers_begin_by_watching() -> None:
    assert TIERS.mode == IDUMB.mode == "watch"
    assert TIERS.unknown_role == IDUMB.unknown_role == "deny"


@pytest.mark.parametrize(
    ("context", "role"),
    [
        (Context(source="hook:claude-code"), "project-worker"),
        (Context(source="hook:claude-code", agent_id="a", agent_type="Explore"), "researcher"),
        (Context(source="hook:claude-code", agent_id="a", agent_type="general-purpose"), "project-worker"),
        (Context(source="hook:claude-code", agent_id="a", agent_type="meta-fixer"), "meta-worker"),
    ],
)
def test_the_tiers_know_the_agents_of_common_hosts(context: Context, role: str) -> None:
    seat = seat_of(TIERS, context)
    assert seat.role is not None
    assert seat.role.name == role


@pytest.mark.parametrize("book", [TIERS, IDUMB], ids=["tiers", "idumb"])
def test_nothing_in_them_looks_misspelled_and_nothing_is_noted_twice(book: Rulebook) -> None:
    notes = [*notes_of(book)]
    assert [note for note in notes if "did you mean" in note] == []
    assert len(notes) == len(set(notes))


@pytest.mark.parametrize("text", [ready_text("idumb"), "version: 1\ninclude: [idumb]\n"], ids=["written", "included"])
def test_idumb_comes_with_its_chains_and_its_frontmatter(text: str) -> None:
    book = load_rulebook(text, "governance.yaml")
    assert {"INIT-01", "PROJ-01", "PHASE-03", "VAL-01", "VAL-02"} <= {rule.id for rule in book.chains.rules}
    assert book.chains.state_file == ".idumb/brain/state.json"
    assert book.frontmatter.paths[0] == ".idumb/project-output/**/*.md"
    assert len(book.frontmatter.paths) == 5


def test_managed_files_of_ones_own_come_beside_the_included() -> None:
    own = "version: 1\ninclude: [idumb]\nfrontmatter: {paths: [docs/**/*.md]}\n"
    paths = load_rulebook(own, "governance.yaml").frontmatter.paths
    assert (paths[-1], len(paths)) == ("docs/**/*.md", 6)


def test_a_validator_lists_directories_with_their_sizes() -> None:
    assert may_use(IDUMB, IDUMB.roles["idumb-meta-validator"], "filesystem_list_directory_with_sizes")
