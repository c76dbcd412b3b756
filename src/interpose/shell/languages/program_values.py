"""What an expression of a program is worth, as far as it can be known without running it. Shared by the languages."""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word

MAX_TEXT = 1 << 16
"""Longer text is not built: a few doublings of a string would fill the memory."""

SQL_WORDS = frozenset({"drop", "delete", "truncate", "alter", "update", "insert", "select", "create", "grant",
                       "revoke", "replace", "merge", "copy", "attach", "vacuum", "with", "begin", "rename", "exec",
                       "call", "flush"})  # fmt: skip


class ProgramValue(Struct, frozen=True, kw_only=True):
    """A value of a program. What is not known has UNKNOWN as its text."""

    text: str = UNKNOWN
    name: str = ""
    """The dotted name of a module, function or kind of object: `os.system`, `pathlib.Path()`."""
    items: tuple[ProgramValue, ...] | None = None
    """The elements of a list whose elements are known."""
    element: ProgramValue | None = None
    """What each element of a sequence of unknown length looks like."""
    number: int | None = None
    glob: bool = False
    taints: frozenset[str] = NOTHING

    @property
    def known(self) -> bool:
        """Whether the text is exactly known."""
        return UNKNOWN not in self.text

    @property
    def word(self) -> Word:
        """The value as an argument of a command."""
        return Word(self.text, glob=self.glob, quoted=True, taints=self.taints)


NOT_KNOWN = ProgramValue()


def nothing_known(code: str) -> bool:
    """Whether no part of a program is known: that it runs has been stated, and there is nothing to look at."""
    return not code.replace(UNKNOWN, "").strip()


def text_value(text: str, taints: frozenset[str] = NOTHING, *, glob: bool = False) -> ProgramValue:
    """A text, or nothing known when it is too long."""
    return ProgramValue(text=text if len(text) <= MAX_TEXT else UNKNOWN, taints=taints, glob=glob)


def tainted(*taints: str) -> ProgramValue:
    """Nothing known but where it comes from."""
    return ProgramValue(taints=frozenset(taints))


def concat(left: ProgramValue, right: ProgramValue) -> ProgramValue:
    """Two texts, one after the other."""
    return text_value(left.text + right.text, left.taints | right.taints, glob=left.glob or right.glob)


def all_taints(values: tuple[ProgramValue, ...] | list[ProgramValue]) -> frozenset[str]:
    """Where any of these values comes from."""
    taints = NOTHING
    for value in values:
        taints |= value.taints
        if value.items:
            taints |= all_taints(value.items)
    return taints


def of_stream(stream: Stream) -> ProgramValue:
    """What was read from a file."""
    return ProgramValue(text=stream.text if stream.text is not None else UNKNOWN, taints=stream.taints)


def join_path(parts: list[str]) -> str:
    """Path parts joined as every language does it: an absolute part starts anew."""
    path = ""
    for part in parts:
        path = part if part.startswith("/") or not path else f"{path.rstrip('/')}/{part}"
    return path


def run_list(items: tuple[ProgramValue, ...], low: Lowering, via: str) -> None:
    """Run a command that a program gives as a list of words."""
    if items:
        low.run(tuple(item.word for item in items), via=via)


def run_shell(code: ProgramValue, low: Lowering, via: str) -> None:
    """Run a text that a program gives to a shell."""
    low.shell(code.word, via=via)


def upload(url: ProgramValue, sent: frozenset[str], low: Lowering) -> None:
    """A program sends data to an address."""
    low.reach(url.text)
    taints = sent | url.taints
    low.emit("net.upload", url.text, certainty="proven" if url.known else "possible", secret="secret" in taints)


def download(url: ProgramValue, low: Lowering) -> ProgramValue:
    """A program fetches an address; what comes back is remote."""
    low.reach(url.text)
    if "secret" in url.taints:
        upload(url, NOTHING, low)
    else:
        low.emit("net.download", url.text, certainty="proven" if url.known else "possible")
    return tainted("remote")


def sql(value: ProgramValue, low: Lowering, via: str) -> None:
    """A text given to something's `execute`: looked at when it is SQL."""
    words = value.text[:64].split(None, 1)
    if words and words[0].lower() in SQL_WORDS:
        low.code("sql", value.word, via=via)
