"""Places that guard an agent, as one question: settings of agents, what is ours, terminals of people, what holds them.

`tamper_of` speaks about files that are changed. Here a place counts as it is named, by a command of which nobody can
say what it does there: so the directories that hold settings count, and those above them.
"""

from __future__ import annotations

from interpose.effects.agents.known_agents import IN_HOME
from interpose.effects.late_patterns import late
from interpose.effects.paths.agent_directories import agent_directory_of
from interpose.effects.paths.catalogue import Mark, could_match, is_wild
from interpose.effects.paths.ours import is_runtime_directory
from interpose.effects.paths.resolve import is_home
from interpose.effects.paths.tamper import SETTINGS_FILES, WITHOUT_DOT, tamper_of

_ABOVE = Mark("is above the settings of agents, with the hooks that watch over them")
_SOCKETS = Mark("holds the sockets of the guard itself and of other programs of this user")
_TERMINAL = late(
    r"/dev/(?:pts/.+|tty[0-9]+|vcs[a-z]*[0-9]*|console|input/.+|uinput|hidraw[0-9]+)"
    r"|(?:/tmp|/var/tmp|/run/user/[^/]+)/(?:tmux-|kitty|mykitty|nvim|kakoune|zellij|wezterm|\.?ydotool)[^\n]*"
    r"|/run/screens?(?:/.*)?|(?:/home/[^/]+|/root)/\.screen(?:/.*)?"
)
"""Terminals of people, keyboards, and the sockets through which both are used. `/dev/ttyUSB0` is on a cable."""
TELLING_NAMES = WITHOUT_DOT | {"interpose"}
"""One of these, or a part that begins with a dot, is in the name of every protected place but terminals and homes."""
_BETWEEN = frozenset(
    place[:at] for place in IN_HOME for at in range(1, len(place)) if place[at] == "/"
) - frozenset(IN_HOME)  # fmt: skip
"""Directories of a home in which those of agents lie, among others: `.config`."""


def is_terminal(path: str) -> bool:
    """Whether a resolved path is a terminal of a person, a keyboard, or a way to one."""
    return _TERMINAL.fullmatch(path) is not None


def protected_place_of(path: str, home: str, *, above: bool = True) -> Mark | None:
    """Why a place must not be given to a command that may change it, or None."""
    mark = tamper_of(path, home) or agent_directory_of(path, home, gone=True)
    if mark is not None and mark.strength == "faint":
        return None  # honest work names it all day: only who is known to change it is asked
    return mark if mark is not None or not above else _above(path.rstrip("/"), home)


def could_find_settings(path: str, home: str) -> bool:
    """Whether a search below a directory, for what fits the last part, could find settings of agents."""
    base, _, name = path.rstrip("/").rpartition("/")
    while base and is_wild(base.rpartition("/")[2]):
        base = base.rpartition("/")[0]
    if _above(base, home) is None and agent_directory_of(base, home, gone=True) is None:
        return False
    name = name.lower()
    return name in SETTINGS_FILES or (is_wild(name) and any(could_match(name, each) for each in SETTINGS_FILES))


def lists_settings(path: str, home: str, *, below: bool) -> bool:
    """Whether the names that are listed in a directory (`below`: in all below it) could be those of settings."""
    if tamper_of(path, home) is not None or agent_directory_of(path, home, gone=True) is not None:
        return True
    return below and _above(path.rstrip("/"), home) is not None


def _above(path: str, home: str) -> Mark | None:
    if path[:1] != "/":
        return None  # the root itself is above everything: rules about whole trees speak about it
    if is_runtime_directory(path):
        return _SOCKETS
    if is_home(path, home) or f"{home.rstrip('/')}/".startswith(f"{path}/"):
        return _ABOVE
    for between in _BETWEEN:
        if path.lower().endswith(f"/{between}") and is_home(path[: -len(between) - 1], home):
            return _ABOVE
    return None
