"""Whatever the text, there is an answer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.shell import Analysis, analyse

PIECES = [
    "rm -rf /", "echo", "x", "$x", "${x:-y}", "${x", "$(", ")", "`", "'", '"', "\\", "\n", " ", ";", "&", "&&", "||",
    "|", "|&", "(", "{", "}", "<", ">", ">>", "<<EOF", "\nEOF\n", "<<<", "<(", ">(", "2>&1", "&>", "if", "then", "fi",
    "else", "while", "do", "done", "for", "in", "case", "esac", ";;", "function f", "f()", "[[", "]]", "((", "))",
    "$((", "$[", "]", "[", "!", "time", "coproc", "=", "+=", "a=(", "#", "*", "?", "~", "{a,b}", "{1..3}", "$'\\x41'",
    "$@", "${x//a/b}", "${!x}", "${x@P}", "eval", "bash -c", "sudo", "xargs", "alias a=b", "trap", "export", "read",
    "test -v", "\r", "\x00", "\ufffc", "\ud800", "\xe9",
]  # fmt: skip


def check(analysis: Analysis, length: int) -> None:
    for effect in analysis.effects:
        assert 0 <= effect.span[0] <= effect.span[1] <= length
    if analysis.problems:
        assert any(effect.kind == "opaque" for effect in analysis.effects)


@settings(max_examples=400, deadline=1_000)
@given(st.text())
def test_any_text(text: str) -> None:
    check(analyse(text), len(text))


@settings(max_examples=1_500, deadline=1_000)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_any_words(text: str) -> None:
    check(analyse(text), len(text))


@settings(max_examples=1_500, deadline=1_000)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_pieces(text: str) -> None:
    check(analyse(text), len(text))


@settings(max_examples=300, deadline=1_000)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=10), st.text(max_size=10))
def test_any_place(text: str, cwd: str, home: str) -> None:
    check(analyse(text, cwd=cwd, home=home), len(text))
