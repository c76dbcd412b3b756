"""Whatever a call and a result are, their entries are made, and no secret is in them."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.ledger.bodies import Bodies
from interpose.ledger.chain import Draft
from interpose.ledger.keys import Keys
from interpose.types import Allow, Context, Deny, Finding, ToolCall, ToolOutcome, Verdict

KEY = "AKIA" + "QWERTYUIOPASDFGH"
Holder = make_dataclass("Holder", [("inside", Any)])

SECRETS = st.sampled_from([KEY, f"key {KEY} end", f"line\n{KEY}\n", {KEY: 1}, {"aws": KEY}, KEY.encode(), Holder(KEY)])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=20)
    | st.binary(max_size=20)
    | st.text(st.characters(categories=["Cs"]), max_size=3)
)
VALUES = st.recursive(
    PLAIN | SECRETS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4)
        | st.builds(Holder, inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "path", "url", "content", "x"]), VALUES, max_size=4)


def told(value: Draft) -> str:
    """All that a draft says, with what JSON escapes in it read."""
    return f"{value} {msgspec.json.decode(value.body)}"


@settings(max_examples=150, deadline=None)
@given(arguments=ARGUMENTS, original=ARGUMENTS, result=VALUES)
def test_no_secret_is_kept_and_nothing_fails(
    arguments: dict[str, Any], original: dict[str, Any], result: object
) -> None:
    bodies = Bodies(Keys.of(b"k" * 32))
    call, came_in = ToolCall("exec", arguments), ToolCall("exec", original)
    found = Finding(interceptor="a", said="deny", reason=f"it has {KEY}", rule="r")
    verdict = Verdict(outcome="deny", decision=Deny(found.reason), payload=call, original=came_in, findings=(found,))
    outcome = ToolOutcome(call, result)
    after: Verdict[ToolOutcome] = Verdict(outcome="deny", decision=Deny(KEY), payload=outcome, findings=(found,))
    first, again = bodies.decided(verdict), bodies.decided(verdict)
    assert first.body == again.body
    for draft in (first, bodies.finished(outcome, after)):
        assert KEY not in told(draft)


def test_effects_are_those_of_the_shell_that_runs_the_text() -> None:
    bodies = Bodies(Keys.of(b"k" * 32))
    calls = [ToolCall("exec", {"command": "& { rm a }"}, original_name=name) for name in ("Bash", "PowerShell")]
    effects = [bodies.decided(Verdict(outcome="allow", decision=Allow(), payload=call)).effects for call in calls]
    assert ["fs.delete" in kinds for kinds in effects] == [False, True]


def test_effects_are_searched_unless_the_record_has_their_words_anyway() -> None:
    """A path in the working directory repeats an argument; one that a variable made up does not."""
    bodies = Bodies(Keys.of(b"k" * 32))
    for command, shown in (("cat a/b.txt", "/w/a/b.txt"), ("cd /srv; cat a/b.txt", "/srv/a/b.txt")):
        call = ToolCall("exec", {"command": command}, context=Context(cwd="/w"))
        draft = bodies.decided(Verdict(outcome="allow", decision=Allow(), payload=call))
        assert shown in draft.paths
    token = "ghp_" + "a1B2" * 9
    call = ToolCall("exec", {"command": f"T={token[:10]}; cat $T{token[10:]}"}, context=Context(cwd="/w"))
    draft = bodies.decided(Verdict(outcome="allow", decision=Allow(), payload=call))
    assert token not in draft.body.decode()
    assert not any(token in path for path in draft.paths)
