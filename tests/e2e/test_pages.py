"""The pages that strangers follow: every line runs as it stands, in a fresh home, from the wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.strangers import FOLLOWED, ROOT, Line, Saved, Stranger, Wheel, differs, steps
from tests.support.hosts.hooked import event_of

CHECKOUT = f"{Path(sys.executable).parent}/interpose"
PURGE = "interpose uninstall --all --purge"
INSTEAD = {
    "pip install .": "pip install interpose",  # the wheel that was built of the checkout
    "scripts/test": "",  # runs this very test
    "scripts/run": "interpose serve",  # which is what it starts when it has made .venv: see below
    ".venv/bin/interpose status": f"{CHECKOUT} status",
}
"""What is typed in the place of lines that need a checkout, which a stranger's directory is not."""
SETTINGS = '{\n  "model": "opus"\n}\n'


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return Wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def environment(wheel: Wheel, tmp_path: Path) -> Path:
    return wheel.environment(tmp_path / "env")


@pytest.fixture
def stranger(environment: Path, tmp_path: Path) -> Iterator[Stranger]:
    with Stranger(tmp_path / "home", environment) as somebody:
        yield somebody


def test_every_line_of_the_readme_runs_and_leaves_the_agent_as_it_was(stranger: Stranger) -> None:
    settings = stranger.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS, encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_hour, heading, more = readme.partition("## Beside others")
    assert heading
    installing, line, removing = first_hour.partition(f"$ {PURGE}")
    assert line
    stranger.follow(f"{installing}```\n", INSTEAD)
    stranger.follow(f"```console\n{line}{removing}", INSTEAD)
    assert settings.read_text(encoding="utf-8") == SETTINGS
    assert stranger.enter("interpose --version")[0] == 127
    assert {entry.name for entry in stranger.home.iterdir()} == {".claude", "project"}
    stranger.follow(more, INSTEAD)


@pytest.mark.parametrize("name", FOLLOWED[1:])
def test_every_line_of_a_page_runs_and_shows_what_the_page_shows(name: str, stranger: Stranger) -> None:
    assert stranger.enter("pip install --quiet interpose")[0] == 0
    page = (ROOT / name).read_text(encoding="utf-8")
    if code := "".join(re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)):
        (stranger.project / "example.py").write_text(code, encoding="utf-8")
        assert stranger.enter("python -W error example.py")[0] == 0
    stranger.follow(page, INSTEAD)


def test_an_agent_is_told_what_the_readme_says(stranger: Stranger) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said, told = (
        re.search(r"^Run this: (.+)$", readme, re.MULTILINE),
        re.search(r"^It is told `(.+?)`", readme, re.MULTILINE),
    )
    assert said is not None
    assert told is not None
    (stranger.project / "event.json").write_bytes(event_of(said[1], cwd=str(stranger.project)))
    for line in ("pip install --quiet interpose", "interpose install claude-code --yes"):
        assert stranger.enter(line)[0] == 0
    (settings,) = (stranger.home / ".claude").iterdir()
    hook = json.loads(settings.read_text(encoding="utf-8"))["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    answer = json.loads(stranger.enter(f"({hook}) < event.json")[1])["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert told[1] in answer["permissionDecisionReason"]


def test_the_first_script_starts_what_the_pages_say() -> None:
    assert (ROOT / "scripts/run").read_text(encoding="utf-8").endswith('\nexec .venv/bin/interpose serve "$@"\n')


def test_the_picture_is_what_is_printed(tmp_path: Path) -> None:
    script, picture = ROOT / "docs/images/refusal.py", ROOT / "docs/images/refusal.svg"
    subprocess.run([sys.executable, script, tmp_path / "now.svg"], check=True)
    drawn = picture.read_text(encoding="utf-8")
    assert (tmp_path / "now.svg").read_text(encoding="utf-8") == drawn, "run docs/images/refusal.py"
    asked, _, told = re.search(r"<title>\$ (.*?)(\n)(.*?)</title>", drawn, re.DOTALL).groups()  # type: ignore[union-attr]  # there is one
    command = re.search("'(.*)'", asked)
    assert command is not None
    done = subprocess.run(
        [sys.executable, "-m", "interpose", "check", command[1]], cwd=tmp_path, env={"HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == told


PAGE = """
Save this as `a.yaml`:

```yaml
version: 1
```

```yaml
not: saved
```

```console
$ one    # a word
said
$ two '{
  "a": 1}' \\
  three
```
"""


def test_a_page_is_read_as_its_reader_would() -> None:
    assert list(steps(PAGE)) == [
        Saved("a.yaml", "version: 1\n"),
        Line("one    # a word", "said"),
        Line("two '{\n  \"a\": 1}' \\\n  three", ""),
    ]


@pytest.mark.parametrize(
    ("note", "shown", "came", "same"),
    [
        ("the same", "a\nb", "a\nb\n", True),
        ("another word", "a\nb", "a\nc\n", False),
        ("a line more", "a", "a\nb\n", False),
        ("a line less", "a\nb", "a\n", False),
        ("dots for lines", "a\n...\nd", "a\nb\nc\nd\n", True),
        ("dots for no line", "a\n...", "a\n", True),
        ("dots in a line", "took ... ms", "took 12 ms\n", True),
        ("dots stay in their line", "took ... ms", "took\n ms\n", False),
        ("letters of patterns", "a.c [y]", "abc y\n", False),
    ],
)
def test_what_is_shown_is_compared(note: str, shown: str, came: str, same: bool) -> None:
    assert (differs(shown, came) == "") is same, note
