"""The SSH family: commands that run on another machine, files that go there, and the keys."""

from __future__ import annotations

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.streams import informs
from interpose.effects.programs.shared.transfer import (
    REMOTE,
    holds_home,
    host_of,
    is_loopback,
    keeps_keys,
    send,
    send_words,
)

_SSH_VALUES = tuple(f"-{letter}" for letter in "BbcDEeFIiJLlmOopPQRSWw")
_RUNNING_OPTIONS = ("proxycommand", "localcommand", "knownhostscommand", "match exec")


def connection_options(opts: Options, low: Lowering) -> None:
    """`-o ProxyCommand=...` and its kind run a command on this machine."""
    for word in opts.values("-o"):
        name, _, value = word.text.replace("=", " ", 1).strip().partition(" ")
        if name.lower() in _RUNNING_OPTIONS and value.strip().lower() not in ("", "none"):
            low.shell(Word(value.strip().strip('"'), word.span, taints=word.taints), via="ssh")
    for word in opts.values("-E"):
        low.write(word)


@command("ssh", "autossh", "slogin", "dbclient", "tsh")
def ssh(inv: Invocation, low: Lowering) -> None:
    """What follows the host runs there; without it, standard input does."""
    values = (*_SSH_VALUES, "-M") if inv.name == "autossh" else _SSH_VALUES
    opts = parse(inv.args, values=values, stop=True)
    if informs(opts) or opts.has("-V", "-h", "-Q", "-G"):
        return
    connection_options(opts, low)
    _doors(opts, low)
    if not opts.operands:
        return
    host = opts.operands[0]
    send_words(low, host.text, *opts.operands)
    rest = opts.operands[1:]
    # ssh takes options after the host as well.
    if rest and rest[0].text.startswith("-"):
        later = parse(rest, values=values, stop=True)
        connection_options(later, low)
        _doors(later, low)
        rest = later.operands
    if rest:
        if inv.stdin is not None:
            send(low, host.text, inv.stdin)
        low.shell(_joined(rest), via="ssh")
    elif inv.stdin is not None and not opts.has("-N", "-W"):
        low.shell(inv.stdin, via="ssh")
    low.output(REMOTE)


def _doors(opts: Options, low: Lowering) -> None:
    """`-R` lets the other side in here; `-L` and `-D` on every address let everybody here in there."""
    ways = [word for word in opts.values("-R") if word.text]
    ways += [word for word in opts.values("-o") if word.text.lower().startswith("remoteforward")]
    ways += [word for word in opts.values("-D") if _is_open(word.text, 1)]
    ways += [word for word in opts.values("-L") if _is_open(word.text, 3)]
    if opts.has("-g"):
        ways += [*opts.values("-L"), *opts.values("-D")]
    for word in ways[:1]:
        low.emit("net.listen", word.text, at=word, public=True, rule="ssh-forward",
                 reason="Lets others in through this connection.")  # fmt: skip


def _is_open(forward: str, parts: int) -> bool:
    """Whether `[address:]port...` names an address that others reach. Without one it is this machine only."""
    address, colon, _ = forward.partition(":")
    return bool(colon) and forward.count(":") >= parts and address in ("", "*", "0.0.0.0")  # noqa: S104 - judged


def _joined(words: tuple[Word, ...]) -> Word:
    taints = frozenset[str]().union(*(word.taints for word in words))
    return Word(" ".join(word.text for word in words), (words[0].span[0], words[-1].span[1]), taints=taints)


@command("mosh")
def mosh(inv: Invocation, low: Lowering) -> None:
    """`mosh host -- command` runs the command there; `--ssh` runs one here."""
    opts = parse(inv.args, values=("-p", "--port", "--ssh", "--client", "--server", "--predict", "--family"), stop=True)
    for code in opts.values("--ssh", "--client"):
        low.shell(code, via="mosh")
    rest = tuple(word for word in opts.operands[1:] if word.text != "--")
    if rest:
        low.shell(_joined(rest), via="ssh")


@command("sshpass")
def sshpass(inv: Invocation, low: Lowering) -> None:
    """Runs another command with a password typed in."""
    opts = parse(inv.args, values=("-p", "-f", "-d", "-P"), attached=("-e",), stop=True)
    if opts.operands:
        low.run(opts.operands, via="sshpass", stdin=inv.stdin)


@command("ssh-copy-id")
def ssh_copy_id(inv: Invocation, low: Lowering) -> None:
    """Lets a key into another machine for good."""
    opts = parse(inv.args, values=("-i", "-p", "-o", "-t", "-F"))
    if opts.has("-n", "-h", "-?") or not opts.operands:
        return
    connection_options(opts, low)
    low.emit(
        "persistence",
        opts.word(0),
        at=opts.operands[0],
        rule="ssh-authorise",
        reason="Lets a key log in to another machine from now on.",
    )


_KEYGEN_VALUES = tuple(f"-{letter}" for letter in "CDEFGIJKMNOPRSTVWYZabfmnrstwz")
_KEYGEN_LOOKS = ("-l", "-B", "-L", "-F", "-e", "-Y", "-Q")


@command("ssh-keygen")
def ssh_keygen(inv: Invocation, low: Lowering) -> None:
    """Making a key is ordinary; making it over another, or forgetting a host, is not."""
    opts = parse(inv.args, values=_KEYGEN_VALUES)
    path = opts.value("-f")
    if informs(opts) or opts.has(*_KEYGEN_LOOKS):
        return
    if opts.has("-R"):
        low.emit(
            "persistence",
            path.text if path else "~/.ssh/known_hosts",
            rule="ssh-forget-host",
            reason="Forgets the key of a host, so that another machine could answer in its name.",
        )
        return
    if opts.has("-y"):
        return
    empty = opts.value("-N")
    if opts.has("-p") and empty is not None and not empty.text:
        low.emit("privilege", low.path(path) if path is not None else "~/.ssh", rule="ssh-key-bare", grants=True,
                 reason="Takes the passphrase off a key, so that whoever has the file can use it.")  # fmt: skip
        return
    if path is not None and inv.stdin is not None and not opts.has("-p", "-c"):
        low.emit(
            "data.destroy",
            low.path(path),
            at=path,
            rule="ssh-key-overwrite",
            reason="Answers the question whether an existing key may be overwritten; its access is lost.",
        )
    elif path is not None and not path.known:
        low.write(path)


@command("ssh-add")
def ssh_add(inv: Invocation, low: Lowering) -> None:
    """Dropping keys from the agent cuts every session that needs them."""
    opts = parse(inv.args, values=("-E", "-e", "-H", "-h", "-S", "-s", "-t", "-T"))
    if opts.has("-d", "-D") and not informs(opts):
        low.emit("system", "ssh-agent", rule="ssh-agent-clear", reason="Takes keys out of the running SSH agent.")


_SCP_VALUES = tuple(f"-{letter}" for letter in "cDFiJloPSX")


@command("scp", "pscp")
def scp(inv: Invocation, low: Lowering) -> None:
    """Copies between machines. A remote target is judged like the same place here."""
    opts = parse(inv.args, values=_SCP_VALUES)
    if informs(opts) or opts.has("-h") or len(opts.operands) < 2:
        return
    connection_options(opts, low)
    for program in opts.values("-S"):
        low.run((program,), via="scp")
    *sources, target = opts.operands
    recursive = opts.has("-r")
    copy(low, tuple(sources), target, recursive=recursive)


def _fill(target: Word, source: Word, low: Lowering, *, recursive: bool) -> None:
    """A target that is a directory gets what comes under the name that it has there."""
    name = source.text.rpartition(":")[2].rstrip("/").rpartition("/")[2]
    single = source.known and not source.glob and "*" not in name and not recursive
    low.fill(target, name=name if single else "", everything=recursive and name == ".")
    if recursive:
        known = source.known and not source.glob and "*" not in name and name not in ("", ".", "..")
        low.plant(target, name if known else None)
    if recursive and name not in ("", ".", ".."):
        low.fill(Word(f"{target.text.rstrip('/')}/{name}", target.span, target.glob, target.quoted, target.taints))


def copy(low: Lowering, sources: tuple[Word, ...], target: Word, *, recursive: bool) -> None:
    """Copy `sources` to `target`, each of which may be `host:path`."""
    host, path = remote(target)
    for source in sources:
        source_host, _ = remote(source)
        if source_host:
            low.emit("net.download", source.text, at=source)
            if not host:
                low.write(_landing(target, source), REMOTE)
                _fill(target, source, low, recursive=recursive)
        elif host:
            content = low.read(source, recursive=recursive)
            low.emit(
                "net.upload",
                host,
                at=source,
                secret="secret" in content.taints,
                file=not source.known or keeps_keys(source.text) or (recursive and holds_home(source, low)),
                local=is_loopback(host_of(host)),
            )
        send_words(low, host or source_host, source)
    if host and path.startswith("/"):
        low.write(Word(path, target.span, taints=target.taints), remote=True, host=host)


def _landing(target: Word, source: Word) -> Word:
    """Where a file lands that is copied into a directory."""
    if target.text not in (".", "..", "~") and not target.text.endswith("/"):
        return target
    name = source.text.rstrip("/").rpartition("/")[2].rpartition(":")[2]
    return Word(f"{target.text.rstrip('/')}/{name}", target.span, target.glob, target.quoted, target.taints)


def remote(word: Word) -> tuple[str, str]:
    """The host and path of `user@host:path`, or two empty texts for a local path."""
    text = word.text
    if "://" in text:
        scheme, _, rest = text.partition("://")
        host, _, path = rest.partition("/")
        return ("", "") if scheme == "file" else (host, f"/{path}")
    head, colon, path = text.partition(":")
    if not colon or "/" in head or len(head) < 2:
        return "", ""
    return head, path
