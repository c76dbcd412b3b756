"""Calls of tools, besides shells and file tools, by which an agent could free itself: answers that are typed for a
person, orders to our own program, switches of hooks.

Such tools have any name. So a call is known by the words of the tool's name and by what its arguments say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpose.core.tools import mcp_name, plain_name, tool_behind
from interpose.core.types import Allow, Confirm, ToolCall
from interpose.effects.agents.known_agents import AGENT_OF, BY_NAME, PACKAGES
from interpose.effects.late_patterns import late
from interpose.effects.paths import holds_ours, is_above_ours, protected_place_of
from interpose.effects.shell import analyse

_WORD = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_TYPING = frozenset(
    {"type", "key", "keys", "press", "keypress", "keyboard", "keystroke", "hotkey", "sendkeys", "typetext"}
)
_SENDING = frozenset({"send", "write", "type", "paste", "input", "press", "run", "execute", "exec"})
_TERMINALS = frozenset(
    {"terminal", "term", "tmux", "iterm", "pane", "tty", "pty", "console", "screen", "zellij", "kitty"}
)
_IN_PAGES = frozenset(
    {"browser", "page", "playwright", "puppeteer", "chrome", "selenium", "web", "dom", "element", "form"}
)
"""What types into a page of its own, and not into whatever has the focus."""
_KEYS = frozenset({"text", "key", "keys", "input", "command", "data", "chars", "value", "letter", "content"})
_ANSWER = late(
    r"(?i)\s*(?:(?:y|n|a|yes|no|always|approve|allow|ok|okay|\d{1,2})\s*(?:\\[nr]|\n|\r|[{<\[]?(?:enter|return|cr)[}>\]]?)?"
    r"|(?:approve|allow|yes)\s+\S{2,16}\s*"
    r"|[{<\[]?(?:enter|return|kp_enter|c-m|c-j|ctrl[+-][mj])[}>\]]?|\\[nr]|\^m)\s*"
)
_CONTROL = late(r"(?i)[mj\]]")
_SCREENS = frozenset({"tmux", "iterm", "zellij", "kitty", "wezterm", "ghostty", "konsole", "byobu"})
"""Programs that keep the terminals of people."""
_LOOKING = frozenset(
    {"read", "capture", "get", "dump", "output", "content", "contents", "history", "scrollback", "text"}
)
_NAMES_TERMINAL = frozenset({"pane", "paneid", "target", "session", "sessionid", "sessionname", "window", "windowid"})
_GIVEN_NAME = late(r"=?[A-Za-z_][\w.:-]*")
_PROMPTS = frozenset({"prompt", "task", "message", "instruction", "instructions", "query", "goal", "input"})
_AGENTS = PACKAGES.keys() | BY_NAME.keys()
"""Names by which a server of tools or one of its tools is an agent."""
_WHO = frozenset({"agent", "agentname", "agenttype", "assistant", "cli", "cliname", "program", "provider", "runner"})
"""Arguments that say which agent is to do something."""
_MOUNTS = frozenset({"volumes", "volume", "mounts", "mount", "binds", "bind", "hostpath", "hostvolumes"})
_REPOSITORIES = frozenset({"repopath", "repo", "repository", "repositorypath", "gitdir", "worktree", "rootpath"})
_FILLING = frozenset(
    {"add", "stage", "commit", "checkout", "switch", "pull", "merge", "reset", "restore", "rebase", "stash"}
)
_CHANGING = frozenset(
    {"set", "update", "write", "put", "edit", "patch", "disable", "toggle", "change", "configure", "save", "config"}
)
_ENDING = frozenset({
    "disable", "end", "freeze", "halt", "kill", "mask", "pause", "quit", "remove", "restart", "signal", "stop",
    "suspend", "terminate", "uninstall",
})  # fmt: skip
"""What ends or holds up a service or a process, in a tool's name or in an argument that says what is done."""
_OURSELVES = late(r"(?i)(?:\S*/)?interpose(?:\.(?:service|socket)|@\S*|\s+(?:serve|hook|gateway|proxy)\b.*)?")
"""Names of our own service and processes."""
_KEEPING = frozenset(
    {
        "archive",
        "backup",
        "bundle",
        "compress",
        "embed",
        "index",
        "ingest",
        "pack",
        "snapshot",
        "sync",
        "tar",
        "upload",
        "zip",
    }
)
"""What takes a directory as a whole to another place."""
_SETTING_UP = frozenset(
    {"add", "configure", "disable", "enable", "install", "register", "remove", "uninstall", "update"}
)
_HOOKS = late(
    r"(?i)(?:[\w-]+[./:])*(?:disable\w*hooks?\w*|(?:use|enable|allow|run|skip|no|ignore)?[_-]?hooks?|\w*hooks(?:enabled|disabled))(?:[./:]?(?:enabled|disabled|on|off))?"
)
_SLASH = late(
    r"(?i)\s*/(?:hooks?|permissions?|plugins?|mcp|config|settings)\s+(?:[^\n]{0,200}\s)?"
    r"\S{0,40}(?:disable|off|remove|uninstall|clear|delete|allow|bypass)\S*.*"
)
_MOST = 64
_LONGEST = 4096


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def judge_freeing(call: ToolCall) -> Allow | Confirm:
    """A question about a call by which an agent could free itself, or nothing to say."""
    said = _words(call.original_name or call.name)
    given = [(key, value) for key, value in list(call.arguments.items())[:_MOST] if isinstance(value, str)]
    if (answer := _typed_answer(said, given, call)) is not None:
        return Confirm("Types an answer into a terminal or window at which a person may be asked something.",
                       "terminal-input", "error", answer)  # fmt: skip
    if _looks_at_terminal(said, call):
        return Confirm("Reads a terminal that a person may sit at.", "terminal-control", "error", call.name)
    if _starts_agent(said, call):
        return Confirm("Starts another agent, whose calls nobody here sees.", "nested-agent", "error", call.name)
    if _ends_us(said, given):
        return Confirm("Ends or stops what watches over the agent.", "guard-process", "critical", call.name)
    if _sets_up_servers(call):
        return Confirm("Decides which tool servers an agent starts.", "agent-settings", "error", call.name)
    for _, value in given:
        if len(value) <= _LONGEST and (_orders_us(value) or _SLASH.fullmatch(value)):
            return Confirm("Gives an order to the guard itself, or switches off what watches over the agent.",
                           "guard-orders", "critical", value[:300])  # fmt: skip
    if not _CHANGING.isdisjoint(said) and any(_HOOKS.fullmatch(text) for pair in given for text in pair):
        return Confirm("Changes the hooks of an agent, which watch over what it does.", "agent-settings", "error",
                       tool_behind(call.name) or call.name)  # fmt: skip
    return Allow()


def _typed_answer(said: list[str], given: Iterable[tuple[str, str]], call: ToolCall) -> str | None:
    words = {*said, *(str(value).lower() for key, value in call.arguments.items() if key.lower() == "action")}
    if not words.isdisjoint(_IN_PAGES):
        return None
    types = not words.isdisjoint(_TYPING) or (not words.isdisjoint(_SENDING) and not words.isdisjoint(_TERMINALS))
    if not types:
        return None
    if "control" in words:
        return next((value for _, value in given if _CONTROL.fullmatch(value)), None)
    return next((value for key, value in given if key.lower() in _KEYS and _ANSWER.fullmatch(value)), None)


def _looks_at_terminal(said: list[str], call: ToolCall) -> bool:
    """Whether a terminal is read that nobody gave a name: it may be the one in which a person is asked something."""
    if _SCREENS.isdisjoint(said) or _LOOKING.isdisjoint(said):
        return False
    named = [str(value) for key, value in call.arguments.items() if plain_name(key) in _NAMES_TERMINAL]
    return not named or not all(_GIVEN_NAME.fullmatch(value) for value in named)


def _starts_agent(said: list[str], call: ToolCall) -> bool:
    """Whether a server of tools hands a task to an agent of its own, or a trigger starts one elsewhere."""
    if {"remote", "trigger"} <= set(said):
        return True
    found = mcp_name(call.original_name or call.name)
    if found is None or not any(_PROMPTS & {plain_name(key), *_words(key)[-1:]} for key in call.arguments):
        return False
    if any(plain_name(key) in _WHO and str(value).lower() in AGENT_OF for key, value in call.arguments.items()):
        return True
    return any(part.lower().replace("_", "-") in _AGENTS for part in (found.server, found.tool))


def _ends_us(said: list[str], given: Iterable[tuple[str, str]]) -> bool:
    """Whether our own service or process is ended, by a tool of whatever name."""
    values = [value for _, value in given if len(value) <= _LONGEST]
    done = {*said, *(value.strip().lower() for value in values)}
    return not done.isdisjoint(_ENDING) and any(_OURSELVES.fullmatch(value.strip()) for value in values)


def _sets_up_servers(call: ToolCall) -> bool:
    """Whether a server of tools installs, adds or removes other servers of tools."""
    found = mcp_name(call.original_name or call.name)
    words = frozenset() if found is None else frozenset(_words(found.tool))
    return "mcp" in words and not words.isdisjoint(("server", "servers")) and not words.isdisjoint(_SETTING_UP)


def takes_home(call: ToolCall, home: str) -> str:
    """What holds our keys, and is handed as a whole to a container, to git or to an archive; empty if nothing is."""
    said = set(_words(call.original_name or call.name))
    wanted = _MOUNTS | (_REPOSITORIES if not said.isdisjoint(_FILLING) else frozenset())
    keeps = not said.isdisjoint(_KEEPING)
    for key, value in list(call.arguments.items())[:_MOST]:
        if not keeps and plain_name(key) not in wanted:
            continue
        for path in _paths_in(value):
            if is_above_ours(path, home) or (keeps and holds_ours(path, home, reading=True)):
                return path
    return ""


def fills_settings(call: ToolCall, home: str) -> str:
    """The directory of an agent's settings that git fills anew, by a tool of whatever name; empty if there is none."""
    said = set(_words(call.original_name or call.name))
    if said.isdisjoint(_FILLING):
        return ""
    for key, value in list(call.arguments.items())[:_MOST]:
        if plain_name(key) in _REPOSITORIES:
            for path in _paths_in(value):
                if protected_place_of(path, home, above=False) is not None:
                    return path
    return ""


def _paths_in(value: object) -> Iterator[str]:
    """Absolute paths that an argument is, or has. Behind a colon is where a container sees one."""
    many = list(value) if isinstance(value, list | tuple | dict) else [value]
    for one in many[:_MOST]:
        path = str(one).partition(":")[0]
        if path[:1] == "/":
            yield path


_TO_EDITORS = late(r"^[\s:]*(?:!+|ter(?:m|minal)?\s)\s*")
"""How an editor is told to run a command: `:!command`, `:terminal command`."""


def _orders_us(value: str) -> bool:
    """Whether a text is a command of our own program that no agent may give."""
    value = _TO_EDITORS.sub("", value)
    first = value.split(None, 1)[:1]
    if not first or first[0].rpartition("/")[2] != "interpose":
        return False
    return any(effect.kind == "guard.tamper" for effect in analyse(value).effects)
