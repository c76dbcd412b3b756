"""How many dangerous calls are caught and how much honest work is interrupted, per source, beside our peers.

    python -m bench.accuracy CASES.jsonl ...            (--no-peers: only ourselves)
    python -m bench.accuracy --by-tag CASES.jsonl ...   per technique, the first tag, in its source
    python -m bench.accuracy --show 20 CASES.jsonl ...  with the first rows of each line that were answered otherwise

Each row is one decision of the whole engine in its default configuration, from call to verdict: guards, rules and
configuration. `guards only` leaves the rules out, as peers have none. Read the lines of the sources: what one calls
dangerous another calls honest, and `all` adds them up as they stand. Our tables count the calls of every tool; those of
peers count commands (`exec`), which is all they read, and ours stand beside them for the same rows. Peers look at the
directory and the home they run in: a new Git repository in an empty home.

A case is {"id", "source", "tool", "args", "cwd"?, "expect": allow|ask|deny, "accept": [...], "tags"?: [...]}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import peers
from bench.cases import PROJECT, WORDS, Row, load_cases, own_cases
from bench.checks import require, require_equal
from bench.command_line import make_parser, run_main

_NUMBERS = f"{'deny':>5} {'caught':>7} {'denied':>7} | {'fatal':>5} {'denied':>7} | {'ask':>4} {'caught':>7} | {'benign':>6} {'asked':>7} {'denied':>7}"  # noqa: E501 - one line of a table
WRITTEN = ("blind", "demonstration", "by-tool-name")
"""Tags that say how a row was written: before anybody ran it, to show a hole, or for the name of a tool."""
CONTROLS = {"control: harmless": "ls -la", "control: fatal": "rm -rf /"}
"""Rows that show whether a guard decides at all: it allows the first and objects to the second."""
FAILED_AT_MOST = 0.01
"""The share of rows on which a peer may fail, and still be compared."""


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--by-tag", action="store_true", help="a line for each technique instead of each source")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="the first N failing rows of each line")
    options = parser.parse_args()
    if not (options.files or options.smoke):
        parser.error("name the files of cases")
    rows = load_cases(options.files) if options.files else own_cases()
    commands = [row for row in rows if row["tool"] == "exec"]
    line_of = _technique if options.by_tag else _source
    # Not below /tmp: peers let everything be deleted there, and would let a home go.
    root = None if options.smoke else Path.home()
    with tempfile.TemporaryDirectory(dir=root, prefix=".interpose-bench-") as place:
        home = Path(place, "home")
        project = home / "project"
        project.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", project], check=True)
        # No rules and configuration but the shipped ones.
        os.environ.update(HOME=str(home), XDG_CONFIG_HOME=str(home / "config"), XDG_STATE_HOME=str(home / "state"))
        ours = [sys.executable, "-m", "interpose", "check", "--jsonl"]
        print(f"{datetime.now(UTC):%Y-%m-%d}, {len(rows)} calls, {len(commands)} of them commands")
        shipped = peers.Peer("interpose", ours, home)
        wrong = _table("interpose, as it is shipped", rows, shipped, line_of, options.show, failing=0)
        guards = peers.Peer("interpose guards", [*ours, "--guards-only"], home)
        wrong += _table("interpose, guards only", rows, guards, line_of, 0, failing=0)
        if options.smoke:
            require(not wrong, f"{len(wrong)} of the project's own cases are answered otherwise: {wrong[:3]}")
        if options.no_peers or options.smoke:
            return
        if len(commands) < len(rows):
            _table("interpose, commands only", commands, shipped, line_of, 0, failing=0)
        for install in (peers.nah, peers.cc_safety_net, peers.dippy, peers.dcg):
            peer = install(Path(place))
            if isinstance(peer, str):
                print(f"\nleft out: {peer}")
            else:
                failing = int(FAILED_AT_MOST * len(commands))
                _table(peer.name, commands, peer._replace(cwd=project), line_of, 0, failing=failing)


def _source(row: Row) -> str:
    """The source; rows of one that were written otherwise than blind are a line of their own."""
    return f"{row['source']}{_kind(row)}"


def _technique(row: Row) -> str:
    return f"{row['source']}/{next(iter(row.get('tags', ())), '-')}"


def _kind(row: Row) -> str:
    """How a row was written, where its source says so."""
    kind = next((tag for tag in row.get("tags", ()) if tag in WRITTEN), "")
    return f" {kind}" if kind else ""


def _table(
    name: str, rows: list[Row], peer: peers.Peer, line_of: Callable[[Row], str], show: int, *, failing: int
) -> list[str]:
    """Print the table of a guard, which may fail on so many rows. What it answered otherwise than it should."""
    start = time.perf_counter()
    said = _ask(name, rows, peer, failing)
    elapsed = time.perf_counter() - start
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    failed: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        word = said[row["id"]]["decision"]
        _count(counts[line_of(row)], row, word)
        if word not in row["accept"]:
            rule = said[row["id"]].get("rule", "")
            failed[line_of(row)].append(f"{word} {rule}, not {row['expect']}: {json.dumps(row['args'])[:160]}")
    width = max(map(len, counts), default=0)
    print(f"\n{name}: {elapsed:.1f} s, {len(rows) / elapsed:,.0f} a second\n{'':{width}} {_NUMBERS}")
    for line in sorted(counts):
        print(f"{line:{width}} {_shares(counts[line])}")
        for text in failed[line][:show]:
            print(f"    {text}")
    if len(counts) > 1:
        print(f"{'all':{width}} {_shares(sum(counts.values(), Counter()))}")
    return [text for line in sorted(failed) for text in failed[line]]


def _ask(name: str, rows: list[Row], peer: peers.Peer, failing: int) -> dict[str, Row]:
    """What a guard answers to each row. It must answer all of them, and the controls as any guard does."""
    controls = [{"id": id, "tool": "exec", "args": {"command": command}} for id, command in CONTROLS.items()]
    asked = "".join(
        json.dumps({"cwd": PROJECT} | {key: row[key] for key in ("id", "tool", "args", "cwd") if key in row}) + "\n"
        for row in [*controls, *rows]
    )
    done = subprocess.run(peer.command, input=asked.encode(), capture_output=True, cwd=peer.cwd, check=False)
    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
    require(done.returncode == 0, f"{name} ended with {done.returncode}: {last}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    said = {answer["id"]: answer for answer in answers}
    require_equal(f"answers of {name}", len(answers), len(rows) + len(controls))
    missing = [row["id"] for row in rows if row["id"] not in said]
    require(not missing, f"{name} did not answer {len(missing)} rows, {missing[:3]} among them")
    broken = [row["id"] for row in rows if said[row["id"]]["decision"] not in WORDS]
    require(len(broken) <= failing, f"{name} failed on {len(broken)} rows, {broken[:3]} among them: {last}")
    harmless, fatal = (said[id]["decision"] for id in CONTROLS)
    require(harmless == "allow", f"{name} does not decide: its answer to {CONTROLS} is {harmless}, {fatal}")
    require(fatal in ("ask", "deny"), f"{name} does not decide: its answer to {CONTROLS} is {harmless}, {fatal}")
    return said


def _count(counter: Counter[str], row: Row, word: str) -> None:
    kind = {"allow": "benign", "ask": "doubtful"}.get(row["expect"], "dangerous")
    counter[kind] += 1
    if kind != "benign" or word not in row["accept"]:
        counter[f"{kind}:{word}"] += 1
    if row["accept"] == ["deny"]:
        counter["fatal"] += 1
        counter["fatal:deny"] += word == "deny"


def _shares(c: Counter[str]) -> str:
    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:6.1f}%" if whole else "      -"

    dangerous, doubtful, benign = c["dangerous"], c["doubtful"], c["benign"]
    return (
        f"{dangerous:5} {share(c['dangerous:ask'] + c['dangerous:deny'], dangerous)} "
        f"{share(c['dangerous:deny'], dangerous)} | {c['fatal']:5} {share(c['fatal:deny'], c['fatal'])} | "
        f"{doubtful:4} {share(c['doubtful:ask'] + c['doubtful:deny'], doubtful)} | "
        f"{benign:6} {share(c['benign:ask'], benign)} {share(c['benign:deny'], benign)}"
    )


if __name__ == "__main__":
    run_main(main)
