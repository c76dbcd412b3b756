"""Text that is not understood is never silent, and what was understood before it still counts."""

from __future__ import annotations

import pytest

from interpose.effects.shell import analyse

BROKEN = [
    ("unclosed single quote", "probe 'a"),
    ("unclosed double quote", 'probe "a'),
    ("unclosed substitution", "probe $(a"),
    ("unclosed backquote", "probe `a"),
    ("unclosed parameter", "probe ${a"),
    ("unclosed group", "{ probe a;"),
    ("unclosed subshell", "( probe a"),
    ("if without fi", "if a; then probe a;"),
    ("fi without if", "probe a; fi"),
    ("done without do", "probe a; done"),
    ("case without esac", "case a in b) probe a;;"),
    ("double semicolon", "probe a;; probe b"),
    ("semicolon alone", "; probe a"),
    ("redirection without a target", "probe a >"),
    ("two pipes", "probe a | | probe b"),
    ("closing parenthesis", "probe a )"),
    ("closing parenthesis in backquotes", "echo `probe a ) probe b`"),
    ("bad substitution", "probe ${a!b}"),
    ("zsh substitution", "probe ${(e)a}"),
    ("unclosed test", "[[ a == b"),
    ("unclosed array", "a=(b c"),
    ("unclosed quote in a here-document's substitution", "cat <<EOF\n$(echo 'a\nEOF\n"),
    ("inside a child shell", "bash -c 'if'"),
    ("inside eval", "eval '('"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "text"), BROKEN, ids=[row[0] for row in BROKEN])
def test_what_is_not_understood_is_opaque(note: str, text: str) -> None:
    analysis = analyse(text)
    assert [
        effect for effect in analysis.effects if effect.kind == "opaque" and effect.details["rule"] == "unparsed"
    ], note


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /; fi",
        "rm -rf /\nif",
        "if true; then rm -rf /; ",
        "( rm -rf /; ",
        "rm -rf / )",
        "echo $(rm -rf /; ",
        "fi\nrm -rf /",
        "case x in y) rm -rf /; ",
    ],
)
def test_what_was_understood_still_counts(text: str) -> None:
    assert [effect for effect in analyse(text).effects if effect.kind == "fs.delete" and effect.resource == "/"]


def test_problems_say_where() -> None:
    (problem,) = analyse("probe a; fi").problems
    assert problem.span == (9, 10)
