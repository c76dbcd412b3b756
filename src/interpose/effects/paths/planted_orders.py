"""Programs that are written to a file and would, whoever starts them, free an agent: orders to our own program, our
keys, and prompts and settings of editors that let an agent act without asking.

A test runner or a build starts what lies in a project, and no command line says what it does. So this is asked about
where it is written. Prose about us is none of it: only files that something runs are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from interpose.effects.agents.known_agents import AGENTS, IN_PROJECTS
from interpose.effects.late_patterns import late
from interpose.effects.paths.ours import mentions_ours
from interpose.effects.paths.settings_in_programs import changes_settings
from interpose.effects.values import EffectKind

_ENDINGS = """
    applescript awk bash bat bzl c cc cjs clj cmake cmd cpp cs csx dart ex exp exs fish go
    gradle groovy hs ipynb java jl js jsx
    just kt kts lua mjs mk ml mts nims nix nu php pl pm ps1 psm1 py pyw r rake rb rs scala sh sql swift tcl ts
    tsx v vim zig zsh
"""
_PROGRAMS = tuple(f".{ending}" for ending in _ENDINGS.split())
_BY_NAME = frozenset({
    "makefile", "gnumakefile", "justfile", "rakefile", "dockerfile", "containerfile", "procfile", "vagrantfile",
    "package.json", "composer.json", "deno.json", "taskfile.yml", "taskfile.yaml", "tox.ini", "noxfile.py",
    "pyproject.toml", "build.ninja", "cmakelists.txt", "build", "build.bazel", "jenkinsfile", ".gitlab-ci.yml",
})  # fmt: skip
"""Files without an ending that tells, from which tools run commands."""
_ORDER = late(r"(?<![\w./-])(?:[\w./~-]{0,200}/)?interpose(?=[\s'\",\]\[]{1,8}[a-z])[^\n]{0,200}")
_TYPES = late(r"TIOCSTI|\bioctl\b[^\n]{0,80}(?:0[xX]5412\b|\b21522\b)")
_ENDS_US = late(
    r"(?is)\b(?:pgrep|pidof|process_iter)\b.{0,200}\binterpose\b.{0,400}(?:\bkill|\bterminate|\bsuspend|SIGSTOP|SIGKILL)"
    r"|\binterpose\b.{0,200}\bprocess_iter\b.{0,400}(?:\bkill|\bterminate|\bsuspend)"
    r"|\b(?:pkill|killall)\b[^\n]{0,200}\binterpose\b"
)
_SHELL = (".bash", ".ksh", ".sh", ".zsh")
_SHELL_SCRIPT = late(r"#![^\n]{0,60}\b(?:ba|da|k|z)?sh\b")
_FREEING = late(
    r"(?i)\binterpose\b|--(?:bare|yolo|dangerously-[a-z-]+|trust-all-tools|allow-all-tools|yes-always)\b|bypassPermissions"
    r"|/api/v1/|" + "|".join(sorted({re.escape(place) for place in IN_PROJECTS}))
)
"""Words without which no script frees an agent."""
_LONGEST_SCRIPT = 20_000
_TAMPERS: frozenset[EffectKind] = frozenset({"guard.tamper"})
_GLUE = late(r"[\s'\",\[\]()\\]+|\b(?:args|shell|check|stdout|stderr)\s{0,8}=\s{0,8}\S{0,40}")
_MOST_ORDERS = 8
_PROMPTS = late(
    r"/(?:"
    + "|".join(
        sorted(
            {re.escape(place) for place in IN_PROJECTS}
            | {re.escape(place[2:].lower()) for agent in AGENTS for place in agent.directories if place[:2] == "~/"}
        )
    )
    + r")/(?:agents?|commands?|skills?|prompts?|workflows?|output-styles)/.*"
)
_ACTS_ALONE = late(
    r"(?im)^[ \t]*(hooks|permissionmode|approval-?mode|disable-?hooks?)[ \t]*:[ \t]*(?!default\b|plan\b|ask\b)"
)
"""Lines in the head of an agent's, a skill's or a command's file that change what it may do unasked."""
_RUN_AT_ONCE = late(r"!`([^`\n]{1,2000})`|!\{([^}\n]{1,2000})\}")
"""Commands in a prompt which its host runs before any agent reads it, and before any hook."""
_EDITOR_KEYS = late(
    r"\"(terminal\.integrated\.(?:env|profiles|automationprofile|defaultprofile|shell|shellargs|automationshell)[\w.]*"
    r"|chat\.(?:tools?|agent|mcp)[\w.]*(?:auto-?approve|autostart|eligible)[\w.]*|[\w.]*(?:yolo|autoapprove|skippermissions|processwrapper)[\w.]*|git\.path)\""
    r"\s{0,64}:",
    re.IGNORECASE,
)


_TYPES_FOR_PEOPLE = late(r"terminal\.sendSequence|terminal::SendText|terminal::SendKeystroke", re.IGNORECASE)
"""Commands of editors that a key may be bound to, and that type into a terminal of theirs."""
_ZED_KEYS = late(r"\"(shell|agent_servers|context_servers|program)\"\s{0,64}:")


def frees(path: str, text: str, objects: Callable[..., str]) -> str:
    """Why a text would free an agent once something runs it from `path`; empty if it would not."""
    lower = path.lower()
    name = lower.rpartition("/")[2]
    if name in _BY_NAME or name.endswith(_PROGRAMS) or text.startswith("#!"):
        return _orders(text, objects) or _changes(text) or _runs(name, text, objects)
    if lower.endswith((".md", ".toml")) and _PROMPTS.search(lower):
        return _prompt(text, objects)
    if lower.endswith(("/.vscode/settings.json", ".code-workspace", "/user/settings.json")) and (
        found := _EDITOR_KEYS.search(text)
    ):
        return f"sets {found[1]}, which decides what runs in a person's terminals, or unasked"
    if name in ("keybindings.json", "keymap.json") and _TYPES_FOR_PEOPLE.search(text):
        return "binds a key of a person's to typing into their terminals"
    if lower.endswith("zed/settings.json") and (found := _ZED_KEYS.search(text)):
        return f"sets {found[1]}, which decides what runs in a person's terminals, or beside an agent"
    return ""


def _orders(text: str, objects: Callable[..., str]) -> str:
    if _TYPES.search(text):
        return "is a program that types into a terminal in which a person may be asked something"
    if "interpose" not in text.lower():
        return ""  # other projects have an API with such paths
    if _ENDS_US.search(text):
        return "is a program that looks for processes of the guard itself and ends them"
    if mentions_ours(text):
        return "is a program that names keys, files or orders of the guard itself"
    for _, found in zip(range(_MOST_ORDERS), _ORDER.finditer(text), strict=False):
        if reason := objects(_GLUE.sub(" ", found[0])):
            return f"is a program that orders the guard itself: {reason}"
    return ""


def _changes(text: str) -> str:
    return "is a program that names the settings of an agent, and changes files" if changes_settings(text) else ""


def _runs(name: str, text: str, objects: Callable[..., str]) -> str:
    """What the commands of a script would do to what guards an agent. Most scripts name none of it."""
    if not (name.endswith(_SHELL) or _SHELL_SCRIPT.match(text)) or _FREEING.search(text[:_LONGEST_SCRIPT]) is None:
        return ""
    reason = objects(text[:_LONGEST_SCRIPT], _TAMPERS)
    return f"is a script that an agent could free itself with: {reason}" if reason else ""


def _prompt(text: str, objects: Callable[..., str]) -> str:
    head = text.partition("---\n")[2].partition("\n---")[0] if text.startswith("---") else ""
    if found := _ACTS_ALONE.search(head):
        return f"sets {found[1]} for an agent, so that it acts unasked or with hooks of its own"
    for _, run in zip(range(_MOST_ORDERS), _RUN_AT_ONCE.finditer(text), strict=False):
        if reason := objects(run[1] or run[2]):
            return f"has a command that runs before any hook sees it: {reason}"
    return ""
