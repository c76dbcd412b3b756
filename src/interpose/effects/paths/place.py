"""Where a path lies, in the few words that matter for harm."""

from __future__ import annotations

from enum import StrEnum

from interpose.effects.late_patterns import late
from interpose.effects.paths.resolve import UNKNOWN, is_home, resolve


class Place(StrEnum):
    """A closed set of places, from the whole machine to nothing of note."""

    ROOT = "root"
    SYSTEM_TOP = "system-top"
    """A whole tree of the system: /etc, /usr, /home, C:/Windows."""
    SYSTEM = "system"
    """Inside such a tree."""
    HOME = "home"
    """A home directory itself, the user's or another's."""
    HOME_TOP = "home-top"
    """A directory of the home that holds much: ~/Documents, ~/.config, ~/.ssh."""
    IN_HOME = "in-home"
    WORKSPACE = "workspace"
    """The workspace itself, or one of its parents."""
    REPOSITORY = "repository"
    """A `.git` directory, or what a repository cannot live without."""
    IN_WORKSPACE = "in-workspace"
    TEMP = "temp"
    IN_TEMP = "in-temp"
    DEVICE_SAFE = "device-safe"
    """/dev/null and its kind."""
    DEVICE = "device"
    ELSEWHERE = "elsewhere"
    UNKNOWN = "unknown"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SYSTEM_TREES = _words("""
    /bin /boot /dev /efi /etc /home /lib /lib32 /lib64 /media /mnt /nix /opt /proc /root /run /sbin /snap /srv
    /sys /usr /var /Applications /Library /Network /System /Users /Volumes /cores /private /lost+found /data
    /system
""")
_SYSTEM_SUBTREES = _words("""
    /etc/ssl /etc/systemd /nix/store /usr/bin /usr/include /usr/lib /usr/lib64 /usr/libexec /usr/local
    /usr/local/bin /usr/local/lib /usr/sbin /usr/share /usr/src /var/backups /var/cache /var/db /var/lib /var/log
    /var/mail /var/run /var/spool /var/www /run/systemd /boot/efi /boot/grub /opt/homebrew /usr/local/share
    /usr/local/etc
""")
_MIXED_TREES = frozenset({"/media", "/mnt", "/srv", "/Volumes", "/data", "/home", "/Users"})
"""Whole trees whose content is somebody's data, not the system's."""
_WINDOWS_TREES = frozenset(
    {"", "windows", "windows/system32", "users", "program files", "program files (x86)", "programdata"}
)
_TEMPS = _words("/run/shm /dev/shm /tmp /var/tmp /usr/tmp")
_TEMP_PREFIXES = (*(f"{place}/" for place in _TEMPS), "/var/folders/", "/run/user/")
_SAFE_DEVICES = _words("""
    /dev/null /dev/zero /dev/full /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/random /dev/urandom /dev/fd /dev/ptmx
    /dev/console /dev/fuse /dev/tcp /dev/udp
""")
_SAFE_DEVICE_PREFIXES = ("/dev/fd/", "/dev/pts/", "/dev/tty", "/dev/tcp/", "/dev/udp/", "/proc/self/fd/", "/dev/ttys")
_HOME_TOPS = _words("""
    .aws .azure .cache .cargo .claude .codex .config .docker .emacs.d .gnupg .kube .local .local/share .local/bin
    .local/state .mozilla .npm .nvm .oh-my-zsh .password-store .pyenv .rustup .ssh .thunderbird .vim .vscode
    .gemini .cursor .git Applications Desktop Documents Downloads Dropbox Library Movies Music OneDrive Pictures
    Projects Public Sites Templates Videos backup backups code dev git go mail projects repos src work workspace
""")
_REPOSITORY_VITALS = frozenset({"objects", "refs", "HEAD", "packed-refs", "logs", "config", "worktrees", "modules"})
_EVERYTHING = frozenset(
    {"*", "**", ".*", "?*", "*.*", ".[!.]*", ".[^.]*", ".??*", "{*,.*}", "{.*,*}", "*/", ".[a-zA-Z]*"}
)


def place_of(path: str, *, cwd: str, home: str, workspace: str) -> Place:
    """Where `path` lies. `dir/*` and the like count as the directory itself."""
    if path[:1] != "/":
        path = resolve(path, cwd, home)
        if path[:1] == UNKNOWN or not path:
            return Place.UNKNOWN
        if path[:1] != "/":
            return _windows_place(path, home, workspace)
    path = without_everything(path)
    if path == "/":
        return Place.ROOT
    if path[1] == UNKNOWN:
        return Place.UNKNOWN
    # A home may lie below the directory that somebody works in: it is a home all the same.
    if path == home or (path != workspace and is_home(path, home)):
        return Place.HOME
    if workspace and path.startswith(workspace) and path[len(workspace) : len(workspace) + 1] in ("", "/"):
        if home.startswith(f"{workspace}/") and path.startswith(f"{home}/") and path[len(home) + 1 :] in _HOME_TOPS:
            return Place.HOME_TOP
        return _inside_workspace(path, workspace)
    if path in _TEMPS:
        return Place.TEMP
    # A home may lie among temporary files, in a container: it is a home all the same.
    if path.startswith(_TEMP_PREFIXES) and not (home and path.startswith(f"{home}/")):
        return Place.IN_TEMP
    if path in _SYSTEM_TREES or path in _SYSTEM_SUBTREES:
        return Place.SYSTEM_TOP
    if workspace.startswith(f"{path}/"):
        return Place.WORKSPACE if not is_home(path, home) else Place.HOME
    if path.startswith("/dev/"):
        return _device_place(path)
    if home and path.startswith(f"{home}/"):
        return _inside_home(path[len(home) + 1 :])
    return _outside(path, home)


def could_be(path: str, *, cwd: str, home: str, workspace: str) -> Place:
    """The worst place that a path with unknown parts could be: each unknown part may be empty."""
    if UNKNOWN not in path:
        return place_of(path, cwd=cwd, home=home, workspace=workspace)
    bare = path.replace(UNKNOWN, "")
    if not bare:
        return Place.UNKNOWN
    return place_of(resolve(bare, cwd, home), cwd=cwd, home=home, workspace=workspace)


def without_everything(path: str) -> str:
    """The directory whose whole content a trailing `/*` means; other paths as they are."""
    while True:
        parent, _, name = path.rpartition("/")
        if not name or (name not in _EVERYTHING and not name.startswith("!(") and name.strip("*")):
            return path
        path = parent or "/"


_SHARED_DIRECTORIES = frozenset({*_TEMPS, "/", ""})
_OWN_CASE = {tree.lower(): tree for tree in _SYSTEM_TREES}


def project_of(workspace: str, home: str) -> str:
    """The workspace, or nothing if it is a directory that belongs to everybody or to no project in particular."""
    return "" if workspace in _SHARED_DIRECTORIES or workspace == home else workspace


def own_case(path: str, *known: str) -> str:
    """`path` as a file system that ignores case would find it, where the case of the places in it is known."""
    folded = path.casefold()
    for place in known:
        if place and folded.startswith(f"{place.casefold()}/"):
            return place + folded[len(place.casefold()) :]
    top, slash, rest = folded[1:].partition("/")
    return f"{_OWN_CASE.get(f'/{top}', f'/{top}')}{slash}{rest}" if folded[:1] == "/" else folded


def _inside_workspace(path: str, workspace: str) -> Place:
    if len(path) == len(workspace):
        return Place.WORKSPACE
    return Place.REPOSITORY if _is_repository(path) else Place.IN_WORKSPACE


def _is_repository(path: str) -> bool:
    if "/.git" not in path:
        return False
    if path.endswith("/.git"):
        return True
    inside = path.rpartition("/.git/")[2]
    return inside.partition("/")[0] in _REPOSITORY_VITALS


def _device_place(path: str) -> Place:
    if path in _SAFE_DEVICES or path.startswith(_SAFE_DEVICE_PREFIXES):
        return Place.DEVICE_SAFE
    return Place.DEVICE if device_of(path) else Place.SYSTEM


def _inside_home(inside: str) -> Place:
    if inside in _HOME_TOPS:
        return Place.HOME_TOP
    return Place.REPOSITORY if _is_repository(f"/{inside}") else Place.IN_HOME


def _outside(path: str, home: str) -> Place:
    if is_home(path, home):
        return Place.HOME
    top = path[: path.find("/", 1)] if "/" in path[1:] else path
    if top in ("/home", "/Users"):
        inside = path[len(top) + 1 :].partition("/")[2]
        return _inside_home(inside)
    if top == "/root":
        return _inside_home(path[6:])
    if path.startswith("/proc/self/fd/"):
        return Place.DEVICE_SAFE
    if top in _MIXED_TREES:
        return Place.REPOSITORY if _is_repository(path) else Place.ELSEWHERE
    if top in _SYSTEM_TREES:
        return Place.SYSTEM
    return Place.REPOSITORY if _is_repository(path) else Place.ELSEWHERE


def _windows_place(path: str, home: str, workspace: str) -> Place:
    if "://" in path:
        return Place.ELSEWHERE
    path = without_everything(path)
    if path == home:
        return Place.HOME
    if workspace and path.startswith(workspace) and path[len(workspace) : len(workspace) + 1] in ("", "/"):
        return _inside_workspace(path, workspace)
    inside = path[3:].lower().rstrip("/")
    if not inside:
        return Place.ROOT
    if inside in _WINDOWS_TREES:
        return Place.SYSTEM_TOP
    top, _, rest = inside.partition("/")
    if top == "users":
        return _inside_home(path[3:].rstrip("/").partition("/")[2].partition("/")[2]) if "/" in rest else Place.HOME
    if top in ("temp", "tmp") or "/appdata/local/temp/" in f"/{inside}/":
        return Place.IN_TEMP if rest else Place.TEMP
    return Place.SYSTEM if top in _WINDOWS_TREES else Place.ELSEWHERE


# --- raw devices: writing to them destroys what lies on them, reading them gives away everything ----------------------

_MEMORY = frozenset({"mem", "kmem", "port", "kcore"})
_BLOCK = late(
    r"(?:r?disk\d|[shv]d[a-z*?\[\ufffc]|xvd[a-z*?\[\ufffc]|nvme|mmcblk|mapper/.|disk/by-|dm-|md\d|loop\d|sr\d|zd\d|"
    r"nbd\d|bcache\d|ram\d|vg|ubi|mtd|fd\d|pmem|block/)"
)
_WINDOWS = late(r"(?i)(?://|/|\\\\)[.?][/\\](?:physicaldrive|harddisk|[a-z]:$)")


def device_of(path: str) -> str:
    """What raw device a resolved path is, in plain words, or an empty text."""
    if path.startswith("/dev/"):
        name = path[5:]
        if name in _MEMORY:
            return "the machine's memory"
        return "a raw disk device" if _BLOCK.match(name) else ""
    if path == "/proc/kcore":
        return "the machine's memory"
    if "physicaldrive" in path.lower() or path[:4] in ("\\\\.\\", "//./"):
        return "a raw disk device" if _WINDOWS.search(path) or "physicaldrive" in path.lower() else ""
    return ""
