"""What an expression of a program is worth, as far as it can be known without running it. Shared by the languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from interpose.effects.invocation import NOTHING, UNKNOWN, Lowering, Stream, Word
from interpose.effects.secret_names import is_secret_name

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
    entries: tuple[tuple[str, ProgramValue], ...] | None = None
    """The keys and values of a dictionary or an object without methods."""
    fields: ObjectFields | None = None
    """The attributes of an object or a class that the program made itself."""
    does: ProgramFunction | None = None
    """What a call of this value runs."""
    others: tuple[ProgramValue, ...] = ()
    """What else the value may be, where ways meet or a key is not known."""
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


class ObjectFields(Struct, eq=False):
    """The attributes of an object. Who holds the object sees what others put into it."""

    own: dict[str, ProgramValue]
    of: ObjectFields | None = None
    """The class of an object, or the first base of a class."""
    is_class: bool = False

    def find(self, name: str) -> ProgramValue | None:
        """An attribute of the object, of its class, or of what that stands on."""
        place: ObjectFields | None = self
        for _ in range(MAX_BASES):
            if place is None:
                break
            if name in place.own:
                return place.own[name]
            place = place.of
        return None


class ProgramFunction(Struct, frozen=True, eq=False, kw_only=True):
    """A function of the program itself (`node`), a method of a value (`target`, `method`), or a call half made."""

    node: Any = None
    scope: Mapping[str, ProgramValue] = {}
    within: int = 0
    """The function in which this one was made. As long as that runs, both have the same names."""
    target: ProgramValue | None = None
    method: str = ""
    args: tuple[ProgramValue, ...] = ()
    keywords: Mapping[str, ProgramValue] = {}


NOT_KNOWN = ProgramValue()
MAX_BASES = 16
MAX_OTHERS = 8


def either(values: list[ProgramValue] | tuple[ProgramValue, ...]) -> ProgramValue:
    """A value that is one of these. Nothing is known of its text, unless all agree."""
    flat: list[ProgramValue] = []
    for value in values:
        for one in value.others or (value,):
            if not any(same(one, other) for other in flat):
                flat.append(one)
    if len(flat) < 2:
        return flat[0] if flat else NOT_KNOWN
    more = (NOT_KNOWN,) if len(flat) > MAX_OTHERS else ()
    return ProgramValue(others=(*flat[:MAX_OTHERS], *more), taints=all_taints(flat))


MAX_LIST = 1024
"""Longer lists are not known: a few doublings of one would fill the memory."""


def bounded(value: ProgramValue, low: Lowering) -> ProgramValue:
    """The value, or nothing known of one that holds too much. Who holds much pays for it."""
    size = len(value.items or value.entries or ())
    if size:
        low.spend(size // 16)
    return value if size <= MAX_LIST else ProgramValue(taints=value.taints)


def same(one: ProgramValue, other: ProgramValue) -> bool:
    """Whether two values are known to be one. Lists are not looked into: a few lines nest them without bounds."""
    nested = (one.items, one.entries, one.element, one.others, other.items, other.entries, other.element, other.others)
    return one is other or (not any(nested) and one == other)


def entry(value: ProgramValue, key: str) -> ProgramValue | None:
    """What a dictionary has under a key."""
    return next((worth for name, worth in reversed(value.entries or ()) if name == key), None)


HOLE = "put_in_by_the_shell"
"""Stands in a program for what the shell puts there, so that the rest can be read: `print($N / 2)`."""


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
    if left.others or right.others:
        pairs = [(one, two) for one in left.others or (left,) for two in right.others or (right,)]
        return either([concat(one, two) for one, two in pairs[: MAX_OTHERS + 1]])
    return text_value(left.text + right.text, left.taints | right.taints, glob=left.glob or right.glob)


def all_taints(values: tuple[ProgramValue, ...] | list[ProgramValue]) -> frozenset[str]:
    """Where any of these values comes from."""
    # INVARIANT: a list or dictionary carries the taints of what is in it, so one level is looked at and no more.
    taints = NOTHING
    for value in values:
        taints |= value.taints
        for inner in value.items or ():
            taints |= inner.taints
        for _, inner in value.entries or ():
            taints |= inner.taints
        if value.element is not None:
            taints |= value.element.taints
    return taints


def variable(name: str) -> ProgramValue:
    """A variable of the environment. Its name says whether it holds a secret."""
    return tainted("env", "secret") if is_secret_name(name) else tainted("env")


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


CREDENTIAL_NAMES = ("key", "token", "auth", "secret", "password", "appid", "authorization", "cookie")
"""How the names of headers and parameters end that carry a login."""
_LOCAL = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1", "host.docker.internal"})  # noqa: S104 - no socket


def upload(url: ProgramValue, sent: frozenset[str], low: Lowering) -> None:
    """A program sends data to an address."""
    low.reach(url.text)
    taints = sent | url.taints
    certain = url.known and not ("secret" in taints and "env" in taints and "environment" not in taints)
    # A token of the environment often is meant for that server; all of it, or a file, never is.
    low.emit("net.upload", url.text, certainty="proven" if certain else "possible", secret="secret" in taints,
             file="file" in taints, local=_is_local(url.text))  # fmt: skip


def _is_local(url: str) -> bool:
    try:
        return (urlsplit(url).hostname or "") in _LOCAL
    except ValueError:
        return False


def is_login(url: str) -> bool:
    """Whether the unknown parts of a URL stand where a login belongs: `user:?@host`, `?token=?`."""
    address, _, query = url.partition("?")
    start, _, rest = address.partition("@")
    if "://" not in url or UNKNOWN in (rest or start):
        return False
    return all(
        pair.partition("=")[0].lower().endswith(CREDENTIAL_NAMES) for pair in query.split("&") if UNKNOWN in pair
    )


def without_logins(value: ProgramValue) -> frozenset[str]:
    """Where headers or parameters come from, without those whose name says that a token belongs there."""
    if value.entries is None:
        return value.taints - {"secret"} if "env" in value.taints else value.taints
    kept = [worth for name, worth in value.entries if not name.lower().endswith(CREDENTIAL_NAMES)]
    return all_taints(kept)


def download(url: ProgramValue, low: Lowering) -> ProgramValue:
    """A program fetches an address; what comes back is remote."""
    low.reach(url.text)
    if "secret" in url.taints and not is_login(url.text):
        upload(url, NOTHING, low)
    else:
        low.emit("net.download", url.text, certainty="proven" if url.known else "possible")
    return tainted("remote")


_ASKS = ("exec", "query", "sql", "prepare", "statement", "sendcommand")


def sql_beside(names: Iterable[str], text: str, low: Lowering) -> None:
    """A text constant that stands behind names such as `$db->query`: looked at when it is SQL."""
    for name in names:
        lowered = name.lower()
        if any(asks in lowered for asks in _ASKS) or lowered.endswith(("do", "raw")):
            sql(text_value(text), low, "sql")
            return


def sql(value: ProgramValue, low: Lowering, via: str) -> None:
    """A text given to something's `execute`: looked at when it is SQL."""
    words = value.text[:64].split(None, 1)
    if words and words[0].lower() in SQL_WORDS:
        low.code("sql", value.word, via=via)
