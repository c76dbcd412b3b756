"""What it means to talk to another machine: shared by all commands that send or fetch."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.invocation import UNKNOWN, Lowering, Stream, Word
from interpose.effects.streams import joined
from interpose.effects.values import Certainty

REMOTE = Stream(taints=frozenset({"remote"}))
"""What comes from the network: unknown, and not ours."""

_METADATA_HOSTS = frozenset(
    {"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "metadata.google.internal", "metadata"}
    | {"fd00:ec2::254", "metadata.azure.internal"}
)
_LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "host.docker.internal", "ip6-localhost", "0"})
_DESTROYING = words("delete deletes destroy purge drop truncate wipe terminate remove undeploy unpublish revoke")
_DESTROYING_ENDPOINTS = frozenset(
    {"_close", "_shutdown", "clean_tombstones", "flushall", "quit", "quitquitquit", "shutdown"}
)
_ASKING = ("search", "query", "_count", "_msearch", "_mget", "graphql", "completions", "embeddings", "validate")
"""How endpoints end that are asked by POST because the question is long."""
_BODY_ENDINGS = (
    ".json",
    ".jsonl",
    ".ndjson",
    ".xml",
    ".graphql",
    ".gql",
    ".yaml",
    ".yml",
    ".txt",
    ".csv",
    ".html",
    ".md",
)
"""What people keep request bodies in."""


class Url(Struct, frozen=True):
    """The parts of a URL that matter here."""

    scheme: str
    host: str
    path: str

    @property
    def name(self) -> str:
        """The file name at the end of the path."""
        return self.path.rpartition("/")[2]


def url_of(text: str, scheme: str = "http") -> Url:
    """Read a URL as command line tools do: without a scheme, the first part is the host."""
    try:
        parts = urlsplit(text if "://" in text else f"{scheme}://{text}")
        return Url(parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.path)
    except ValueError:
        return Url(scheme, UNKNOWN, "")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host in _LOCAL_NAMES or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def is_metadata(host: str) -> bool:
    """Whether a host is the service by which a cloud hands out credentials."""
    return host in _METADATA_HOSTS or str(_address(host)) in _METADATA_HOSTS


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        # Clients also take an address as one number: 2852039166 and 0xa9fea9fe are 169.254.169.254.
        if host.isdigit() or host.startswith("0x"):
            return ipaddress.ip_address(int(host, 0)) if len(host) <= 12 else None
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def send(low: Lowering, host: str, what: Stream, at: Word | None = None) -> None:
    """State that `what` goes to `host`. `file`: it is more than what people type, and nobody can say what."""
    unseen = what.text is None or UNKNOWN in what.text
    low.emit("net.upload", host, at=at, secret="secret" in what.taints, local=is_loopback(host_of(host)), file=unseen)


def send_file(low: Lowering, host: str, path: Word, at: Word | None = None, *, body: bool = False) -> None:
    """State that a file is read and sent. `body`: as the body of a request, where small data files are usual."""
    content = low.read(path)
    if body and content.text is None and not content.taints and path.known and path.text.endswith(_BODY_ENDINGS):
        content = Stream("", content.taints)
    send(low, host, content, at or path)


def send_words(low: Lowering, host: str, *sent: Word | None) -> None:
    """State that words are sent. Only secrets among them are worth a word: people type the rest."""
    for word in sent:
        if word is not None and "secret" in word.taints and not _is_login(word.text):
            # A token of the environment often is meant for that server; a file never is.
            certainty: Certainty = "possible" if "env" in word.taints else "proven"
            low.emit("net.upload", host, certainty=certainty, at=word, secret=True)


def _is_login(url: str) -> bool:
    """Whether the unknown parts of a URL stand where a login belongs: `user:?@host`, `?token=?`."""
    if "://" not in url:
        return False
    address, _, query = url.partition("?")
    start, _, rest = address.partition("@")
    if UNKNOWN in (rest or start):
        return False
    return all(
        pair.partition("=")[0].lower().endswith(CREDENTIAL_NAMES) for pair in query.split("&") if UNKNOWN in pair
    )


CREDENTIAL_NAMES = ("key", "token", "auth", "secret", "password", "appid", "authorization")
"""How the names of headers and parameters end that carry a login."""


def host_of(peer: str) -> str:
    """The host of `user@host:port`."""
    host = peer.rpartition("@")[2]
    return host.partition(":")[0] if host.count(":") == 1 else host


def keeps_keys(path: str) -> bool:
    """Whether a directory of this name usually holds private keys, whatever the files in it are called."""
    return not _KEY_DIRECTORIES.isdisjoint(path.rstrip("/*").split("/"))


def holds_home(source: Word, low: Lowering) -> bool:
    """Whether a directory is the user's home or one above it: all keys lie in there."""
    path = low.path(source).rstrip("/*")
    return path == low.home or low.home.startswith(f"{path}/")


_KEY_DIRECTORIES = words("certs certificates keys private secrets credentials")


def fetch(low: Lowering, url: Word, scheme: str = "http") -> Stream:
    """State that `url` is fetched and return what comes back."""
    low.reach(url.text, at=url)
    address = url_of(url.text, scheme)
    if address.scheme == "file":
        return low.read(Word(url.text, url.span, url.glob, url.quoted, url.taints))
    if is_metadata(address.host):
        low.emit(
            "secret.read",
            url.text,
            at=url,
            rule="cloud-metadata",
            reason="Asks the cloud's metadata service, which hands out the machine's credentials.",
        )
        return joined((REMOTE, Stream(taints=frozenset({"secret"}))))
    low.emit("net.download", url.text, at=url)
    return REMOTE


def request(low: Lowering, method: str, url: Word, scheme: str = "http") -> None:
    """State what an HTTP request with this method changes or destroys at the other end."""
    method = method.upper()
    address = url_of(url.text, scheme)
    if method == "DELETE":
        low.emit(
            "data.destroy",
            url.text,
            at=url,
            rule="http-delete",
            reason="Sends a DELETE request, which removes what the URL names on the server.",
        )
    elif method in ("GET", "HEAD", "OPTIONS", "TRACE"):
        return
    elif _destroys(address.path):
        low.emit(
            "data.destroy",
            url.text,
            at=url,
            rule="http-delete",
            reason="Calls an endpoint whose name says that it deletes or shuts down.",
        )
    elif not is_loopback(address.host):
        low.emit(
            "net.upload",
            address.host,
            at=url,
            changes=not address.path.rstrip("/").lower().endswith(_ASKING),
            rule="http-change",
            reason=f"Sends a {method} request, which changes something on another machine.",
        )


def _destroys(path: str) -> bool:
    for part in path.split("/"):
        if part.lower() in _DESTROYING_ENDPOINTS:
            return True
        spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in part)
        if not _DESTROYING.isdisjoint(spaced.replace("_", " ").replace("-", " ").split()):
            return True
    return False
