"""What hosts say in words."""

from __future__ import annotations

from interpose.surfaces.hosts.reply_texts import rewriting
from interpose.types import Allow, Finding, ToolCall, Verdict


def test_who_changed_something_is_the_rule_where_there_is_one() -> None:
    found = (
        Finding(interceptor="policy", said="rewrite", reason="command", part="command", rule="quiet"),
        Finding(interceptor="mine", said="rewrite", reason="safer so", part="command"),
        Finding(interceptor="policy", said="note", reason="", rule="quiet"),
    )
    verdict = Verdict(outcome="rewrite", decision=Allow(), payload=ToolCall("exec"), findings=found)
    assert rewriting(verdict) == "quiet and mine (safer so) changed it"
