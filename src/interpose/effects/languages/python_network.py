"""What Python programs send and fetch: requests of whatever library, sockets, mail, files for storage services."""

from __future__ import annotations

from collections.abc import Mapping

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.languages.program_values import (
    NOT_KNOWN,
    ProgramValue,
    all_taints,
    download,
    tainted,
    text_value,
    upload,
    without_logins,
)
from interpose.effects.languages.python_text import FILE, RESPONSE

Args = tuple[ProgramValue, ...]
Keywords = Mapping[str, ProgramValue]

HTTP = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "request", "stream"})
_CLIENTS = ("requests", "requests.Session()", "aiohttp", "aiohttp.ClientSession()", "requests.Client()", "urllib3",
            "httplib2.Http()", "niquests", "curl_cffi.requests", "grequests", "treq")  # fmt: skip
_SESSIONS = frozenset({"requests.Session", "requests.session", "requests.Client", "requests.AsyncClient",
                       "aiohttp.ClientSession", "urllib3.PoolManager", "urllib3.HTTPConnectionPool", "httplib2.Http",
                       "urllib3.HTTPSConnectionPool", "requests_html.HTMLSession", "niquests.Session",
                       "cloudscraper.create_scraper", "http.Client"})  # fmt: skip
_SERVERS = frozenset({"http.server.HTTPServer", "socketserver.TCPServer", "http.server.test",
                      "http.server.ThreadingHTTPServer", "socketserver.UDPServer", "asyncio.start_server",
                      "socketserver.ThreadingTCPServer", "wsgiref.simple_server.make_server"})  # fmt: skip
_LOOKUPS = frozenset({"socket.gethostbyname", "socket.getaddrinfo", "socket.gethostbyname_ex", "dns.resolver.resolve",
                      "dns.resolver.query", "socket.gethostbyaddr", "socket.getfqdn", "webbrowser.open",
                      "webbrowser.open_new", "webbrowser.open_new_tab"})  # fmt: skip
_STORES = frozenset({"keyring.get_password", "keyring.get_credential", "secretstorage.get_default_collection",
                     "dotenv.dotenv_values", "dotenv.get_key", "browser_cookie3.load", "browser_cookie3.chrome",
                     "browser_cookie3.firefox", "win32crypt.CryptUnprotectData"})  # fmt: skip
_STORE_METHODS = frozenset({"get_secret_value", "access_secret_version", "get_secret", "read_secret_version",
                            "get_parameters_by_path"})  # fmt: skip
_FILE_SENDERS: dict[str, int] = {
    "upload_file": 0, "upload_from_filename": 0, "fput_object": 2, "put_file": 0, "files_upload": 0, "send_file": 0,
    "files_upload_v2": 0, "send_document": 1, "upload_folder": 0, "upload_blob_from_path": 0,
}  # fmt: skip
"""Methods that send a file, and where its path stands among the arguments."""
_SENDERS = frozenset({"sendall", "send", "sendto", "sendmsg", "sendmail", "send_message", "storbinary", "storlines",
                      "put_object", "upload_fileobj", "upload_from_string", "upload_from_file", "upload_blob",
                      "send_bytes", "chat_postMessage", "publish", "send_string", "create_issue", "send_photo",
                      "write_message", "upload_data", "postMessage"})  # fmt: skip
"""Methods by which data leaves; only secrets among it are worth a word."""
DATA_FILES = (".json", ".xml", ".yaml", ".yml", ".graphql", ".gql", ".txt", ".csv", ".ndjson", ".jsonl", ".sql")
"""Small files that are the usual body of a request."""


def network(name: str, args: Args, keywords: Keywords, seen: set[str], low: Lowering) -> ProgramValue | None:  # noqa: C901 - one case per function
    """A call of a library that reaches the network, or gets a secret that lies behind one."""
    module, _, attr = name.rpartition(".")
    first = args[0] if args else NOT_KNOWN
    if module in _CLIENTS and attr in HTTP:
        return request(attr, args, keywords, low)
    if name in _SESSIONS:
        return ProgramValue(name="requests.Session()")
    if name in _SERVERS:
        low.emit("net.listen", name)
        return NOT_KNOWN
    if name in _LOOKUPS:
        if "secret" in first.taints:
            upload(first, NOTHING, low)
        return NOT_KNOWN
    if name in _STORES:
        return _secret(name, args, keywords, low)
    match name:
        case "urllib.request.urlopen" | "urllib.urlopen":
            url = args[0] if args else keywords.get("url", NOT_KNOWN)
            if len(args) > 1 or "data" in keywords:
                upload(url, all_taints((*args[1:], *keywords.values())), low)
                return ProgramValue(name=RESPONSE, taints=frozenset({"remote"}))
            if url.text.startswith("file:"):
                return ProgramValue(name=RESPONSE, taints=low.read(text_value(url.text[5:]).word).taints)
            return ProgramValue(name=RESPONSE, taints=download(url, low).taints)
        case "urllib.request.Request":
            url = args[0] if args else keywords.get("url", NOT_KNOWN)
            body = args[1] if len(args) > 1 else keywords.get("data")
            headers = args[2] if len(args) > 2 else keywords.get("headers", NOT_KNOWN)
            if keywords.get("method", NOT_KNOWN).text == "DELETE":
                low.run((Word("curl"), Word("-X"), Word("DELETE"), url.word), via="http")
            elif body is not None or "secret" in without_logins(headers):
                upload(url, all_taints((body or NOT_KNOWN,)) | without_logins(headers), low)
            return url
        case "urllib.request.urlretrieve" | "urllib.urlretrieve" | "wget.download":
            taints = download(first, low).taints
            if len(args) > 1:
                low.write(args[1].word, Stream(None, taints))
            got = ProgramValue(text=args[1].text, taints=taints) if len(args) > 1 else ProgramValue(taints=taints)
            return got if name == "wget.download" else ProgramValue(items=(got, NOT_KNOWN), taints=taints)
        case "http.client.HTTPConnection" | "http.client.HTTPSConnection" | "httplib.HTTPConnection":
            port = args[1] if len(args) > 1 else keywords.get("port")
            host = (args[0] if args else keywords.get("host", NOT_KNOWN)).text
            return ProgramValue(text=host if port is None else f"{host}:{port.text}", name="http.client()")
        case "socket.socket" | "socket.create_connection" | "asyncio.open_connection" | "telnetlib.Telnet":
            if not name.endswith("socket.socket"):
                seen.add("connect")
                connects(first, low)
            return ProgramValue(name="socket()", taints=frozenset({"remote"}))
        case _:
            return None


def _secret(name: str, args: Args, keywords: Keywords, low: Lowering) -> ProgramValue:
    if name.startswith("dotenv."):
        path = args[0] if args else keywords.get("dotenv_path", text_value(".env"))
        return ProgramValue(taints=low.read(path.word).taints | {"secret"})
    low.emit("secret.read", name, rule="secret-store", reason="Gets a secret out of the place that keeps it")
    return tainted("secret")


def request(verb: str, args: Args, keywords: Keywords, low: Lowering) -> ProgramValue:
    """An HTTP request of whatever library."""
    if verb in ("request", "stream") and args:
        verb, args = args[0].text.lower(), args[1:]
    url = args[0] if args else keywords.get("url", NOT_KNOWN)
    body = tuple(value for key, value in keywords.items() if key in ("data", "json", "files", "content", "fields"))
    named = [without_logins(keywords[key]) for key in ("params", "headers", "cookies") if key in keywords]
    given = args[1:] if verb != "get" else ()
    sent = all_taints((*given, *body)) | NOTHING.union(*named)
    if verb == "get" and len(args) > 1:
        sent |= without_logins(args[1])
    if verb == "delete":
        low.run((Word("curl"), Word("-X"), Word("DELETE"), url.word), via="http")
    elif verb in ("post", "put", "patch") or "secret" in sent:
        upload(url, sent, low)
    else:
        download(url, low)
    return ProgramValue(name=RESPONSE, taints=frozenset({"remote"}))


def connects(address: ProgramValue, low: Lowering) -> None:
    """A connection by hand: what goes over it is not followed."""
    if address.items is not None and len(address.items) > 1:
        low.reach_raw(address.items[0].text, address.items[1].text, Stream())
    elif address.known:
        low.reach_raw("", "", Stream(), socket=address.text)


def sends(receiver: ProgramValue, name: str, args: Args, keywords: Keywords, low: Lowering) -> bool:
    """Whether a method of some client sends something. What is sent is stated here."""
    if name in _FILE_SENDERS or (name == "put" and receiver.name == "sftp()"):
        position = _FILE_SENDERS.get(name, 0)
        named = [keywords[key] for key in ("Filename", "file", "filename", "file_path") if key in keywords]
        path = args[position] if len(args) > position else next(iter(named), None)
        if path is None or path.name == FILE:
            return False
        taints = low.read(path.word).taints
        unseen = not path.text.endswith(DATA_FILES)
        low.emit("net.upload", name, secret="secret" in taints, file=unseen and name == "put", method=True)
        return True
    if name in _SENDERS:
        sent = all_taints((*args, *keywords.values()))
        if "secret" in sent:
            upload(ProgramValue(text="socket"), sent, low)
        return True
    if name in ("request", "putrequest") and receiver.name == "http.client()":
        body = (*args[2:3], *(keywords[key] for key in ("body",) if key in keywords))
        headers = args[3] if len(args) > 3 else keywords.get("headers", NOT_KNOWN)
        path = args[1] if len(args) > 1 else keywords.get("url", NOT_KNOWN)
        url = ProgramValue(text=receiver.text + (path.text if path.text else UNKNOWN), taints=path.taints)
        upload(url, all_taints(body) | without_logins(headers), low)
        return True
    if name in ("resolve", "query", "lookup") and args and "secret" in args[0].taints:
        upload(args[0], NOTHING, low)
        return True
    return False


def from_store(name: str, args: Args, keywords: Keywords, low: Lowering) -> ProgramValue | None:
    """A method that gets a secret from a store of a cloud. Values that hide themselves have one without arguments."""
    if name not in _STORE_METHODS or not (args or keywords):
        return None
    low.emit("secret.read", name, rule="secret-store", reason="Gets a secret out of the place that keeps it")
    return tainted("secret")
