"""What to do about each thing that `doctor` finds open: one table, by the name of its line."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Level = Literal["ok", "note", "open"]
"""`open`: something could run unasked, or nothing runs at all."""


class HostCheck(Struct, frozen=True):
    """One thing that was looked at. What is open has a file, and what to do next."""

    name: str
    level: Level
    text: str
    milliseconds: float | None = None
    file: str = ""
    todo: str = ""


REMEDIES = {
    # of one agent's hooks
    "installed": "run `{install}`",
    "asks": "run `{install}`",
    "refuses": "`interpose check '{canary}'` says what your rules make of it; if that is a refusal, run `{install}`",
    "allows": "`interpose check true` says which rule refuses it; if none does, run `{install}`",
    "if it crashes": "run `{install}`",
    "without a server": "`interpose config check` and `interpose policy test` say what is wrong with your rules",
    "fail-open": "run `{install}`: without --fail-open such calls are refused",
    "files": "give it back to its owner alone: `chmod go-w`, `chown`",
    "version": "update {title}",
    "trust": "start codex, say /hooks and trust ours",
    "off switch": "change that, then run `interpose doctor {host}` again",
    "never asked": "end it and start {title} again with hooks on; `interpose doctor {host}` then says whether it asks",
    # of what all hooks stand on
    "policy": "correct it; `interpose policy test`, `interpose config check` and `interpose governance check` read it "
    "as the hooks do",
    "ledger": "`interpose audit recover` sets aside what is damaged and goes on; it deletes nothing",
    "chain": "`interpose audit verify` shows where; `interpose audit recover` starts a new chain and deletes nothing",
    "server": "end that process, or remove the socket; hooks decide without a server meanwhile",
    "unapproved": "look at the call, and at the agent's mode: `interpose help agents` says which modes ask",
    "grants": "find out who wrote there; `interpose approvals grants list` shows it, "
    "`interpose approvals grants revoke ID` removes it",
    "let through": "look why, correct that, install without --fail-open, and remove this file",
    "interpreter": "find out who changed it, and make the environment anew: `interpose help install` says how",
    "start files": "find out who put it there, and remove it",
    "program files": "find out who changed it, and install Interpose again",
    "hooks": "`interpose install {host}` guards an agent; `interpose install` alone offers those that it finds",
}


def remedied(check: HostCheck, file: str, **values: str) -> HostCheck:
    """The same check; if it is open, with the file it is about and what to do next, where it does not say so itself."""
    if check.level != "open":
        return check
    todo = check.todo or REMEDIES[check.name].format(**values)
    return replace(check, file=check.file or file, todo=todo)
