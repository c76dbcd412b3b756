"""The programs that hosts run inside their own process, put together for where they are installed."""

from __future__ import annotations

import json
from importlib.resources import files

from msgspec import Struct

from interpose.doors.hooks.hosts.events import HostFacts

MADE_BY = "Made by `interpose install`; `interpose uninstall` removes it."
"""Stands in every program of ours that lies in a host's own place."""


class Reach(Struct, frozen=True, kw_only=True):
    """How a plugin reaches a decision: a socket, or else a port with a token; the command if nobody listens there.

    Without the files that are `needed` the command can't answer, and `gone` is said in its place.
    """

    socket: str = ""
    port: int = 0
    token_file: str = ""
    command: tuple[str, ...] = ()
    deadline: float = 25.0
    wait: float = 0.0
    """Seconds that may be waited for a person besides."""
    needed: tuple[str, ...] = ()
    gone: str = ""


def plugin_files(facts: HostFacts, reach: Reach) -> dict[str, str]:
    """The files of a host's plugin: text by relative name. A single file has no name: it is the place itself."""
    settings = {
        "host": facts.name,
        "socket": reach.socket,
        "port": reach.port,
        "token_file": reach.token_file,
        "command": reach.command,
        "deadline_ms": round(reach.deadline * 1000),
        "wait_s": int(reach.wait),
        "needed": reach.needed,
        "gone": reach.gone,
    }
    told = f"// {MADE_BY}\nconst INTERPOSE = {json.dumps(settings)};\n"
    program = told + _text("ask.js") + _text(facts.setup.plugin)
    if beside := facts.setup.plugin_files:
        return {name: json.dumps(text, indent=2) + "\n" for name, text in beside.items()} | {"index.js": program}
    return {"": program}


def _text(name: str) -> str:
    return files("interpose.doors.hooks.clients.plugins").joinpath(name).read_text(encoding="utf-8")
