from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpose import ToolCall
from interpose.composition.build import open_rules
from interpose.core.errors import ConfigError, PolicyError
from interpose.rules.policy.pack_catalogue import enabled, packs, switch
from interpose.rules.policy.rule_places import standard_places, user_directory
from interpose.rules.policy.rules import Level


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


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


def test_an_engine_follows_packs_that_are_switched(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    ruled = open_rules(cwd=str(tmp_path))
    engine, reload = ruled.engine, ruled.policy
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
