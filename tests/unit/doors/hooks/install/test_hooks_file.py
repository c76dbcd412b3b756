"""Our hooks in anybody's file: they are there, they are gone, and nothing else ever moved."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.hook_places import hooks_of
from interpose.doors.hooks.install.hooks_file import EVERYTHING, HooksFile, is_empty
from interpose.doors.hooks.install.json_editing import Edit, appended, edited, removed, style_of
from interpose.doors.hooks.install.jsonc import JsoncError, parse
from interpose.doors.hooks.install.plan import is_ours
from interpose.effects.agents.agent import HostSetup
from tests.unit.doors.hooks.install.settings_texts import commented, values

LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = [name for name, host in HOSTS.items() if host.facts.setup.layout in ("groups", "flat")]


def command_for(name: str) -> str:
    return f"/home/you/.local/state/interpose/hooks/{name} || exit 2"


def wanted_for(name: str) -> dict[str, Any]:
    return hooks_of(HOSTS[name].facts.setup, command_for(name), 25)


def theirs(setup: HostSetup) -> st.SearchStrategy[Any]:
    """A list of somebody else's hooks."""
    hook = st.fixed_dictionaries({"command": st.sampled_from(["echo", "/opt/interpose/hooks/other", "lint 'x"])})
    entry = st.fixed_dictionaries({"hooks": st.lists(hook, max_size=2)}) if setup.layout == "groups" else hook
    return st.lists(entry, max_size=2)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str]:
    """A host, and a file of its user."""
    name = draw(st.sampled_from(NAMES))
    setup = HOSTS[name].facts.setup
    names = st.sampled_from([event.name for event in setup.events] + ["Other", "Stop"])
    others = st.text(max_size=6).filter(lambda key: key not in ("version", "hooks"))
    data: dict[str, Any] = draw(st.dictionaries(others, values, max_size=3))
    events = st.dictionaries(names, theirs(setup), max_size=4)
    if setup.key:
        data |= draw(st.fixed_dictionaries({}, optional={setup.key: events, "version": st.just(1)}))
    else:
        data |= draw(events)
    order = draw(st.permutations(list(data)))
    seed = draw(st.integers(0, 2**32))
    return name, commented({key: data[key] for key in order}, Random(seed))


def merged(data: dict[str, Any], setup: HostSetup, wanted: dict[str, Any]) -> dict[str, Any]:
    """What the file must mean afterwards."""
    data = deepcopy(data)
    for name in setup.top:
        data.setdefault(name, wanted[name])
    holder = data.setdefault(setup.key, {}) if setup.key else data
    for name, entries in (wanted[setup.key] if setup.key else wanted).items():
        if name not in setup.top:
            holder[name] = [*holder.get(name, []), *entries]
    return data


@LAW
@given(files())
def test_in_and_out_again(given_file: tuple[str, str]) -> None:
    name, text = given_file
    setup, wanted, ours = HOSTS[name].facts.setup, wanted_for(name), is_ours(name)
    assert not HooksFile(text, setup).has(wanted, ours)
    after, made = HooksFile(text, setup).with_hooks(wanted)
    assert parse(after).data == merged(parse(text).data, setup, wanted)
    assert HooksFile(after, setup).has(wanted, ours)
    assert HooksFile(after, setup).without_hooks(ours, made) == text


@LAW
@given(files())
def test_a_file_without_our_hooks_stays_as_it_is(given_file: tuple[str, str]) -> None:
    name, text = given_file
    assert HooksFile(text, HOSTS[name].facts.setup).without_hooks(is_ours(name), EVERYTHING) == text


@LAW
@given(files(), st.integers(0, 2**32))
def test_only_ours_goes_whatever_was_edited_in_between(given_file: tuple[str, str], seed: int) -> None:
    """Somebody adds, before or after ours, or takes something of their own away: what they did stays done."""
    name, text = given_file
    setup, random = HOSTS[name].facts.setup, Random(seed)
    after, made = HooksFile(text, setup).with_hooks(wanted_for(name))
    meanwhile = after
    for _ in range(random.randint(1, 3)):
        meanwhile = _edited_by_somebody(meanwhile, setup, random)
    left = HooksFile(meanwhile, setup).without_hooks(is_ours(name), made)
    assert _without_ours(parse(left).data, setup) == _without_ours(parse(meanwhile).data, setup)
    assert not any(is_ours(name)(command) for _, command, _ in HooksFile(left, setup).commands())
    again, made_again = HooksFile(left, setup).with_hooks(wanted_for(name))
    assert HooksFile(again, setup).without_hooks(is_ours(name), made_again) == left


def _edited_by_somebody(text: str, setup: HostSetup, random: Random) -> str:
    root = parse(text)
    hooks = root.member(setup.key) if setup.key else None
    holder = hooks.value if hooks else root
    arrays = [member.value for member in holder.members if member.value.kind == "array"]
    member: tuple[str, Any] = ("mine", random.choice((1, {"a": []}, "x")))
    hook: Any = {"command": "mine"}
    entry = ("", {"hooks": [hook]} if setup.layout == "groups" else hook)
    style = style_of(text, root)
    match random.randint(0, 3):
        case 0 if root.member("mine") is None:
            return edited(text, appended(text, root, [member], style))
        case 1 if arrays:
            return edited(text, appended(text, random.choice(arrays), [entry], style))
        case 2 if root.member("mine") is None:
            at, comma = root.start + 1, "," if root.members else ""
            return edited(text, [Edit(at, at, f' /* new */ "mine": 1{comma} // at the front\n')])
        case _:
            kept = {setup.key, *setup.top, *(event.name for event in setup.events)}
            gone = [each for each in root.members if each.name not in kept]
            return edited(text, removed(text, root, gone[:1])) if gone else text


def _without_ours(data: dict[str, Any], setup: HostSetup) -> Any:
    """What is somebody else's in a file, without lists and objects that hold nothing."""
    holder = data.get(setup.key, {}) if setup.key else data
    events = {
        name: [entry for entry in entries if "/you/.local/state/interpose/" not in str(entry)]
        for name, entries in holder.items()
        if isinstance(entries, list)
    }
    rest = {key: value for key, value in data.items() if key not in (setup.key, *setup.top, *events)}
    return {name: entries for name, entries in events.items() if entries}, rest


@pytest.mark.parametrize(
    ("note", "before", "command"),
    [
        ("another state directory", "{}", "/srv/state/interpose/hooks/claude-code || exit 2"),
        ("the program itself", "{}", "/usr/bin/python3 -I -m interpose hook claude-code"),
        ("the console script", "{}", "/opt/venv/bin/interpose hook claude-code --fail-open"),
    ],
)
def test_ours_is_known_by_its_command(note: str, before: str, command: str) -> None:
    setup = HOSTS["claude-code"].facts.setup
    after, made = HooksFile(before, setup).with_hooks(hooks_of(setup, command, 25))
    assert HooksFile(after, setup).without_hooks(is_ours("claude-code"), made) == before, note
    assert HooksFile(after, setup).without_hooks(is_ours("codex"), made) == after, note


@pytest.mark.parametrize(
    "command",
    ["interpose check x", "/home/you/interpose/scripts/hook claude-code", "hook claude-code", "echo 'interpose",
     "interpose hook claude-codex", "/x/interpose/hooks/claude-code.bak", ""],
)  # fmt: skip
def test_what_is_not_ours(command: str) -> None:
    assert not is_ours("claude-code")(command)


@pytest.mark.parametrize(
    ("note", "text", "left"),
    [
        ("somebody put a hook into our group",
         '{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [{"command": "OURS"}, {"command": "mine"}]}]}}',
         '{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [ {"command": "mine"}]}]}}'),
        ("somebody wrote a comment into our list",
         '{"hooks": {"PreToolUse": [ // keep\n {"hooks": [{"command": "OURS"}]}]}}',
         '{"hooks": {"PreToolUse": [ // keep\n]}}'),
        ("nobody remembers what was made",
         '{"a": 1, "hooks": {"PreToolUse": [{"hooks": [{"command": "OURS"}]}]}}', '{"a": 1}'),
        ("a member behind ours on a line after a comment",
         '{"a": 1, // c\n "hooks": {"Stop": [{"hooks": [{"command": "OURS"}]}]}, "b": 2}',
         '{"a": 1, // c\n "b": 2}'),
    ],
)  # fmt: skip
def test_odd_ends(note: str, text: str, left: str) -> None:
    file = HooksFile(text.replace("OURS", command_for("claude-code")), HOSTS["claude-code"].facts.setup)
    assert file.without_hooks(is_ours("claude-code"), EVERYTHING) == left, note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "line 1, column 1: the top must be an object"),
        ('{\n  "hooks": []}', "line 2, column 12: 'hooks' must be an object"),
        ('{"hooks": {"preToolUse": {}}}', "'preToolUse' must be a list"),
        ('{"version": 2}', "'version' is 2, and only 1 is understood"),
    ],
)
def test_files_of_another_shape_are_refused(text: str, said: str) -> None:
    with pytest.raises(JsoncError) as caught:
        HooksFile(text, HOSTS["cursor"].facts.setup).with_hooks(wanted_for("cursor"))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "\n", "\ufeff", "  \r\n", "{}", "{ }", "\ufeff{}\n", "{\n}", "{\n\n}\n", "{ /* c */ }", "{ // c\n}"]
)
@pytest.mark.parametrize("name", NAMES)
def test_nearly_nothing(name: str, text: str) -> None:
    setup = HOSTS[name].facts.setup
    after, made = HooksFile(text, setup).with_hooks(wanted_for(name))
    assert parse(after).data == wanted_for(name)
    assert after.startswith("\ufeff") is text.startswith("\ufeff")
    assert HooksFile(after, setup).without_hooks(is_ours(name), made) == text
    assert is_empty(text) is ("c" not in text)
