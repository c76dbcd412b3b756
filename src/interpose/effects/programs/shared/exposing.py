"""Doors that are opened to others: tunnels, terminals in a browser, servers without a password, served directories.

A server for development that listens on every address is everyday work. What is told here is a way into this machine:
one from the internet, one without a password, or one to files that nobody meant to show.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.programs.shared.word_rows import fitting, table

_TUNNELS = table(
    {
        "cpolar jprq packetriot pktriot": "http; tcp; https",
        "devtunnel": "host",
        "gh": "codespace ports visibility %:public; cs ports visibility %:public",
        "expose": "share",
        "frps natapp onionshare onionshare-cli pagekite pagekite.py pinggy playit rathole sish": "",
        "telebit tmole tunnelmole tunnelto": "",
        "chisel": "server +--reverse",
        "inlets inlets-pro": "client; http client; tcp client",
        "localxpose loclx": "tunnel",
        "loophole": "http; path; webdav",
        "tailscale": "up +--ssh; set +--ssh",
        "natpmpc": "+-a",
        "upnpc": "+-a|-r",
    }
)
_TERMINALS = table(
    {
        "shellinaboxd teleconsole tmate wetty x11vnc": "",
        "gotty ttyd": "=bash|fish|login|screen|sh|su|tmux|zsh|/bin/bash|/bin/sh|/bin/zsh|sudo|ssh",
        "dropbear in.telnetd in.tftpd proftpd pure-ftpd smbd telnetd vsftpd": "",
        "sshd": "!-t|-T|-G",
        "upterm": "host",
        "gs-netcat": "+-l",
        "code code-insiders cursor": "tunnel .; tunnel +--accept-server-license-terms|--name|--no-sleep; "
        "serve-web +--without-connection-token",
        "code-server openvscode-server": "+--auth=none; +--without-connection-token",
        "tigervncserver vncserver Xtigervnc Xvnc": "+-SecurityTypes=None|--SecurityTypes=None|-localhost=no",
        "wayvnc": "%0.0.0.0",
        "websockify": "",
        "adb": "tcpip",
        "xhost": "=+",
        "systemctl": "start sshd; start ssh; start xrdp; start vsftpd; start smbd; start telnet.socket",
        "service": "ssh start; sshd start; xrdp start; vsftpd start; smbd start",
        "jupyter jupyter-lab jupyter-notebook jupyter-server": """
            +--NotebookApp.token=|--ServerApp.token=|--IdentityProvider.token=|--LabApp.token=|--token=
        """,
    }
)
_SERVERS = table(
    {
        "mongod": "+--bind_ip_all|--noauth; +--bind_ip=0.0.0.0|--bind_ip=*|--bind_ip=::",
        "redis-server valkey-server keydb-server": "+--protected-mode=no",
        "postgres pg_ctl": "%listen_addresses=*|listen_addresses='*'|listen_addresses=0.0.0.0",
        "mariadbd mysqld mysqld_safe": "+--skip-grant-tables|--bind-address=0.0.0.0|--bind-address=*",
        "memcached": "+-l=0.0.0.0|--listen=0.0.0.0",
        "etcd": "%0.0.0.0",
        "dockerd": "%tcp://0.0.0.0|tcp://:",
        "rsync": "+--daemon",
        "exportfs": "%*:/|0.0.0.0",
        "ollama": "serve %0.0.0.0",
        "node nodejs bun deno": "%--inspect=0.0.0.0|--inspect-brk=0.0.0.0|--inspect-wait=0.0.0.0",
        "debugpy python python3": "+--listen=0.0.0.0:5678; +--listen %0.0.0.0:",
        "chrome chromium google-chrome chromium-browser": "+--remote-debugging-address=0.0.0.0",
        "java": "%jdwp=transport=dt_socket %address=*:|address=0.0.0.0:",
        "gdbserver": "%0.0.0.0:",
        "websocat": "%0.0.0.0 +-s|-S|--server-mode",
    }
)


def state_exposed(inv: Invocation, low: Lowering) -> None:
    """State it if this command opens a door, whatever else its handler said."""
    name = inv.name
    for rows, rule, reason in (
        (_TUNNELS.get(name), "public-tunnel", "Makes a port of this machine reachable from the internet."),
        (_TERMINALS.get(name), "remote-terminal", "Lets others use this machine from elsewhere."),
        (_SERVERS.get(name), "open-server", "Lets whoever reaches this machine in, without a password."),
    ):
        if rows is not None and fitting(rows, inv) is not None:
            low.emit("net.listen", name, public=True, rule=rule, reason=reason)
    served = _SERVED.get(name)
    if served is not None:
        _state_served(served, inv, low)


class FileServer(Struct, frozen=True):
    """A program that serves a directory: `needs` among its words, and where it is told which directory."""

    needs: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    operand: int | None = None


def _served(needs: str = "", options: str = "", operand: int | None = None) -> FileServer:
    return FileServer(frozenset(needs.split()), frozenset(options.split()), operand)


_SERVED: dict[str, FileServer] = {
    **dict.fromkeys(
        ("python", "python3", "python2"),
        _served("http.server SimpleHTTPServer uploadserver pyftpdlib RangeHTTPServer", "-d --directory"),
    ),
    "php": _served("-S", "-t"),
    "ruby": _served("-run", "", -1),
    **dict.fromkeys(
        ("serve", "http-server", "live-server", "httplz", "darkhttpd", "miniserve", "dufs"), _served(operand=0)
    ),
    **dict.fromkeys(("simple-http-server", "sfz", "quickserve", "servefile", "woof", "statik"), _served(operand=0)),
    **dict.fromkeys(("updog", "goshs", "static-web-server", "thttpd", "mini_httpd"), _served(options="-d --root")),
    **dict.fromkeys(("gohttpserver", "webfsd", "wsgidav"), _served(options="-r --root")),
    "httpd": _served("-h", "-h"),
    "caddy": _served("file-server", "--root -r"),
    "twistd": _served("web ftp", "--path --root"),
    "rclone": _served("serve", "", 2),
    "browser-sync": _served("start", "--server -s"),
}
NAMES = frozenset({*_TUNNELS, *_TERMINALS, *_SERVERS, *_SERVED})

_TOO_MUCH = frozenset({"/", "/etc", "/home", "/root", "/var", "/usr", "/Users", "/opt", "/mnt"})


def _state_served(server: FileServer, inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    if server.needs and server.needs.isdisjoint(texts):
        return
    root = _root(server, inv.args) or Word(".")
    path = low.path(root)
    if path == UNKNOWN or low.cwd == UNKNOWN:
        return
    if path in _TOO_MUCH or path == low.home:
        low.emit("net.listen", path, at=root, public=True, rule="serves-home",
                 reason="Serves a home or the system, with the keys in it, to whoever connects.")  # fmt: skip
    elif root.text != ".":
        low.read(root, recursive=True)
    elif low.cwd != low.home:
        low.read(low.cwd, recursive=True)


def _root(server: FileServer, args: tuple[Word, ...]) -> Word | None:
    """The directory that is served: the value of an option, or one of the operands."""
    operands: list[Word] = []
    before = ""
    for word in args:
        name, equals, value = word.text.partition("=")
        if before in server.options:
            return word
        if equals and name in server.options:
            return Word(value, word.span, taints=word.taints)
        if word.text[:1] != "-" and not before.startswith("-"):
            operands.append(word)
        before = word.text
    if server.operand is None or not operands:
        return None
    return operands[server.operand] if -len(operands) <= server.operand < len(operands) else None
