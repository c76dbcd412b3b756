"""Raw devices: writing to them destroys what lies on them, reading them gives away everything."""

from __future__ import annotations

from interpose.late_patterns import late

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
