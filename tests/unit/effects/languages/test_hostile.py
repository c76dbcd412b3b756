"""Whatever a program text holds: no language raises, and time grows with the text, not with its square."""

from __future__ import annotations

import shlex
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.effects.shell import analyse
from tests.support.timing.growth import grows_linearly
from tests.support.timing.timing import cpu_seconds

RUNNERS = {
    "python": "python3 -c", "javascript": "node -e", "perl": "perl -e", "ruby": "ruby -e", "php": "php -r",
    "lua": "lua -e",
    "r": "Rscript -e", "julia": "julia -e", "tcl": "expect -c", "groovy": "groovy -e", "osascript": "osascript -e",
    "powershell": "pwsh -c", "cmd": "cmd /c", "raku": "raku -e", "foreign": "ghc -e", "quoted": "octave --eval",
    "tex": "pdflatex", "calculator": "dc -e", "unknown": "foolang -e", "psql": "psql -c", "mysql": "mysql -e",
    "sqlite": "sqlite3 a.db",
}  # fmt: skip

FRAGMENTS = ["system(", "os.", "import os;", "rm -rf /", "'", '"', "`", "$(", "${", "#{", "%x(", "qx{", "q{", "(", ")",
             "[", "]", "{", "}", "\\", "\n", ";", "|", "&", "%", "@'", "<#", "x=", "+", ".", "::", "->", "\0", "\ufffc",
             "\ud800", "é", "1", "a ", "/"]  # fmt: skip

REPEATED = [
    "s{",
    "s{a}{",
    "/\\/",
    "</a ",
    "[[",
    "$a=",
    "%a",
    "foreach($a in ",
    "\\write18{",
    "send(:x,",
    "(",
    "[{(",
    "$(",
    "${",
    "`${",
    "'",
    '"$',
    "q{",
    "%x(",
    "a.",
    "f'{",
    "x=x+x\n",
    "@'\n",
    "<# ",
    "%a ",
    "system(",
    "-",
    "if x:\n ",
    "x=[x,x]\n",
    "x={1:x,2:x}\n",
    "x=x if y else str(x)\n",
    "f=lambda g:f(f)\nf(f)\n",
    "x=[x,x];",
    "x={a:x,b:x};",
    "x=y?x:[x];",
    "f=g=>f(f);f(f);",
]


SQUARES = {("javascript", fragment) for fragment in ("'", '"$', "@'\n", "<# ")}
"""Quotes and signs that nothing closes: tree-sitter's recovery from errors takes the square of their number."""
SECONDS = 2.0


def _effects(runner: str, code: str) -> set[str]:
    return {
        effect.kind for effect in analyse(f"{runner} {shlex.quote(code)}", cwd="/workspace", home="/home/dev").effects
    }


@pytest.mark.parametrize("language", RUNNERS)
@settings(max_examples=60, deadline=None)
@given(code=st.lists(st.sampled_from(FRAGMENTS), max_size=24).map("".join))
def test_no_program_raises(language: str, code: str) -> None:
    _effects(RUNNERS[language], code)


@pytest.mark.parametrize(("language", "fragment"), [row for row in product(RUNNERS, REPEATED) if row not in SQUARES])
def test_time_grows_with_the_text_only(language: str, fragment: str) -> None:
    assert grows_linearly(lambda size: _effects(RUNNERS[language], fragment * (size // len(fragment))), 3_000)


@pytest.mark.parametrize(("language", "fragment"), sorted(SQUARES))
def test_what_grows_faster_is_bounded_at_usual_sizes(language: str, fragment: str) -> None:
    code = fragment * (8_000 // len(fragment))
    assert cpu_seconds(lambda: _effects(RUNNERS[language], code)) < SECONDS


@pytest.mark.parametrize(
    ("runner", "code"),
    [
        ("python3 -c", "(" * 3_000),
        ("python3 -c", "import os\n" + "x = 1\n" * 30_000 + "os.system('rm -rf /')"),
        ("node -e", "(" * 3_000),
        ("node -e", "x=1;" * 20_000 + "require('fs').rmSync('/',{recursive:true})"),
        ("pwsh -c", "$(" * 200 + "Remove-Item -Recurse C:/"),
    ],
)
def test_what_is_too_much_to_follow_is_stated(runner: str, code: str) -> None:
    assert _effects(runner, code) & {"opaque", "fs.delete"}


@pytest.mark.parametrize(
    ("runner", "code"),
    [
        ("python3 -c", "x = 'a' * 256 * 255\nx.replace('a', x).replace('a', x)"),
        ("python3 -c", "('{0}' * 20000).format('a' * 60000)"),
        ("python3 -c", "('%(a)s' * 10000) % {'a': 'b' * 60000}"),
        ("python3 -c", "'a'.ljust(10 ** 12), 'a'.zfill(10 ** 12), '%1000000000d' % 1, '{:>1000000000}'.format(1)"),
        ("python3 -c", "('\\t' * 60000).expandtabs(4000), bytes(10 ** 12), list(range(10 ** 12)), 9 ** 9 ** 9"),
        ("python3 -c", "x = ['a' * 60000] * 256\nfor _ in range(64): ','.join(x)"),
        ("python3 -c", "x = [1]\n" + "x = x + x\n" * 60 + "x = [*x, *x] * 9\nprint(len(x))"),
        ("python3 -c", "x = {1: 2}\n" + "x = {**x, **x, 3: x}\n" * 60 + "x.update(x)\nprint(x)"),
        ("python3 -c", "x = [0] * 1000\n" + "len(x)\nsorted(x)\n" * 3000),
        ("node -e", "x=[1];" + "x=[...x,...x];x=x.concat(x);" * 40 + "x.push(...x)"),
        ("python3 -c", "import pickle\npickle.loads(b'(' * 100000)"),
        ("node -e", "x='a'.repeat(65000); x.replaceAll('a',x).split('').join(x); 'a'.padEnd(1e12)"),
    ],
)
def test_what_a_program_multiplies_is_not_computed(runner: str, code: str) -> None:
    assert cpu_seconds(lambda: _effects(runner, code)) < SECONDS
