"""Redirections: what a command reads instead of the terminal, and where what it prints goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Stream, Word
from interpose.effects.shell.state import ERR, NULL, OUT, Channel, Variable
from interpose.effects.shell.vanishing import is_install
from interpose.effects.syntax.tree import HereDocument, Redirect, Span

if TYPE_CHECKING:
    from interpose.effects.shell.lowering import CommandLowering
    from interpose.effects.shell.walk import Walker

_REMOTE = Stream(None, frozenset({"remote"}))


class Descriptors:
    """The descriptors of one command after its redirections."""

    __slots__ = ("channels", "files", "lowering", "nets", "stdin")

    def __init__(self, channels: dict[int, Channel], stdin: Stream | None, lowering: CommandLowering) -> None:
        self.channels = channels
        self.stdin = stdin
        self.lowering = lowering
        self.files: list[Channel] = []
        self.nets: list[Channel] = []

    def inner(self) -> dict[int, Channel]:
        """The descriptors as commands inside see them: their stdout is collected, not written by each."""
        return {number: channel for number, channel in self.channels.items() if number > 2}

    @property
    def remote(self) -> bool:
        """Whether stdin or stdout is a network connection."""
        return any(channel is not None and channel.kind == "net" for channel in map(self.channels.get, (0, 1)))

    def finish(self, out: Stream, low: CommandLowering) -> Stream:
        """Write what was printed to where it goes; what is left for the surrounding stdout."""
        stdout = self.channels.get(1, OUT)
        for channel in self.files:
            if channel is stdout:
                content = out
            elif channel is self.channels.get(2):
                content = Stream(None)
            else:  # what commands inside wrote to it is in its file by now
                content = EMPTY_STREAM if channel.append else low.known(channel.target) or EMPTY_STREAM
            emptied = channel is stdout and out.text == "" and not channel.append
            low.write(channel.target, content, append=channel.append, emptied=emptied)
        match stdout.kind:
            case "inherit":
                return out if stdout.number == 1 else EMPTY_STREAM
            case "file":
                if stdout not in self.files:
                    low.write(stdout.target, out, append=True)
                    low.walker.feeds.write(stdout.target.text, out)
            case "net":
                unseen = out.text is None or UNKNOWN in out.text
                low.emit("net.upload", stdout.target.text, at=stdout.target, secret="secret" in out.taints, file=unseen)
                *_, host, port = ("", "", *stdout.target.text.split("/"))
                low.reach_raw(host, port, out, at=stdout.target)
            case _:
                pass
        stderr = self.channels.get(2)
        return Stream(None) if stderr is not None and stderr == OUT else EMPTY_STREAM


def opened(walker: Walker, redirects: tuple[Redirect, ...], stdin: Stream | None, span: Span) -> Descriptors:
    """Apply redirections in order, from what the shell has open."""
    low = walker.lowering(span)
    opening = Descriptors(dict(walker.state.fds), stdin, low)
    inherited = opening.channels.get(0)
    if stdin is None and inherited is not None:
        opening.stdin = inherited.stream
    early: list[Redirect] = []
    for redirect in redirects:
        if redirect.operator == "<&" and _names_nothing(redirect, opening):
            early.append(redirect)
        _apply(walker, redirect, opening, low)
    for redirect in early:  # `sh <&3 3<<< code`: some shells refuse it, nobody should rely on that
        _apply(walker, redirect, opening, low)
    for number, channel in opening.channels.items():
        if channel.kind == "input" and number > 2:
            walker.state.files[f"/dev/fd/{number}"] = channel.stream
    return opening


def _apply(walker: Walker, redirect: Redirect, opening: Descriptors, low: CommandLowering) -> None:
    operator, target = redirect.operator, redirect.target
    if redirect.name:
        number = max((10, *(number + 1 for number in opening.channels)))
        redirect = replace(redirect, fd=number)
        walker.assign(redirect.name, Variable(str(number)))
    if isinstance(target, HereDocument):
        word = walker.expander.single(target.body) if target.body is not None else Word("")
        _input(opening, redirect, _stream(word, ""))
        return
    fields = walker.expander.fields(target) if operator not in ("<<<",) else [walker.expander.single(target)]
    word = fields[0] if fields else Word("", target.span)
    if operator == "<<<":
        _input(opening, redirect, _stream(word, "\n"))
    elif operator in (">&", "<&") and _is_descriptor(word.text):
        _duplicate(opening, redirect, word, operator)
    elif operator == "<":
        _input(opening, redirect, _read(word, low))
    else:
        _output(opening, redirect, word, operator, low)


def _names_nothing(redirect: Redirect, opening: Descriptors) -> bool:
    """Whether a descriptor is to be copied that is not open yet."""
    target = redirect.target
    text = "" if isinstance(target, HereDocument) else target.plain or ""
    return text.isdecimal() and len(text) < 5 and int(text) > 2 and int(text) not in opening.channels


def _stream(word: Word, end: str) -> Stream:
    return Stream(None if word.text == UNKNOWN else word.text + end, word.taints)


def _is_descriptor(text: str) -> bool:
    return text == "-" or text.removesuffix("-").isdecimal()


def _network(word: Word) -> bool:
    return word.text.startswith(("/dev/tcp/", "/dev/udp/"))


def _read(word: Word, low: CommandLowering) -> Stream:
    if _network(word):
        low.emit("net.download", word.text, at=word)
        return _REMOTE
    stream = low.read(word)
    if bare := _bare(word):
        low.walker.doubt += 1
        stream = Stream(None, stream.taints | low.read(bare).taints)
        low.walker.doubt -= 1
    return stream


def _bare(word: Word) -> Word | None:
    """The target without its unknown parts, which may be nothing."""
    text = word.text.replace(UNKNOWN, "") if UNKNOWN in word.text else ""
    return replace(word, text=text) if text else None


def _write_bare(bare: Word, channel: Channel, low: CommandLowering) -> None:
    effects = low.walker.effects
    mark = len(effects)
    low.walker.doubt += 1
    low.write(bare, Stream(), append=channel.append)
    low.walker.doubt -= 1
    if channel.target.text.startswith(f"{UNKNOWN}/"):
        effects[mark:] = [effect for effect in effects[mark:] if not is_install(effect, low.home)]


def _input(opening: Descriptors, redirect: Redirect, stream: Stream) -> None:
    number = redirect.fd or 0
    opening.channels[number] = Channel("input", stream=stream)
    if number == 0:
        opening.stdin = stream


def _duplicate(opening: Descriptors, redirect: Redirect, word: Word, operator: str) -> None:
    number = redirect.fd if redirect.fd is not None else int(operator == ">&")
    if word.text == "-":
        opening.channels[number] = NULL
        return
    source = int(word.text.removesuffix("-")[:9])
    default = {1: OUT, 2: ERR}.get(source, Channel("input"))
    channel = opening.channels.get(source, default)
    opening.channels[number] = channel
    if number == 0:
        opening.stdin = _REMOTE if channel.kind == "net" else channel.stream


def _output(opening: Descriptors, redirect: Redirect, word: Word, operator: str, low: CommandLowering) -> None:
    number = redirect.fd if redirect.fd is not None else int(operator != "<>")
    if _network(word):
        channel = Channel("net", word, _REMOTE)
        opening.nets.append(channel)
        low.emit("net.upload", word.text, at=word)
    else:
        stream = low.read(word) if operator == "<>" else Stream()
        channel = Channel("file", word, stream, append=operator in (">>", "&>>", "<>"))
        opening.files.append(channel)
        if (bare := _bare(word)) is not None:
            _write_bare(bare, channel, low)
    opening.channels[number] = channel
    if operator in ("&>", "&>>") or (operator == ">&" and redirect.fd is None):
        opening.channels[2] = channel
    if number == 0:
        opening.stdin = channel.stream
