"""The servers in an agent's file, as text: ours put in their place, and theirs put back to the byte.

Put back is, in this order: the whole text if nobody changed it; the part that holds servers if nobody changed that;
else our server is taken out and theirs are added, and what others wrote meanwhile stays.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from interpose.core.errors import SetupError
from interpose.doors.hooks.install.gateway_records import GatewayInstalled, sha256
from interpose.doors.hooks.install.json_editing import appended, document, edited, is_blank, removed, style_of
from interpose.doors.hooks.install.jsonc import BOM, JsoncError, Value, parse

_OPENED, _CLOSED = "# >>> interpose gateway (interpose gateway uninstall takes it out)", "# <<< interpose gateway"
_HEADER = re.compile(r"^[ \t]*\[")


class Swapped(Struct, frozen=True):
    """A text with our server in it, and the part that holds servers before and after."""

    text: str
    section_before: str | None
    section_after: str


class ServersText(Protocol):
    """A file's language. Each raises SetupError."""

    def servers(self, text: str) -> dict[str, Any]:
        """The servers that a text has."""

    def swapped(self, text: str, gone: Collection[str], name: str, entry: Mapping[str, Any]) -> Swapped:
        """Our server instead of some of theirs."""

    def restored(self, text: str, record: GatewayInstalled, ours: Callable[[Any], bool]) -> str | None:
        """What was before; None is no file."""


class JsonServers:
    """JSON, with or without comments. `keys` lead to the servers."""

    def __init__(self, keys: Sequence[str]) -> None:
        *self._within, self._key = keys

    def servers(self, text: str) -> dict[str, Any]:
        """The servers that a text has."""
        found = self._section(_parsed(text))
        return {} if found is None else dict(found.data)

    def swapped(self, text: str, gone: Collection[str], name: str, entry: Mapping[str, Any]) -> Swapped:
        """Our server instead of some of theirs."""
        if not text.removeprefix(BOM).strip():
            self._refuse_missing(bool(self._within))
            whole = document({self._key: {name: dict(entry)}})
            return Swapped(whole, None, self._slice(whole))
        section = self._section(_parsed(text))
        wanted = {} if section is None else {key: value for key, value in section.data.items() if key not in gone}
        before = None if section is None else text[section.start : section.end]
        if section is not None and gone:
            text = edited(text, removed(text, section, [each for each in section.members if each.name in gone]))
        root = _parsed(text)
        section, style = self._section(root), style_of(text, root)
        around = self._around(root)
        self._refuse_missing(around is None)
        where, member = (
            (section, (name, dict(entry))) if section is not None else (around, (self._key, {name: dict(entry)}))
        )
        assert where is not None  # noqa: S101 - refused above
        after = edited(text, appended(text, where, [member], style))
        if self.servers(after) != wanted | {name: dict(entry)}:
            raise SetupError("it can't be changed so that it says what is meant; it stays as it is")
        return Swapped(after, before, self._slice(after))

    def restored(self, text: str, record: GatewayInstalled, ours: Callable[[Any], bool]) -> str | None:
        """What was before."""
        if _is_untouched(text, record):
            return record.before
        root = _parsed(text)
        section = self._section(root)
        if section is None:
            return self._added(text, root, record)
        if record.section_before is not None and text[section.start : section.end] == record.section_after:
            return text[: section.start] + record.section_before + text[section.end :]
        mine = [each for each in section.members if each.name == record.entry and ours(each.value.data)]
        if record.section_before is None and is_blank(text, section, mine):
            around = self._around(root) or root
            return edited(text, removed(text, around, [each for each in around.members if each.name == self._key]))
        if mine:
            text = edited(text, removed(text, section, mine))
            root = _parsed(text)
            section = self._section(root)
        there = {} if section is None else section.data
        back = [(name, entry) for name, entry in record.moved.items() if name not in there]
        return text if section is None else edited(text, appended(text, section, back, style_of(text, root)))

    def _added(self, text: str, root: Value, record: GatewayInstalled) -> str:
        """Somebody took the whole part away, and our server with it."""
        around = self._around(root)
        if not record.moved or around is None:
            return text
        return edited(text, appended(text, around, [(self._key, record.moved)], style_of(text, root)))

    def _around(self, root: Value) -> Value | None:
        """What has the key of the servers, or would have it."""
        for key in self._within:
            member = root.member(key)
            if member is None or member.value.kind != "object":
                return None
            root = member.value
        return root

    def _section(self, root: Value) -> Value | None:
        around = self._around(root)
        return None if around is None else _section(around, self._key)

    def _refuse_missing(self, missing: bool) -> None:
        if missing:
            raise SetupError(f"it has nothing for {self._within[-1]}")

    def _slice(self, text: str) -> str:
        section = self._section(_parsed(text))
        return "" if section is None else text[section.start : section.end]


class TomlServers:
    """TOML, as Codex has it: `[mcp_servers.NAME]`."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._table = re.compile(rf"^[ \t]*\[[ \t]*{re.escape(key)}[ \t]*[.\]]")

    def servers(self, text: str) -> dict[str, Any]:
        """The servers that a text has."""
        found = _toml(text).get(self._key, {})
        if not isinstance(found, dict):
            raise SetupError(f"{self._key} is no table")
        return found

    def swapped(self, text: str, gone: Collection[str], name: str, entry: Mapping[str, Any]) -> Swapped:
        """Our server instead of theirs, between two lines that say so."""
        newline = "\r\n" if "\r\n" in text else "\n"
        kept, cut, first = self._cut(text, gone)
        block = newline.join((_OPENED, *_toml_table(f"{self._key}.{name}", entry), _CLOSED, ""))
        at = first if first is not None else len(kept)
        lead = newline if at and not "".join(kept[:at]).endswith(("\n\n", "\r\n\r\n")) else ""
        if at and kept[at - 1] and not kept[at - 1].endswith("\n"):
            lead = newline * 2
        after = "".join((*kept[:at], lead, block, newline if kept[at:] and kept[at].strip() else "", *kept[at:]))
        wanted = _toml(text)
        theirs = {each: value for each, value in self.servers(text).items() if each not in gone}
        wanted[self._key] = {**theirs, name: dict(entry)}
        if not _says(after, wanted):
            raise SetupError(f"{self._key} is written in a way that can't be changed without changing more of the file")
        return Swapped(after, "".join(cut), block)

    def restored(self, text: str, record: GatewayInstalled, ours: Callable[[Any], bool]) -> str | None:  # noqa: ARG002
        """What was before."""
        if _is_untouched(text, record):
            return record.before
        if record.entry not in self.servers(text):
            return text
        if text.count(record.section_after) != 1:
            raise SetupError(
                f"the lines between `{_OPENED}` and `{_CLOSED}` were changed: take them out yourself, and put back "
                "what is kept among the backups"
            )
        after = text.replace(record.section_after, record.section_before or "")
        if any(name not in self.servers(after) for name in record.moved):
            raise SetupError("it can't be put back as it was: the servers are kept among the backups")
        return after

    def _cut(self, text: str, gone: Collection[str]) -> tuple[list[str], list[str], int | None]:
        """The lines that stay, those that go, and where the first of them stood."""
        kept: list[str] = []
        cut: list[str] = []
        first: int | None = None
        going = False
        for line in text.splitlines(keepends=True):
            if _HEADER.match(line):
                going = self._table.match(line) is not None and self._named(line) in gone
            if going and first is None:
                first = len(kept)
            (cut if going else kept).append(line)
        return kept, cut, first

    def _named(self, header: str) -> str:
        """The server that a header speaks of: `[mcp_servers."a.b".env]`."""
        try:
            table = tomllib.loads(f"{header.partition('#')[0]}\n").get(self._key, {})
        except tomllib.TOMLDecodeError:
            return ""
        return next(iter(table), "")


def _is_untouched(text: str, record: GatewayInstalled) -> bool:
    """Whether a text is as we left it, or as we found it."""
    return text == (record.before or "") or sha256(text) == record.after_sha256


def _parsed(text: str) -> Value:
    try:
        root = parse(text) if text.removeprefix(BOM).strip() else parse("{}")
    except JsoncError as error:
        raise SetupError(f"it can't be understood, and stays as it is: {error}") from None
    if root.kind != "object":
        raise SetupError("it holds no object, and stays as it is")
    return root


def _section(root: Value, key: str) -> Value | None:
    member = root.member(key)
    if member is None:
        return None
    if member.value.kind != "object":
        raise SetupError(f"its {key!r} is no object, and stays as it is")
    return member.value


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"it can't be understood, and stays as it is: {error}") from None


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _toml_table(name: str, entry: Mapping[str, Any]) -> list[str]:
    lines = [f"[{name}]"]
    lines += [f"{key} = {_toml_value(value)}" for key, value in entry.items() if not isinstance(value, dict)]
    for key, value in entry.items():
        if isinstance(value, dict):
            lines += [
                "",
                f"[{name}.{key}]",
                *(f"{_toml_key(each)} = {_toml_value(text)}" for each, text in value.items()),
            ]
    return lines


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f") if isinstance(value, str) else text
