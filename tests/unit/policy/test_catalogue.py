from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpose import ToolCall, create_interceptor_registry
from interpose.build import add_standard_policy
from interpose.engine import Engine
from interpose.errors import ConfigError, PolicyError
from interpose.policy.catalogue import enabled, packs, standard_places, switch, user_directory
from interpose.policy.load import Place, load
from interpose.policy.model import Level


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


def test_baseline_is_on_by_default_and_can_be_switched_off(environ: dict[str, str]) -> None:
    assert enabled(environ) == ("baseline",)
    assert switch("git", on=True, environ=environ)
    assert enabled(environ) == ("baseline", "git")
    assert not switch("git", on=True, environ=environ), "it was on already"
    assert switch("baseline", on=False, environ=environ)
    assert switch("git", on=False, environ=environ)
    assert enabled(environ) == (), "off stays off: an empty list is not the default"


def test_unknown_packs(environ: dict[str, str]) -> None:
    with pytest.raises(PolicyError, match="unknown pack 'nope', expected one of baseline"):
        switch("nope", on=True, environ=environ)
    assert not user_directory(environ).exists()


def test_a_file_is_replaced_whole(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    switch("git", on=True, environ=environ)
    before = (user_directory(environ) / "packs.yaml").read_bytes()

    def full(*_args: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        switch("cloud", on=True, environ=environ)
    assert (user_directory(environ) / "packs.yaml").read_bytes() == before
    assert [file.name for file in user_directory(environ).iterdir()] == ["packs.yaml"], "nothing is left behind"


def test_rules_of_ones_own_are_not_overwritten(environ: dict[str, str]) -> None:
    directory = user_directory(environ)
    directory.mkdir(parents=True)
    text = 'version: 1\nrules:\n  - {id: a, action: deny, when: "true"}\n'
    (directory / "packs.yaml").write_text(text)
    with pytest.raises(PolicyError, match="a file beside this one"):
        switch("git", on=True, environ=environ)
    assert (directory / "packs.yaml").read_text() == text


def test_what_is_on_and_who_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    organisation = tmp_path / "organisation"
    organisation.mkdir()
    (organisation / "all.yaml").write_text("version: 1\npacks: [secrets, git]\n")
    switch("git", on=True, environ=environ)
    places = standard_places(str(tmp_path), environ=environ, organisation=str(organisation))
    on = {pack.name: pack.level for pack in packs(places) if pack.on}
    assert on == {"baseline": Level.USER, "git": Level.ORGANISATION, "secrets": Level.ORGANISATION}


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
        load([Place(str(tmp_path / "none.yaml"))])


def test_a_file_that_two_places_name_is_read_once_for_the_first(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('version: 1\nrules: [{id: a, action: deny, when: "true"}]\n')
    policy = load([Place(str(file), Level.ORGANISATION), Place(str(tmp_path), Level.USER)])
    assert [compiled.rule.source.level for compiled in policy.rules] == [Level.ORGANISATION]


def test_an_engine_follows_packs_that_are_switched(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    registry = create_interceptor_registry()
    reload = add_standard_policy(registry, str(tmp_path))
    engine = Engine(registry)
    call = ToolCall("exec", {"command": "git push --tags"})
    assert engine.decide(call).outcome == "allow"
    switch("git", on=True)
    reload.check()
    assert engine.decide(call).outcome == "ask"
    switch("git", on=False)
    reload.check()
    assert engine.decide(call).outcome == "allow"


def test_the_configuration_says_where_a_users_rules_stand(environ: dict[str, str], tmp_path: Path) -> None:
    environ["INTERPOSE_POLICY_DIRECTORY"] = str(tmp_path / "elsewhere")
    assert switch("git", on=True, environ=environ)
    assert (tmp_path / "elsewhere/packs.yaml").is_file()
    assert [pack.name for pack in packs(standard_places(str(tmp_path), environ=environ)) if pack.on] == [
        "baseline",
        "git",
    ]
    environ["INTERPOSE_POLICY_DIRECTRY"] = "/x"
    with pytest.raises(ConfigError, match="did you mean"):
        standard_places(str(tmp_path), environ=environ)
