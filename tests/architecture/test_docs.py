"""The docs are true: commands exist, Python examples run, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.strangers import FOLLOWED
from tests.frameworks.known import KNOWN
from tests.support.timing.patience import PATIENCE

ROOT = Path(__file__).parents[2]
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)( [^\n]*)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return [code for lang, _, code in FENCE.findall(path.read_text(encoding="utf-8")) if lang == language]


OF_FRAMEWORKS = {one.page for one in KNOWN}
"""Their examples need the framework: tests/frameworks/test_pages.py runs them, in its environment."""


@pytest.mark.parametrize("path", [path for path in DOCS if path not in OF_FRAMEWORKS], ids=name_of)
def test_python_examples_run(path: Path, tmp_path: Path) -> None:
    """The Python blocks of a page run one after another, as a reader would type them."""
    code = "\n".join(blocks(path, "python"))
    if not code:
        return
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_rule_files_load(path: Path) -> None:
    """Every whole rule file in the docs loads, its own examples included."""
    from interpose.rules.policy.load import load_text

    for text in blocks(path, "yaml"):
        if text.startswith("version: 1\nrules:"):
            assert load_text(text, file=path.name).rules


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_commands_exist(path: Path) -> None:
    from interpose.effects.ourselves.command_line import OLD, verb_of

    for block in blocks(path, "console") + blocks(path, "bash"):
        for line in block.splitlines():
            words = line.removeprefix("$ ").split()
            if words and words[0].startswith(("scripts/", ".ci/", "bench/")):
                assert (ROOT / words[0]).is_file(), f"{path.name}: {words[0]} does not exist"
            if len(words) > 1 and words[0] == "interpose" and not words[1].startswith("-"):
                assert verb_of(words[1:]) is not None, f"{path.name}: there is no verb {words[1]!r}"
                assert words[1] not in OLD, f"{path.name}: {words[1]!r} is an old spelling"


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name}: {target} does not exist"


CHECKING = [path for path in DOCS if "$ interpose check" in path.read_text() and name_of(path) not in FOLLOWED]


@pytest.mark.parametrize("path", CHECKING, ids=name_of)
def test_answers_of_check_are_real(path: Path, tmp_path: Path) -> None:
    """Where a page shows what `interpose check` prints, it prints that. Some pages are typed line by line elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "INTERPOSE_"))}
    for block in blocks(path, "console"):
        for command, shown in re.findall(r"^\$ interpose check ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block, re.MULTILINE):
            if not shown.strip():
                continue
            done = subprocess.run(
                [sys.executable, "-m", "interpose", "check", *shlex.split(command)],
                capture_output=True, text=True, cwd=tmp_path, check=False, timeout=PATIENCE,
                env=kept | {"HOME": str(tmp_path)},
            )  # fmt: skip
            what = f"{name_of(path)}: interpose check {command}"
            if command.startswith("--explain "):  # which is long: a page shows parts of it, and dots for the others
                pattern = re.escape(shown.strip()).replace(r"\.\.\.", ".*")
                assert re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), what
            else:
                assert done.stdout.strip() == shown.strip(), what


def test_links_within_a_page_lead_to_a_heading() -> None:
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
            there = (path.parent / target).read_text(encoding="utf-8") if target else text
            headings = [_anchor(line) for line in re.findall(r"^#+ (.+)$", there, re.MULTILINE)]
            assert anchor in headings, f"{name_of(path)}: there is no heading for {target}#{anchor}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


PAGES_OF_A_NEWCOMER = (
    "README.md",
    "docs/python.md",
    "docs/concepts.md",
    "docs/getting-started.md",
    "docs/authoring.md",
)
PUBLIC_MODULES = ("interpose", "interpose.testing")


@pytest.mark.parametrize("name", PAGES_OF_A_NEWCOMER)
def test_examples_for_newcomers_import_what_is_public(name: str) -> None:
    for code in blocks(ROOT / name, "python"):
        for module in re.findall(r"^\s*(?:from|import) (interpose[\w.]*)", code, re.MULTILINE):
            assert module in PUBLIC_MODULES, f"{name}: {module}"


def test_the_page_about_python_has_examples() -> None:
    assert len(blocks(ROOT / "docs" / "python.md", "python")) > 10


def test_the_readme_leads_a_stranger_in_order() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$|^!\[.*\]\((.+)\)$", readme, re.MULTILINE)[:7] == [
        ("", "docs/images/refusal.svg"), ("Install", ""), ("Guard your agent", ""), ("See it refuse", ""),
        ("Answer a question", ""), ("Write a rule", ""), ("Remove it", ""),
    ]  # fmt: skip


def test_the_readme_has_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "scripts/run" in readme
    assert "scripts/test" in readme
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").count("scripts/test") >= 1
