"""How much honest work each pack interrupts, and how many dangerous calls it objects to by itself, without the guards.

    python -m bench.packs CASES.jsonl ...        (--show PACK: the honest rows that it interrupts, and by which rule)

A case is {"id", "source", "tool", "args", "cwd"?, "expect": allow|ask|deny}.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interpose.carried_calls import canonical
from interpose.policy.compiled import Policy
from interpose.policy.evaluate import opinions
from interpose.policy.load import load, pack_names
from interpose.types import Context, HookPoint, ToolCall

LIMIT = 0.005
UNLIMITED = ("read-only", "production")
CWD = "/workspace/project"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", default="", metavar="PACK")
    options = parser.parse_args()
    rows = [json.loads(line) for path in options.files for line in path.read_text(encoding="utf-8").splitlines()]
    calls = [_call(row) for row in rows]
    honest = [call for row, call in zip(rows, calls, strict=True) if row["expect"] == "allow"]
    others = [call for row, call in zip(rows, calls, strict=True) if row["expect"] != "allow"]
    if options.show:
        policy = load([], packs=[options.show])
        for call in honest:
            if said := _objections(policy, call):
                print(f"{', '.join(said)}: {call.arguments.get('command', call.arguments)}")
        return
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(honest)} honest calls, {len(others)} others")
    print(f"{'pack':14} {'rules':>5} {'interrupted':>11} {'share':>7} {'objects':>8} {'us a call':>9}")
    over = [name for name in pack_names() if not _line(name, honest, others)]
    sys.exit(f"over the limit of {LIMIT:.1%}: {', '.join(over)}" if over else 0)


def _call(row: dict[str, Any]) -> ToolCall:
    return canonical(ToolCall(row["tool"], row["args"], row["id"], Context(cwd=row.get("cwd", CWD))))


def _line(name: str, honest: list[ToolCall], others: list[ToolCall]) -> bool:
    """Print a pack's line; whether it stays below the limit."""
    policy = load([], packs=[name])
    for call in honest:
        _objections(policy, call)  # so that the time is that of the rules, not of reading the commands
    start = time.perf_counter()
    interrupted = sum(bool(_objections(policy, call)) for call in honest)
    elapsed = time.perf_counter() - start
    objected = sum(bool(_objections(policy, call)) for call in others)
    share = interrupted / len(honest) if honest else 0.0
    print(
        f"{name:14} {len(policy.rules):5} {interrupted:11} {share:7.2%} {objected:8} {elapsed / len(honest) * 1e6:9.0f}"
    )
    return name in UNLIMITED or share <= LIMIT


def _objections(policy: Policy, call: ToolCall) -> list[str]:
    said = opinions(policy, HookPoint.TOOL_BEFORE, call)
    return [
        opinion.rule.id
        for opinion in said
        if opinion.rule.mode == "enforce" and (opinion.rule.action in ("deny", "ask") or opinion.saw == "failed")
    ]


if __name__ == "__main__":
    main()
