"""Secrets of the web: passwords in URLs, query parameters, headers and cookies."""

from __future__ import annotations

from binascii import Error, a2b_base64
from collections.abc import Iterator

from interpose.reading.secrets.hits import GUESSED, NAMED, Hit
from interpose.reading.secrets.patterns import pattern
from interpose.reading.secrets.secret_values import (
    entropy,
    has,
    is_code,
    is_drawn,
    is_filler,
    is_name,
    is_password,
    is_template,
)

_COMMON_WORD = (
    r"(?i)(?:pass(?:word|wd)?1?|pwd|pw|secret|token|user(?:name)?|admin|root|guest|test|foo|bar|x+|hunter2"
    r"|credentials|[a-z])"
)
_VARIABLE = r"\{[A-Za-z_.]+\}"
_NO_REAL_HOST = (
    r"(?i)(?:(?:[\w-]+\.)*(?:example|test|invalid|local|localhost|localdomain)(?:\.(?:com|org|net|edu|co))?"
    r"|[\w-]*(?:host|server|domain|proxy|url|site|machine)[\w-]*(?:\.(?:com|org|net|name))?"
    r"|127\..*|0\.0\.0\.0|\[.*|[a-z]{1,3}|(?:foo|bar).*|(?:www\.)?python\.org)"
)


class UrlPasswords:
    """`scheme://user:password@host`."""

    spans_lines = False
    gate = r"://[^\s/?#:@\"'<>\\`]*:[^\s/?#@\"'<>\\`]+@[0-9A-Za-z\[_$-]"
    _pattern = (
        r"://(?P<user>[^\s/?#:@\"'<>\\`]*):(?P<password>[^\s/?#@\"'<>\\`]+)@"
        r"(?P<host>[0-9A-Za-z._-]+|\[[0-9A-Fa-f:]+\])"
    )

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The passwords of URLs. Common words are only spared where the host is a made-up one too."""
        for match in pattern(self._pattern).matches(data, start, end):
            password = match["password"]
            if b"{" in password or password.startswith(b"$") or (is_template(password) and len(set(password)) > 1):
                continue
            common = len(password) < 4 or is_filler(password) or is_name(password) or password.isalpha()
            if common and pattern(_NO_REAL_HOST).covers(match["host"]):
                continue
            yield Hit(*match.span("password"), "url-password", password, NAMED)


class UrlParameters:
    """`?access_token=...` and its like."""

    spans_lines = False
    _names = (
        r"(?:access_token|refresh_token|id_token|auth_token|oauth_token|session_token|private_token|job_token|token|api_?key|"
        r"apikey|api_token|appid|app_?key|auth|key|client_secret|secret|signature|sig|password|passwd|pwd|code|"
        r"subscription-key|x-amz-security-token|x-amz-credential|sessionid|session_id|sid|hmac|hapikey|t)"
    )
    gate = rf"(?i)[?&;]{_names}=[^\s&\"'<>\\#]{{10}}"
    _pattern = rf"(?i)[?&;](?P<name>{_names})=(?P<value>[^\s&\"'<>\\#,;)]+)"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The values that open something."""
        for match in pattern(self._pattern).matches(data, start, end):
            value = match["value"]
            if len(value) >= 16 and _is_opaque(value):
                yield Hit(*match.span("value"), "url-parameter", value, NAMED)


class Authorization:
    """The header, in whatever is around it: a request, a program, a command line."""

    spans_lines = False
    _schemes = r"(?:bearer|basic|token|api-?key|api-token|digest|negotiate|ntlm|jwt|oauth|hawk|splunk|genie-?key)"
    _header = rf"authorization[\"'\\ \t]*[:=,(][\\ \t]*[\"'`]?(?:(?P<scheme>{_schemes})[ \t]+)?"
    _alone = r"\b(?P<alone>bearer|basic)[ \t]+"
    gate = rf"(?i)(?:{_header}[0-9A-Za-z+/_~.@=-]{{6}}|{_alone}[0-9A-Za-z._~+/-]{{16}})"
    _pattern = rf"(?i)(?:{_header}|{_alone})(?P<value>[0-9A-Za-z+/_~.@:|=-]{{6,}})"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The credentials after the scheme."""
        for match in pattern(self._pattern).matches(data, start, end):
            value = match["value"].rstrip(b".:")
            kind = _credentials((match["scheme"] or match["alone"]).lower(), value, alone=bool(match["alone"]))
            if kind:
                at = match.span("value")[0]
                yield Hit(at, at + len(value), kind, value, GUESSED)


def _credentials(scheme: bytes, value: bytes, *, alone: bool) -> str:
    """The kind of what follows a scheme; empty if it is a word of a sentence or a placeholder."""
    if scheme == b"basic":
        opaque = not alone and len(value) >= 16 and has(value, "d") and not is_template(value)
        return "basic-auth" if opaque or is_basic(value) else ""
    if len(value) < (20 if alone else 10) or not _is_opaque(value):
        return ""
    return "bearer-token" if scheme == b"bearer" else "authorization-header"


class DockerAuth:
    """`"auth": "<base64 of user:password>"`, as registries' clients keep it."""

    spans_lines = False
    gate = r"\bauth[\\ ]*\"[ \t]*:[\\ \t]*\"[0-9A-Za-z+/]{8}"
    _pattern = r"\bauth[\\ ]*\"[ \t]*:[\\ \t]*\"(?P<value>[0-9A-Za-z+/]{8,}={0,2})[\\ ]*\""

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The logins of registries."""
        for match in pattern(self._pattern).matches(data, start, end):
            if is_basic(match["value"]):
                yield Hit(*match.span("value"), "registry-auth", match["value"], NAMED)


class Cookies:
    """`Cookie:` and `Set-Cookie:`: the values that are a session."""

    spans_lines = False
    gate = r"(?i)\bcookie[\"'\\ \t]*[:=,][\\ \t]*[\"'`]?[\w.$-]+=[^\s;,\"'\\]"
    _pattern = r"(?i)\bcookie[\"'\\ \t]*[:=,][\\ \t]*[\"'`]?(?P<pairs>[\w.$-]+=[^\r\n\"'\\]+)"
    _pair = r"(?P<name>[\w.$-]+)=(?P<value>[^\s;,]+)"
    _session = r"(?i).*(?:sess|sid|auth|token|jwt|remember|login|secure|identity|ticket|sso).*"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """Cookies whose name says session, or whose value says nothing at all."""
        for match in pattern(self._pattern).matches(data, start, end):
            for pair in pattern(self._pair).matches(data, *match.span("pairs")):
                value = pair["value"]
                telling = pattern(self._session).covers(pair["name"])
                if len(value) >= (8 if telling else 20) and _is_opaque(value):
                    yield Hit(*pair.span("value"), "cookie", value, GUESSED)


class CurlUsers:
    """`curl -u user:password`, over continued lines too."""

    spans_lines = True
    gate = r"\s(?:-u|--user|-U|--proxy-user)[ \t=]*[\"']?[^\s:\"'$]+[\"']?:(?:[\"']?[^\s\"'$]|[\"'\s]|\z)"
    _pattern = (
        r"\bcurl\b[^\n]*?\s(?:-u|--user|-U|--proxy-user)[ \t=]*"
        r"(?:\"(?P<double>[^\"\s:]+:[^\"\s]+)\"|'(?P<single>[^'\s:]+:[^'\s]+)'"
        r"|[\"']?(?P<user>[0-9A-Za-z_-]{16,128}):(?:[\"'\s]|\z)|(?P<bare>[^\s:\"']*[\"']?[^\s:]*:[^\s`]+))"
    )

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The passwords that curl is given."""
        for match in pattern(self._pattern).matches(data, start, end):
            if match["user"]:  # a key in the place of a name, without a password
                if is_drawn(match["user"]):
                    yield Hit(*match.span("user"), "curl-password", match["user"], NAMED)
                continue
            group = match.which(("double", "single", "bare"))
            user, _, password = match[group].partition(b":")
            at = match.span(group)[0] + len(user) + 1
            inner = password.strip(b"\"'")
            at += len(password) - len(password.lstrip(b"\"'"))
            bare = inner.strip(b"{}")
            if inner.startswith(b"$") or pattern(_VARIABLE).covers(inner) or is_template(bare):
                continue
            if pattern(_COMMON_WORD).covers(inner) or len(bare) < 4:
                continue
            yield Hit(at, at + len(inner), "curl-password", inner, NAMED)


class CommandPasswords:
    """`mysql -pSECRET`, `sshpass -p SECRET`, `redis-cli -a SECRET`, `docker login -p SECRET`."""

    spans_lines = True
    gate = r"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|redis-cli|docker login|podman login)\b"
    _pattern = (
        r"\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]*?\s-p"
        r"|(?:sshpass|docker login|podman login)\b[^\n]*?\s-p[ ]*"
        r"|redis-cli\b[^\n]*?\s(?:-a|--pass)[ ]+)[\"']?(?P<value>[^\s\"'\\]+)"
    )

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The passwords that clients of servers are given."""
        for match in pattern(self._pattern).matches(data, start, end):
            value = match["value"]
            if not is_template(value) and not is_filler(value) and is_password(value, quoted=True):
                yield Hit(*match.span("value"), "command-password", value, NAMED)


class Netrc:
    """`machine host login user password secret`."""

    spans_lines = False
    gate = r"\blogin[ \t]+\S+\s+password[ \t]+\S"
    _pattern = r"\b(?:machine[ \t]+\S+\s+)?login[ \t]+\S+\s+password[ \t]+(?P<value>[^\s\"'`\\]+)"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """The passwords of a netrc file."""
        for match in pattern(self._pattern).matches(data, start, end):
            value = match["value"]
            if len(value) >= 4 and not (is_template(value) or is_filler(value) or value.isalpha()):
                yield Hit(*match.span("value"), "netrc-password", value, NAMED)


def is_basic(value: bytes) -> bool:
    """Whether this is `user:password` in base64."""
    try:
        decoded = a2b_base64(value + b"=" * (-len(value) % 4))
    except Error:
        return False
    return b":" in decoded and decoded.isascii() and decoded.decode().isprintable() and not is_template(decoded)


def _is_opaque(value: bytes) -> bool:
    if not has(value, "d") or entropy(value) < 2.8:
        return False
    return not (is_template(value) or is_filler(value) or is_code(value) or is_name(value))
