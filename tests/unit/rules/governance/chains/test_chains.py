"""What is wrong with chain rules, what counts as a success, and that a look is taken only where it is needed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interpose.core.types import Command
from interpose.rules.governance.chains.chains import (
    MOST_VALIDATIONS,
    chain_problems,
    chain_rulings,
    validated_names,
    with_success,
)
from interpose.rules.governance.files.file_model import ChainsForm
from interpose.rules.governance.sessions.sessions import GovernedSession


def chains(**given: Any) -> ChainsForm:
    return msgspec.convert(given, ChainsForm)


def rule(**given: Any) -> dict[str, Any]:
    return {"id": "A", "command": "x", "must_before": [{"exists": "BUILD"}]} | given


DEEP: dict[str, Any] = {"exists": "x"}
for _ in range(8):
    DEEP = {"one_of": [DEEP]}

PROBLEMS: list[tuple[str, dict[str, Any], str]] = [
    ("neither a command nor a state", {"rules": [{"id": "A", "must_before": [{"exists": "x"}]}]}, "a `command` or"),
    ("nothing that must come before", {"rules": [{"id": "A", "command": "x"}]}, "needs something in"),
    ("a redirect to nowhere", {"rules": [rule(action="redirect")]}, "`redirect` needs a `target`"),
    ("a target without a redirect", {"rules": [rule(target="/y")]}, "`target` belongs to"),
    ("the same id twice", {"rules": [rule(), rule()]}, "another rule has this id"),
    ("a way out of the project", {"rules": [rule(must_before=[{"exists": "a/../../b"}])]}, "leaves the project"),
    ("an absolute path", {"rules": [rule(must_before=[{"exists": "/b"}])]}, "is no path in the project"),
    ("no key", {"rules": [rule(must_before=[{}])]}, "exactly one of"),
    ("two keys", {"rules": [rule(must_before=[{"exists": "a", "validated": "b"}])]}, "not exists and validated"),
    ("a time alone", {"rules": [rule(must_before=[{"exists": "a", "within": "5m"}])]}, "`within` belongs"),
    ("an empty choice", {"rules": [rule(must_before=[{"one_of": []}])]}, "has nothing in it"),
    ("a choice that is too deep", {"rules": [rule(must_before=[DEEP])]}, "deeper than"),
    ("a mistake inside a choice", {"rules": [rule(must_before=[{"one_of": [{"exists": "/x"}]}])]}, "is no path in"),
    ("no expression", {"rules": [rule(must_before=[{"state": "a ="}])], "state_file": "s.json"}, "no comparison"),
    ("a state without a file", {"rules": [rule(must_before=[{"state": "a == 1"}])]}, "no `state_file`"),
    ("a state that becomes nothing", {"rules": [rule(becomes="a =")], "state_file": "s.json"}, "becomes: 'a =' is no"),
    ("a state file elsewhere", {"rules": [rule()], "state_file": "/etc/state"}, "state_file: "),
]  # fmt: skip


@pytest.mark.parametrize(("note", "given", "why"), PROBLEMS, ids=[case[0] for case in PROBLEMS])
def test_what_is_wrong_with_rules(note: str, given: dict[str, Any], why: str) -> None:
    found = chain_problems(chains(**given))
    assert len(found) == 1, (note, found)
    assert why in found[0].message


def test_rules_with_which_nothing_is_wrong() -> None:
    assert chain_problems(chains(rules=[rule(), rule(id="B", becomes="a == 1")], state_file="s.json")) == ()


class Untouched:
    """Fails if anybody looks at a project."""

    def look(self, project: str, /) -> Any:
        raise AssertionError(f"nobody should look at {project}")


@pytest.mark.parametrize("name", ["y", "ops:status", ""])
def test_a_project_is_not_looked_at_for_a_command_without_rules(name: str) -> None:
    given = chains(rules=[rule(command="x"), rule(id="B", command="ops:*")], read_only=["ops:status"])
    assert chain_rulings(given, Command(name), "/p", None, 0, Untouched()) == ()


def test_only_successes_that_a_rule_asks_for_are_kept_each_once() -> None:
    choice = {"one_of": [{"validated": "/test"}, {"validated": "lint*"}]}
    given = chains(rules=[rule(must_before=[choice], should_before=[{"validated": "z"}])])
    assert set(validated_names(given)) == {"/test", "lint*", "z"}
    session = GovernedSession(id="s")
    assert with_success(session, given, ("exec", "read"), 1) is session
    session = with_success(session, given, ("test", "exec", "lint-js"), 5)
    session = with_success(session, given, ("test",), 9)
    assert [(one.name, one.at_ns) for one in session.validations] == [("lint-js", 5), ("test", 9)]


def test_successes_are_bounded() -> None:
    """Agents choose names of tools."""
    given = chains(rules=[rule(must_before=[{"validated": "*"}])])
    session = with_success(GovernedSession(id="s"), given, tuple(f"t{number}" for number in range(200)), 1)
    session = with_success(session, given, ("x" * 5000,), 2)
    assert len(session.validations) == MOST_VALIDATIONS
    assert max(len(one.name) for one in session.validations) <= 200
