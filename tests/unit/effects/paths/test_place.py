"""Where paths lie."""

from __future__ import annotations

import pytest

from interpose.effects.paths import UNKNOWN, Place, could_be, device_of, place_of, resolve

CWD, HOME = "/workspace/project", "/home/dev"

CASES = [
    ("/", Place.ROOT),
    ("/*", Place.ROOT),
    ("/etc/..", Place.ROOT),
    ("C:\\", Place.ROOT),
    ("/etc", Place.SYSTEM_TOP),
    ("/usr/*", Place.SYSTEM_TOP),
    ("/usr/lib", Place.SYSTEM_TOP),
    ("/home", Place.SYSTEM_TOP),
    ("/System", Place.SYSTEM_TOP),
    ("C:\\Windows", Place.SYSTEM_TOP),
    ("/etc/hosts", Place.SYSTEM),
    ("/usr/local/bin/x", Place.SYSTEM),
    ("C:\\Windows\\notepad.exe", Place.SYSTEM),
    ("~", Place.HOME),
    ("~/", Place.HOME),
    ("~/*", Place.HOME),
    ("~/.*", Place.HOME),
    ("/home/alice", Place.HOME),
    ("C:\\Users\\me", Place.HOME),
    ("~/.ssh", Place.HOME_TOP),
    ("~/Documents", Place.HOME_TOP),
    ("/home/alice/.config", Place.HOME_TOP),
    ("~/notes.txt", Place.IN_HOME),
    ("/root/x", Place.IN_HOME),
    (".", Place.WORKSPACE),
    ("./*", Place.WORKSPACE),
    ("*", Place.WORKSPACE),
    (".*", Place.WORKSPACE),
    ("..", Place.WORKSPACE),
    (".git", Place.REPOSITORY),
    (".git/objects", Place.REPOSITORY),
    ("sub/.git", Place.REPOSITORY),
    (".git/index.lock", Place.IN_WORKSPACE),
    (".github", Place.IN_WORKSPACE),
    ("src/main.py", Place.IN_WORKSPACE),
    ("../project/src", Place.IN_WORKSPACE),
    ("/workspace/project-two/src", Place.ELSEWHERE),
    ("/tmp", Place.TEMP),
    ("/tmp/x", Place.IN_TEMP),
    ("/var/tmp/x", Place.IN_TEMP),
    ("/dev/null", Place.DEVICE_SAFE),
    ("/dev/fd/3", Place.DEVICE_SAFE),
    ("/dev/sda", Place.DEVICE),
    ("/dev/nvme0n1p2", Place.DEVICE),
    ("/dev/mapper/root", Place.DEVICE),
    ("/srv/data", Place.ELSEWHERE),
    (UNKNOWN, Place.UNKNOWN),
    (f"{UNKNOWN}/x", Place.UNKNOWN),
    (f"/{UNKNOWN}", Place.UNKNOWN),
]

WORST = [
    (f"{UNKNOWN}/", Place.ROOT),
    (f"{UNKNOWN}/*", Place.ROOT),
    (f"/{UNKNOWN}", Place.ROOT),
    (f"/home/{UNKNOWN}", Place.SYSTEM_TOP),
    (f"~/{UNKNOWN}", Place.HOME),
    (f"./{UNKNOWN}", Place.WORKSPACE),
    (f"build/{UNKNOWN}", Place.IN_WORKSPACE),
    (UNKNOWN, Place.UNKNOWN),
    ("/etc", Place.SYSTEM_TOP),
]


@pytest.mark.parametrize(("text", "want"), CASES)
def test_place(text: str, want: Place) -> None:
    assert place_of(resolve(text, CWD, HOME), cwd=CWD, home=HOME, workspace=CWD) is want


@pytest.mark.parametrize(("text", "want"), WORST)
def test_the_worst_place_that_it_could_be(text: str, want: Place) -> None:
    assert could_be(resolve(text, CWD, HOME), cwd=CWD, home=HOME, workspace=CWD) is want


@pytest.mark.parametrize(
    "path",
    """
    /dev/sda /dev/sda1 /dev/sd* /dev/vda /dev/xvda /dev/nvme0n1 /dev/mmcblk0 /dev/dm-0 /dev/md0 /dev/disk2 /dev/rdisk2
    /dev/loop0 /dev/disk/by-id/x /dev/mem /proc/kcore //./PhysicalDrive0
    """.split(),  # noqa: SIM905 - a table reads better
)
def test_raw_devices(path: str) -> None:
    assert device_of(path)


@pytest.mark.parametrize(
    "path", ["/dev/null", "/dev/tty", "/dev/stdin", "/dev/shm/x", "/dev/random", "/tmp/sda", "dev/sda"]
)
def test_no_raw_devices(path: str) -> None:
    assert not device_of(path)


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/tmp/home", Place.HOME),
        ("/tmp/home/*", Place.HOME),
        ("/tmp/home/.ssh", Place.HOME_TOP),
        ("/tmp/homer", Place.IN_TEMP),
        ("/tmp", Place.TEMP),
        ("/tmp/home/project/x", Place.IN_WORKSPACE),
    ],
)
def test_a_home_among_temporary_files_is_a_home(path: str, want: Place) -> None:
    assert place_of(path, cwd="/", home="/tmp/home", workspace="/tmp/home/project") is want
