"""Which route a request target names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from interpose.doors.http_server.messages import EVERY, Refusal, Route, Routes

_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MOST_FIELDS = 64


class RequestTarget(Struct, frozen=True):
    """The target of a request as it was written. `authority` is that of an absolute form, else None."""

    path: str
    query: str = ""
    authority: str | None = None


class RouteMatch(Struct, frozen=True):
    """The methods of a path, and what stands for its names."""

    methods: Mapping[str, Route]
    params: dict[str, str]

    def route(self, method: str) -> Route:
        """The route of a method, or a refusal that says which there are. What answers GET answers HEAD."""
        found = self.methods.get("GET" if method == "HEAD" else method) or self.methods.get(EVERY)
        if found is None:
            raise Refusal(405, "method_not_allowed", f"{method} is not allowed here", (("Allow", self.allow),))
        return found

    @property
    def allow(self) -> str:
        """The methods as the Allow header has them."""
        return ", ".join(sorted({*self.methods, "OPTIONS", *(["HEAD"] if "GET" in self.methods else [])}))


class Router:
    """All routes. Paths without names are found by one lookup."""

    def __init__(self, routes: Routes) -> None:
        tables: dict[str, dict[str, Route]] = {}
        for route in routes:
            methods = tables.setdefault(route.path, {})
            if route.method in methods:
                raise ValueError(f"{route.method} {route.path} is routed twice")
            methods[route.method] = route
        self._linked = any(route.linked for route in routes)
        self._rest = tables.pop(EVERY, None)
        self._targets = {path.encode(): RequestTarget(path) for path in tables}
        self._exact = {path: RouteMatch(methods, {}) for path, methods in tables.items() if "{" not in path}
        self._by_length: dict[int, list[tuple[list[str], dict[str, Route]]]] = {}
        # A written segment goes before a name, so that /audit/stats is not the entry called stats.
        for path, methods in sorted(tables.items(), key=lambda item: item[0].replace("{", "\uffff")):
            segments = path.split("/")
            self._by_length.setdefault(len(segments), []).append((segments, methods))

    def target(self, raw: bytes) -> RequestTarget:
        """The target of a request line."""
        return self._targets.get(raw) or parse_target(raw)

    def is_linked(self, method: str, path: str) -> bool:
        """Whether pages of other sites may lead here."""
        if method not in ("GET", "HEAD") or not self._linked:
            return False
        try:
            return self.find(path).route(method).linked
        except Refusal:
            return False

    def find(self, path: str) -> RouteMatch:
        """The routes of a path as it was written in the target."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        given = [decoded(segment) for segment in path.split("/")]
        for pattern, methods in self._by_length.get(len(given), ()):
            params = _params(pattern, given)
            if params is not None:
                return RouteMatch(methods, params)
        if self._rest is not None:
            return RouteMatch(self._rest, {})
        raise Refusal(404, "not_found", "there is nothing under this path")


def _params(pattern: list[str], given: list[str]) -> dict[str, str] | None:
    params: dict[str, str] = {}
    for want, segment in zip(pattern, given, strict=True):
        if want.startswith("{"):
            if not segment:
                return None
            params[want[1:-1]] = segment
        elif want != segment:
            return None
    return params


def parse_target(raw: bytes) -> RequestTarget:
    """The target of a request line: `/path?query` or `http://authority/path?query`."""
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        raise _bad_target("has characters that are no ASCII") from None
    authority = None
    if not text.startswith("/"):
        scheme, separator, rest = text.partition("://")
        if not separator or scheme.lower() not in {"http", "https"}:
            raise _bad_target("is neither a path nor an http address")
        authority, slash, rest = rest.partition("/")
        text = slash + rest if slash else "/"
    if "#" in text or "\\" in text:
        raise _bad_target("has a character that no target has")
    path, _, query = text.partition("?")
    return RequestTarget(path, query, authority)


def parse_query(text: str) -> dict[str, str]:
    """The fields of a query, each of them once."""
    fields: dict[str, str] = {}
    for part in filter(None, text.split("&", _MOST_FIELDS)):
        name, _, value = part.partition("=")
        name = decoded(name.replace("+", " "))
        if name in fields:
            raise Refusal(400, "invalid_request", f"the query has {name!r} twice")
        if len(fields) == _MOST_FIELDS:
            raise Refusal(400, "invalid_request", f"the query has more than {_MOST_FIELDS} fields")
        fields[name] = decoded(value.replace("+", " "))
    return fields


def decoded(text: str) -> str:
    """Text without percent escapes."""
    if "%" not in text:
        return text
    if _BROKEN_ESCAPE.search(text):
        raise _bad_target("has a broken percent escape")
    try:
        plain = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise _bad_target("is not UTF-8 behind its percent escapes") from None
    if _CONTROL.search(plain):
        raise _bad_target("hides control characters behind percent escapes")
    return plain


def _bad_target(problem: str) -> Refusal:
    return Refusal(400, "bad_request", f"the request target {problem}")
