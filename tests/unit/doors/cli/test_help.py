"""`interpose help`: the list of topics, a page as it is and as it is laid out, and words that are no topic."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.cli.explaining.verdict_text import columns
from interpose.doors.cli.helping.help_text import readable
from interpose.doors.cli.helping.help_topics import pages_directory, topics
from interpose.doors.cli.shared.terminal import NARROWEST
from tests.support.timing.patience import PATIENCE

PAGES = sorted(topics().items())


def test_topics_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    assert [topic for topic in topics() if not re.search(rf"^  {topic} +\S", shown, re.MULTILINE)] == []
    assert main(["help", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["topics"]
    assert [each["topic"] for each in told] == list(topics())


@pytest.mark.parametrize("word", ["approvals", "docs/approvals.md"])
def test_a_page_is_its_markdown_in_a_pipe(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (pages_directory() / "approvals.md").read_text(encoding="utf-8")
    assert main(["help", word]) == 0
    assert capsys.readouterr().out == page
    assert main(["help", word, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"topic": "approvals", "title": "Approvals", "markdown": page}


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["aprovals"], "Did you mean approvals?"), (["claude-cod"], "Did you mean claude-code?"), (["xyzzy"], "'xyzzy'.")],
)
def test_no_topic(words: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *words]) == 64
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "there is no topic" in shown.err
    assert meant in shown.err


def test_a_verb_of_a_verb_has_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help", "approvals", "watch"])
    assert ended.value.code == 0
    assert "usage: interpose approvals watch" in capsys.readouterr().out


PAGE = """# A *title* of `interpose`

A paragraph whose
lines are joined, with `a command of some words`, **something
bold** and [answers](answers.md), [answers](answers.md#x), [elsewhere](https://example.com/x) and [here](#a).

```console
$ a line that is not wrapped however long it may be, because people copy it from here
```

- one item of a list
  that goes on
2. another

| name | what it is |
|---|---|
| `x` | a cell whose text is long enough to go on below itself, in its own column |
"""


def test_how_a_page_is_laid_out() -> None:
    page = pages_directory() / "approvals.md"
    assert readable(PAGE, page, 48, coloured=False).splitlines() == [
        "A *title* of interpose", "",
        "A paragraph whose lines are joined, with",
        "`a command of some words`, something bold and",
        "answers (`interpose help answers`), answers,",
        "elsewhere (https://example.com/x) and here.", "",
        "    $ a line that is not wrapped however long it may be, because people copy it from here", "",
        "  - one item of a list that goes on",
        "  2. another", "",
        "name  what it is",
        "`x`   a cell whose text is long enough to go on",
        "      below itself, in its own column",
    ]  # fmt: skip


@pytest.mark.parametrize(("topic", "path"), PAGES, ids=[topic for topic, _ in PAGES])
@pytest.mark.parametrize("across", [NARROWEST, 100])
def test_every_page_fits(topic: str, path: Path, across: int) -> None:
    text = path.read_text(encoding="utf-8")
    plain, coloured = (readable(text, path, across, coloured=each) for each in (False, True))
    too_wide = [line for line in plain.splitlines() if columns(line) > across and not line.startswith("    ")]
    assert [line for line in too_wide if len(line.split()) > 1 and max(map(columns, line.split())) < across // 2] == []
    assert not re.search(r"[\ue000-\uf8ff]", plain + coloured), "no mark is left over"
    assert "\x1b" not in plain
    for line in coloured.splitlines():
        assert not line.count("\x1b[") or line.rindex("\x1b[0m") > max(line.rfind("\x1b[1m"), line.rfind("\x1b[36m"))


@pytest.mark.parametrize(
    ("pager", "want"), [("cat", "Approvals\r\n"), ("tr a-z A-Z", "APPROVALS\r\n"), ("", "Approvals\r\n")]
)
def test_a_terminal_gets_a_readable_page_by_its_pager(pager: str, want: str, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", "NO_COLOR": "1", "PAGER": pager}
    child = subprocess.Popen(
        [sys.executable, "-m", "interpose", "help", "approvals"], stdin=slave, stdout=slave, stderr=slave,
        env=environment,
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 30)[0]:
        try:
            shown += os.read(master, 65536)
        except OSError:
            break  # all of it was read
    assert child.wait(PATIENCE) == 0
    os.close(master)
    text = shown.decode()
    assert text.startswith(want)
    assert "# Approvals" not in text
    assert "--help" in text.lower(), "a page about a verb says where its options are"
