"""Examples inside rules are run when the file is loaded."""

from __future__ import annotations

import pytest

from interpose.core.errors import PolicyError
from interpose.rules.policy.load import load_text

FILE = """version: 1
rules:
  - id: probe
    on: {{point: {point}, tools: [exec, read]}}
    when: {when}
    action: deny
    examples:
      match:
        - {match}
      no_match:
        - {no_match}
"""
READS_X = 'paths.exists(p, p.endsWith("/x"))'


def load(when: str, match: str, no_match: str, point: str = "tool.before") -> str:
    try:
        load_text(FILE.format(when=when, match=match, no_match=no_match, point=point))
    except PolicyError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("note", "when", "match", "no_match", "point"),
    [
        ("a text is a command", READS_X, "cat x", "cat y", "tool.before"),
        (
            "a call of any tool",
            READS_X,
            "{tool: Read, args: {file_path: x}}",
            "{tool: read, args: {path: y}}",
            "tool.before",
        ),
        (
            "who and where",
            'agent.role == "a" && call.cwd == "/w"',
            "{tool: exec, args: {command: ls}, role: a, cwd: /w}",
            "ls",
            "tool.before",
        ),
        ("a result", 'result.text == "a"', "{tool: read, result: a}", "{tool: read, result: b}", "tool.after"),
        ("another tool does not match", READS_X, "cat x", "{tool: write, args: {path: x}}", "tool.before"),
    ],
)
def test_rules_that_keep_their_word_load(note: str, when: str, match: str, no_match: str, point: str) -> None:
    assert load(when, match, no_match, point) == "", note


@pytest.mark.parametrize(
    ("note", "when", "match", "no_match", "want"),
    [
        ("no match", READS_X, "cat y", "ls", ":9: rule 'probe': examples: expected 'cat y' to match, it does not"),
        (
            "a match too many",
            READS_X,
            "cat x",
            "rm x",
            ":11: rule 'probe': examples: expected 'rm x' to not match, it does",
        ),
        ("another tool", READS_X, "{tool: write, args: {path: x}}", "ls", "the rule is not about the tool 'write'"),
        (
            "an error",
            "1 / size(paths) == 1",
            "cat x",
            "ls",
            ":11: rule 'probe': examples: expected 'ls' to not match, it fails: division",
        ),
        (
            "what only looks true",
            '\'{"a": true, "b": get(args, "ok", false)}.b\'',
            "{tool: exec, args: {ok: 'yes'}}",
            "ls",
            "it fails: expected true or false, got str",
        ),
    ],
)
def test_rules_that_break_it_do_not(note: str, when: str, match: str, no_match: str, want: str) -> None:
    told = load(when, match, no_match)
    assert want in told, f"{note}: {told}"


@pytest.mark.parametrize("home", ["/root", "/", "/workspace/project", ""])
def test_examples_mean_the_same_wherever_the_home_is(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    deletes_home = 'effects.exists(e, e.kind == "fs.delete" && e.resource == "/home/dev")'
    rule = f"{{id: probe, when: '{deletes_home}', action: deny, message: no, examples: {{match: ['rm -rf ~']}}}}"
    assert load_text(f"version: 1\nrules: [{rule}]\n").rules
