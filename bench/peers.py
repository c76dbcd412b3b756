"""Other guards, installed beside us for a fair comparison: each in its own place, driven through its own API.

A driver reads rows on stdin and answers {"id", "decision"} a line, like `interpose check --jsonl`. A peer that cannot
be installed here is left out, and the tables say so.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

NAH = "nah==0.11.0"
AGENT_OS = "agent-os-kernel==3.7.0"
CC_SAFETY_NET = "cc-safety-net@2.4.5"

_NAH_DRIVER = """
import json, sys
from nah.bash import classify_command
words = {"block": "deny", "ask": "ask", "allow": "allow"}
for line in sys.stdin:
    row = json.loads(line)
    try:
        said = words.get(classify_command(row["args"]["command"]).final_decision, "ask")
    except Exception:
        said = "error"
    print(json.dumps({"id": row["id"], "decision": said}))
"""

_CCSN_DRIVER = """
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { checkCommand } from "cc-safety-net/api";
for await (const line of createInterface({ input: process.stdin })) {
  const row = JSON.parse(line);
  let decision = "error";
  // It looks at the directory; one that is not there would count against it.
  const cwd = row.cwd && existsSync(row.cwd) ? row.cwd : process.cwd();
  try { decision = checkCommand({ command: row.args.command, cwd }).kind; } catch {}
  console.log(JSON.stringify({ id: row.id, decision }));
}
"""


_HOOK_DRIVER = """
import json, os, subprocess, sys
for line in sys.stdin:
    row = json.loads(line)
    event = {
        "session_id": "bench", "cwd": os.getcwd(), "hook_event_name": "PreToolUse", "permission_mode": "default",
        "tool_name": "Bash", "tool_use_id": str(row["id"]), "tool_input": {"command": row["args"]["command"]},
    }
    done = subprocess.run(sys.argv[1:], input=json.dumps(event).encode(), capture_output=True)
    try:
        answer = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
        said = answer.get("permissionDecision", "allow")
    except (ValueError, KeyError):
        said = "error"
    print(json.dumps({"id": row["id"], "decision": "deny" if done.returncode == 2 else said}))
"""
"""Asks a hook as Claude Code does: a process for each row, nothing said is a yes, exit code 2 a no."""


class Peer(NamedTuple):
    """An installed peer: its name with version, and how it is started."""

    name: str
    command: list[str]
    cwd: Path


def nah(place: Path) -> Peer | str:
    """nah in a virtual environment, or why it is missing."""
    python = python_with(place, NAH)
    if isinstance(python, str):
        return python
    driver = place / "nah_driver.py"
    driver.write_text(_NAH_DRIVER)
    return Peer(NAH, [str(python), str(driver)], place)


def cc_safety_net(place: Path) -> Peer | str:
    """cc-safety-net in a folder of its own, or why it is missing."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        return f"{CC_SAFETY_NET}: no node here"
    problem = _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), CC_SAFETY_NET])
    if problem:
        return f"{CC_SAFETY_NET}: {problem}"
    driver = place / "ccsn_driver.mjs"
    driver.write_text(_CCSN_DRIVER)
    return Peer(CC_SAFETY_NET, [node, str(driver)], place)


def dippy(place: Path) -> Peer | str:
    """Dippy, if it is on this machine: it comes from Homebrew or its repository, and from no registry of packages."""
    return by_hook(place, "dippy")


def dcg(place: Path) -> Peer | str:
    """dcg, if it is on this machine: it comes from its own releases, and from no registry of packages."""
    return by_hook(place, "dcg")


def by_hook(place: Path, *hook: str) -> Peer | str:
    """A peer that is asked through its Claude Code hook, or that its program is not on this machine."""
    program = shutil.which(hook[0])
    if not program:
        return f"{hook[0]}: not on this machine, and in no registry of packages"
    driver = place / "hook_driver.py"
    driver.write_text(_HOOK_DRIVER)
    return Peer(hook[0], [sys.executable, str(driver), program, *hook[1:]], place)


def python_with(place: Path, *packages: str) -> Path | str:
    """A Python that has these packages, or why there is none."""
    venv = place / "venv"
    python = venv / "bin" / "python"
    steps = [] if python.exists() else [[sys.executable, "-m", "venv", str(venv)]]
    steps.append([str(python), "-m", "pip", "install", "--quiet", *packages])
    for step in steps:
        if problem := _run(step):
            return f"{' '.join(packages)}: {problem}"
    return python


def _run(command: list[str]) -> str:
    """What went wrong, or an empty text."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "the installation took too long"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["the installation failed"])[-1]
