"""One spelling for every way to write a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.effects import shell
from interpose.effects.paths import (
    UNKNOWN,
    could_be,
    device_of,
    persistence_of,
    place_of,
    resolve,
    secret_of,
    tamper_of,
)
from tests.support.timing.growth import grows_linearly

CWD, HOME = "/workspace/project", "/home/dev"

CASES = [
    ("a relative path starts here", "a/b", "/workspace/project/a/b"),
    ("an empty path is here", "", CWD),
    ("a dot is here", ".", CWD),
    ("two dots are above", "..", "/workspace"),
    ("dots inside", "/etc/./x/../shadow", "/etc/shadow"),
    ("dots cannot leave the root", "/../../etc", "/etc"),
    ("doubled slashes", "//etc///shadow", "/etc/shadow"),
    ("a slash at the end", "/etc/", "/etc"),
    ("the root", "/", "/"),
    ("the home", "~", HOME),
    ("below the home", "~/.ssh/id_rsa", "/home/dev/.ssh/id_rsa"),
    ("another's home", "~alice/x", "/home/alice/x"),
    ("the home of root", "~root/x", "/root/x"),
    ("this directory as the shell keeps it", "~+/x", "/workspace/project/x"),
    ("a file URL", "file:///etc/shadow", "/etc/shadow"),
    ("a file URL of this host", "file://localhost/etc/shadow", "/etc/shadow"),
    ("a file URL with escapes", "file:///etc/%73hadow", "/etc/shadow"),
    ("another URL stays", "https://example.com/.env", "https://example.com/.env"),
    ("the root of this process", "/proc/self/root/etc/shadow", "/etc/shadow"),
    ("the root of some process, twice", "/proc/1/root/proc/self/root/etc", "/etc"),
    ("the root of a thread", "/proc/self/task/7/root/etc", "/etc"),
    ("the directory of this process", "/proc/self/cwd/.env", "/workspace/project/.env"),
    ("what macOS keeps under /private", "/private/etc/passwd", "/etc/passwd"),
    ("a drive", "C:\\Users\\me\\.npmrc", "C:/Users/me/.npmrc"),
    ("a drive in small letters", "c:/windows/../users", "C:/users"),
    ("a stream of a file", "C:\\secret.txt::$DATA", "C:/secret.txt"),
    ("a share", "\\\\server\\share\\.netrc", "/server/share/.netrc"),
    ("a backslash inside a name is a letter", "process\\.env", "/workspace/project/process\\.env"),
    ("letters of full width", "/etc/\uff53\uff48\uff41\uff44\uff4f\uff57", "/etc/shadow"),
    ("slashes of full width", "\uff0fetc\uff0fshadow", "/etc/shadow"),
    ("composed letters", "/cafe\u0301", "/caf\u00e9"),
    ("an unknown part stays", f"/tmp/{UNKNOWN}/x", f"/tmp/{UNKNOWN}/x"),
    ("an unknown start stays relative", f"{UNKNOWN}/x", f"{UNKNOWN}/x"),
    ("an unknown part with a slash could be the root", f"{UNKNOWN}/", f"{UNKNOWN}/"),
    ("dots behind an unknown part stay", f"/tmp/{UNKNOWN}/../x", f"/tmp/{UNKNOWN}/../x"),
]


@pytest.mark.parametrize(("note", "text", "want"), CASES, ids=[note for note, _, _ in CASES])
def test_resolve(note: str, text: str, want: str) -> None:
    assert resolve(text, CWD, HOME) == want, note


def test_the_unknown_mark_is_the_one_of_the_shell() -> None:
    assert UNKNOWN == shell.UNKNOWN


@pytest.mark.parametrize(
    "piece", ["../", "/", "a/", "./", UNKNOWN + "/", "/proc/self/root", "~", "\\", "%41", "\uff0f"]
)
@pytest.mark.parametrize("prefix", ["", "file://"])
def test_time_grows_with_the_text_only(piece: str, prefix: str) -> None:
    assert grows_linearly(lambda size: resolve(prefix + piece * (size // len(piece)), CWD, HOME), 30_000)


def test_a_resolved_path_resolves_to_itself() -> None:
    for _, text, _ in CASES:
        once = resolve(text, CWD, HOME)
        if "://" not in once:
            assert resolve(once, CWD, HOME) == once


PIECES = st.sampled_from(["/", "~", "..", ".", "*", "?", "[", "]", "(", "|", ")", "C:", "\\", "file://", "://", "proc",
                          "self", "root", "cwd", UNKNOWN, "", " ", "id_rsa", ".env", ".git", "\uff0f"])  # fmt: skip


@given(
    st.lists(PIECES, max_size=12).map("".join),
    st.sampled_from([CWD, "/", "", UNKNOWN, "C:/x"]),
    st.sampled_from([HOME, ""]),
)
def test_nothing_raises(text: str, cwd: str, home: str) -> None:
    path = resolve(text, cwd, home)
    for given_path in (text, path):
        place_of(given_path, cwd=cwd, home=home, workspace=cwd)
        could_be(given_path, cwd=cwd, home=home, workspace=cwd)
        device_of(given_path)
        for mark_of in (secret_of, persistence_of, tamper_of):
            mark_of(given_path, home)
