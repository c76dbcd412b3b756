"""`builtin:conditional-permission`: asks before calls that would have an effect, or that contain some words.

Prefer effects: they see what a command would do, however it is written. Words are kept for what has no effects of its
own (a query language, a tool of one's own); they are compared as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from interpose.core.errors import text_of
from interpose.core.types import EMPTY, Allow, Confirm, Effect, EffectKind, FrozenDict, ToolCall
from interpose.reading.calls import home_directory, reading_of
from interpose.rules.guards.json_text import compact_json

DEFAULT_FIELDS = ("command", "query", "code", "script")
MAX_PATTERN = 256
"""Searching takes the text's length times the pattern's at worst, and the text is the agent's."""

_ALLOW = Allow()
_RULE = "conditional-permission"
_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|(["\\/])|.)')
_KINDS = frozenset(get_args(EffectKind))


class EffectCondition(Struct, frozen=True):
    """An effect to ask about: its kind, and the details that it must have."""

    kind: EffectKind
    details: FrozenDict = EMPTY

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"there is no effect {self.kind!r}; effects: {', '.join(sorted(_KINDS))}")

    def holds(self, effect: Effect) -> bool:
        """Whether `effect` is one to ask about. A detail that the effect does not mention is False."""
        return effect.kind == self.kind and all(
            effect.details.get(name, False) == wanted for name, wanted in self.details.items()
        )


class Conditions(Struct, frozen=True):
    """What to ask about: `patterns` as whole words, searched in `fields` first, and `effects`."""

    patterns: tuple[str, ...] = ()
    fields: tuple[str, ...] = DEFAULT_FIELDS
    effects: tuple[EffectCondition, ...] = ()

    def __post_init__(self) -> None:
        patterns = dict.fromkeys(_folded(pattern) for pattern in _texts(self.patterns, "patterns"))
        patterns.pop("", None)
        if not patterns and not self.effects:
            raise ValueError("ConditionalPermission requires at least one pattern or effect")
        if any(len(pattern) > MAX_PATTERN for pattern in patterns):
            raise ValueError(f"a pattern of ConditionalPermission may have {MAX_PATTERN} characters")
        force_setattr(self, "patterns", tuple(patterns))
        force_setattr(self, "fields", _texts(self.fields, "fields"))

    def question(self, call: ToolCall, home: str) -> Confirm | None:
        """The first effect, else the first pattern that is found; fields are searched before the whole arguments."""
        return (self._by_effects(call, home) if self.effects else None) or (
            self._by_patterns(call) if self.patterns else None
        )

    def _by_effects(self, call: ToolCall, home: str) -> Confirm | None:
        for effect in reading_of(call, home).effects:
            if effect.kind == "opaque":
                # What cannot be known may be what was to be asked about.
                return Confirm(
                    f"Tool '{call.original_name}' wants to perform operation that cannot be foreseen. Allow?", _RULE
                )
            if any(condition.holds(effect) for condition in self.effects):
                about = f" on '{effect.resource}'" if effect.resource else ""
                message = (
                    f"Tool '{call.original_name}' wants to perform operation with effect '{effect.kind}'{about}. Allow?"
                )
                return Confirm(message, _RULE, part=effect.resource)
        return None

    def _by_patterns(self, call: ToolCall) -> Confirm | None:
        for name in self.fields:
            if found := self._found_in(_field_text(call.arguments.get(name))):
                return _containing(call, found)
        try:
            text = compact_json(call.arguments, text_of).decode()
        except ValueError as error:
            return Confirm(f"Tool '{call.original_name}' has arguments that cannot be checked: {error}. Allow?", _RULE)
        if "\\" in text:
            text = _ESCAPE.sub(lambda escape: escape[1] or " ", text)
        found = self._found_in(text)
        return _containing(call, found) if found else None

    def _found_in(self, text: str) -> str:
        if not text:
            return ""
        text = _folded(text)
        return next((words for words in self.patterns if words in text and _whole_words(words).search(text)), "")


class ConditionalPermission:
    """Asks before a call that contains one of some patterns as whole words, or has one of some effects.

    Limits: patterns are text. `r m -rf /`, `r''m` and base64 get past them, `echo rm` does not; effects know better.
    """

    id = "builtin:conditional-permission"
    priority = 80
    guard = True

    def __init__(
        self,
        patterns: Iterable[str] = (),
        fields: Iterable[str] = DEFAULT_FIELDS,
        effects: Iterable[EffectCondition | EffectKind] = (),
        *,
        home: str = "",
    ) -> None:
        """An effect is one of a kind, whatever its details, or an `EffectCondition` that names some of them."""
        wanted = tuple(EffectCondition(each) if isinstance(each, str) else each for each in effects)
        self.conditions = Conditions(patterns, fields, wanted)  # type: ignore[arg-type]  # checked and made tuples there
        self._home = home or home_directory()

    @property
    def dangerous_patterns(self) -> tuple[str, ...]:
        """The words that it asks about, as they are searched."""
        return self.conditions.patterns

    @property
    def fields_to_check(self) -> tuple[str, ...]:
        """The arguments that it searches first."""
        return self.conditions.fields

    @property
    def effects(self) -> tuple[EffectCondition, ...]:
        """The effects that it asks about."""
        return self.conditions.effects

    def __repr__(self) -> str:
        return f"ConditionalPermission({self.dangerous_patterns}, {self.fields_to_check}, {self.effects})"

    @staticmethod
    def builder() -> ConditionalPermissionBuilder:
        """Collects patterns, fields and effects."""
        return ConditionalPermissionBuilder()

    def intercept(self, call: ToolCall) -> Allow | Confirm:
        """Asks if a condition holds."""
        reading = reading_of(call, self._home)
        return reading.remember(self.conditions, lambda: self.conditions.question(reading.call, self._home) or _ALLOW)


class ConditionalPermissionBuilder:
    """Every method returns the builder; `build` checks what was collected."""

    def __init__(self) -> None:
        self._patterns: list[str] = []
        self._fields: list[str] = []
        self._effects: list[EffectCondition] = []

    def add_pattern(self, pattern: str) -> ConditionalPermissionBuilder:
        """Ask before calls that contain these words, in any case."""
        self._patterns.append(pattern)
        return self

    def check_field(self, name: str) -> ConditionalPermissionBuilder:
        """Search this argument first. The first one replaces the default fields."""
        self._fields.append(name)
        return self

    def on_effect(self, kind: EffectKind, **details: Any) -> ConditionalPermissionBuilder:
        """Ask before calls that would do this: `on_effect("fs.delete", recursive=True)`."""
        self._effects.append(EffectCondition(kind, FrozenDict(details)))
        return self

    def build(self) -> ConditionalPermission:
        """The guard. Raises ValueError if there is nothing to ask about."""
        return ConditionalPermission(self._patterns, self._fields or DEFAULT_FIELDS, self._effects)


def _containing(call: ToolCall, pattern: str) -> Confirm:
    message = f"Tool '{call.original_name}' wants to perform operation containing '{pattern}'. Allow?"
    return Confirm(message, _RULE, part=pattern)


def _texts(values: Iterable[object], what: str) -> tuple[str, ...]:
    if isinstance(values, str):
        raise ValueError(f"ConditionalPermission needs several {what}, not one text")
    given = tuple(values)
    texts = tuple(value for value in given if isinstance(value, str))
    if len(texts) != len(given):
        raise ValueError(f"the {what} of ConditionalPermission must be texts")
    return texts


def _folded(text: str) -> str:
    """One spelling of what differs only in case and white space."""
    return " ".join(text.casefold().split())


def _field_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):  # a command given as words
        return " ".join(word for word in value if isinstance(word, str))
    return ""


@lru_cache(maxsize=1024)
def _whole_words(pattern: str) -> re.Pattern[str]:
    """`pattern` where the text does not go on as a word at an end of it that is one."""
    before = r"(?<!\w)" if _in_word(pattern[0]) else ""
    after = r"(?!\w)" if _in_word(pattern[-1]) else ""
    return re.compile(before + re.escape(pattern) + after)


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
