"""An agent's MCP servers in our words. Secrets, and what only the agent can fill in, become variables.

INVARIANT: no secret of an agent's file is written to ours. It stays where it is: our file has the name of a variable,
and whoever starts the gateway gives it a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from interpose.core.config.gateway_servers import GatewayServer, is_secret_name
from interpose.doors.hooks.install.mcp_files import McpHost
from interpose.reading.secrets import Redactor

MOST_SERVERS = 200
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_SEPARATOR = re.compile(r"_{2,}")
_THEIRS = re.compile(r"\$\{[^}]*\}|\{(?:env|file):[^}]*\}")
"""What agents fill in: `${VAR}`, `${VAR:-x}`, `${env:VAR}`, `${input:id}`, `${workspaceFolder}`, `{env:VAR}`."""
_THEIRS_BARE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")
_ONE_VARIABLE = re.compile(r"(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)\}")
_USED = frozenset({
    "args", "bearer_token_env_var", "command", "cwd", "disabled", "enabled", "env", "env_http_headers", "environment",
    "headers", "httpUrl", "http_headers", "serverUrl", "startup_timeout_sec", "timeout", "tool_timeout_sec",
    "transport", "type", "url",
})  # fmt: skip
_TRUSTING = frozenset({"alwaysAllow", "autoApprove", "trust"})


class ImportedServer(Struct, frozen=True, kw_only=True):
    """A server in our words. `variables` are what it needs, each with the text that the agent's file has for it."""

    name: str
    was: str
    host: str
    server: dict[str, Any]
    variables: dict[str, str]
    remarks: tuple[str, ...] = ()


class Untranslated(Struct, frozen=True):
    """A server that can't be taken over, and why."""

    name: str
    why: str


def is_ours(entry: Any) -> bool:
    """Whether a server is our own gateway, or one that we wrap already."""
    if not isinstance(entry, dict):
        return False
    words = _command(entry)
    starts = [at for at, word in enumerate(words) if word == "interpose" or word.endswith("/interpose")]
    return any(words[at + 1 : at + 2] in (["gateway"], ["wrap"]) for at in starts)


def translated(
    servers: Mapping[str, Any], host: McpHost | None, taken: Mapping[str, Any]
) -> Iterator[ImportedServer | Untranslated]:
    """An agent's servers. `taken` are those that our configuration has; one that it has as it is, is left out."""
    names, variables = dict(taken), dict[str, str]()
    for number, (was, entry) in enumerate(servers.items()):
        if is_ours(entry):
            continue
        if number >= MOST_SERVERS:
            yield Untranslated(was, f"there are more than {MOST_SERVERS} servers")
            return
        if not isinstance(entry, dict):
            yield Untranslated(was, "it is no object")
            continue
        name = _SEPARATOR.sub("_", _NOT_IN_NAMES.sub("-", was))[:50].strip("-._") or "server"
        found = _Translation(name, host, variables).whole(entry)
        if isinstance(found, str):
            yield Untranslated(was, found)
            continue
        if names.get(name) != found.server and name.lower() in map(str.lower, names):
            name = _free(name, host, names)
        names[name] = found.server
        yield msgspec.structs.replace(found, name=name, was=was)


def _free(name: str, host: McpHost | None, taken: Mapping[str, Any]) -> str:
    tried = f"{name}-{host.name if host is not None else 'imported'}"
    lower = {each.lower() for each in taken}
    tries = (tried, *(f"{tried}-{number}" for number in range(2, 1000)))
    return next(each for each in tries if each.lower() not in lower)


def _command(entry: Mapping[str, Any]) -> list[str]:
    command = entry.get("command")
    words = command if isinstance(command, list) else [command] if command else []
    args = entry.get("args") or []
    return [str(word) for word in (*words, *(args if isinstance(args, list) else []))]


class _Translation:
    """One server."""

    def __init__(self, name: str, host: McpHost | None, variables: dict[str, str]) -> None:
        self._name, self._host, self._all = name, host, variables
        self._mine: dict[str, str] = {}
        self._redactor = Redactor()

    def whole(self, entry: dict[str, Any]) -> ImportedServer | str:
        """The server, or why it can't be taken over."""
        words = _command(entry)
        url = next((entry[key] for key in ("httpUrl", "url", "serverUrl") if isinstance(entry.get(key), str)), "")
        server: dict[str, Any] = {}
        if words:
            server["command"] = self._text(words[0], "COMMAND")
            if len(words) > 1:
                server["args"] = list(self._arguments(words[1:]))
            env = entry.get("env") or entry.get("environment") or {}
            if not _is_texts(env):
                return "its env is no map of texts"
            if env:
                server["env"] = {key: self._named(key, str(value), key) for key, value in env.items()}
            if isinstance(entry.get("cwd"), str) and entry["cwd"]:
                server["cwd"] = self._text(entry["cwd"], "CWD")
        elif url:
            server["url"] = self._address(url)
            headers = self._headers(entry)
            if isinstance(headers, str):
                return headers
            if headers:
                server["headers"] = headers
            if self._is_sse(entry):
                server["transport"] = "sse"
        else:
            return "it has neither a command nor an address"
        if entry.get("disabled") is True or entry.get("enabled") is False:
            server["enabled"] = False
        server |= self._times(entry)
        try:
            msgspec.convert(server, GatewayServer)
        except msgspec.ValidationError as error:
            return f"it can't be taken over: {error}"
        self._all |= self._mine
        return ImportedServer(
            name=self._name, was=self._name, host=self._host.name if self._host is not None else "", server=server,
            variables=self._mine, remarks=tuple(_remarks(entry)),
        )  # fmt: skip

    def _arguments(self, words: list[str]) -> Iterator[str]:
        before = ""
        for number, word in enumerate(words, 1):
            flag, equals, _ = word.partition("=")
            named = flag if equals and flag.startswith("-") else before
            secret = (
                named.startswith("-")
                and is_secret_name(named.lstrip("-"))
                and not (word.startswith("-") and not equals)
            )
            yield self._text(word, f"ARG{number}", secret=secret)
            before = word

    def _named(self, key: str, value: str, label: str) -> str:
        return self._text(value, label, secret=is_secret_name(key))

    def _headers(self, entry: Mapping[str, Any]) -> dict[str, str] | str:
        given = entry.get("headers") or entry.get("http_headers") or {}
        from_variables = entry.get("env_http_headers") or {}
        if not _is_texts(given) or not _is_texts(from_variables):
            return "its headers are no map of texts"
        headers = {key: self._named(key, str(value), key) for key, value in given.items()}
        headers |= {key: f"${{{self._passed(str(name))}}}" for key, name in from_variables.items()}
        if isinstance(token := entry.get("bearer_token_env_var"), str) and token:
            headers["Authorization"] = f"Bearer ${{{self._passed(token)}}}"
        return headers

    def _address(self, url: str) -> str:
        try:
            parts = urlsplit(url)
            secret = parts.password is not None or any(is_secret_name(key) for key, _ in parse_qsl(parts.query))
        except ValueError:
            secret = True
        return self._text(url, "URL", secret=secret)

    def _text(self, text: str, label: str, *, secret: bool = False) -> str:
        """The text as it stands in our file."""
        if not text:
            return text
        if (one := _ONE_VARIABLE.fullmatch(text)) is not None:
            return f"${{{self._variable(one[1], text)}}}"
        bare = self._host is not None and self._host.servers.style == "gemini" and _THEIRS_BARE.search(text)
        if not (secret or bare or _THEIRS.search(text) or self._redactor.redact(text).found):
            return text
        name = re.sub(r"[^A-Z0-9]+", "_", label.upper()).strip("_") or "VALUE"
        if not secret or not is_secret_name(label) or label.lower() in ("authorization", "cookie"):
            name = f"{self._prefix()}_{name}"
        return f"${{{self._variable(name, text)}}}"

    def _prefix(self) -> str:
        return re.sub(r"[^A-Z0-9]+", "_", self._name.upper()).strip("_") or "MCP"

    def _passed(self, name: str) -> str:
        """A variable that the agent's own environment has."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        self._mine.setdefault(plain, "")
        return plain

    def _variable(self, name: str, text: str) -> str:
        """A name for this text. No two texts have the same one, and none is a setting of ours."""
        if name[0].isdigit() or name.startswith("INTERPOSE_"):
            name = f"MCP_{name}"
        known = self._all | self._mine
        tried = (name, f"{self._prefix()}_{name}", *(f"{self._prefix()}_{name}_{number}" for number in range(2, 1000)))
        chosen = next(each for each in tried if known.get(each, text) == text)
        self._mine[chosen] = text
        return chosen

    def _is_sse(self, entry: Mapping[str, Any]) -> bool:
        said = str(entry.get("type") or entry.get("transport") or "").lower()
        gemini = self._host is not None and self._host.servers.style == "gemini" and "httpUrl" not in entry and not said
        return said == "sse" or gemini

    def _times(self, entry: Mapping[str, Any]) -> dict[str, float]:
        style = self._host.servers.style if self._host is not None else "common"
        found: dict[str, float] = {}
        unit = 0.001 if style in ("gemini", "opencode") else 1.0
        for ours, theirs, scale in (
            ("timeout", "timeout", unit), ("timeout", "tool_timeout_sec", 1.0),
            ("start_timeout", "startup_timeout_sec", 1.0),
        ):  # fmt: skip
            value = entry.get(theirs)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value * scale <= 3600:
                found[ours] = round(value * scale, 3)
        return found


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str | int | float | bool) for each in value.values())


def _remarks(entry: Mapping[str, Any]) -> Iterator[str]:
    trusting = sorted(name for name in entry if name in _TRUSTING and entry[name])
    if trusting:
        yield f"{', '.join(trusting)} is not taken over: rules decide what runs unasked"
    others = sorted(name for name in entry if name not in _USED and name not in _TRUSTING)
    if others:
        yield f"not taken over: {', '.join(others)}"
