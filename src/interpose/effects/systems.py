"""What differs between operating systems where paths and programs are judged. What asks a kernel is in `platforms`."""

from __future__ import annotations

import sys

from msgspec import Struct


class System(Struct, frozen=True, kw_only=True):
    """One operating system. `config` and `state` are below a home."""

    title: str
    config: str
    state: str
    runtime: str
    home_of_root: str
    terminals_prove: bool
    """Whether a terminal of one's own proves a person: no other program of the same user can type into it, and the
    kernel tells what opened it."""
    longest_socket: int
    """How many bytes the path of a Unix socket may have."""
    ignores_case: bool
    has_screen: bool
    """Whether a person's desktop is there without a variable that says so."""
    managed_settings: bool
    """Whether it is known where agents read an administrator's settings."""


LINUX = System(
    title="Linux", config=".config", state=".local/state", runtime="/run/user/{user}", home_of_root="/root",
    terminals_prove=True, longest_socket=107, ignores_case=False, has_screen=False,
    managed_settings=True,
)  # fmt: skip
MACOS = System(
    title="macOS", config="Library/Preferences", state="Library/Application Support", runtime="",
    home_of_root="/var/root",
    # Every program can type into Terminal by an Apple event, and start others through launchd, which tells nothing.
    terminals_prove=False, longest_socket=103, ignores_case=True, has_screen=True, managed_settings=False,
)  # fmt: skip
OTHER = System(
    title="this system", config=".config", state=".local/state", runtime="", home_of_root="/root",
    terminals_prove=False, longest_socket=103, ignores_case=False, has_screen=False,
    managed_settings=False,
)  # fmt: skip


def system_named(platform: str) -> System:
    """The system with Python's name for it."""
    match platform:
        case "linux":
            return LINUX
        case "darwin":
            return MACOS
        case _:
            return OTHER


def this_system() -> System:
    """The one that this process runs on."""
    return system_named(sys.platform)
