"""What agents start in bash runs in version 3.2, which macOS has: its text has nothing that is newer.

What a later bash alone knows may be behind a question for its version, on the same line. That the text also works is
shown by tests/e2e/hook_clients, with a `read` that does what that of 3.2 does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.doors.hooks.clients.client_files import client_for
from interpose.doors.hooks.hosts.all_hosts import HOSTS

ASKED_FOR = re.compile(r"\(\(BASH_VERSINFO\[0\] >= (\d)\)\); then (?P<newer>[^;]*);")

# What it is, the version that brought it, how it is found, and an example.
NEWER = [
    ("upper and lower case", 4.0, r"\$\{!?\w+(?:\[[^]]*\])?(?:\^|,)", "x=${x^^}"),
    ("associative arrays", 4.0, r"\b(?:declare|local|typeset)\s+-\w*A", "local -A seen"),
    ("global declarations", 4.2, r"\b(?:declare|typeset)\s+-\w*g", "declare -g x"),
    ("names of variables", 4.3, r"\b(?:declare|local|typeset)\s+-\w*n", "local -n x=$1"),
    ("options of one function", 4.4, r"\blocal\s+-(?=\s|$)", "local -"),
    ("lines into arrays", 4.0, r"\b(?:mapfile|readarray)\b", "mapfile -t lines"),
    ("coprocesses", 4.0, r"\bcoproc\b", "coproc cat"),
    ("appending both outputs", 4.0, r"&>>", "ls &>>log"),
    ("piping both outputs", 4.0, r"\|&", "ls |& cat"),
    ("cases that go on", 4.0, r";;?&", "a) ls ;;& esac"),
    ("fractions of seconds", 4.0, r"\bread\b[^;\n]*\s-t\s*['\"]?\d*\.\d", "read -t 0.5 x"),
    ("whether input is there", 4.0, r"\bread\b[^;\n]*\s-t\s*['\"]?0\b", "read -t 0"),
    ("reading blocks", 4.1, r"\bread\b[^;\n]*\s-\w*[Ni]", "read -r -N 5 x"),
    ("ranges with steps or zeros", 4.0, r"\{\w+\.\.\w+\.\.\w+\}|\{0\d+\.\.", "echo {1..9..2}"),
    ("files below files", 4.0, r"(?<![\w*)])\*\*/", "ls **/x"),
    ("newer switches", 4.0, r"\bshopt\b[^;\n]*\b(?:autocd|checkjobs|dirspell|globstar|lastpipe|inherit_errexit)\b",
     "shopt -s globstar"),
    ("newer variables", 4.0,
     r"\b(?:BASHPID|BASH_XTRACEFD|EPOCHSECONDS|EPOCHREALTIME|SRANDOM|BASH_ARGV0|PROMPT_DIRTRIM|READLINE_\w+)\b",
     "now=$EPOCHSECONDS"),
    ("descriptors that bash chooses", 4.1, r"\{\w+\}[<>]", "exec {fd}<file"),
    ("elements by printf", 4.1, r"\bprintf\s+-v\s+\w+\[", "printf -v a[0] x"),
    ("times by printf", 4.2, r"%\([^)]*\)T", "printf '%(%s)T' -1"),
    ("whether a variable is set", 4.2, r"\[\[?\s+(?:!\s+)?-[vR]\s", "[[ -v x ]]"),
    ("letters by number", 4.2, r"\$'[^']*\\[uU]", "x=$'\\u00e4'"),
    ("negative lengths and places", 4.2, r"\$\{\w+:[^}:]*:\s*-|\$\{\w+\[-", "x=${x:0:-1}"),
    ("waiting for one", 4.3, r"\bwait\s+-[np]", "wait -n"),
    ("transformations", 4.4, r"\$\{\w+@[A-Za-z]\}", "x=${x@Q}"),
    ("commands in braces", 5.3, r"\$\{[\s|]", "x=${ ls; }"),
    ("quotes in a replacement", 4.3, r"\"[^\"\n]*\$\{\w+//?[^}/]*/[^}]*[\\\"'][^}]*\}", 'x="${x//a/\\\\b}"'),
    ("quotes of C in an expansion", 4.0, r"\$\{\w+[#%/][^}]*\$'", "x=${x%$'\\r'}"),
]  # fmt: skip
IDS = [f"{what} ({version})" for what, version, _, _ in NEWER]


def newer_in(text: str) -> Iterator[str]:
    """What a text has that bash 3.2 does not know, with the line."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        said = ASKED_FOR.sub("", line)
        for what, version, pattern, _ in NEWER:
            if re.search(pattern, said):
                yield f"{number}: {what} (bash {version}): {line.strip()}"


@pytest.mark.parametrize(("what", "example"), [(what, example) for what, _, _, example in NEWER], ids=IDS)
def test_each_construct_is_found(what: str, example: str) -> None:
    assert any(f": {what} " in found for found in newer_in(f"#!/bin/bash\n{example}\n"))


def test_a_question_for_the_version_covers_its_own_branch_alone() -> None:
    asked = "if ((BASH_VERSINFO[0] >= 5)); then x=$EPOCHSECONDS; else x=1; fi"
    assert list(newer_in(asked)) == []
    assert list(newer_in(asked.replace("x=1", "x=${EPOCHSECONDS}")))


@pytest.mark.parametrize("fail_open", [False, True], ids=["deny", "fail-open"])
@pytest.mark.parametrize("name", HOSTS)
def test_a_bash_client_has_nothing_newer(name: str, fail_open: bool, tmp_path: Path) -> None:
    loaded = load(environ={"HOME": str(tmp_path)})
    client = client_for(HOSTS[name], loaded.config, loaded.places, fail_open=fail_open)
    texts = [file.text for file in client.files if file.text.startswith("#!") and "bash" in file.text.splitlines()[0]]
    assert texts
    assert [found for text in texts for found in newer_in(text)] == []
