"""curl: fetches, sends, writes files, and reads local ones through file URLs."""

from __future__ import annotations

import re

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import standard_input
from interpose.effects.programs.shared.transfer import (
    CREDENTIAL_NAMES,
    fetch,
    request,
    send,
    send_file,
    send_words,
    url_of,
)
from interpose.effects.streams import joined

_ALIASES = {
    "--output": "-o", "--remote-name": "-O", "--remote-name-all": "-O", "--request": "-X", "--data": "-d",
    "--data-ascii": "-d", "--form": "-F", "--upload-file": "-T", "--header": "-H", "--config": "-K", "--head": "-I",
    "--get": "-G", "--dump-header": "-D", "--cookie-jar": "-c", "--cookie": "-b", "--user": "-u",
    "--user-agent": "-A", "--referer": "-e", "--cert": "-E", "--max-time": "-m", "--write-out": "-w", "--proxy": "-x",
    "--proxy-user": "-U", "--range": "-r", "--quote": "-Q", "--help": "-h", "--version": "-V", "--manual": "-M",
    "--time-cond": "-z", "--continue-at": "-C", "--speed-limit": "-Y", "--speed-time": "-y", "--ftp-port": "-P",
    "--telnet-option": "-t",
}  # fmt: skip
_BODIES = ("-d", "--data-binary", "--data-raw", "--data-urlencode", "--json", "--form-string", "--url-query")
_WRITTEN = ("-D", "-c", "--trace", "--trace-ascii", "--stderr", "--libcurl", "--etag-save", "--hsts", "--alt-svc")
_VALUES = words(
    """
    -A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -y -Y -z --url --data-binary --data-raw
    --data-urlencode --json --form-string --url-query --trace --trace-ascii --stderr --libcurl --etag-save
    --etag-compare --hsts --alt-svc --abstract-unix-socket --aws-sigv4 --cacert --capath --cert-type --ciphers
    --connect-timeout --connect-to --create-file-mode --crlfile --curves --delegation --dns-interface --dns-ipv4-addr
    --dns-ipv6-addr --dns-servers --doh-url --ech --egd-file --engine --expect100-timeout --ftp-account
    --ftp-alternative-to-user --ftp-method --ftp-ssl-ccc-mode --happy-eyeballs-timeout-ms --haproxy-clientip
    --hostpubmd5 --hostpubsha256 --interface --ipfs-gateway --keepalive-time --key --key-type --krb --limit-rate
    --local-port --login-options --mail-auth --mail-from --mail-rcpt --max-filesize --max-redirs --netrc-file
    --noproxy --oauth2-bearer --output-dir --parallel-max --pass --pinnedpubkey --preproxy --proto --proto-default
    --proto-redir --proxy-cacert --proxy-capath --proxy-cert --proxy-cert-type --proxy-ciphers --proxy-crlfile
    --proxy-header --proxy-key --proxy-key-type --proxy-pass --proxy-pinnedpubkey --proxy-service-name
    --proxy-tls13-ciphers --proxy-tlsauthtype --proxy-tlspassword --proxy-tlsuser --proxy1.0 --pubkey --random-file
    --rate --request-target --resolve --retry --retry-delay --retry-max-time --sasl-authzid --service-name --socks4
    --socks4a --socks5 --socks5-gssapi-service --socks5-hostname --speed-limit --speed-time --tftp-blksize
    --tls-max --tls13-ciphers --tlsauthtype --tlspassword --tlsuser --trace-config --unix-socket --variable
    """
)
_LONG = (
    "--insecure", "--location", "--silent", "--show-error", "--fail", "--compressed", "--verbose", "--no-buffer",
    "--remote-header-name", "--create-dirs", "--netrc", "--parallel", "--globoff", "--path-as-is",
)  # fmt: skip


@command("curl", "curlie", "wcurl")
def curl(inv: Invocation, low: Lowering) -> None:
    """Each URL is one request; the options say what goes along and where the answer lands."""
    _curl(inv, low, inv.args, depth=0)


def _curl(inv: Invocation, low: Lowering, args: tuple[Word, ...], depth: int) -> None:
    opts = parse(args, values=_VALUES, aliases=_ALIASES, long=_LONG)
    if opts.has("-V", "-M") or (opts.has("-h") and not opts.operands):
        return
    if _configured(inv, low, opts, args, depth):
        return
    urls = (*opts.values("--url"), *opts.operands)
    host = url_of(urls[0].text).host if urls else ""
    _send_bodies(inv, low, opts, host)
    send_words(low, host, *urls, *opts.values("-A", "-e", "-b"), *_plain_headers(opts))
    answers: list[Stream] = []
    for url in urls:
        answers.append(fetch(low, url))
        request(low, _method(opts), url)
        for socket in opts.values("--unix-socket"):
            low.reach(url.text, at=url, socket=socket.text)
    _docker_socket(low, opts)
    for path in opts.values(*_WRITTEN):
        if path.text != "-":
            low.write(path)
    _deliver(low, opts, urls, joined(answers))


def _configured(inv: Invocation, low: Lowering, opts: Options, args: tuple[Word, ...], depth: int) -> bool:
    """Options from a file: read them if their text is known, else say that anything may be in it."""
    for path in opts.values("-K"):
        content = standard_input(inv) if path.text == "-" else low.read(path)
        if content.text is None or depth > 0:
            low.emit("opaque", path.text, certainty="possible", at=path, rule="curl-config")
            continue
        rest = tuple(word for word in args if word is not path and word.text not in ("-K", "--config"))
        _curl(inv, low, (*rest, *_config_words(content.text, path)), depth + 1)
        return True
    return False


def _config_words(text: str, at: Word) -> tuple[Word, ...]:
    found: list[Word] = []
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals:
            name, _, value = line.strip().partition(" ")
        name = name.strip().rstrip(":")
        if not name or name.startswith("#"):
            continue
        found.append(Word(name if name.startswith("-") else f"--{name}", at.span))
        if value.strip():
            found.append(Word(value.strip().strip('"'), at.span))
    return tuple(found)


def _method(opts: Options) -> str:
    given = opts.value("-X")
    if given is not None:
        return given.text
    if opts.has("-G"):
        return "GET"
    if opts.has("-T"):
        return "PUT"
    return "POST" if opts.has(*(name for name in _BODIES if name != "--url-query"), "-F") else "GET"


def _send_bodies(inv: Invocation, low: Lowering, opts: Options, host: str) -> None:
    stdin = standard_input(inv)
    for name, value in opts.given:
        if value is None:
            continue
        if name in _BODIES:
            _send_body(low, host, name, value, stdin)
        elif name == "-H" and value.text[:1] == "@":
            _send_named(low, host, value.text[1:], value, stdin, body=True)
        elif name == "-F":
            _, _, content = value.text.partition("=")
            if content[:1] in ("@", "<"):
                _send_named(low, host, content[1:].partition(";")[0], value, stdin)
            else:
                send_words(low, host, value)
        elif name == "-T":
            _send_named(low, host, value.text, value, stdin)
            _put_here(opts, low)
        elif name == "-b" and "=" not in value.text:
            low.read(value)
    # A secret on standard input is on its way out even if this curl does not read it: the next one will.
    if inv.stdin is not None and "secret" in stdin.taints:
        send(low, host, stdin)


_PUT_HERE = re.compile(
    r"(?:file://|(?:sftp|scp|ftp|ftps)://(?:[^/@]*@)?(localhost|127(?:\.\d+){1,3}|\[::1\])(?::\d+)?)(/.*)",
    re.IGNORECASE,
)


def _put_here(opts: Options, low: Lowering) -> None:
    """An upload to this very machine writes a file of it."""
    for word in opts.operands:
        if (found := _PUT_HERE.fullmatch(word.text)) is not None:
            low.write(found[2])


def _send_body(low: Lowering, host: str, name: str, value: Word, stdin: Stream) -> None:
    text = value.text
    if name in ("--data-raw", "--form-string"):
        send_words(low, host, value)
    elif text.startswith("@"):
        _send_named(low, host, text[1:], value, stdin, body=True)
    elif name in ("--data-urlencode", "--url-query") and "@" in text and "=" not in text.partition("@")[0]:
        _send_named(low, host, text.partition("@")[2], value, stdin, body=True)
    else:
        send_words(low, host, value)


def _send_named(low: Lowering, host: str, name: str, at: Word, stdin: Stream, *, body: bool = False) -> None:
    if name in ("-", "."):
        send(low, host, stdin, at)
    else:
        send_file(low, host, Word(name, at.span, at.glob, False, at.taints), at, body=body)


def _plain_headers(opts: Options) -> tuple[Word, ...]:
    """Headers that are not there to carry a credential: a secret in one of those is no login."""
    return tuple(
        word
        for word in opts.values("-H")
        if not word.text.partition(":")[0].strip().lower().endswith((*CREDENTIAL_NAMES, "cookie"))
    )


def _docker_socket(low: Lowering, opts: Options) -> None:
    socket = opts.value("--unix-socket")
    if socket is not None and "docker" in socket.text and _method(opts).upper() != "GET":
        low.emit(
            "system",
            socket.text,
            at=socket,
            rule="docker-socket",
            reason="Gives orders to the Docker daemon directly, which runs as root.",
        )


def _deliver(low: Lowering, opts: Options, urls: tuple[Word, ...], answer: Stream) -> None:
    outputs = opts.values("-o")
    directory = opts.value("--output-dir")
    prefix = f"{directory.text.rstrip('/')}/" if directory is not None else ""
    for path in outputs:
        if path.text not in ("-", "/dev/stdout"):
            low.write(Word(prefix + path.text, path.span, path.glob, path.quoted, path.taints), answer)
    if opts.has("-O"):
        for url in urls:
            low.write(Word(prefix + (url_of(url.text).name or "curl_response"), url.span), answer)
    low.output(answer if len(outputs) < len(urls) or any(p.text == "-" for p in outputs) else Stream(""))
