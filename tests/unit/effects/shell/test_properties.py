"""Whatever the text, there is an answer."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from interpose.effects.shell import Analysis, analyse
from tests.support.timing.timing import cpu_seconds

PIECES = [
    "rm -rf /", "echo", "x", "$x", "${x:-y}", "${x", "$(", ")", "`", "'", '"', "\\", "\n", " ", ";", "&", "&&", "||",
    "|", "|&", "(", "{", "}", "<", ">", ">>", "<<EOF", "\nEOF\n", "<<<", "<(", ">(", "2>&1", "&>", "if", "then", "fi",
    "else", "while", "do", "done", "for", "in", "case", "esac", ";;", "function f", "f()", "[[", "]]", "((", "))",
    "$((", "$[", "]", "[", "!", "time", "coproc", "=", "+=", "a=(", "#", "*", "?", "~", "{a,b}", "{1..3}", "$'\\x41'",
    "$@", "${x//a/b}", "${!x}", "${x@P}", "eval", "bash -c", "sudo", "xargs", "alias a=b", "trap", "export", "read",
    "test -v", "\r", "\x00", "\ufffc", "\ud800", "\xe9",
]  # fmt: skip


SECONDS = 1.0


def analysed(text: str, cwd: str = "/workspace/project", home: str = "/home/dev") -> Analysis:
    done: list[Analysis] = []
    assert cpu_seconds(lambda: done.append(analyse(text, cwd=cwd, home=home))) < SECONDS
    return done[0]


def check(analysis: Analysis, length: int) -> None:
    for effect in analysis.effects:
        assert 0 <= effect.span[0] <= effect.span[1] <= length
    if analysis.problems:
        assert any(effect.kind == "opaque" for effect in analysis.effects)
    assert not [effect for effect in analysis.effects if effect.details.get("rule") == "analysis-failed"]


@settings(max_examples=400, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    check(analysed(text), len(text))


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
@example("x eval if")  # a tool that nobody knows has a verb `eval`
def test_any_words(text: str) -> None:
    check(analysed(text), len(text))


@settings(max_examples=1_500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_pieces(text: str) -> None:
    check(analysed(text), len(text))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=10), st.text(max_size=10))
def test_any_place(text: str, cwd: str, home: str) -> None:
    check(analysed(text, cwd, home), len(text))
