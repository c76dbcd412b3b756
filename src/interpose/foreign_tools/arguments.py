"""The arguments of a call, one text at a time, and what the name of each says about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec import Struct

from interpose.tool_words import word_set, words_of

MOST_VALUES = 5_000
"""How many values of one call are looked at. What has more is a question."""
_MOST_NUMBERS = 200
_LONGEST_JSON = 65_536
DEEPEST_JSON = 3
"""How often a JSON text inside of a JSON text is opened."""

_COMMAND = word_set("command commands cmd cmds commandline cmdline argv")
_SCRIPT = word_set(
    """
    script scripts shell bash sh zsh run exec powershell pwsh entrypoint startupscript userdata program
    executable binary
    """
)
_CODE = word_set(
    """
    code source sourcecode snippet python py javascript js typescript ts ruby perl php lua expression expr
    function fn cell cells program macro lambda script scripts
    """
)
_SQL = word_set("sql statement statements ddl dml cypher cql hql")
_QUERY = word_set("query queries q")
_PATH = word_set(
    """
    path paths file files filepath filepaths filename filenames attachment attachments dir directory folder
    localpath document documents image images screenshot notebook
    """
)
_DESTINATION = word_set(
    """
    destination dest output outfile outputfile outputpath destinationpath target targetpath saveto
    """
)
_URL = word_set("url urls uri uris href link endpoint address webhook")
_CONTENT = word_set("content contents text body data newstring newtext newcontent filetext code source value")
_ACTION = word_set("action actions operation operations op method verb api mutation act service")
_ACTION_NAMES = word_set(
    """
    operationname methodname actionname actiontype tool toolname toolslug functionname actionid apiname
    """
)
_ABOUT = word_set(
    """
    id ids name names timeout description type types output outputs result results help history count limit
    format title label status state index length size line lines number offset version date time mode hash
    """
)
"""Last words of names that say something about a command, a file or a query: `command_id`, `file_type`."""
_PROSE = word_set(
    """
    description message messages text prompt query question title subject body content contents comment comments
    note notes reason reasoning summary instruction instructions thought thoughts todo todos task tasks plan
    goal goals answer name label caption search pattern keyword keywords q topic example examples doc docs
    markdown html explanation context details review feedback observation observations fact facts memory
    entities status log logs error response oldstring newstring changelog step steps commit detail info
    hypothesis request requirements issue objective justification activeform header headline story transcript
    idea word words sentence paragraph persona tone style alt speech lyrics criteria rationale finding findings
    value values information
    """
)
"""Names under which people write sentences: a command in them is only mentioned."""
_THINGS = word_set(
    """
    file files fileid fileids item items document folder object drive resource itemid documentid folderid
    """
)
_CREDENTIAL = word_set(
    """
    authorization auth token apikey accesstoken password passwd secret credential credentials cookie bearer key
    headers header
    """
)


class Leaf(Struct, frozen=True):
    """One text among the arguments: the words of the name that it stands under, and all names above that one."""

    words: tuple[str, ...]
    text: str
    above: tuple[str, ...] = ()
    said: str = ""
    """What the tool's schema says about this argument."""
    listed: bool = False
    """Whether it is one of a list."""

    @property
    def plain(self) -> str:
        """The name without its separators."""
        return "".join(self.words)

    def _is(self, names: frozenset[str]) -> bool:
        if self.plain in names:
            return True
        return not names.isdisjoint(self.words) and self.words[-1] not in _ABOUT

    @property
    def is_command(self) -> bool:
        """Whether its name says that it is a command."""
        return self._is(_COMMAND) or self.plain in _SCRIPT or "shell command" in self.said or "to execute" in self.said

    @property
    def is_code(self) -> bool:
        """Whether its name says that it is a program text."""
        return self._is(_CODE) or "code to" in self.said or "source code" in self.said

    @property
    def is_sql(self) -> bool:
        """Whether its name says that it is SQL."""
        return self._is(_SQL) or "sql" in self.said

    @property
    def is_query(self) -> bool:
        """Whether it may be SQL: it may as well be what somebody searches for."""
        return self._is(_QUERY)

    @property
    def is_path(self) -> bool:
        """Whether its name says that it is a path."""
        return self._is(_PATH) or "file path" in self.said or "path to" in self.said

    @property
    def is_destination(self) -> bool:
        """Whether its name says that something is put there."""
        return self.plain in _DESTINATION

    @property
    def is_url(self) -> bool:
        """Whether its name says that it is an address."""
        return self._is(_URL)

    @property
    def is_content(self) -> bool:
        """Whether it may be what a file is to hold."""
        return self.plain in _CONTENT

    @property
    def is_action(self) -> bool:
        """Whether it says what is to be done."""
        return self._is(_ACTION) or self.plain in _ACTION_NAMES

    @property
    def is_id(self) -> bool:
        """Whether it names a file or another thing by a number that some server gave it."""
        return self.plain in ("id", "ids") or (
            bool(self.words) and self.words[-1] in ("id", "ids") and not _THINGS.isdisjoint(self.words)
        )

    @property
    def is_prose(self) -> bool:
        """Whether people write sentences there."""
        return self.plain in _PROSE or (len(self.words) > 1 and self.words[-1] in _PROSE)

    @property
    def is_credential(self) -> bool:
        """Whether it is there to prove who calls."""
        return (
            self.plain in _CREDENTIAL or (bool(self.words) and self.words[-1] in _CREDENTIAL) or "headers" in self.above
        )


def leaves_of(arguments: dict[str, Any], said: dict[str, str]) -> tuple[Leaf, ...]:
    """Every text among the arguments, those in lists, objects and JSON texts included; numbers and truths as texts.

    INVARIANT: there are more than `MOST_VALUES` of them exactly where some were left out.
    """
    return tuple(islice(_leaves(arguments, (), said, 0), MOST_VALUES + 1))


def _leaves(value: object, above: tuple[str, ...], said: dict[str, str], opened: int) -> Iterator[Leaf]:
    pending: list[tuple[object, tuple[str, ...], bool]] = [(value, above, False)]
    numbers = 0
    while pending:
        item, names, listed = pending.pop()
        if isinstance(item, dict):
            pending.extend((inner, (*names, str(key)), False) for key, inner in reversed(item.items()))
        elif isinstance(item, list | tuple):
            pending.extend((inner, names, True) for inner in reversed(item))
        elif isinstance(item, str):
            name = names[-1] if names else ""
            yield Leaf(words_of(name), item, tuple(one.lower() for one in names[:-1]), said.get(name, ""), listed)
            if opened < DEEPEST_JSON and (inner := json_object(item)) is not None:
                yield from _leaves(inner, names, said, opened + 1)
        elif isinstance(item, bool | int | float) and numbers < _MOST_NUMBERS:
            numbers += 1
            yield Leaf(words_of(names[-1] if names else ""), str(item).lower(), names[:-1])


def json_object(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a text writes as JSON, or None."""
    if text[:1] not in "{[" or not text or len(text) > _LONGEST_JSON:
        return None
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None
