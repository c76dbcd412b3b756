"""No path is judged differently for how it is spelled."""

from __future__ import annotations

import posixpath
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.core.types import Allow, Confirm, Context, Deny, ToolCall
from interpose.effects.paths import FileSystem, Lexical, Lookup
from interpose.rules.guards.security_audit import SecurityAudit

FILES = [
    "home/.ssh/id_rsa", "home/.aws/credentials", "home/.netrc", "home/.bashrc", "home/.config/interpose/config.yaml",
    "home/.claude/settings.json", "home/notes/café.txt", "work/.env", "work/src/app.py", "work/src/Größe.md",
    "work/.git/hooks/pre-commit", "work/tests/fixtures/key.pem", "work/credentials.json", "work/a b/c.txt",
    "other/server.key",
]  # fmt: skip
MISSING = ["home/.profile", "home/.ssh/new/deep/key", "work/new/a/b/c.py", "work/.git/hooks/new/deep", "other/x/.env"]
Disguise = Callable[["Tree", str], str]


class Tree:
    """A home and a project on disk, with links from everywhere to everywhere."""

    def __init__(self, root: str) -> None:
        self.root, self.home, self.work = root, f"{root}/home", f"{root}/work"
        for name in FILES:
            path = Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x", encoding="utf-8")
        for name in ("home", "work", "other"):
            Path(root, f"to-{name}").symlink_to(name)
            Path(root, "work", f"to-{name}").symlink_to(f"../{name}")
        Path(root, "to-root").symlink_to(root)

    def judged(self, tool: str, text: str, lookup: Lookup) -> tuple[type, str]:
        guard = SecurityAudit(home=self.home, lookup=lookup)
        call = ToolCall(tool, {"path": text, "content": "x"}, context=Context(cwd=self.work))
        match guard.intercept(call):
            case Allow():
                return Allow, ""
            case Confirm(rule=rule):
                return Confirm, rule
            case Deny(rule=rule):
                return Deny, rule


@pytest.fixture(scope="module")
def tree() -> Iterator[Tree]:
    with tempfile.TemporaryDirectory() as directory:
        yield Tree(str(Path(directory).resolve()))


def _at(make: Callable[[str], str]) -> Disguise:
    """A disguise of one separator somewhere in the middle."""

    def disguise(_tree: Tree, path: str) -> str:
        head, slash, name = path.rpartition("/")
        return head + make("/") + name if slash else path

    return disguise


def _around(before: str, after: str = "") -> Disguise:
    """Something around a whole path. With dots in it, a tool that takes it for a name would really go elsewhere."""
    return lambda _tree, path: path if ".." in path or path[:1] != "/" else f"{before}{path}{after}"


def _below_home(prefix: str) -> Disguise:
    return lambda tree, path: prefix + path[len(tree.home) :] if path.startswith(f"{tree.home}/") else path


def _through(link: str) -> Disguise:
    """The same file by way of a link to one of its directories."""

    def disguise(tree: Tree, path: str) -> str:
        for name in ("home", "work", "other"):
            if path.startswith(f"{tree.root}/{name}/"):
                return tree.root + link.format(name) + path[len(tree.root) + len(name) + 1 :]
        return path

    return disguise


SPELLINGS: dict[str, Disguise] = {
    "a dot": _at(lambda slash: f"{slash}.{slash}"),
    "slashes": _at(lambda slash: slash * 3),
    "up from what is not there": _at(lambda slash: f"{slash}nothing/..{slash}"),
    "beyond the root": lambda _tree, path: f"/../..{path}" if path[:1] == "/" else path,
    "relative": lambda tree, path: posixpath.relpath(path, tree.work) if path[:1] == "/" else path,
    "tilde": _below_home("~"),
    "variable": _below_home("$HOME"),
    "variable in braces": _below_home("${HOME}"),
    "file URL": _around("file://"),
    "composed": lambda _tree, path: unicodedata.normalize("NFC", path),
    "quotes": _around('"', '"'),
    "blanks": _around(" ", " "),
    "root of the process": _around("/proc/self/root"),
}
LINKS: dict[str, Disguise] = {
    "a link": _through("/to-{}"),
    "a link in the project": _through("/work/to-{}"),
    "a link to the root": _through("/to-root/{}"),
    "links to links": _through("/to-root/to-root/to-{}"),
    "a link and up": _through("/to-home/../{}"),
}
BASES = st.sampled_from(FILES + MISSING)
TOOLS = st.sampled_from(["read", "write", "edit"])


@settings(max_examples=400, deadline=None)
@given(BASES, TOOLS, st.lists(st.sampled_from(sorted(SPELLINGS)), max_size=3), st.sampled_from(["", *sorted(LINKS)]))
def test_two_spellings_are_judged_alike(tree: Tree, base: str, tool: str, names: list[str], link: str) -> None:
    plain = f"{tree.root}/{base}"
    text = LINKS[link](tree, plain) if link else plain
    for name in names:
        text = SPELLINGS[name](tree, text)
    assert tree.judged(tool, text, FileSystem()) == tree.judged(tool, plain, FileSystem()), text


@settings(max_examples=200, deadline=None)
@given(BASES, TOOLS, st.lists(st.sampled_from(sorted(SPELLINGS)), max_size=3))
def test_the_text_alone_is_judged_alike(tree: Tree, base: str, tool: str, names: list[str]) -> None:
    plain = text = f"{tree.root}/{base}"
    for name in names:
        text = SPELLINGS[name](tree, text)
    assert tree.judged(tool, text, Lexical()) == tree.judged(tool, plain, Lexical()), text


@settings(max_examples=200, deadline=None)
@given(BASES, TOOLS, st.data())
def test_case_is_ignored_where_the_file_system_ignores_it(
    tree: Tree, base: str, tool: str, data: st.DataObject
) -> None:
    lookup = FileSystem(ignores_case=True)
    capitals = data.draw(st.sets(st.integers(0, len(base) - 1)))
    text = "".join(c.upper() if i in capitals and c.isascii() else c for i, c in enumerate(base))
    assert tree.judged(tool, f"{tree.root}/{text}", lookup) == tree.judged(tool, f"{tree.root}/{base}", lookup)


PIECES = [
    "/", "..", ".", "~", "$HOME", "%2e", "file://", "\\", "C:", "id_rsa", ".env", "to-home", "*", "[", "{a,b}",
    "\u200b", "\uff45", "proc/self/", "fd/", "\0", "\ud800", " ", ":", "x" * 300, "%00", "~root", "@",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=10).map("".join), TOOLS)
def test_nothing_raises(tree: Tree, text: str, tool: str) -> None:
    for lookup in (Lexical(), FileSystem(), FileSystem(ignores_case=True)):
        tree.judged(tool, text, lookup)
