"""Which commands a text runs, construct by construct. `probe` stands for any program; `?` for an unknown part.

What an alias stands for is looked at when it is defined as well, so that its text counts even if it is never used.
"""

from __future__ import annotations

import pytest

from interpose.effects.invocation import UNKNOWN
from interpose.effects.shell import analyse

RUNS = [
    # note, text, the calls of probe
    ("words", "probe a 'b c' \"d e\"", ["a|b c|d e"]),
    ("adjacent quotes", "pr'o'\"b\"e a'b'\"c\"", ["abc"]),
    ("backslash hides the name from aliases only", "\\probe \\a b\\ c", ["a|b c"]),
    ("backslash and newline vanish", "pro\\\nbe a\\\nb", ["ab"]),
    ("ansi-c quotes", r"probe $'\x72\155\u0020\n' $'\cA'", ["rm \n|\x01"]),
    ("locale quotes", 'probe $"a b"', ["a b"]),
    ("empty words stay", "probe '' \"\"", ["|"]),
    ("a comment ends the line", "probe a # probe b\nprobe c", ["a", "c"]),
    ("a hash inside a word is no comment", "probe a#b", ["a#b"]),
    ("carriage return before a newline", "probe a\r\nprobe b\r\n", ["a", "b"]),
    ("lists", "probe a; probe b & probe c\nprobe d", ["a", "b", "c", "d"]),
    ("and, or", "probe a && probe b || probe c", ["a", "b", "c"]),
    ("and over lines", "probe a &&\n\n probe b", ["a", "b"]),
    ("pipes", "probe a | probe b |& probe c", ["a", "b", "c"]),
    ("negation", "! probe a", ["a"]),
    ("time", "time -p probe a", ["a"]),
    ("time and negation", "time ! probe a", ["a"]),
    ("time alone", "time\nprobe a", ["a"]),
    ("subshell", "( probe a; probe b )", ["a", "b"]),
    ("subshell in subshell", "((probe a); probe b)", ["a", "b"]),
    ("group", "{ probe a; probe b; }", ["a", "b"]),
    ("group closed by a subshell", "{ (probe a) }", ["a"]),
    ("if", "if probe a; then probe b; elif probe c; then probe d; else probe e; fi", ["a", "b", "c", "d", "e"]),
    ("while", "while probe a; do probe b; done", ["a", "b"]),
    ("until", "until probe a; do probe b; done", ["a", "b"]),
    ("for", "for i in a 'b c'; do probe $i; done", ["a", "b|c"]),
    ("for over arguments", "set -- a b; for i; do probe $i; done", ["a", "b"]),
    ("for with braces", "for i in a; { probe $i; }", ["a"]),
    ("for with arithmetic", "for ((i=0; i<2; i++)); do probe a; done", ["a"]),
    ("select", "select s in a b; do probe $s; done", ["a", "b"]),
    ("case", "case x in (a|b) probe 1;; *) probe 2;& c) probe 3;;& d) probe 4; esac", ["1", "2", "3", "4"]),
    ("empty case", "case x in esac; probe a", ["a"]),
    ("function", "f() { probe $1 \"$@\"; }; f a b", ["a|a|b"]),
    ("function keyword", "function f { probe a; }; f", ["a"]),
    ("function in a subshell body", "f() ( probe a ); f", ["a"]),
    ("function that is never called", "f() { probe a; }", []),
    ("function with redirection", "f() { probe a; } > out; f", ["a"]),
    ("function locals end with it", "x=1; f() { local x=2; probe $x; }; f; probe $x", ["2", "1"]),
    ("recursive function", "f() { probe $1; f b; }; f a", ["a", "b", "?", ""]),
    ("coprocess", "coproc probe a", ["a"]),
    ("named coprocess", "coproc NAME { probe a; }", ["a"]),
    ("double brackets", "[[ -n $(probe a) && x == y ]] && probe b", ["a", "b"]),
    ("double brackets with a pattern", "[[ $x =~ ^(a|b)[[:space:]]+$ ]] && probe a", ["a"]),
    ("arithmetic command", "(( x = 2 + 3 )); probe $x", ["5"]),
    ("alias", "alias p='probe a'; p b", ["a", "a|b"]),
    ("alias of a list", "alias p='probe a; probe'; p b", ["a", "", "b"]),
    ("alias removed", "alias p='probe a'; unalias p; p b", ["a"]),
    ("hashed path", "hash -p /bin/probe ls; ls a", ["a"]),
    ("trap", "trap 'probe $x' EXIT; x=a", ["?", "a", ""]),
    ("eval", "eval 'probe' a \"'b c'\"", ["a|b c"]),
    ("eval that defines", "eval 'f() { probe a; }'; f", ["a"]),
    ("source of what was written", "echo 'probe a' > s; . ./s", ["a"]),
    ("child shell", "bash -c 'probe $0 $1 \"$@\"' z a b", ["z|a|a|b"]),
    ("here-document as code", "bash <<EOF\nprobe a\nEOF", ["a"]),
    ("here-document as data", "cat <<'EOF'\n$(probe a)\nEOF", []),
    ("here-document that runs", "cat <<EOF\n$(probe a) `probe b`\nEOF", ["a", "b"]),
    ("here-document with tabs", "bash <<-EOF\n\t\tprobe a\n\tEOF", ["a"]),
    ("two here-documents", "bash <<A; bash <<B\nprobe a\nA\nprobe b\nB\n", ["a", "b"]),
    ("here-document in a substitution", "probe \"$(cat <<EOF\na b\nEOF\n)\"", ["a b"]),
    ("here-document closed by a parenthesis", "probe \"$(cat <<EOF\na\nEOF)\"", ["a"]),
    ("here-document without an end", "cat <<EOF\n$(probe a)", ["a"]),
    ("here-string", "bash <<< 'probe a'", ["a"]),
    ("process substitution", "cat <(probe a) > >(probe b)", ["a", "b"]),
    ("process substitution inside a word", "cat --file=<(probe a)", ["a"]),
    ("text through a pipe", "echo 'probe a' | bash", ["a"]),
    ("text through tee", "echo 'probe a' | tee x | bash", ["a"]),
    ("text through a file", "echo probe a > x; echo probe b >> x; bash x", ["a", "b"]),
    ("text through a descriptor", "exec 3<<< 'probe a'; bash <&3", ["a"]),
    ("while read", "printf 'a\\nb\\n' | while read x; do probe $x; done", ["a", "b"]),
    ("redirections may stand anywhere", "> out probe a 2>&1 b", ["a|b"]),
    ("assignment in front", "X=a probe b; X=$(probe c) probe d", ["b", "c", "d"]),
]  # fmt: skip


EXPANSIONS = [
    ("variable", "x=a; probe $x ${x} \"$x\"", ["a|a|a"]),
    ("append", "x=a; x+=b; probe $x", ["ab"]),
    ("splitting", "x='a b'; probe $x \"$x\"", ["a|b|a b"]),
    ("splitting by IFS", "IFS=,; x=a,b; probe $x", ["a|b"]),
    ("IFS as a blank", "probe${IFS}a", ["a"]),
    ("empty value vanishes", "x=; probe $x a", ["a"]),
    ("default", "probe ${NONE:-a} ${NONE-b} \"${NONE:-c d}\"", ["a|b|c d"]),
    ("default with quotes", "probe ${NONE:-\"a b\"} ${NONE:-''}", ["a b|"]),
    ("default that runs", "probe ${x:-\"${y:-`probe a`}\"}", ["a", "?"]),
    ("assigned default", "probe ${x:=a}; probe $x", ["a", "a"]),
    ("alternate", "x=1; probe ${x:+a}", ["a"]),
    ("alternate of what may not be set", "probe ${NONE:+a}", ["a", ""]),
    ("unset is unset", "x=a; unset x; probe ${x-b}", ["b"]),
    ("prefix", "x=a.b.c; probe ${x#*.} ${x##*.}", ["b.c|c"]),
    ("suffix", "x=a.b.c; probe ${x%.*} ${x%%.*}", ["a.b|a"]),
    ("replace", "x=abcb; probe ${x/b/_} ${x//b/_} ${x/#a/_} ${x/%b/_} ${x//b}", ["a_cb|a_c_|_bcb|abc_|ac"]),
    ("quoted pattern", "x='a*b'; probe \"${x#a\"*\"}\"", ["b"]),
    ("substring", "x=abcdef; probe ${x:1:2} ${x: -2} ${x:2}", ["bc|ef|cdef"]),
    ("substring of a known variable", "probe ${PATH:0:1}", ["/"]),
    ("case", "x=ab; probe ${x^^} ${x^} ${x@U}; y=AB; probe ${y,,}", ["AB|Ab|AB", "ab"]),
    ("length", "x=abc; probe ${#x}", ["3"]),
    ("indirect", "a=b; b=c; probe ${!a}", ["c"]),
    ("array", "a=(x 'y z' [5]=w); probe ${a[0]} \"${a[@]}\" ${#a[@]} ${a[-1]} \"${!a[@]}\"", ["x|x|y z|w|3|w|0|1|5"]),
    ("array element", "a[2]=x; probe ${a[2]}", ["x"]),
    ("named array", "declare -A m=([k]=v); probe ${m[k]}", ["v"]),
    ("array command", "a=(probe x); \"${a[@]}\" y", ["x|y"]),
    ("arguments", "set -- a 'b c'; probe \"$@\"; probe $# $1; shift; probe \"$*\"", ["a|b c", "2|a", "b c"]),
    ("brace list", "probe a{b,c{d,e}}f", ["abf|acdf|acef"]),
    ("brace range", "probe {1..3} {a..c} {01..03} {3..1..2}", ["1|2|3|a|b|c|01|02|03|3|1"]),
    ("no brace", "probe {a} {} a{,b {a,b", ["{a}|{}|a{,b|{a,b"]),
    ("quoted brace", "probe '{a,b}' {'a,b',c}", ["{a,b}|a,b|c"]),
    ("brace command", "{probe,a,b}", ["a|b"]),
    ("tilde", "probe ~ ~/x '~'", ["/home/dev|/home/dev/x|~"]),
    ("arithmetic", "x=4; probe $((x * 2 + 1)) $[ 7 / 2 ] $((x > 3 ? 10 : 20)) $((0x10)) $((2**9))", ["9|3|10|16|512"]),
    ("arithmetic assigns", "probe $((x = 5)) $x $((x++)) $x", ["5|5|5|6"]),
    ("arithmetic of an unknown value", "probe $((NONE + 1))", ["?", ""]),
    ("known output", "probe $(echo a b) \"$(echo a b)\"", ["a|b|a b"]),
    ("file read by the shell", "echo a > f; probe $(< f)", ["a"]),
    ("nested backquotes", "probe `probe \\`probe a\\``", ["a", "?", "?", ""]),
    ("unknown output", "probe \"$(probe a)\"", ["a", "?"]),
    ("unknown variable", "probe x$NONE.y", ["x?.y", "x.y"]),
    ("parameters of the script", "probe $1 \"$@\"", ["?|?", "?", ""]),
    ("branches", "if x; then v=a; else v=b; fi; probe $v", ["a", "b"]),
    ("branches that may not be taken", "v=a; x && v=b; probe $v", ["b", "a"]),
    ("a branch that leaves", "v=a; if x; then v=b; exit; fi; probe $v", ["a"]),
    ("what follows exit changes nothing", "f() { v=a; return; v=b; }; f; probe $v", ["a"]),
    ("subshells change nothing", "v=a; (v=b); probe $v; v=c | x; probe $v", ["a", "a"]),
    ("exported", "export v=a; w=b; bash -c 'probe $v $w'", ["a|?", "a"]),
    ("set for one command", "v=a bash -c 'probe $v'", ["a"]),
    ("exported function", "f() { probe a; }; export -f f; bash -c f; bash -c g", ["a"]),
    ("function not exported", "probe2() { probe a; }; bash -c probe2", []),
    ("read", "read a b <<< 'x y z'; probe $a $b", ["x|y|z"]),
    ("printf -v", "printf -v x %s-%s a b; probe $x", ["a-b"]),
    ("mapfile", "mapfile -t a <<< $'x\\ny'; probe ${a[1]}", ["y"]),
    ("lower case declared", "declare -l x=PROBE; $x a", ["a"]),
    ("changed in a loop", "v=a; while x; do probe $v; v=b; done", ["a", "b"]),
]  # fmt: skip


HIDDEN = [
    ("subscript in old arithmetic", "echo $[ x='a[$(probe a)]', x ]"),
    ("subscript in arithmetic", "echo $((a[$(probe a)]))"),
    ("value evaluated by arithmetic", "x='a[$(probe a)]'; (( x ))"),
    ("test -v", "test -v 'a[$(probe a)]'"),
    ("[[ -v ]]", "[[ -v 'a[$(probe a)]' ]]"),
    ("[[ -eq ]]", "[[ 'a[$(probe a)]' -eq 1 ]]"),
    ("printf -v", "printf -v 'a[$(probe a)]' x"),
    ("read", "read 'a[$(probe a)]' <<< 1"),
    ("let", "let 'a[$(probe a)]=1'"),
    ("declare", "declare 'a[$(probe a)]=1'"),
    ("unset", "a=(1); unset 'a[$(probe a)]'"),
    ("substring offset", "x=abc; echo ${x:a[$(probe a)]}"),
    ("array subscript", "a[$(probe a)]=1"),
    ("prompt expansion", "x='$(probe a)'; echo ${x@P}"),
    ("redirection target", "echo x > $(probe a)"),
    ("case word", "case $(probe a) in x) ;; esac"),
    ("case pattern", "case x in $(probe a)) ;; esac"),
    ("for word", "for i in $(probe a); do :; done"),
    ("array value", "a=($(probe a))"),
    ("assignment", "x=$(probe a)"),
    ("pattern of an expansion", "x=y; echo ${x#$(probe a)}"),
    ("replacement", "x=y; echo ${x/y/$(probe a)}"),
    ("here-string", "cat <<< $(probe a)"),
    ("function substitution", "echo ${ probe a; }"),
]  # fmt: skip


def calls(text: str) -> list[str]:
    """The arguments of each `probe` that would run."""
    found = [ran for ran in analyse(text).commands if ran.name == "probe"]
    return ["|".join(ran.args).replace(UNKNOWN, "?") for ran in found]


@pytest.mark.parametrize(("note", "text", "expected"), RUNS + EXPANSIONS, ids=[row[0] for row in RUNS + EXPANSIONS])
def test_runs(note: str, text: str, expected: list[str]) -> None:
    assert set(calls(text)) == set(expected), note


@pytest.mark.parametrize(("note", "text"), HIDDEN, ids=[note for note, _ in HIDDEN])
def test_hidden_commands_are_found(note: str, text: str) -> None:
    assert "a" in calls(text), note
