from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.errors import PolicyError
from interpose.rules.policy.load import RulePlace, load
from interpose.rules.policy.rule_places import standard_places, user_directory
from interpose.rules.policy.rules import Level


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.mark.parametrize(
    ("note", "given", "want"),
    [
        ("the usual place", {"HOME": "/home/dev"}, "/home/dev/.config/interpose/policy"),
        ("a place of one's own", {"HOME": "/home/dev", "XDG_CONFIG_HOME": "/etc/x"}, "/etc/x/interpose/policy"),
        ("a relative one is ignored", {"HOME": "/h", "XDG_CONFIG_HOME": "x"}, "/h/.config/interpose/policy"),
        ("an empty one is ignored", {"HOME": "/h", "XDG_CONFIG_HOME": ""}, "/h/.config/interpose/policy"),
        ("no home", {}, "/root/.config/interpose/policy"),
    ],
)
def test_where_a_users_rules_stand(note: str, given: dict[str, str], want: str) -> None:
    assert str(user_directory(given)) == want, note


def test_all_levels_together(environ: dict[str, str], tmp_path: Path) -> None:
    organisation, project = tmp_path / "organisation", tmp_path / "project"
    for directory in (organisation, project / ".interpose", user_directory(environ)):
        directory.mkdir(parents=True)
    rule = 'version: 1\nrules:\n  - {{id: {id}, action: {action}, when: "tool == \\"{tool}\\""}}\n'
    (organisation / "a.yaml").write_text(rule.format(id="org", action="deny", tool="a"))
    (user_directory(environ) / "mine.yaml").write_text(rule.format(id="mine", action="ask", tool="b"))
    (project / ".interpose" / "policy.yaml").write_text(
        rule.format(id="here", action="deny", tool="c") + "disable: [org, mine]\n"
    )
    policy = load(standard_places(str(project), environ=environ, organisation=str(organisation)))
    levels = {compiled.rule.id: compiled.rule.source.level for compiled in policy.rules}
    assert (levels["org"], levels["mine"], levels["here"]) == (Level.ORGANISATION, Level.USER, Level.PROJECT)
    assert any(name.startswith("baseline/") for name in levels)
    assert len(policy.refused) == 2, "a project switches off nothing"


def test_nothing_has_to_be_there(environ: dict[str, str], tmp_path: Path) -> None:
    places = standard_places(str(tmp_path), environ=environ, organisation=str(tmp_path / "none"))
    assert {rule.rule.source.pack for rule in load(places).rules} == {"baseline"}
    with pytest.raises(PolicyError, match="can't be read"):
        load([RulePlace(str(tmp_path / "none.yaml"))])


def test_a_file_that_two_places_name_is_read_once_for_the_first(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('version: 1\nrules: [{id: a, action: deny, when: "true"}]\n')
    policy = load([RulePlace(str(file), Level.ORGANISATION), RulePlace(str(tmp_path), Level.USER)])
    assert [compiled.rule.source.level for compiled in policy.rules] == [Level.ORGANISATION]
