"""Whatever a program text holds: no language raises, and none takes more than linear time over it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.shell import analyse
from tests.timing import cpu_seconds

RUNNERS = {
    "python": "python3 -c", "javascript": "node -e", "perl": "perl -e", "ruby": "ruby -e", "php": "php -r",
    "lua": "lua -e",
    "r": "Rscript -e", "julia": "julia -e", "tcl": "expect -c", "groovy": "groovy -e", "osascript": "osascript -e",
    "powershell": "pwsh -c", "cmd": "cmd /c",
}  # fmt: skip

FRAGMENTS = ["system(", "os.", "import os;", "rm -rf /", "'", '"', "`", "$(", "${", "#{", "%x(", "qx{", "q{", "(", ")",
             "[", "]", "{", "}", "\\", "\n", ";", "|", "&", "%", "@'", "<#", "x=", "+", ".", "::", "->", "\0", "\ufffc",
             "\ud800", "é", "1", "a ", "/"]  # fmt: skip

REPEATED = [
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
]


def _effects(runner: str, code: str) -> set[str]:
    return {
        effect.kind for effect in analyse(f"{runner} {shlex.quote(code)}", cwd="/workspace", home="/home/dev").effects
    }


@pytest.mark.parametrize("language", RUNNERS)
@settings(max_examples=60, deadline=None)
@given(code=st.lists(st.sampled_from(FRAGMENTS), max_size=24).map("".join))
def test_no_program_raises(language: str, code: str) -> None:
    _effects(RUNNERS[language], code)


@pytest.mark.parametrize("fragment", REPEATED)
@pytest.mark.parametrize("language", RUNNERS)
def test_time_grows_with_the_text_only(language: str, fragment: str) -> None:
    def seconds(size: int) -> float:
        code = fragment * (size // len(fragment))
        return cpu_seconds(lambda: _effects(RUNNERS[language], code))

    seconds(100)
    # The best of some runs: the machine may be busy with something else.
    small = seconds(1_000)
    assert any(seconds(8_000) < 0.25 + 40 * small for _ in range(3))


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
