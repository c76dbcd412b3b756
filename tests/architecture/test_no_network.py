"""Importing Interpose, all of it, opens no connection and asks for no name."""

from __future__ import annotations

import subprocess
import sys

from tests.support.timing.patience import PATIENCE

_PROGRAM = """
import importlib, pkgutil, sys

def notice(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        print(event, arguments)

sys.addaudithook(notice)
import interpose
{extra}
count = 0
for module in pkgutil.walk_packages(interpose.__path__, "interpose."):
    if module.name.endswith("__main__") or ".frameworks" in module.name:  # programs, and packages that are not here
        continue
    importlib.import_module(module.name)
    count += 1
print("imported", count > 300)
"""


def run(extra: str) -> list[str]:
    program = _PROGRAM.replace("{extra}", extra)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.splitlines()


def test_importing_opens_no_connection() -> None:
    assert run("") == ["imported True"]


def test_a_connection_would_be_noticed() -> None:
    opening = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))"
    assert run(opening)[0].startswith("socket.connect")
