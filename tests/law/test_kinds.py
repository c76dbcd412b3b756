"""The law of kinds: a grant for a kind of call never lets through a call that has an effect outside of it.

Against a model that is written in another way: it enumerates what a bound has instead of looking at an effect.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.core.types import Context, Effect, FrozenDict, ToolCall
from interpose.people.widenings.covering import effects_of, outside, outside_effects
from interpose.people.widenings.kind_values import NEVER, EffectBound
from interpose.people.widenings.offered_kinds import offered

CWD = "/srv/work"
NAMES = ("a", "b", "x.1", ".hidden", "..", "-r", "", "a b", "ａ", "a\n")
FOLDERS = ("/srv/work", "/srv/work/src", "/srv/work/src/deep", "/srv", "/srv/worker")
BRANCHES = ("feature/a", "feature/b/c", "feature/", "feature", "main", "feature/..", "feature/a b", "features/a")
HOSTS = ("https://one.test", "https://two.test", "http://one.test", "https://one.test:8443", "https://one.test.evil")
KINDS = ("fs.write", "fs.delete", "net.download", "vcs.publish", "process.kill", "opaque", "secret.read", "system")

details = st.sampled_from([FrozenDict(), FrozenDict(forced=True), FrozenDict(recursive=True), FrozenDict(mode="777")])
certainties = st.sampled_from(["proven", "proven", "proven", "possible", "unknown"])
paths = st.builds(lambda folder, name: f"{folder}/{name}", st.sampled_from(FOLDERS), st.sampled_from(NAMES))
resources = st.one_of(
    paths,
    st.builds(lambda at, name: f"{at} {name}", st.sampled_from(("origin", "up")), st.sampled_from(BRANCHES)),
    st.builds(lambda host, path: f"{host}{path}", st.sampled_from(HOSTS), st.sampled_from(("/", "/a", "/a/b", ""))),
    st.builds(lambda before, number, rest: f"{before}{number}{rest}", st.sampled_from(("", "pod-")),
              st.sampled_from(("1", "22", "x", "", "1x")), st.sampled_from(("", "-a"))),
)  # fmt: skip
effects = st.builds(Effect, st.sampled_from(KINDS), resources, certainties, st.just((0, 1)), details)
bounds = st.one_of(
    st.builds(EffectBound, st.sampled_from(KINDS), st.just("is"), resources, details=details),
    st.sampled_from(FOLDERS).flatmap(
        lambda at: st.builds(
            EffectBound, st.sampled_from(KINDS), st.sampled_from(["in", "below"]), st.just(at), st.just(at), details
        )
    ),
    st.builds(EffectBound, st.sampled_from(KINDS), st.just("host"), st.sampled_from(HOSTS), details=details),
    st.builds(EffectBound, st.sampled_from(KINDS), st.just("ref"), st.just("origin"), st.just("feature/"), details),
    st.builds(
        EffectBound, st.sampled_from(KINDS), st.just("like"), st.sampled_from(("", "pod-")),
        st.sampled_from(("", "-a")), details,
    ),
)  # fmt: skip

PLAIN = (
    "a", "b", "x.1", "1", "22", "x", "1x", "1-a", "22-a", "x-a", "1x-a",
    *(f"pod-{number}{rest}" for number in ("1", "22", "x", "", "1x") for rest in ("", "-a")),
)  # fmt: skip
"""The names that a person means by a file, of all that are tried here."""


def everything_in(bound: EffectBound) -> set[str]:
    """Every resource of this test's world that a bound has."""
    match bound.matching:
        case "is":
            return {bound.resource}
        case "in":
            return {f"{bound.resource}/{name}" for name in PLAIN}
        case "below":
            inner = [folder for folder in FOLDERS if folder.startswith(f"{bound.resource}/")]
            # Of folders between the two, none is hidden or strange in this world.
            return {f"{folder}/{name}" for folder in (bound.resource, *inner) for name in PLAIN}
        case "host":
            return {f"{bound.resource}{path}" for path in ("/", "/a", "/a/b", "")}
        case "ref":
            return {"origin feature/a", "origin feature/b/c"}
        case "like" if bound.kind.startswith("fs."):
            return set()  # a file that is told apart by its number has a folder that it lay in, and these have none
        case "like":
            return {f"{bound.resource}{number}{bound.rest}" for number in ("1", "22")}


def allowed(bound: EffectBound, effect: Effect) -> bool:
    return (
        effect.certainty == "proven"
        and effect.kind not in NEVER
        and effect.kind == bound.kind
        and dict(effect.details) == dict(bound.details)
        and (effect.resource in everything_in(bound) or relative(bound, effect.resource))
    )


def relative(bound: EffectBound, resource: str) -> bool:
    """File tools name paths from where the agent works."""
    return bound.matching in ("in", "below") and f"{CWD}/{resource}" in everything_in(bound)


@settings(max_examples=600, deadline=None)
@given(st.lists(bounds, max_size=4), st.lists(effects, max_size=4))
def test_all_effects_of_a_call_are_in_its_kind(held: list[EffectBound], done: list[Effect]) -> None:
    expected = all(any(allowed(bound, effect) for bound in held) for effect in done)
    assert (outside_effects(held, done, CWD) == "") == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(bounds, max_size=4), st.lists(effects, min_size=1, max_size=4), effects)
def test_one_more_effect_never_brings_a_call_into_a_kind(
    held: list[EffectBound], done: list[Effect], more: Effect
) -> None:
    if outside_effects(held, done, CWD):
        assert outside_effects(held, [more, *done], CWD)
        assert outside_effects(held, [*done, more], CWD)


COMMANDS = (
    "git push origin feature/x", "gh issue close 12", "kubectl delete pod web-1", "rm build/out/a.o", "kill 1234",
    "echo hi > src/out.txt", "curl -O https://example.com/a/b.tgz", "docker rm 3fa0bc12aa9d", "chmod 644 src/a",
)  # fmt: skip
HOSTILE = st.text(
    st.sampled_from([*"ab1./-_ ;&|<>$`'\"\\*?{}[]()!#~=%:,@+\n\t\r\0", "\u00e9", "\u202e", "\u0301"]), max_size=12
)
WORDS = st.sampled_from([
    "7", "x", "y/z", "main", "--force", "; rm -rf /", "$(id)", "`id`", "a && b", "../..", "/etc/passwd", "> /tmp/x",
    " main", "\nrm -rf /", "feature/y", "abcdef0123", "99 98",
])  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(COMMANDS), st.data(), st.one_of(HOSTILE, WORDS))
def test_whatever_is_put_into_a_command_it_stays_the_command(command: str, data: Any, text: str) -> None:
    came = ToolCall("exec", {"command": command}, context=Context(cwd=CWD))
    kinds = offered(came)
    if not kinds:
        return
    kind = data.draw(st.sampled_from(kinds))
    at = data.draw(st.integers(0, len(command)))
    end = data.draw(st.integers(at, len(command)))
    ways = (f"{kind.before}{text}{kind.behind}", f"{command[:at]}{text}{command[end:]}", f"{command}{text}")
    changed = data.draw(st.sampled_from(ways))
    other = ToolCall("exec", {"command": changed}, context=Context(cwd=CWD))
    if outside(kind, other):
        return
    # It is of the kind: the same command but for a word of plain letters, that does nothing which the first did not.
    middle = changed[len(kind.before) : len(changed) - len(kind.behind)]
    assert changed == f"{kind.before}{middle}{kind.behind}"
    assert re.fullmatch(r"[A-Za-z0-9._@+,%=/-]+", middle)
    assert not middle.startswith(("-", "."))
    granted = {bound.kind for bound in kind.effects}
    assert {effect.kind for effect in effects_of(other)} <= granted
    assert all(effect.certainty == "proven" for effect in effects_of(other))
