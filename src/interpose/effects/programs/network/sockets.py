"""Raw connections: nc, socat, telnet, and programs that open this machine to the internet."""

from __future__ import annotations

import shlex

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import parse
from interpose.effects.programs.shared.streams import informs, standard_input
from interpose.effects.programs.shared.transfer import (
    REMOTE,
    host_of,
    is_loopback,
    request,
    send,
    send_file,
    send_words,
)
from interpose.effects.streams import joined

_NC_ALIASES = {
    "--listen": "-l", "--exec": "-e", "--sh-exec": "-c", "--lua-exec": "--lua-exec", "--source-port": "-p",
    "--source": "-s", "--wait": "-w", "--output": "-o", "--zero": "-z", "--keep-open": "-k", "--udp": "-u",
    "--proxy": "-x", "--idle-timeout": "-i", "--close": "-c", "--help": "-h",
}  # fmt: skip
_NC_VALUES = (
    "-e", "-c", "-p", "-s", "-w", "-o", "-x", "-X", "-i", "-q", "-I", "-O", "-P", "-T", "-V", "-m", "-g", "-G",
    "--lua-exec", "--proxy-type", "--proxy-auth", "--allow", "--deny", "--allowfile", "--denyfile", "--hex-dump",
    "--ssl-cert", "--ssl-key", "--ssl-trustfile", "--max-conns", "-d",
)  # fmt: skip
_BACKDOOR = "Gives whoever is at the other end of the connection a program on this machine, such as a shell."


@command("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "pwncat")
def nc(inv: Invocation, low: Lowering) -> None:
    """Connect or listen; `-e` and `-c` hand the connection to a program."""
    values = [v for v in _NC_VALUES if v != "-d" or inv.name == "ncat"]
    opts = parse(inv.args, values=values, aliases=_NC_ALIASES)
    if informs(opts) or opts.has("-h"):
        return
    host = opts.word(0)
    listens = opts.has("-l")
    programs = opts.values("-e", "-c", "--lua-exec")
    for program in programs:
        backdoor(low, host, program, listens=listens)
    for program in opts.values("-c"):
        low.shell(program, via=inv.name)
    for program in opts.values("-e"):
        low.shell(program, via=inv.name)
    if programs:
        return
    if listens:
        low.emit("net.listen", " ".join(word.text for word in opts.operands))
    send_words(low, host, *opts.operands)
    if inv.stdin is not None and not opts.has("-z"):
        if "shell" in inv.stdin.taints:
            backdoor(low, host, opts.operands[0] if opts.operands else inv.argv0, listens=listens)
        send(low, host, inv.stdin)
    _reach(low, opts.operands, inv.stdin, local=opts.has("-U"))
    for path in opts.values("-o", "--hex-dump"):
        low.write(path)
    low.output(REMOTE)


def _reach(low: Lowering, operands: tuple[Word, ...], sent: Stream | None, *, local: bool) -> None:
    """What is sent to our own server: through its socket (`-U path`), or to its port."""
    if local and operands:
        low.reach_raw("", "", sent or Stream(""), at=operands[0], socket=operands[0].text)
    elif len(operands) > 1:
        low.reach_raw(operands[0].text, operands[1].text, sent, at=operands[0])


def backdoor(low: Lowering, peer: str, at: Word, *, listens: bool) -> None:
    """State that a connection is joined to a program."""
    low.emit(  # noqa: S604 - a detail of the effect, nothing is run
        "net.listen",
        peer,
        at=at,
        rule="network-backdoor" if listens else "reverse-shell",
        reason=_BACKDOOR,
        shell=True,
    )


_NETWORK = ("TCP", "UDP", "OPENSSL", "SSL", "SOCKS", "PROXY", "SCTP", "DCCP", "VSOCK", "WEBSOCKET", "IP")
_FILES = ("OPEN", "FILE", "GOPEN", "CREATE", "CREAT", "PIPE", "FIFO")
_SOCAT_VALUES = ("-b", "-t", "-T", "-l", "-L", "-W", "-r", "-R", "-x", "-lf", "-lp")
_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock", "agent.sock", "S.gpg-agent")
_SOCKET_ORDERS = frozenset({"disable", "shutdown", "del", "clear", "set"})


@command("socat", "socat1", "filan")
def socat(inv: Invocation, low: Lowering) -> None:
    """Two addresses joined; either can be a network peer, a file, or a program."""
    opts = parse(inv.args, values=_SOCAT_VALUES, bundle=False)
    if opts.has("-h", "-V", "-?", "-hh", "-hhh"):
        return
    addresses = [_address(word) for word in opts.operands[:2]]
    peers = [rest for kind, rest, _ in addresses if kind.startswith(_NETWORK)]
    content = joined([_content(kind, rest, word, inv, low) for kind, rest, word in addresses])
    for kind, rest, word in addresses:
        if kind in ("EXEC", "SYSTEM", "SHELL"):
            if peers:
                backdoor(low, peers[0], word, listens=any("LISTEN" in kind for kind, _, _ in addresses))
            _run(kind, rest, word, content, low)
        elif "LISTEN" in kind or kind.endswith("-L"):
            control = any(other.text.endswith(_SOCKETS) for _, _, other in addresses)
            low.emit("net.listen", rest, at=word, public=control, rule="control-socket" if control else "",
                     reason="Hands a control socket to whoever connects." if control else "")  # fmt: skip
    for kind, rest, word in addresses:
        target = rest.partition(",")[0]
        if kind.startswith("UNIX") and "LISTEN" not in kind:
            low.reach_raw("", "", content, at=word, socket=target)
        elif kind.startswith("TCP") and "LISTEN" not in kind:
            host, _, port = target.rpartition(":")
            low.reach_raw(host, port, content if content.text else Stream(), at=word)
    if peers:
        send(low, peers[0], content)
        low.output(REMOTE)
    elif any(word.text.endswith(".sock") for _, _, word in addresses):
        _socket_orders(low, content, opts.operands[-1])


def _address(word: Word) -> tuple[str, str, Word]:
    kind, colon, rest = word.text.partition(":")
    if not colon:
        kind, _, rest = word.text.partition(",")
        if "/" in kind:
            return "OPEN", kind, word
        return kind.upper(), "", word
    return kind.upper(), rest, word


def _content(kind: str, rest: str, word: Word, inv: Invocation, low: Lowering) -> Stream:
    if kind in ("STDIO", "STDIN", "-", "FD"):
        return inv.stdin or Stream("")
    if kind.startswith(_FILES) and rest:
        path, *options = rest.split(",")
        directory = next((option[6:] for option in options if option.startswith("chdir=")), "")
        if kind.startswith("CREAT"):
            low.write(Word(path, word.span), REMOTE)
            return Stream("")
        return low.read(Word(f"{directory}/{path}" if directory else path, word.span))
    return Stream("", word.taints)


def _run(kind: str, rest: str, word: Word, content: Stream, low: Lowering) -> None:
    text = _unescaped(rest.partition(",")[0] if kind == "EXEC" else rest)
    try:
        words = shlex.split(text) if kind == "EXEC" else []
    except ValueError:
        words = []
    if words:
        low.run(tuple(Word(part, word.span) for part in words), via="socat", stdin=content)
    else:
        low.shell(Word(text, word.span, taints=word.taints), via="socat")


def _unescaped(text: str) -> str:
    pieces: list[str] = []
    escaped = False
    for character in text:
        if character == "\\" and not escaped:
            escaped = True
            continue
        pieces.append(character)
        escaped = False
    return "".join(pieces)


def _socket_orders(low: Lowering, content: Stream, at: Word) -> None:
    order = (content.text or "").split()
    if order and order[0].lower() in _SOCKET_ORDERS:
        low.emit(
            "infra.destroy",
            at.text,
            at=at,
            rule="control-socket",
            reason="Tells a running service through its control socket to switch something off.",
        )


@command("telnet", "gs-netcat", "websocat")
def telnet(inv: Invocation, low: Lowering) -> None:
    """What is piped in goes out, what is printed came from outside."""
    opts = parse(inv.args, values=("-l", "-n", "-b", "-H"), bundle=False)
    host = opts.word(0)
    send_words(low, host, *opts.operands)
    if inv.stdin is not None:
        if "shell" in inv.stdin.taints:
            backdoor(low, host, inv.argv0, listens=False)
        send(low, host, standard_input(inv))
    _reach(low, opts.operands, inv.stdin, local=False)
    low.output(REMOTE)


@command("wscat")
def wscat(inv: Invocation, low: Lowering) -> None:
    """`wscat -c url -x message`."""
    aliases = {"--connect": "-c", "--execute": "-x", "--header": "-H", "--origin": "-o", "--wait": "-w"}
    opts = parse(inv.args, values=("-c", "-x", "-H", "-o", "-w", "-l"), aliases=aliases)
    url = opts.value("-c")
    host = url.text.partition("://")[2].partition("/")[0] if url is not None else ""
    for message in opts.values("-x"):
        send_words(low, host, message)
        low.emit("net.upload", host, at=message, local=is_loopback(host_of(host)), changes=True)
    if inv.stdin is not None:
        send(low, host, standard_input(inv))
    low.output(REMOTE)


@command("grpcurl", "evans")
def grpcurl(inv: Invocation, low: Lowering) -> None:
    """`grpcurl -d data host service/Method`."""
    opts = parse(inv.args, values=("-d", "-H", "-proto", "-import-path", "-protoset", "-authority"), bundle=False)
    for data in opts.values("-d"):
        if data.text == "@" and inv.stdin is not None:
            send(low, opts.word(0), inv.stdin, data)
        elif data.text.startswith("@"):
            send_file(low, opts.word(0), Word(data.text[1:], data.span, taints=data.taints), data, body=True)
        send_words(low, opts.word(0), data)
    if len(opts.operands) > 1:
        method = opts.operands[1]
        if not method.text.rpartition("/")[2].startswith(("Get", "List", "Search", "Describe", "Check", "Watch")):
            request(low, "POST", Word(f"grpc://{opts.word(0)}/{method.text}", method.span))
    low.output(REMOTE)


@command("mail", "mailx", "sendmail", "msmtp", "mutt", "swaks", "s-nail", "ssmtp")
def mail(inv: Invocation, low: Lowering) -> None:
    """What is piped in or attached goes to the recipients."""
    opts = parse(
        inv.args, values=("-s", "-a", "-A", "-c", "-b", "-r", "-S", "-f", "-F", "-t", "--attach", "--to", "--body")
    )
    to = next((word.text for word in (*opts.operands, *opts.values("--to"))), "")
    if not to and not opts.has("-t"):
        return
    for path in opts.values("-a", "-A", "--attach"):
        send_file(low, to, path)
    send_words(low, to, *opts.values("-s", "--body"))
    if inv.stdin is not None:
        send(low, to, inv.stdin)


_TUNNELS = {
    "ngrok": ("http", "tcp", "tls", "start", "tunnel"),
    "cloudflared": ("tunnel", "access"),
    "bore": ("local",),
    "lt": ("--port", "-p"),
    "localtunnel": ("--port", "-p"),
    "tailscale": ("funnel",),
    "zrok": ("share", "reserve"),
    "frpc": (),
    "chisel": ("client",),
}
_TUNNEL_TALK = frozenset(
    {
        "list",
        "info",
        "help",
        "login",
        "route",
        "version",
        "cleanup",
        "config",
        "--help",
        "-h",
        "--version",
        "-v",
        "server",
        "status",
        "reset",
    }
)
_TUNNEL_ENDS = frozenset({"delete", "cleanup"})


@command(*_TUNNELS)
def tunnel(inv: Invocation, low: Lowering) -> None:
    """Programs that make a local port reachable from the internet."""
    words = [word.text for word in inv.args]
    verb = next((word for word in inv.args[:3] if word.text in _TUNNEL_ENDS), None)
    if verb is not None:
        low.emit(
            "infra.destroy", inv.name, at=verb, rule="tunnel-delete", reason="Removes a tunnel that others may use."
        )
        return
    if not _TUNNEL_TALK.isdisjoint(words) or (_TUNNELS[inv.name] and not set(_TUNNELS[inv.name]) & set(words)):
        return
    low.emit(
        "net.listen",
        inv.name,
        public=True,
        rule="public-tunnel",
        reason="Makes a port of this machine reachable from the internet.",
    )
