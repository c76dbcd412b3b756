"""What a call names that is ours, for tools that are no file tools: fetching, databases, and those nobody knows.

Which of its arguments a foreign tool opens is not ours to guess. A value that is nothing but the path of our keys or
records, or the address at which our server takes orders, is there to be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from interpose.core.tools import urls_of
from interpose.core.types import Allow, Confirm, Deny, ToolCall
from interpose.effects.late_patterns import late
from interpose.effects.paths import Lookup, Order, could_be_ours, held, is_one_name, mentions_ours, order_of, ours_of

_MAX_VALUES = 1_000
_LONGEST_NAME = 4_096
_LONGEST_TEXT = 131_072
_CODE = frozenset({"code", "script", "source", "program", "query", "sql", "statement", "expression", "function"})
"""Arguments that hold a program text."""
_TOLD = frozenset({"action", "instruction"})
"""Arguments that tell a browser in words what to do."""
_SCHEMES = ("sqlite:", "file:", "duckdb:", "jdbc:")
_WEB = ("http://", "https://")
INSTEAD = (
    "Ask the user to do it. What Interpose decides can be asked with `interpose check` and `interpose check --explain`."
)


def judge_named(call: ToolCall, starts: tuple[str, ...], home: str, lookup: Lookup) -> Allow | Confirm | Deny:
    """The decision on what the call's arguments name."""
    # Shells and file tools never come here.
    from interpose.rules.guards.freeing_tools import fills_settings, judge_freeing, takes_home

    decision: Allow | Confirm | Deny = judge_freeing(call)
    if whole := takes_home(call, home):
        decision = Confirm(f"Hands out {whole!r}, in which keys and tokens of the guard itself lie.", "guard-keys",
                           "error", whole, INSTEAD)  # fmt: skip
    if filled := fills_settings(call, home):
        decision = Confirm(f"Fills {filled!r} anew, where the settings of an agent lie.", "guarded-place", "error",
                           filled, INSTEAD)  # fmt: skip
    if any(value in held().processes for key, value in call.arguments.items() if isinstance(value, int)):
        decision = Confirm("Names a process of the guard itself.", "guard-process", "critical", call.name, INSTEAD)
    addresses = urls_of(call) if call.name == "web_fetch" else ()
    for name, value in islice(_values("", call.arguments), _MAX_VALUES):
        if order := _order_in(value, known=value in addresses):
            if order.certain:
                return Deny(f"{order.reason}: {value[:300]}", "guard-orders", "critical", value, INSTEAD)
            decision = Confirm(f"{order.reason}: {value[:300]}", "guard-orders", "critical", value, INSTEAD)
        elif len(value) <= _LONGEST_NAME and _is_ours(value, starts, home, lookup):
            return Deny(
                f"Names {value!r}, where the guard itself keeps keys, tokens or records.", "guard-tamper", "critical",
                value, INSTEAD,
            )  # fmt: skip
        elif len(value) <= _LONGEST_NAME and _could_be_ours(value, starts, home, lookup):
            decision = Confirm(
                f"{value!r} could name files in which the guard itself keeps keys and tokens.", "guard-keys", "error",
                value, INSTEAD,
            )  # fmt: skip
        elif name in _CODE and len(value) <= _LONGEST_TEXT and mentions_ours(value):
            reason = "This program names files or orders of the guard itself."
            if call.name == "sql":  # there is no prose in SQL: what it names, it opens
                return Deny(reason, "guard-tamper", "critical", name, INSTEAD)
            decision = Confirm(reason, "guard-tamper", "critical", name, INSTEAD)
        elif name in _CODE | _TOLD and len(value) <= _LONGEST_TEXT and (order := _order_inside(value)):
            decision = Confirm(f"{order.reason}, at an address in {name!r}.", "guard-orders", "critical", name, INSTEAD)
    return decision


def judge_typed(call: ToolCall) -> Allow | Confirm | Deny:
    """The decision on a tool that runs commands by its name, and may type into a terminal instead."""
    from interpose.rules.guards.freeing_tools import judge_freeing  # our own shells never come here

    return judge_freeing(call)


_BARE = late(
    r"(?i)(?:localhost|127[.\d]{0,12}|0|0\.0\.0\.0|\[[:0-9a-f.]{2,40}\]|0x7f[0-9a-f]{6}|\d{8,10}):\d{2,5}(?:/\S*)?"
)
"""An address of this machine without its scheme."""


def _order_in(value: str, *, known: bool) -> Order | None:
    """The order that a value is: an address, or only its path where other arguments say the rest."""
    if known or value.startswith(_WEB) or _BARE.fullmatch(value):
        return order_of(value)
    return order_of(f"http://localhost:1{value}") if value.startswith("/api/v1/") else None


_ADDRESSES = late(r"https?://[^\s'\"`<>)\\]{1,2000}")
_MOST_ADDRESSES = 100


def _order_inside(program: str) -> Order | None:
    """The order that one of the addresses in a program is: a page that it opens, a request that it sends."""
    found = islice(_ADDRESSES.finditer(program), _MOST_ADDRESSES)
    return next((order for match in found if (order := order_of(match[0])) is not None), None)


def _values(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text among the arguments with the name that it stands under, at whatever depth JSON may have."""
    pending: list[tuple[str, object]] = [(name, value)]
    while pending:
        key, item = pending.pop()
        if isinstance(item, str):
            yield key.lower(), item
        elif isinstance(item, dict):
            pending.extend((str(inner), held_value) for inner, held_value in item.items())
        elif isinstance(item, list | tuple):
            pending.extend((key, one) for one in item)


def _is_ours(text: str, starts: tuple[str, ...], home: str, lookup: Lookup) -> bool:
    folded = text.lower()
    own = held()
    if any(database in folded for database in own.databases):
        return True
    path = text.partition(":")[2].partition("?")[0] if folded.startswith(_SCHEMES) else text
    if ("/" not in path and "\\" not in path) or not is_one_name(path):
        return False
    return any(
        (mark := ours_of(spelled)) is not None and mark.private
        for start in starts
        for spelled in lookup.spellings(path, cwd=start, home=home).paths
    )


def _could_be_ours(text: str, starts: tuple[str, ...], home: str, lookup: Lookup) -> bool:
    if "/" not in text or "*" not in text or not is_one_name(text):
        return False
    return any(
        could_be_ours(spelled, home)
        for start in starts
        for spelled in lookup.spellings(text, cwd=start, home=home).paths
    )
