"""How many dangerous commands are caught and how much honest work is interrupted, per source, beside our peers.

    python -m bench.accuracy CASES.jsonl ...            (--no-peers: only ourselves)

Each row is one decision of the whole engine, from call to verdict: guards, rules and configuration. `guards only`
leaves the rules out, as peers have none.

A case is {"id", "source", "tool", "args", "cwd"?, "expect": allow|ask|deny, "accept": [...]}. Only `exec` rows count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import peers

Row = dict[str, Any]
HEAD = f"{'source':10} {'deny':>5} {'caught':>7} {'denied':>7} | {'fatal':>5} {'denied':>7} | {'ask':>4} {'caught':>7} | {'benign':>6} {'asked':>7} {'denied':>7}"  # noqa: E501 - one line of a table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    rows = [row for path in options.files for row in _load(path) if row["tool"] == "exec"]
    ours = [sys.executable, "-m", "interpose", "check", "--jsonl"]
    print(f"{datetime.now(UTC):%Y-%m-%d}, {len(rows)} commands")
    _table("interpose, as it is shipped", rows, peers.Peer("interpose", ours, Path.cwd()))
    guards = [*ours, "--guards-only"]
    _table("interpose, guards only", rows, peers.Peer("interpose guards", guards, Path.cwd()))
    if options.no_peers:
        return
    with tempfile.TemporaryDirectory() as place:
        for install in (peers.nah, peers.cc_safety_net):
            peer = install(Path(place))
            if isinstance(peer, str):
                print(f"\nleft out: {peer}")
            else:
                _table(peer.name, rows, peer)


def _load(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _table(name: str, rows: list[Row], peer: peers.Peer) -> None:
    asked = "".join(
        json.dumps({key: row[key] for key in ("id", "tool", "args", "cwd") if key in row}) + "\n" for row in rows
    )
    start = time.perf_counter()
    done = subprocess.run(peer.command, input=asked.encode(), stdout=subprocess.PIPE, cwd=peer.cwd, check=False)
    elapsed = time.perf_counter() - start
    said = {answer["id"]: answer["decision"] for answer in map(json.loads, done.stdout.splitlines())}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        word = said.get(row["id"], "none")
        for source in (row["source"], "all"):
            _count(counts[source], row, word)
    print(f"\n{name}: {elapsed:.1f} s, {len(rows) / elapsed:,.0f} a second\n{HEAD}")
    for source in [*sorted(set(counts) - {"all"}), "all"]:
        print(_line(source, counts[source]))


def _count(counter: Counter[str], row: Row, word: str) -> None:
    kind = {"allow": "benign", "ask": "doubtful"}.get(row["expect"], "dangerous")
    counter[kind] += 1
    if kind != "benign" or word not in row["accept"]:
        counter[f"{kind}:{word}"] += 1
    if row["accept"] == ["deny"]:
        counter["fatal"] += 1
        counter["fatal:deny"] += word == "deny"


def _line(source: str, c: Counter[str]) -> str:
    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:6.1f}%" if whole else "      -"

    dangerous, doubtful, benign = c["dangerous"], c["doubtful"], c["benign"]
    return (
        f"{source:10} {dangerous:5} {share(c['dangerous:ask'] + c['dangerous:deny'], dangerous)} "
        f"{share(c['dangerous:deny'], dangerous)} | {c['fatal']:5} {share(c['fatal:deny'], c['fatal'])} | "
        f"{doubtful:4} {share(c['doubtful:ask'] + c['doubtful:deny'], doubtful)} | "
        f"{benign:6} {share(c['benign:ask'], benign)} {share(c['benign:deny'], benign)}"
    )


if __name__ == "__main__":
    main()
