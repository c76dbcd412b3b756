"""What governance says about a call: a ruling of each rule that has something to say."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

RULE_PREFIX = "governance/"

RulingWord = Literal["deny", "ask", "note"]


class Ruling(Struct, frozen=True, kw_only=True):
    """One rule's word. An agent reads it in three parts: what was blocked, what to use instead, and the evidence."""

    said: RulingWord
    rule: str
    """`governance/role`, `governance/scope`, `governance/first-tool`, `governance/chain/INIT-01` ..."""
    reason: str
    """What is blocked, and for whom."""
    instead: str = ""
    """What to do instead."""
    evidence: str = ""
    """What it rests on: the role and its list, the count and its limit, the file that is missing."""
    watch: bool = False
    """Only what would have been said: nothing is blocked by it."""
