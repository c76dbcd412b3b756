"""What governance costs a decision: calls seen before, governed and ungoverned in turns, as a ratio.

python -m bench.governed [--by-rule] [--stored]

The governed engine has a governance.yaml with roles, scopes, categories of commands, groups of tools, a ceiling,
budgets and chains; apart from that both engines are the same. Each call is decided many times by both, one after the
other, so that the machine is as busy for one as for the other. A ratio is that of two medians; a group has the median
of its calls.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns

from msgspec import Struct
from msgspec.structs import replace

from bench.checks import require_equal, require_present, require_verdicts
from bench.command_line import make_parser, run_main
from interpose import Context, Engine, ToolCall
from interpose.composition.build import load_config, open_engines
from interpose.core.types import Outcome
from interpose.record.store import open_store
from interpose.record.store.protocols import Store

ROUNDS, SMOKE_ROUNDS = 400, 3
LIMIT = 2.5
"""What a governed decision may cost, as a multiple of an ungoverned one."""

GOVERNANCE = """\
version: 1
unknown_role: deny
agents:
  - {role: reviewer, agent: reviewer}
  - {role: reader, agent: "*-reader", sub_agent: true}
  - {role: builder, host: claude-code, sub_agent: false}
scopes:
  code: {paths: ["src/**", "tests/**", "*.toml"], outside: ["**/generated/**"], others: [own]}
  docs: {paths: ["docs/**", "*.md"]}
  own: {paths: [".interpose/**", ".git/**"]}
tools:
  look: [read, glob, grep, list]
  trackers: ["mcp__tracker__*", "mcp__shell__*"]
roles:
  reader:
    tools: {allow: [look]}
    write: []
    commands: [inspection]
  worker:
    ceiling:
      deny: ["mcp__payments__*"]
      write: [code, docs]
      commands: [validation, build, git, inspection, filesystem, runtime]
    tools: {allow: [look, write, edit, exec, todo, trackers], deny: [web_search], note: [todo]}
  builder:
    parent: worker
    write: [code, docs]
    commands: [validation, build, git, inspection, filesystem, runtime]
  reviewer:
    parent: worker
    write: [docs]
    commands: [inspection, git]
chains:
  state_file: .state.json
  rules:
    - id: release
      command: release
      must_before: [{state: "phase == 'complete'"}]
    - id: complete
      becomes: phase == 'complete'
      must_before: [{exists: "docs/*.md"}]
budgets:
  - {per: session, calls: 100000}
  - {per: agent, match: "*-reader", calls: 50, window: 1h}
"""


class GovernedCall(Struct, frozen=True):
    """A call, and what each engine says to it."""

    group: str
    tool: str
    arguments: dict[str, str]
    governed: Outcome
    ungoverned: Outcome = "allow"

    @property
    def said(self) -> str:
        return f"{self.tool} {next(iter(self.arguments.values()))}"


SHELL, IN_MCP = "mcp__shell__run_command", "command in an MCP tool"

CALLS = (
    GovernedCall("command", "Bash", {"command": "git status"}, "allow"),
    GovernedCall("command", "Bash", {"command": "cat README.md | head -40"}, "allow"),
    GovernedCall("command", "Bash", {"command": "cd packages/web && npm run build"}, "allow"),
    GovernedCall("command", "Bash", {"command": "python3 -m pytest tests/test_parser.py -x"}, "allow"),
    GovernedCall("command", "Bash", {"command": "sed -i 's/a/b/' src/app.py"}, "allow"),
    GovernedCall("command", "Bash", {"command": "echo done > notes.txt"}, "deny"),
    GovernedCall("command", "Bash", {"command": "curl -s https://example.com/7 | jq .name"}, "deny"),
    GovernedCall("file", "Read", {"file_path": "src/app.py"}, "allow"),
    GovernedCall("file", "Write", {"file_path": "src/app.py", "content": "a = 1\n"}, "allow"),
    GovernedCall("file", "Write", {"file_path": "src/generated/app.py", "content": "a = 1\n"}, "deny"),
    GovernedCall("other tool", "mcp__tracker__find_issue", {"query": "parser"}, "allow"),
    GovernedCall("other tool", "mcp__weather__today", {"place": "Oslo"}, "deny"),
    GovernedCall(IN_MCP, SHELL, {"command": "git status"}, "allow"),
    GovernedCall(IN_MCP, SHELL, {"command": "ls -la src && wc -l src/*.py"}, "allow"),
    GovernedCall(IN_MCP, SHELL, {"command": "python3 -m pytest -x"}, "allow"),
)  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--by-rule", action="store_true", help="which kind of rule takes how much of it")
    parser.add_argument("--stored", action="store_true", help="sessions are kept in SQLite instead of in memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, ExitStack() as closing:
        os.environ["HOME"] = home  # no rules and configuration but the shipped ones
        os.environ.pop("XDG_CONFIG_HOME", None)
        place = project_in(Path(home))
        store = closing.enter_context(closed(open_store(Path(home) / "ledger.db"))) if options.stored else None
        engines = engine_in(Path(home), "", store), engine_in(Path(home), GOVERNANCE, store)
        rounds = SMOKE_ROUNDS if options.smoke else ROUNDS
        measure(engines, place, rounds)
        if options.by_rule or options.smoke:
            shares(engines[1], place, rounds)


@contextmanager
def closed(store: Store) -> Iterator[Store]:
    """A store that is closed in the end."""
    try:
        yield store
    finally:
        store.close()


def project_in(home: Path) -> str:
    """A directory two levels below the root of a repository, in which calls are made."""
    place = home / "work" / "project"
    for name in ("src/generated", "tests", "docs", "packages/web", ".git"):
        (place / name).mkdir(parents=True)
    for name in ("src/app.py", "tests/test_parser.py", "README.md", "docs/index.md"):
        (place / name).write_text("text\n", encoding="utf-8")
    (place / ".state.json").write_text('{"phase": "draft"}\n', encoding="utf-8")
    return os.path.realpath(place)


def engine_in(home: Path, text: str, store: Store | None) -> Engine:
    """The engine as it is shipped, under a governance file with this text; ungoverned if there is none."""
    file = home / ("governance.yaml" if text else "no-governance.yaml")
    if text:
        file.write_text(text, encoding="utf-8")
    config = load_config()
    config = replace(config, governance=replace(config.governance, file=str(file)))
    return open_engines(config, store=store).engine(Context(cwd=str(home)))


def made(one: GovernedCall, place: str, number: int) -> ToolCall:
    """A call as it comes from a host: another object each time."""
    context = Context(session_id="bench", source="hook:claude-code", cwd=place)
    return ToolCall(one.tool, dict(one.arguments), f"call-{number}", context)


def measure(engines: tuple[Engine, Engine], place: str, rounds: int) -> None:
    """Decide all calls with both engines in turns, and print how long each took."""
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}, p50 of one decision in microseconds\n")
    print(f"{'seen before':64} {'ungoverned':>10} {'governed':>10} {'ratio':>7}")
    for one in CALLS:
        for engine, outcome in zip(engines, (one.ungoverned, one.governed), strict=True):
            # The session is one that is kept, and the call one that was seen before.
            call = made(one, place, 0)
            require_verdicts(one.said, [engine.run(call.context).before(call), engine.decide(call)], [outcome] * 2)
    groups: dict[str, list[float]] = {}
    for one in CALLS:
        spent = timed(engines, one, place, rounds)
        ratio = spent[1] / spent[0]
        groups.setdefault(one.group, []).append(ratio)
        print(f"{one.said[:64]:64} {spent[0]:10.1f} {spent[1]:10.1f} {ratio:7.2f}")
    print()
    for group, ratios in groups.items():
        print(f"{group:64} {'':10} {'':10} {statistics.median(ratios):7.2f}")
    every = [ratio for ratios in groups.values() for ratio in ratios]
    print(f"{f'all of them (at most {LIMIT})':64} {'':10} {'':10} {statistics.median(every):7.2f}")


def timed(engines: tuple[Engine, Engine], one: GovernedCall, place: str, rounds: int) -> list[float]:
    """The median for each engine. Who is first changes with every round."""
    spent: tuple[list[int], list[int]] = ([], [])
    gc.collect()
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            call = made(one, place, number)
            start = perf_counter_ns()
            verdict = engines[which].decide(call)
            spent[which].append(perf_counter_ns() - start)
            require_equal(one.said, verdict.outcome, (one.ungoverned, one.governed)[which])
    return [statistics.median(times) / 1000 for times in spent]


def shares(engine: Engine, place: str, rounds: int) -> None:
    """The time of each interceptor of governance, over all calls that reach it."""
    spent: dict[str, list[int]] = {}
    for number in range(rounds):
        for one in CALLS:
            for name, elapsed in engine.decide(made(one, place, number)).timings:
                spent.setdefault(name, []).append(elapsed)
    print()
    for name, times in spent.items():
        print(f"{name:64} {'':10} {statistics.fmean(times) / 1000:10.1f}")
    require_present(spent.get("governance:roles"), "no rule of governance was asked")


if __name__ == "__main__":
    run_main(main)
