"""What echo and printf print, as bash prints it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from interpose.effects.invocation import UNKNOWN
from interpose.effects.programs.running.printf import MAX_TEXT, echo, printf

FORMATS: list[tuple[str, list[str]]] = [
    ("plain", []),
    ("%s %s\\n", ["a", "b"]),
    ("%s\\n", ["a", "b", "c"]),
    ("\\162\\155 -rf", []),
    ("\\x72\\x6d", []),
    ("\\u0072\\u006d", []),
    ("\\562\\555", []),
    ("%b", ["a\\tb\\0101"]),
    ("%b|%b", ["one\\c", "two"]),
    ("%5s|%-5s|%.2s", ["ab", "cd", "efg"]),
    ("%d %x %o", ["42", "255", "8"]),
    ("%05d", ["42"]),
    ("%c%c", ["xyz", "b"]),
    ("%d", ["'A"]),
    ("100%%\\n", []),
    ("%s-%s", ["only"]),
    ("tab\\tnew\\nline", []),
    ("\\q\\\\", []),
]

WORDS: list[list[str]] = [[], ["a", "b"], ["-n", "a"], ["-e", "a\\tb"], ["-ne", "\\x72m"], ["-E", "a\\tb"], ["-e",
    "x\\cy"], ["--", "a"],
                          ["-x", "a"], ["-e", "\\0101"], ["-n"], ["-"]]  # fmt: skip

bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is the oracle")


def _bash(*words: str) -> str:
    run = subprocess.run(
        ["bash", "-c", '"$@"', "_", *words], capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"}
    )
    return run.stdout.decode("utf-8", "replace")


@bash
@pytest.mark.parametrize(("form", "words"), FORMATS)
def test_printf_prints_what_bash_prints(form: str, words: list[str]) -> None:
    assert printf(form, words) == _bash("printf", form, *words)


@bash
@pytest.mark.parametrize("words", WORDS)
def test_echo_prints_what_bash_prints(words: list[str]) -> None:
    assert echo(words) == _bash("echo", *words)


def test_an_unknown_argument_stays_unknown() -> None:
    assert printf("rm %s", [UNKNOWN]) == f"rm {UNKNOWN}"
    assert printf("%d", [UNKNOWN]) == UNKNOWN


def test_a_short_format_cannot_print_without_end() -> None:
    assert len(printf("%999999999d", ["1"])) <= MAX_TEXT
    assert len(printf("%99999s", ["a"] * 1_000)) <= 3 * MAX_TEXT
