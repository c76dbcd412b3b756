"""Whatever a call and a result are, their entries are made, and no secret is in them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.composition.build import open_ledger
from interpose.core.types import Allow, Context, Deny, Finding, ToolCall, ToolOutcome, Verdict
from interpose.engine.engine import Engine
from interpose.record.ledger import search, verify
from interpose.record.ledger.bodies import Bodies
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.ledger.keys import Keys
from interpose.record.ledger.values import REQUEST_LIMIT
from interpose.record.store import open_store
from interpose.record.store.protocols import Query

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


BARE = "r7ofhhzv4kq8d0s1m7x2c9"


def finished(bodies: Bodies, result: object, session: str, **arguments: Any) -> str:
    call = ToolCall("exec", arguments, "1", Context(session_id=session))
    outcome = ToolOutcome(call, result)
    found = Finding(interceptor="a", said="deny", reason=f"it quotes {result}", rule="r")
    after: Verdict[ToolOutcome] = Verdict(outcome="deny", decision=Deny("no"), payload=outcome, findings=(found,))
    return told(bodies.finished(outcome, after))


def test_what_the_arguments_tell_is_hidden_in_the_result_and_in_reasons() -> None:
    told_by = {"command": f"export API_TOKEN={BARE}; echo $API_TOKEN"}
    for result in (f"it is {BARE}", {"stdout": BARE}, f"it is {BARE} " + "." * 100_000):
        assert BARE not in finished(Bodies(Keys.of(b"k" * 32)), result, "", **told_by)


def test_what_the_session_has_seen_is_hidden_in_later_records() -> None:
    bodies = Bodies(Keys.of(b"k" * 32))
    assert BARE in finished(bodies, f"it is {BARE}", "mine")
    finished(bodies, f"API_TOKEN={BARE}", "mine")
    assert BARE not in finished(bodies, f"it is {BARE}", "mine", command=f"echo {BARE}")
    call = ToolCall("exec", {"command": f"echo {BARE}"}, "2", Context(session_id="mine"))
    assert BARE not in told(bodies.decided(Verdict(outcome="allow", decision=Allow(), payload=call)))
    assert BARE in finished(bodies, f"it is {BARE}", "another")


HOSTILE = ["nul\0nul", "half \ud800 pair", "x" * 100_000, "line\nend", "\u202e", ""]


def drafts_of(request: str, *findings: Finding) -> tuple[Draft, Draft]:
    call = ToolCall("exec", {"command": "ls"}, context=Context(request_id=request))
    outcome = ToolOutcome(call, "done")
    decided: Verdict[ToolCall] = Verdict(outcome="rewrite", decision=Allow(), payload=call, findings=findings)
    after: Verdict[ToolOutcome] = Verdict(outcome="allow", decision=Allow(), payload=outcome, findings=findings)
    bodies = Bodies(Keys.of(b"k" * 32))
    return bodies.decided(decided), bodies.finished(outcome, after)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_any_request_and_any_rule_can_be_kept_and_found(tmp_path: Path, text: str) -> None:
    found = [Finding(interceptor="a", said="rewrite", reason="", rule=rule) for rule in ("first", text, "last")]
    drafts = drafts_of(text, *found)
    chain = Chain("w")
    with closing(open_store(tmp_path / "ledger.db")) as store:
        store.append([chain.add(draft) for draft in drafts])
        assert verify(store).ok
        assert len(search(store, Query(request=text), 10)) == 1
        assert len(search(store, Query(rule="last"), 10)) == 1
    for draft in drafts:
        assert len(draft.request) <= REQUEST_LIMIT


def test_rules_that_rewrote_or_failed_are_all_known_and_those_that_noted_are_not() -> None:
    words: tuple[Any, ...] = ("note", "rewrite", "error", "ask", "deny", "rewrite")
    found = [Finding(interceptor="a", said=word, reason="", rule=f"r{at}") for at, word in enumerate(words)]
    decided, finished = drafts_of("q", *found, *found)
    assert (decided.rule, decided.rules, decided.request) == ("r0", ("r1", "r5"), "q")
    assert (finished.rule, finished.rules, finished.request) == ("", ("r1", "r2", "r3", "r4", "r5"), "q")
    assert [one.rules for one in drafts_of("")] == [(), ()]
    many = [Finding(interceptor="a", said="rewrite", reason="", rule=f"r{at}") for at in range(10_000)]
    assert len(drafts_of("", *many)[1].rules) == 64


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


def test_names_are_redacted_as_the_rest_is(tmp_path: Path) -> None:
    """Whoever names a session, an agent or a call after a token does not get it into the ledger."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    names = ("session_id", "agent_id", "role", "principal", "cwd", "trace_id", "request_id")
    context = Context(**{name: f"/x/{secret}" if name == "cwd" else secret for name in names})
    call = ToolCall("exec", {"command": "ls"}, call_id=secret, context=context)
    with open_ledger(tmp_path) as ledger:
        Engine(recorder=ledger.recorder).run_tool(call, lambda _arguments: "done")
        ledger.flush()
        (record,) = search(ledger.store, Query(), 10)
    assert record.outcome == "success", "both halves have the same marker"
    kept = msgspec.json.encode(record)
    assert secret.encode() not in kept
    assert kept.count(b"[redacted:github-personal-token:") == 9
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file
