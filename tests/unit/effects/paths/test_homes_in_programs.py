"""A program that reads a whole home is known, however long it is and however many homes it names first."""

from __future__ import annotations

import pytest

from interpose.effects.paths import reads_whole_home


@pytest.mark.parametrize(
    ("note", "text", "want"),
    [
        ("walked and read", "for d, _, fs in os.walk(Path.home()):\n    open(f'{d}/x')", True),
        ("a directory above ours", "fs.readdirSync(process.env.HOME + '/.config').map(read)", True),
        ("from the home itself", "[p.read_text() for p in Path.home().rglob('*')]", True),
        ("counted", "sum(1 for _ in Path.home().rglob('*'))", False),
        ("a project below it", "os.walk(os.path.expanduser('~/code')); open('x')", False),
        ("one file of it", "open(os.path.expanduser('~/notes.txt'))", False),
        ("many homes before it", "Path.home(), " * 2000 + "os.walk(Path.home()); open('x')", True),
    ],
)
def test_reading_a_whole_home(note: str, text: str, want: bool) -> None:
    assert reads_whole_home(text) is want, note
