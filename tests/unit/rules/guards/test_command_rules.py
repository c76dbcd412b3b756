"""The rule table itself: complete, ordered, and saying what the vocabulary of effects promises."""

from __future__ import annotations

from typing import get_args

import pytest

from interpose.core.types import Effect, EffectKind, FrozenDict
from interpose.rules.guards.command_rules import RULES, rule_for
from interpose.rules.guards.effect_traits import traits_of

CWD, HOME = "/workspace/project", "/home/dev"
KINDS: tuple[EffectKind, ...] = get_args(EffectKind)
WEIGHT = {"allow": 0, "ask": 1, "deny": 2}


def _traits(kind: EffectKind, resource: str = "", **details: object) -> set[str]:
    return traits_of(Effect(kind, resource, details=FrozenDict(details)), CWD, HOME, CWD)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_last_word(kind: EffectKind) -> None:
    assert rule_for(kind, set()) is not None
    last = RULES[kind][-1]
    assert last.fits(set())


@pytest.mark.parametrize("kind", KINDS)
def test_strict_is_never_looser(kind: EffectKind) -> None:
    for rule in RULES[kind]:
        assert WEIGHT[rule.strict] >= WEIGHT[rule.balanced], rule.id


@pytest.mark.parametrize("kind", KINDS)
def test_reasons_are_sentences_and_ids_are_kebab(kind: EffectKind) -> None:
    for rule in RULES[kind]:
        assert rule.reason[0].isupper()
        assert rule.reason.endswith(".")
        assert rule.id == rule.id.lower().replace("_", "-").replace(" ", "-")


@pytest.mark.parametrize("kind", ["data.destroy", "infra.destroy", "system", "process.kill"])
def test_recoverable_passes_and_wide_is_denied(kind: EffectKind) -> None:
    assert rule_for(kind, {"recoverable"}).balanced == "allow"
    assert rule_for(kind, {"wide"}).balanced == "deny"
    assert rule_for(kind, set()).balanced == "ask"


@pytest.mark.parametrize(
    ("path", "details", "want"),
    [
        ("/", {"recursive": True}, "deny"),
        ("/etc", {"recursive": True}, "deny"),
        ("/usr/lib/python3", {"recursive": True}, "deny"),
        ("/home/dev", {"recursive": True}, "deny"),
        ("/home/alice", {"recursive": True}, "deny"),
        ("/home/dev/Documents", {"recursive": True}, "deny"),
        ("/home/dev/.cache", {"recursive": True}, "ask"),
        ("/workspace", {"recursive": True}, "deny"),
        (CWD, {"recursive": True}, "ask"),
        (f"{CWD}/*", {"recursive": True}, "ask"),
        (f"{CWD}/.git", {}, "ask"),
        (f"{CWD}/build", {"recursive": True, "forced": True}, "allow"),
        (f"{CWD}/src", {"recursive": True, "forced": True}, "ask"),
        (f"{CWD}/a.txt", {"forced": True}, "allow"),
        ("/tmp/x", {"recursive": True, "forced": True}, "allow"),
        ("/tmp", {"recursive": True}, "ask"),
        ("/srv/shop/data", {"recursive": True}, "ask"),
        ("\ufffc/x", {"recursive": True}, "ask"),
    ],
)
def test_what_deleting_a_place_means(path: str, details: dict[str, object], want: str) -> None:
    assert rule_for("fs.delete", _traits("fs.delete", path, **details)).balanced == want


@pytest.mark.parametrize(
    ("mode", "trait"),
    [
        ("777", "open"),
        ("0777", "open"),
        ("666", "open"),
        ("a+rwx", "open"),
        ("u=rw,o+w", "open"),
        ("000", "locked"),
        ("0", "locked"),
        ("4755", "setuid"),
        ("u+s", "setuid"),
    ],
)
def test_modes(mode: str, trait: str) -> None:
    assert trait in _traits("fs.permission", f"{CWD}/f", mode=mode)


@pytest.mark.parametrize("mode", ["755", "644", "u+x", "+x", "go-w", "a+r", "u+w"])
def test_ordinary_modes_have_no_traits(mode: str) -> None:
    assert _traits("fs.permission", f"{CWD}/f", mode=mode).isdisjoint({"open", "locked", "setuid"})


def test_what_is_made_again_is_judged_by_names_below_the_workspace() -> None:
    assert "artefact" in _traits("fs.delete", f"{CWD}/packages/web/node_modules/x")
    assert "leftover" in _traits("fs.delete", f"{CWD}/src/app.pyc")
    assert {"artefact", "leftover"}.isdisjoint(_traits("fs.delete", f"{CWD}/src/builder"))
    assert "artefact" not in _traits("fs.delete", "/srv/build", recursive=True)
