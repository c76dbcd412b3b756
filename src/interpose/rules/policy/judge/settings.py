"""Which judge is asked, and how long: strict decoding, `${ENV}` substitution, and keys that can't be printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct, ValidationError, convert

from interpose.core.errors import PolicyError
from interpose.core.types import EMPTY, FrozenDict, freeze
from interpose.rules.policy.rules import Level, Rule

T = TypeVar("T")

Kind = Literal["openai", "anthropic", "command"]

DEFAULT_ENDPOINTS: dict[Kind, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "command": "",
}

_OURS = frozenset({"model", "messages", "system", "response_format", "tools", "tool_choice", "stream", "n"})
"""What parameters can't set: the question and the form of its answer."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)
_CREDENTIAL = re.compile(r"auth|cookie|key|pass|secret|sig|token", re.IGNORECASE)
_LONGEST = 3600.0


class SettingsError(ValueError):
    """A judge that can't work as it was set up."""


class Secret:
    """A text that is sent and never shown."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the wire."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


class Provider(Struct, frozen=True, kw_only=True):
    """One judge that can be asked. Rules with equal providers are judged by one call."""

    kind: Kind
    url: Secret = Secret("")
    """Secret, as a key may stand in its path or query."""
    model: str = ""
    parameters: FrozenDict = EMPTY
    key: Secret = Secret("")
    headers: tuple[tuple[str, Secret], ...] = ()
    command: tuple[Secret, ...] = ()

    @property
    def name(self) -> str:
        """How people are told of it."""
        if self.kind == "command":
            return f"command {PurePath(self.command[0].reveal()).name}"
        return f"{self.model} at {urlsplit(self.url.reveal()).hostname}"

    def __repr__(self) -> str:
        return f"<judge {self.name}>"


class JudgeLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the judgements of one event, and all judgements together, may cost."""

    total_timeout: float = 30.0
    """Seconds for all rules of one event."""
    concurrency: int = 8
    """Calls to one provider at the same time."""
    cache_size: int = 1024
    cache_seconds: float = 300.0
    breaker_failures: int = 5
    """After so many failures in a row a provider is left alone."""
    breaker_seconds: float = 30.0
    max_characters: int = 100_000
    """A larger operation is not judged: what is cut off could not be judged either."""


class Choice(Struct, frozen=True):
    """The judge of one rule, and how long the rule waits for it."""

    provider: Provider
    timeout: float


class _Written(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings as they stand in a file."""

    provider: Kind | None = None
    endpoint: str = ""
    model: str = ""
    parameters: dict[str, Any] = {}
    key: str = ""
    headers: dict[str, str] = {}
    command: list[str] = []
    allow_http: bool = False
    timeout: float = 10.0


_RULE_FIELDS = frozenset(_Written.__struct_fields__)
_ADDRESS = ("provider", "endpoint", "command")
_CREDENTIALS = ("key", "headers")


def limits_of(shared: Mapping[str, Any]) -> JudgeLimits:
    """The limits among the shared settings."""
    limits = _decoded({name: value for name, value in shared.items() if name not in _RULE_FIELDS}, JudgeLimits)
    for name in JudgeLimits.__struct_fields__:
        if not 0 <= getattr(limits, name) < float("inf"):
            raise SettingsError(f"{name}: expected a number that is not negative")
    for name in ("concurrency", "breaker_failures", "max_characters", "total_timeout"):
        if not getattr(limits, name):
            raise SettingsError(f"{name}: expected a number above 0")
    return limits


def choice_of(rule: Rule, shared: Mapping[str, Any], environ: Mapping[str, str]) -> Choice:
    """The judge of a rule: its own settings over the shared ones. A PolicyError says what is wrong with them.

    INVARIANT: a project's rule never chooses a judge. It could run a command of the repository, or send it our keys.
    """
    try:
        if rule.judge and rule.source.level is Level.PROJECT:
            raise SettingsError("a project's rule can't choose a judge; it is judged by the shared one")
        return _choice(_merged(shared, rule.judge), environ)
    except SettingsError as error:
        raise PolicyError((rule.problem("judge", str(error)),)) from None


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A key belongs to the endpoint that it was written beside: a rule with another endpoint does not inherit it."""
    common = {name: value for name, value in shared.items() if name in _RULE_FIELDS}
    if any(name in own for name in _ADDRESS):
        common = {name: value for name, value in common.items() if name not in (*_ADDRESS, *_CREDENTIALS)}
    return {**common, **own}


def _choice(settings: dict[str, Any], environ: Mapping[str, str]) -> Choice:
    written = _decoded(settings, _Written)
    if not 0 < written.timeout <= _LONGEST:
        raise SettingsError(f"timeout: expected seconds above 0, at most {_LONGEST:g}")

    def filled(field: str, text: str) -> str:
        return _filled(field, text, environ)

    match written.provider:
        case None:
            raise SettingsError("provider: expected openai, anthropic or command")
        case "command":
            return Choice(_command_provider(written, filled), written.timeout)
        case "openai" | "anthropic":
            return Choice(_http_provider(written.provider, written, filled), written.timeout)


Fill = Callable[[str, str], str]


def _command_provider(written: _Written, filled: Fill) -> Provider:
    if not written.command or not written.command[0]:
        raise SettingsError("command: expected a program and its arguments, as a list")
    for name in ("endpoint", "key", "headers", "allow_http"):
        if getattr(written, name):
            raise SettingsError(f"{name}: a command has none")
    words = tuple(filled("command", word) for word in written.command)
    if any("\0" in word for word in words):
        raise SettingsError("command: has a NUL in it")
    if "/" in words[0] and not PurePath(words[0]).is_absolute():
        raise SettingsError("command: expected an absolute path, or a name that is found on PATH")
    return Provider(
        kind="command", model=filled("model", written.model), parameters=freeze(written.parameters),
        command=tuple(map(Secret, words)),
    )  # fmt: skip


def _http_provider(kind: Kind, written: _Written, filled: Fill) -> Provider:
    if written.command:
        raise SettingsError("command: only the provider `command` has one")
    if not written.model:
        raise SettingsError("model: expected the name of a model")
    if taken := sorted(_OURS & written.parameters.keys()):
        raise SettingsError(f"parameters: {', '.join(taken)} can't be set here")
    for field, text in _credentials(written):
        if not _VARIABLE.search(text):
            # INVARIANT: rules are shown, explained and recorded as they were written, so no key may stand in one.
            raise SettingsError(
                f"{field}: expected ${{NAME}}, a variable of the environment; keys don't belong in files"
            )
    url = _url(filled("endpoint", written.endpoint or DEFAULT_ENDPOINTS[kind]), allow_http=written.allow_http)
    return Provider(
        kind=kind, url=Secret(url), model=filled("model", written.model), parameters=freeze(written.parameters),
        key=Secret(_header("key", filled("key", written.key))),
        headers=tuple((_name(name), Secret(_header(name, filled("headers", text))))
                      for name, text in written.headers.items()),
    )  # fmt: skip


def _credentials(written: _Written) -> Iterator[tuple[str, str]]:
    """What is a key, or is called like one."""
    if written.key:
        yield "key", written.key
    for name, text in written.headers.items():
        if _CREDENTIAL.search(name):
            yield "headers", text
    for part in written.endpoint.partition("?")[2].split("&"):
        name, _, text = part.partition("=")
        if _CREDENTIAL.search(name):
            yield "endpoint", text


def _url(endpoint: str, *, allow_http: bool) -> str:
    """INVARIANT: no message shows the endpoint, which may hold a key."""
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SettingsError("endpoint: expected an URL") from None
    if parts.scheme not in ("http", "https") or not host or not endpoint.isascii() or not endpoint.isprintable():
        raise SettingsError("endpoint: expected an URL that begins with https://")
    if parts.username is not None or parts.fragment:
        raise SettingsError("endpoint: expected an URL without a user and without a fragment; use key or headers")
    if parts.scheme == "http" and not allow_http and not _is_loopback(host):
        raise SettingsError("endpoint: http would show operations and key to the network; use https, or allow_http")
    return _joined(parts)


def _joined(parts: SplitResult) -> str:
    return parts._replace(path=parts.path.rstrip("/")).geturl()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _name(name: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise SettingsError("headers: expected names of letters, digits and dashes")
    return name


def _header(field: str, text: str) -> str:
    if not text.isascii() or (text and not text.isprintable()):
        raise SettingsError(f"{field}: expected printable ASCII")
    return text


def _filled(field: str, text: str, environ: Mapping[str, str]) -> str:
    """The text with `${NAME}` replaced, once: what a variable holds is not looked at again."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if not environ.get(name):
            raise SettingsError(f"{field}: the environment has no {name}")
        return environ[name]

    return _VARIABLE.sub(value, text)


def _decoded(settings: Mapping[str, Any], shape: type[T]) -> T:
    try:
        return convert(dict(settings), shape)
    except ValidationError as error:
        raise SettingsError(str(error)) from None
