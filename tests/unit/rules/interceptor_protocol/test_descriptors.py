"""Descriptors of all generations are read as one, and written in the current one."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.rules.interceptor_protocol.descriptors import (
    DescriptorError,
    EventHook,
    InterceptorDescriptor,
    matches,
    read_descriptor,
    written,
)

BOTH = [{"events": ["tools/call"], "phase": "request"}, {"events": ["tools/call"], "phase": "response"}]
PLAIN = {"name": "a", "type": "validation", "hooks": [{"events": ["tools/call"], "phase": "request"}]}

READ = [
    ("first generation", {"name": "a", "type": "validation", "events": ["tools/call"], "phase": "both"},
     {"name": "a", "type": "validation", "hooks": BOTH}),
    ("first generation without a phase", {"name": "a", "type": "validation", "events": ["tools/call"]},
     {"name": "a", "type": "validation", "hooks": BOTH}),
    ("first generation that observes", {"name": "a", "type": "observability", "events": ["*"], "phase": "request"},
     {"name": "a", "type": "sink", "hooks": [{"events": ["*"], "phase": "request"}]}),
    ("the old wildcard of one phase", {"name": "a", "type": "mutation", "events": ["*/response"], "phase": "both"},
     {"name": "a", "type": "mutation", "hooks": [{"events": ["*"], "phase": "response"}]}),
    ("second generation", {"name": "a", "type": "mutation", "hook": {"events": ["tools/call"], "phase": "both"},
                           "mode": "enforce"},
     {"name": "a", "type": "mutation", "hooks": BOTH}),
    ("third generation", PLAIN | {"mode": "audit", "failOpen": True, "priorityHint": {"request": 5}, "version": "2"},
     PLAIN | {"mode": "audit", "failOpen": True, "priorityHint": {"request": 5}, "version": "2"}),
    ("defaults are left out", PLAIN | {"mode": "active", "failOpen": False, "priorityHint": 0, "compat": {}}, PLAIN),
    ("one number for both phases", PLAIN | {"priorityHint": {"request": 7, "response": 7}},
     PLAIN | {"priorityHint": 7}),
    ("fourth generation", PLAIN | {"type": "sink", "signature": "x"}, PLAIN | {"type": "sink"}),
    ("the smallest and the largest priority", PLAIN | {"priorityHint": {"request": -(2**31), "response": 2**31 - 1}},
     PLAIN | {"priorityHint": {"request": -(2**31), "response": 2**31 - 1}}),
]  # fmt: skip

WRONG = [
    ("no object", [], "object"),
    ("no name", {"type": "validation", "hooks": []}, "name"),
    ("a name that can't be shown", PLAIN | {"name": "a\n"}, "name"),
    ("an unknown type", PLAIN | {"type": "judge"}, "type"),
    ("an unknown mode", PLAIN | {"mode": "off"}, "mode"),
    ("no hooks", PLAIN | {"hooks": []}, "hooks"),
    ("no events", PLAIN | {"hooks": [{"events": [], "phase": "request"}]}, "events"),
    ("an unknown phase", PLAIN | {"hooks": [{"events": ["*"], "phase": "later"}]}, "phase"),
    ("a wildcard of the other phase", PLAIN | {"hooks": [{"events": ["*/response"], "phase": "request"}]}, "event"),
    ("failOpen as a text", PLAIN | {"failOpen": "false"}, "failOpen"),
    ("a priority of 33 bits", PLAIN | {"priorityHint": 2**31}, "32 bits"),
    ("a priority of 33 bits in one phase", PLAIN | {"priorityHint": {"response": -(2**31) - 1}}, "32 bits"),
    ("a priority that is a truth", PLAIN | {"priorityHint": True}, "32 bits"),
    ("a priority of another phase", PLAIN | {"priorityHint": {"later": 1}}, "request and response"),
    ("compat as a text", PLAIN | {"compat": "2025-11-25"}, "compat"),
    ("a schema as a text", PLAIN | {"configSchema": "{}"}, "configSchema"),
]


@pytest.mark.parametrize(("value", "want"), [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_all_generations_are_read_and_the_current_one_is_written(value: Any, want: Any) -> None:
    assert written(read_descriptor(value)) == want
    assert written(read_descriptor(written(read_descriptor(value)))) == want


@pytest.mark.parametrize(("value", "why"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_describes_no_interceptor_is_refused(value: Any, why: str) -> None:
    with pytest.raises(DescriptorError, match=why):
        read_descriptor(value)


@pytest.mark.parametrize(
    ("pattern", "event", "want"),
    [("*", "a/b", True), ("tools/*", "tools/call", True), ("tools/*", "toolsets/x", False),
     ("tools/call", "tools/call", True), ("tools/call", "tools/list", False), ("*/request", "tools/call", False)],
)  # fmt: skip
def test_patterns(pattern: str, event: str, want: bool) -> None:
    assert matches(pattern, event) is want


@pytest.mark.parametrize(
    ("own", "narrow", "allowed"),
    [("*", "tools/*", True), ("*", "tools/call", True), ("tools/*", "tools/call", True), ("tools/*", "tools/*", True),
     ("tools/*", "*", False), ("tools/call", "tools/*", False), ("tools/call", "prompts/get", False)],
)  # fmt: skip
def test_hooks_are_only_ever_narrowed(own: str, narrow: str, allowed: bool) -> None:
    one = InterceptorDescriptor(name="a", type="validation", hooks=(EventHook((own,), "request"),))
    hooks = (EventHook((narrow,), "request"),)
    if allowed:
        assert one.narrowed(hooks).hooks == hooks
    else:
        with pytest.raises(DescriptorError, match="only narrow"):
            one.narrowed(hooks)
    with pytest.raises(DescriptorError, match="only narrow"):
        one.narrowed((EventHook((own,), "response"),))


@pytest.mark.parametrize(
    ("protocol", "want"),
    [("", True), ("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True), ("2026-07-28", False)],
)
def test_versions_of_the_protocol(protocol: str, want: bool) -> None:
    compat = {"minProtocol": "2025-06-18", "maxProtocol": "2025-11-25"}
    assert read_descriptor(PLAIN | {"compat": compat}).speaks(protocol) is want
