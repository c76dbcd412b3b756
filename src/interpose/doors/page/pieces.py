"""Small pieces that several screens show: verdicts, times, what a call was about."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from msgspec import UNSET
from msgspec import json as fast

from interpose.doors.page.html import Content, Html, tag
from interpose.record.ledger import Record

LONGEST_SUBJECT = 300
MOST_LETTERS = 64 * 1024
_MOST_PLACES = 100
_SPELLED = "~"
_SUBJECTS = ("command", "path", "file_path", "url", "pattern", "query")


def badge(word: str) -> Html:
    """A verdict or a state, in its colour and as a word."""
    return tag("span", word, class_=f"badge {word if word.isalpha() else ''}")


def moment(time_ns: int) -> Html:
    """A point in time. Browsers show it in their own zone where they run our script."""
    return clock(datetime.fromtimestamp(time_ns / 1e9, UTC))


def clock(when: datetime) -> Html:
    """The same for a date."""
    return tag("time", f"{when:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}")


def duration(nanoseconds: int) -> str:
    """A time span for people."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{nanoseconds} ns"


def span(seconds: float) -> str:
    """A time that is left, in the largest unit that says enough."""
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min" if whole < 7200 else f"{whole // 3600} h"


def subject_of(arguments: object) -> str:
    """What a call is about, in one line."""
    if isinstance(arguments, dict):
        for name in _SUBJECTS:
            if isinstance(value := arguments.get(name), str) and value:
                return cut(value)
    return "" if arguments is UNSET or arguments in ({}, None) else cut(fast.encode(arguments).decode())


def record_subject(record: Record) -> str:
    """What a recorded call was about; where values are not kept, what it touched."""
    return subject_of(record.arguments) or cut(" ".join(effect.resource for effect in record.effects))


def cut(text: str, longest: int = LONGEST_SUBJECT) -> str:
    """Text on one line that is no longer than this."""
    line = " ".join(text[: longest * 2].split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def call_path(call_id: str) -> str:
    """Where a call is shown. Agents choose ids, of calls and of sessions."""
    return f"/calls/{_segment(call_id)}"


def session_path(session: str) -> str:
    """Where a session is shown."""
    return f"/sessions/{_segment(session)}"


def id_at(name: str) -> str:
    """The id in an address. INVARIANT: an id has one address, and no other id has it."""
    if not name.startswith(_SPELLED):
        return name
    try:
        told = urlsafe_b64decode(name[1:].encode("ascii")).decode("utf-8", "surrogatepass")
    except ValueError:
        return name
    return told if _is_spelled(told) else name


def _segment(id: str) -> str:
    if _is_spelled(id):
        spelled = urlsafe_b64encode(id.encode("utf-8", "surrogatepass")).decode("ascii")
        return f"{_SPELLED}{quote(spelled, safe='')}"
    return quote(id.encode("utf-8", "replace"), safe="")


def _is_spelled(id: str) -> bool:
    """Whether an id does not stand in an address as it is: no address may have it, browsers would take it for a way up,
    or it would be read as another one that is spelled."""
    return id in (".", "..") or id.startswith(_SPELLED) or any(ord(char) < 32 or ord(char) == 127 for char in id)


def question_path(id: str) -> str:
    """Where a question is shown."""
    return f"/inbox/{quote(id, safe='')}"


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Names and values, without those that are empty."""
    return tag("dl", [(tag("dt", name), tag("dd", value)) for name, value in pairs if value not in ("", None)])


def block(value: object) -> Html:
    """A value as it is, one line a line: text as text, all else as JSON."""
    text = value if isinstance(value, str) else fast.format(fast.encode(value), indent=2).decode()
    return code(text)


def code(text: str, parts: Sequence[str] = ()) -> Html:
    """Text that is looked at exactly. `parts` of it are underlined: what was objected to."""
    more = len(text) > MOST_LETTERS
    text = text[:MOST_LETTERS]
    spans = sorted({(at, at + len(part)) for part in parts if part and (at := _place(text, part)) >= 0})
    shown: list[Content] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            shown += [text[end:start], tag("mark", text[start:stop])]
            end = stop
    shown.append(text[end:])
    left = tag("b", "\nthis is not all: the rest was too long to be shown", class_="problem") if more else None
    return tag("pre", shown, left, class_="code", tabindex=0)


def _place(text: str, part: str) -> int:
    """Where a part stands: as a word of its own if it does so anywhere, else where it first occurs; -1 if nowhere."""
    first = at = text.find(part)
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        around = text[at - 1 : at] + text[at + len(part) : at + len(part) + 1]
        if not any(char.isalnum() or char in "._-/" for char in around):
            return at
        at = text.find(part, at + 1)
    return first


def diff(text: str) -> Html:
    """A difference, line by line."""
    words = {"+": "ins", "-": "del"}
    lines = [tag(words[line[0]], line, "\n") if line[:1] in words else (line, "\n") for line in text.split("\n")]
    return tag("pre", lines, class_="code diff", tabindex=0)
