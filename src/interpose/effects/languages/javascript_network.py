"""What JavaScript programs send and fetch."""

from __future__ import annotations

from interpose.effects.invocation import Lowering, Word
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    download,
    entry,
    text_value,
    upload,
    without_logins,
)

Args = tuple[ProgramValue, ...]

LISTEN = frozenset({"http.createServer", "https.createServer", "net.createServer", "Bun.serve", "Deno.serve",
                    "Deno.listen", "http2.createServer", "tls.createServer"})  # fmt: skip
CONNECT = frozenset({"net.connect", "net.createConnection", "net.Socket", "tls.connect", "Deno.connect", "Bun.connect",
                     "dgram.createSocket", "WebSocket", "ws", "Deno.connectTls", "socket.io-client.io"})  # fmt: skip
_FETCH = frozenset({"fetch", "axios", "got", "node-fetch", "undici.fetch", "undici.request", "ky", "request", "needle",
                    "cross-fetch", "isomorphic-fetch", "axios.request", "superagent", "wretch", "ofetch"})  # fmt: skip
_CLIENTS = frozenset({"http", "https", "axios", "got", "superagent", "ky", "request", "needle", "http2", "undici"})
_VERBS = frozenset({"get", "request", "post", "put", "patch", "head", "delete", "del", "stream"})
_LOOKUPS = frozenset({"dns.lookup", "dns.resolve", "dns.resolve4", "dns.resolveTxt", "dns.resolve6",
                      "Deno.resolveDns", "open", "navigator.sendBeacon"})  # fmt: skip
SENDERS = frozenset({"write", "end", "send", "sendMail", "sendBeacon", "postMessage", "emit", "publish", "upload",
                     "putObject", "put", "post", "createIssue", "sendMessage", "sendDocument"})  # fmt: skip
"""Methods by which data leaves; only secrets among it are worth a word."""


def network(name: str, args: Args, seen: set[str], low: Lowering) -> ProgramValue | None:
    """A call that reaches the network."""
    first = args[0] if args else NOT_KNOWN
    module, _, tail = name.rpartition(".")
    if name in LISTEN:
        low.emit("net.listen", name)
        if name.startswith(("net.", "tls.")):
            seen.add("connected")
        return NOT_KNOWN
    if name in CONNECT:
        seen.add("connected")
        return ProgramValue(name="socket()", text=first.text, taints=frozenset({"remote"}))
    if name in _LOOKUPS:
        if "secret" in all_taints(args):
            upload(first, all_taints(args), low)
        return NOT_KNOWN
    if name in _FETCH or (module in _CLIENTS and tail in _VERBS):
        return _request(name, module, tail, args, low)
    return None


def _request(name: str, module: str, tail: str, args: Args, low: Lowering) -> ProgramValue:
    options = next((arg for arg in reversed(args) if arg.entries is not None), NOT_KNOWN)
    url = args[0] if args else NOT_KNOWN
    if url.entries is not None:
        url = entry(url, "url") or entry(url, "host") or entry(url, "hostname") or NOT_KNOWN
    method = tail if module in _CLIENTS - {"http", "https", "http2"} and tail in _VERBS else ""
    said = entry(options, "method")
    method = (said.text if said is not None else method).lower()
    bodies = [found for key in ("body", "data", "json", "form", "formData", "searchParams", "params", "files")
              if (found := entry(options, key)) is not None]  # fmt: skip
    if module in ("axios", "needle") and len(args) > 1 and method in ("post", "put", "patch"):
        bodies.append(args[1])
    headers = entry(options, "headers")
    params = [found for key in ("params", "searchParams") if (found := entry(options, key)) is not None]
    sent = all_taints([body for body in bodies if body not in params])
    for named in (*params, *((headers,) if headers is not None else ())):
        sent |= without_logins(named)
    if method in ("delete", "del"):
        low.run((Word("curl"), Word("-X"), Word("DELETE"), url.word), via=name)
    elif method in ("post", "put", "patch") or bodies or "secret" in sent:
        upload(url, sent, low)
    else:
        download(url, low)
    kind = "request()" if module in ("http", "https", "http2") else "response()"
    return ProgramValue(name=kind, text=url.text, taints=frozenset({"remote"}))


def sends(receiver: ProgramValue, name: str, args: Args, low: Lowering) -> bool:
    """Whether a method of some client sends a secret, or a request that was begun sends a file."""
    if name not in SENDERS or not args:
        return False
    taints = all_taints(args)
    for arg in args:
        taints |= all_taints([worth for _, worth in arg.entries or ()])
    to = text_value(receiver.text) if receiver.name == "request()" else text_value("socket")
    if "secret" in taints or ("file" in taints and receiver.name in ("request()", "socket()")):
        upload(to, taints, low)
        return True
    return False
