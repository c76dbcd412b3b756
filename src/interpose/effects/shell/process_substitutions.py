"""Process substitutions: `<(...)` is run when it is met, `>(...)` when something was written to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.effects.invocation import EMPTY_STREAM, Stream, Word
from interpose.effects.streams import joined
from interpose.effects.syntax.tree import CommandSubstitution, Sequence

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker


class Feeds:
    """The `>(...)` of one analysis: those that wait for their command, and those that the shell keeps open."""

    def __init__(self, walker: Walker) -> None:
        self._walker = walker
        self._descriptors = 63
        self._feeds: list[tuple[str, Sequence, Stream | None]] = []
        self._open: dict[str, tuple[Sequence, Stream]] = {}

    def start(self, part: CommandSubstitution) -> Word:
        """The path that stands for a process substitution, which is run now if it is read from."""
        path = f"/dev/fd/{self._descriptors}"
        self._descriptors = self._descriptors - 1 or 9_999
        if part.kind == "<(":
            stream = self._walker.subshell(part.body, None, piped=True)
            self._walker.state.files[path] = stream
            return Word(path, part.span, taints=stream.taints)
        self._feeds.append((path, part.body, None))
        return Word(path, part.span)

    def feed(self, path: str, content: Stream) -> None:
        """Something was written to a descriptor path: if it is a process substitution, that is its input."""
        self._walker.budget.spend(len(self._feeds) // 16)
        self._feeds = [(name, body, content if name == path else old) for name, body, old in self._feeds]

    def drain(self, default: Stream, mark: int) -> None:
        """Run the `>(...)` of a command after it: what the command wrote is what they read."""
        feeds, self._feeds = self._feeds[mark:], self._feeds[:mark]
        for _, body, content in feeds:
            self._walker.subshell(body, content or default)

    def keep(self, path: str) -> None:
        """The shell's own output goes to a process substitution from now on: it is run when something is written."""
        self._open.update({name: (body, EMPTY_STREAM) for name, body, _ in self._feeds if name == path})
        self._feeds = [feed for feed in self._feeds if feed[0] != path]

    def write(self, path: str, content: Stream) -> None:
        """More is written to a process substitution that the shell keeps open."""
        if path in self._open:
            body, before = self._open.pop(path)
            written = joined((before, content))
            outer, self._walker.state.fds = self._walker.state.fds, {}
            self._walker.subshell(body, written)
            self._walker.state.fds = outer
            self._open[path] = (body, written)

    @property
    def waiting(self) -> int:
        return len(self._feeds)

    def finish(self) -> None:
        """Run those that were kept open and given nothing to read."""
        for body, written in list(self._open.values()):
            if written is EMPTY_STREAM:
                self._walker.subshell(body, Stream())
