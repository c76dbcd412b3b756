"""Processes that keep pins are killed, run at once, and find no room: what is trusted stays exactly that."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from interpose.core.errors import PinError
from tests.support.timing.patience import PATIENCE
from tests.unit.record.pins.servers import Toy, tool

ROOT = Path(__file__).parents[2]

START = """
import os, resource, signal, sys
from pathlib import Path
from interpose.record.pins import pin_files
from interpose.record.pins.pin_desk import choices_of
from tests.unit.record.pins.servers import Toy, tool

def die(*_given, **_named):
    os.kill(os.getpid(), signal.SIGKILL)

toy = Toy(Path({directory!r}))
"""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Toy]:
    with closing(Toy(tmp_path)) as toy:
        yield toy


def child(directory: Path, code: str) -> subprocess.Popen[str]:
    """Another process over the same pins."""
    return subprocess.Popen(
        [sys.executable, "-c", START.format(directory=str(directory)) + code],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err, err
    return process.returncode, out


KILLS = {
    "before anything is written": "pin_files.secrets.token_hex = die",
    "when the new file is half there": "pin_files.os.fsync = die",
    "between the new file and its place": "Path.replace = die",
    "when the file is there and the store did not count it": "toy.store.spend = die",
}


@pytest.mark.parametrize("moment", KILLS)
@pytest.mark.parametrize("first", [True, False], ids=["first listing", "approval"])
def test_killed_while_pins_are_kept(tmp_path: Path, toy: Toy, moment: str, first: bool) -> None:
    if not first:
        toy.shows(tool("read"))
        toy.shows(tool("read", "Second."))
    act = 'toy.shows(tool("read"))' if first else 'toy.approve("read")'
    code, _ = ended(child(tmp_path, f"{KILLS[moment]}\n{act}\nprint('survived')"))
    assert code == -signal.SIGKILL
    done = "did not count" in moment
    if first and not done:
        toy.shows(tool("read"), desk=toy.again())
    known = toy.again().known("fs")  # no alarm: a crash is no attack
    assert [event.what for event in toy.events] in ([], ["held"])
    if not first:
        pin = known.get("tools", "read")
        assert pin is not None
        assert pin.state == ("pinned" if done else "changed")
        assert json.loads(pin.trusted)["description"] == ("Second." if done else "Does something.")
    toy.shows(tool("read", "Third."), desk=toy.again())
    assert toy.states() == {"read": "changed"}


TURNS = """
for turn in range(20):
    toy.shows(tool("read", f"By {number} in turn {{turn}}."), tool("write"))
    toy.shows(tool("mine"), server="server-{number}", servers=("fs", "server-{number}"))
print("done")
"""


def test_many_processes_at_once(tmp_path: Path, toy: Toy) -> None:
    toy.shows(tool("read"), tool("write"))
    for process in [child(tmp_path, TURNS.format(number=number)) for number in range(4)]:
        assert ended(process) == (0, "done\n")
    known = toy.again().known("fs")
    assert known.generation == 81
    assert toy.states() == {"read": "changed", "write": "pinned"}
    assert json.loads(toy.pin("read").trusted)["description"] == "Does something."
    assert all(toy.states(f"server-{number}") == {"mine": "pinned"} for number in range(4))


def test_of_many_that_see_a_server_first_one_is_the_first(tmp_path: Path) -> None:
    """Each sees another face of it: one of them counts, and the others wait."""
    one = "print(toy.shows(tool('read', 'Face {number}.')).get('tools', 'read').state)"
    processes = [child(tmp_path, one.format(number=number)) for number in range(4)]
    states = sorted(out.strip() for code, out in map(ended, processes) if code == 0)
    assert states == ["changed", "changed", "changed", "pinned"]


def test_no_room_for_the_first_listing_trusts_nothing(tmp_path: Path) -> None:
    """A limit of the system on the size of files stands for a full disk."""
    Toy(tmp_path).close()
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(*[pin.state for pin in toy.shows(tool("read")).pins])
"""
    assert ended(child(tmp_path, code)) == (0, "new new\n")
    assert list((tmp_path / "pins").glob("*.json")) == []
    with closing(Toy(tmp_path)) as toy:
        toy.shows(tool("read"))
        assert toy.states() == {"read": "pinned"}


def test_no_room_for_a_yes_is_no_yes(tmp_path: Path, toy: Toy) -> None:
    toy.shows(tool("read"))
    toy.shows(tool("read", "Second."))
    code = """
from interpose.core.errors import PinError
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    toy.approve("read")
except PinError as error:
    print("File too large" in str(error))
"""
    assert ended(child(tmp_path, code)) == (0, "True\n")
    assert toy.states() == {"read": "changed"}
    assert [file.name for file in (tmp_path / "pins").iterdir() if file.name.startswith(".")] == []


def test_a_directory_that_can_not_be_used_holds_everything(tmp_path: Path) -> None:
    (tmp_path / "pins").write_text("no directory")
    with closing(Toy(tmp_path)) as toy, pytest.raises(PinError, match="can't be used"):
        toy.shows(tool("read"))
