"""What is mounted, so that a run can tell what it left mounted."""

from __future__ import annotations

import subprocess
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")


def mounted() -> frozenset[str]:
    """Every mount point of this machine; none where the kernel does not list them."""
    if not _MOUNTS.exists():
        return frozenset()
    lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    return frozenset(line.split(" ")[4] for line in lines)


def unmount_below(directory: str) -> None:
    """Take away what an interrupted test had mounted in the directory of its run, the deepest first."""
    for place in sorted(mounted(), key=len, reverse=True):
        if place.startswith(f"{directory}/"):
            subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
