"""The variables that rules may use. One table: the checker's types, the loader's checks and the docs come from it.

A call's variables are computed when a rule first reads them, once for all rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from interpose.core.tools import (
    KNOWN_TOOL_NAMES,
    TOOL_GROUPS,
    command_of,
    content_of,
    mcp_name,
    paths_of,
    seen_as,
    spellings,
    urls_of,
)
from interpose.core.types import Effect, ToolCall, ToolOutcome
from interpose.effects.late_patterns import late
from interpose.effects.paths import resolve
from interpose.reading.calls import DEFAULT_CWD, home_directory, reading_of, start_of
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.cel.variable_shapes import Dynamic, FixedMap, Listing, Plain, Shape
from interpose.rules.policy.result_texts import text_of_result

_FLAGS = {
    "forced": "something is overridden: `--force`, `-f`",
    "recursive": "everything below goes too",
    "wide": "a whole namespace, account, database or machine",
    "recoverable": "it can be made again or undone",
    "secret": "what is sent or read holds a secret",
    "remote": "it happens on another machine",
    "append": "text is added, nothing is replaced",
    "in_place": "the file is changed where it is",
    "moved": "it is moved away, not removed",
    "deletes": "what is published is a deletion",
    "leased": "forced, but only if nobody pushed in between",
    "file": "a file goes with it",
    "changes": "something on the other side is changed: POST, PUT, DELETE",
    "foreign": "from a place that is not the usual one",
    "grants": "rights are given away",
    "public": "everybody can reach it",
    "shell": "a shell is opened or handed out",
    "unknown": "a program that nothing is known about",
}
_WORDS = {
    "rule": "the built-in rule for this effect, such as `git-push-force`",
    "host": "the other machine",
    "mode": "the new mode of a file",
    "owner": "the new owner of a file",
    "reason": "what the command would do, in words",
    "strength": "how surely a file holds secrets: `key`, `soft` or `faint`; empty if it is a place of secrets itself",
}

EFFECT = FixedMap(
    "effect",
    {
        "kind": Plain(
            "string", "`fs.delete`, `net.upload`, `vcs.publish`, ... (`interpose help commands` has all kinds)"
        ),
        "resource": Plain("string", "on what: an absolute path, a url, a branch, a package"),
        "certainty": Plain("string", "`proven`, `possible` or `unknown`"),
        "via": Listing(Plain("string"), "list(string)", "through what it is run: `sudo`, `xargs`, `sh -c`"),
        "text": Plain("string", "the part of the command that causes it"),
        **{name: Plain("bool", doc) for name, doc in _FLAGS.items()},
        **{name: Plain("string", doc) for name, doc in _WORDS.items()},
    },
)
COMMAND = FixedMap(
    "command",
    {
        "name": Plain("string", "the program without its directory: `git`"),
        "program": Plain("string", "the program as it is called: `./git`"),
        "args": Listing(Plain("string"), "list(string)", "its arguments after quotes and variables are resolved"),
        "via": Listing(Plain("string"), "list(string)", "through what it is run"),
        "text": Plain("string", "the part of the text that runs it"),
    },
)
_BEFORE: dict[str, Shape] = {
    "tool": Plain("string", "the canonical name of the tool: `exec`, `read`, `mcp__github__create_issue`"),
    "args": Dynamic("map(string, dyn)", "the arguments of the call"),
    "call": FixedMap(
        "call",
        {
            "id": Plain("string", "the id of the call"),
            "tool": Plain("string", "the tool's name as the agent said it: `Bash`"),
            "server": Plain("string", "the MCP server of the tool; empty for other tools"),
            "cwd": Plain("string", "the directory that the agent works in"),
            "source": Plain("string", "how the call came: `library`, `http`, `hook`, ..."),
            "trace": Plain("string", "the id of the trace"),
            "groups": Listing(Plain("string"), "list(string)", "the groups that the tool is in: `group:fs`"),
            "point": Plain("string", "the hook point: `tool.before` or `tool.after`"),
        },
        "this call",
    ),
    "session": FixedMap("session", {"id": Plain("string", "the id of the session")}, "the agent's run"),
    "agent": FixedMap(
        "agent", {"id": Plain("string", "the id of the agent"), "role": Plain("string", "its role")}, "who acts"
    ),
    "principal": FixedMap("principal", {"id": Plain("string", "who it is")}, "on whose behalf the agent acts"),
    "effects": Listing(EFFECT, "list(map(string, dyn))", "what the call would do"),
    "paths": Listing(Plain("string"), "list(string)", "the files that the call would touch, as absolute paths"),
    "hosts": Listing(Plain("string"), "list(string)", "the machines that the call would talk to"),
    "command": Listing(
        COMMAND, "list(map(string, dyn))", "the commands that an `exec` call would run, those inside others included"
    ),
    "now": Plain("timestamp", "the time of the decision"),
}
RESULT = FixedMap(
    "result",
    {
        "text": Plain("string", "all texts of the result, one after another"),
        "value": Dynamic("dyn", "the result as the tool gave it"),
        "is_error": Plain("bool", "the tool failed"),
        "denied": Plain("bool", "the call never ran"),
        "duration_ms": Plain("int", "how long the tool took"),
    },
    "what the tool gave back (only in rules on tool.after)",
)

VARIABLES: Mapping[str, Shape] = {**_BEFORE, "result": RESULT}

ALWAYS: Mapping[str, frozenset[str]] = {
    "exec": frozenset({"command"}),
    "read": frozenset({"path"}),
    "write": frozenset({"path", "content"}),
    "edit": frozenset({"path"}),
    "web_fetch": frozenset({"url"}),
}
"""Arguments that rules may take for granted: agents spell them differently, here they have one name, and are text."""

_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_NO_DETAILS: dict[str, Any] = {**dict.fromkeys(_FLAGS, False), **dict.fromkeys(_WORDS, "")}


class Variables(dict[str, Any]):
    """The variables of one call at one hook point."""

    __slots__ = ("_home", "_known_tool", "call", "outcome")

    def __init__(self, call: ToolCall, outcome: ToolOutcome | None = None, home: str = "") -> None:
        super().__init__()
        self.call = call
        self.outcome = outcome
        self._home = home
        self._known_tool = ""

    @property
    def known_tool(self) -> str:
        """The known tool that the call is read as, `exec` for a server's shell; its own name if there is none."""
        if not self._known_tool:
            self._known_tool = _known_tool(self.call)
        return self._known_tool

    @property
    def home(self) -> str:
        """The home directory that `~` stands for: the user's, unless somebody said otherwise."""
        return self._home or home_directory()

    def __missing__(self, name: str) -> Any:
        value = self[name] = READERS[name](self)
        return value


class _Arguments(dict[str, Any]):
    """Arguments of a call that has several of something. To read the one that there isn't is an error."""

    __slots__ = ("several",)

    def __init__(self, arguments: dict[str, Any], several: frozenset[str]) -> None:
        super().__init__(arguments | dict.fromkeys(several, ""))
        self.several = several

    def __getitem__(self, name: str) -> Any:
        if name in self.several:
            raise EvaluationError(f"the call has more than one {name}: use {_ALL_OF[name]}")
        return super().__getitem__(name)


_ALL_OF = {"path": "`paths`", "url": "`hosts`"}


def _args(variables: Variables) -> dict[str, Any]:
    """INVARIANT: rules see all that a tool could take for its command, path, url or content. An argument that poses as
    one by its name hides nothing beside it."""
    call = variables.call
    arguments = call.arguments
    unlike = [name for name in ALWAYS.get(variables.known_tool, ()) if not _says(call, name)]
    if not unlike:
        return arguments
    texts = {name: _SAID[name](call) for name in unlike}
    known = {**arguments, **{name: said[0] for name, said in texts.items() if said}}
    several = frozenset(name for name, said in texts.items() if len(said) > 1)
    return _Arguments(known, several) if several else known


def _says(call: ToolCall, name: str) -> bool:
    """Whether this argument is all that there is of its kind."""
    return type(call.arguments.get(name)) is str and (len(call.arguments) == 1 or spellings(call, name) == (name,))


def _command_said(call: ToolCall) -> tuple[str, ...]:
    text = command_of(call)
    return () if text is None else (text,)


_SAID: Mapping[str, Callable[[ToolCall], tuple[str, ...]]] = {
    "command": _command_said,
    "path": paths_of,
    "url": urls_of,
    "content": lambda call: (content_of(call),),
}


def _known_tool(call: ToolCall) -> str:
    """INVARIANT: a foreign tool counts as a known one only with the arguments that rules take for granted there: one
    that opens a terminal and is given no command runs none."""
    if call.name in _KNOWN:
        return call.name
    try:
        seen = seen_as(call)
        return seen.name if all(_SAID[name](seen) for name in ALWAYS.get(seen.name, ())) else call.name
    except Exception:  # noqa: BLE001 - arguments of an embedding program's own classes may raise anything
        return call.name


def _call(variables: Variables) -> dict[str, Any]:
    call = variables.call
    context = call.context
    mcp = mcp_name(call.original_name or call.name)
    return {
        "id": call.call_id,
        "tool": call.original_name or call.name,
        "server": mcp.server if mcp else "",
        "cwd": context.cwd,
        "source": context.source,
        "trace": context.trace_id,
        "groups": [group for group, names in TOOL_GROUPS.items() if call.name in names],
        "point": "tool.before" if variables.outcome is None else "tool.after",
    }


def _agent(variables: Variables) -> dict[str, Any]:
    context = variables.call.context
    return {"id": context.agent_id, "role": context.role}


def _effects(variables: Variables) -> list[dict[str, Any]]:
    call, home = variables.call, variables.home
    reading = reading_of(call, home)
    command = command_of(call) or ""
    if call.name == "exec":
        return [_effect(one, one.resource, command[one.span[0] : one.span[1]]) for one in reading.effects]
    start = start_of(call, call.context.cwd or DEFAULT_CWD)
    # A server's shell: the effects of its command are those of `exec`. Its other arguments have effects, too.
    of_command = frozenset(reading.analysis.effects)
    return [
        _effect(one, one.resource, command[one.span[0] : one.span[1]])
        if one in of_command
        else _effect(one, resolve(one.resource, start, home) if one.kind[:3] == "fs." else one.resource, "")
        for one in reading.effects
    ]


def _effect(effect: Effect, resource: str, text: str) -> dict[str, Any]:
    details = {name: value for name, value in effect.details.items() if name in _NO_DETAILS}
    return _NO_DETAILS | details | {
        "kind": effect.kind,
        "resource": resource,
        "certainty": effect.certainty,
        "via": effect.via,
        "text": text,
    }  # fmt: skip


def _paths(variables: Variables) -> list[str]:
    touched = [effect["resource"] for effect in variables["effects"] if effect["kind"][:3] == "fs."]
    return list(dict.fromkeys(touched))


def _hosts(variables: Variables) -> list[str]:
    named = [effect["resource"] for effect in variables["effects"] if effect["kind"][:4] == "net."]
    named += [effect["host"] for effect in variables["effects"] if effect["host"]]
    hosts = (host_of(text) for text in (*named, *urls_of(variables.call)))
    return list(dict.fromkeys(host for host in hosts if host))


def _command(variables: Variables) -> list[dict[str, Any]]:
    text = command_of(variables.call) or ""
    return [
        {
            "name": ran.name,
            "program": ran.program,
            "args": ran.args,
            "via": ran.via,
            "text": text[ran.span[0] : ran.span[1]],
        }
        for ran in reading_of(variables.call, variables.home).analysis.commands
    ]


def _result(variables: Variables) -> dict[str, Any]:
    outcome = variables.outcome
    if outcome is None:
        return {"text": "", "value": None, "is_error": False, "denied": False, "duration_ms": 0}
    return {
        "text": text_of_result(outcome.result),
        "value": outcome.result,
        "is_error": outcome.is_error,
        "denied": outcome.denied,
        "duration_ms": outcome.duration_ns // 1_000_000,
    }


READERS: dict[str, Callable[[Variables], Any]] = {
    "tool": lambda variables: variables.call.name,
    "args": _args,
    "call": _call,
    "session": lambda variables: {"id": variables.call.context.session_id},
    "agent": _agent,
    "principal": lambda variables: {"id": variables.call.context.principal},
    "effects": _effects,
    "paths": _paths,
    "hosts": _hosts,
    "command": _command,
    "result": _result,
    "now": lambda _variables: datetime.now(UTC),
}


_SCHEME = late(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = late(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?", re.ASCII)
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.%]+)\]")


def host_of(text: str) -> str:
    """The host in lower case, without the dot at its end; empty if the text names none."""
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    rest = re.split(r"[/?#\\\s]", rest, maxsplit=1)[0]
    rest = rest.rpartition("@")[2]
    numbers = _IPV6.match(rest)
    if numbers:
        return numbers[1].lower()
    host = rest.partition(":")[0]
    if _HOST.fullmatch(host):
        return host.rstrip(".").lower()
    return _unusual(host) if scheme else ""


def _unusual(host: str) -> str:
    """What a client makes of a host in other letters. Never nothing: a rule about all hosts must hear of this one."""
    plain = unquote(host)
    try:
        plain = plain.encode("idna").decode("ascii")
    except UnicodeError:
        pass  # no name that can be looked up; it is shown as it is
    return plain.rstrip(".").lower()
