"""A path means the same whoever touches it: every path of cases/crossed_paths.yaml by every way of touching it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from interpose import Context, Engine, ToolCall, create_interceptor_registry
from interpose.effects.paths import Lexical
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from interpose.rules.guards.security_audit import SecurityAudit
from tests.support.case_files import read_cases

HOME, CWD = "/home/dev", "/home/dev/project"
Way = Callable[[str], tuple[str, dict[str, Any]]]


def command(text: str) -> Way:
    return lambda path: ("exec", {"command": text.replace("PATH", path).replace("FULL", path.replace("~", HOME))})


FILE_TOOLS: Mapping[str, Mapping[str, Way]] = {
    "read": {
        "read": lambda path: ("read", {"path": path}),
        "file_read": lambda path: ("file_read", {"file_path": path}),
        "MCP read": lambda path: ("mcp__fs__read_file", {"path": path}),
        "copy": lambda path: ("copy", {"source": path, "destination": "copy.txt"}),
    },
    "overwrite": {
        "write": lambda path: ("write", {"path": path, "content": "x\n"}),
        "file_write": lambda path: ("file_write", {"path": path, "content": "x\n"}),
        "MCP write": lambda path: ("mcp__fs__write_file", {"path": path, "content": "x\n"}),
        "copy": lambda path: ("copy", {"source": "x.txt", "destination": path}),
    },
    "append": {},
    "edit": {
        "edit": lambda path: ("edit", {"path": path, "old_string": "a", "new_string": "b"}),
        "MCP edit": lambda path: ("mcp__fs__edit_file", {"path": path, "edits": [{"oldText": "a", "newText": "b"}]}),
    },
}
COMMANDS: Mapping[str, Mapping[str, Way]] = {
    "read": {
        "cat": command("cat PATH"),
        "head": command("head -5 PATH | wc -l"),
        "<": command("sort < PATH"),
        "cp": command("cp PATH copy.txt"),
        "python": command("""python3 -c "print(open('FULL').read())" """),
    },
    "overwrite": {
        ">": command("echo x > PATH"),
        "tee": command("echo x | tee PATH"),
        "cp": command("cp x.txt PATH"),
        "python": command("""python3 -c "open('FULL', 'w').write('x')" """),
    },
    "append": {
        ">>": command("echo x >> PATH"),
        "tee -a": command("echo x | tee -a PATH"),
        "python": command("""python3 -c "open('FULL', 'a').write('x')" """),
    },
    "edit": {"sed": command("sed -i s/a/b/ PATH")},
}
CASES = read_cases(Path(__file__).parents[3] / "cases" / "crossed_paths.yaml")


@pytest.fixture(scope="module")
def engine() -> Engine:
    registry = create_interceptor_registry()
    registry.add(CommandSafetyGuard(home=HOME))
    registry.add(SecurityAudit(home=HOME, lookup=Lexical()))
    return Engine(registry)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['path']}: {case['note']}")
def test_one_decision_for_one_meaning(engine: Engine, case: dict[str, Any]) -> None:
    said, wanted = {}, {}
    for meaning in ("read", "overwrite", "append", "edit"):
        for kind, ways in (("tools", FILE_TOOLS), ("commands", COMMANDS)):
            for way, make in ways[meaning].items():
                tool, arguments = make(case["path"])
                verdict = engine.decide(ToolCall(tool, arguments, context=Context(cwd=CWD)))
                said[meaning, kind, way] = verdict.outcome
                wanted[meaning, kind, way] = case.get(kind, {}).get(meaning, case[meaning])
    assert said == wanted


def test_there_are_thirty_paths_and_more() -> None:
    assert len({case["path"] for case in CASES}) == len(CASES) >= 30
    assert [case["path"] for case in CASES if "commands" in case] == ["~/.claude/settings.json"]
