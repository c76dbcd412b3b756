"""`scripts/first-ten-minutes` needs a real agent and a browser; this holds that it would notice a dead end."""

from __future__ import annotations

import pytest

from tests.package.first_ten_minutes import dead_ends

KNOWN = {("doctor", "--help"), ("help", "approvals")}

MESSAGES = [
    ("a verb that is there", "run `interpose doctor` now", []),
    ("a verb that is not", "run `interpose frobnicate now`", ["interpose frobnicate"]),
    ("a page that the wheel shows", "see docs/approvals.md", []),
    ("a page that it does not", "see docs/install.md#path for more", ["docs/install"]),
    ("a page of a folder", "docs/agents/kiro.md says so", ["docs/agents/kiro"]),
    ("an address of others", "see https://code.example.com/docs/en/modes", []),
    ("broken by a narrow terminal", "run `interpose\n    frobnicate`", ["interpose frobnicate"]),
    ("each once", "`interpose x`, `interpose x`", ["interpose x"]),
    ("an option is no verb", "`interpose --help`", []),
]


@pytest.mark.parametrize(("note", "shown", "dead"), MESSAGES, ids=[case[0] for case in MESSAGES])
def test_a_message_that_leads_nowhere_is_found(note: str, shown: str, dead: list[str]) -> None:
    assert dead_ends(shown, lambda *words: int(words not in KNOWN)) == dead, note
