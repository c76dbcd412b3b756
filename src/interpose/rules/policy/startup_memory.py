"""What was found out about rules and commands before, for processes that decide once and end.

Checking an expression and trying a rule's examples give the same for the same text, and take longer than a decision.
Whoever can write the file could write the rules themselves: it is believed only if it is its owner's alone.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.types import freeze
from interpose.rules.cel.ast import decode
from interpose.rules.cel.checker import Checked, check
from interpose.rules.policy.effect_needs import Needs
from interpose.rules.policy.rules import Level, Rule, RuleFile

_LARGEST = 16 << 20
_MOST = 5000
"""Entries that are kept. Beyond them only those that were needed last."""


class HeldRule(Struct, frozen=True):
    """What is known of a rule that was compiled, and whose examples hold: what its condition reads and needs."""

    variables: frozenset[str] = frozenset()
    needs: Needs = None


class _Found(Struct, frozen=True):
    """Files as they were read, expressions with their types and syntax as the checker writes it, rules that held."""

    version: str
    files: dict[bytes, bytes]
    expressions: dict[bytes, tuple[str, bytes]]
    held: dict[bytes, HeldRule]
    families: tuple[bytes, dict[str, str]] = (b"", {})
    """The families of commands, and of which code that is true."""


class Memory:
    """Remembers for one process; with a file also for those that come after it."""

    def __init__(self, file: Path | None = None, *, version: str = "") -> None:
        """What is in the file is forgotten if it was written by another version."""
        self._file, self._version = file, f"{version} {sys.hexversion:x}"
        found = _read(file, self._version) if file is not None else None
        self._files = dict(found.files) if found else {}
        self._expressions = dict(found.expressions) if found else {}
        self._held = dict(found.held) if found else dict[bytes, HeldRule]()
        self._families = found.families if found else (b"", {})
        self._used: set[bytes] = set()
        self._changed = False

    def parse(self, text: str, file: str, level: Level, pack: str) -> RuleFile:
        """As `parsing.parse`."""
        key = key_of((text, file, level, pack))
        known = self._files.get(key)
        if known is not None:
            self._used.add(key)
            return _RULES.decode(known)
        from interpose.rules.policy.parsing import parse

        read = parse(text, file, level, pack)
        self._files[key] = msgspec.msgpack.encode(read)
        self._note(key)
        return read

    def check(self, text: str, variables: Mapping[str, str]) -> Checked:
        """As `checker.check`."""
        key = key_of((text, *variables.items()))
        known = self._expressions.get(key)
        if known is not None:
            self._used.add(key)
            return Checked(text, decode(known[1]), known[0], known[1])
        checked = check(text, variables)
        self._expressions[key] = (checked.type, checked.encoded)
        self._note(key)
        return checked

    def holds(self, rule: Rule) -> bool:
        """Whether the examples of exactly this rule are known to hold."""
        return self.held_rule(rule) is not None

    def held_rule(self, rule: Rule) -> HeldRule | None:
        """What is known of exactly this rule, if its examples are known to hold."""
        key = key_of(rule)
        if key in self._held:
            self._used.add(key)
        return self._held.get(key)

    def held(self, rule: Rule, variables: frozenset[str] = frozenset(), needs: Needs = None) -> None:
        """The examples of this rule hold."""
        self._held[key_of(rule)] = HeldRule(variables, needs)
        self._note(key_of(rule))

    def families(self, mark: object) -> Mapping[str, str]:
        """The families of commands if they are known for this code, else nothing."""
        return self._families[1] if self._families[0] == key_of(mark) else {}

    def keep_families(self, mark: object, families: Mapping[str, str]) -> None:
        """Remember the families of commands."""
        self._families = (key_of(mark), dict(families))
        self._changed = True

    def _note(self, key: bytes) -> None:
        self._used.add(key)
        self._changed = True

    def save(self) -> None:
        """Write what is new. Raises OSError."""
        if self._file is None or not self._changed:
            return
        files, expressions, held = self._files, self._expressions, self._held
        if len(files) + len(expressions) + len(held) > _MOST:
            files = {key: value for key, value in files.items() if key in self._used}
            expressions = {key: value for key, value in expressions.items() if key in self._used}
            held = {key: value for key, value in held.items() if key in self._used}
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as writing:
            writing.write(msgspec.msgpack.encode(_Found(self._version, files, expressions, held, self._families)))
        draft.replace(self._file)


def _read(file: Path, version: str) -> _Found | None:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as reading:
            told = os.fstat(handle)
            if told.st_uid != os.geteuid() or told.st_mode & 0o077:
                return None
            found = msgspec.msgpack.decode(reading.read(_LARGEST), type=_Found)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.version == version else None


def _frozen(_type: type, value: object) -> Any:
    return freeze(value)


_RULES = msgspec.msgpack.Decoder(RuleFile, dec_hook=_frozen)


def key_of(what: object) -> bytes:
    """The same for what is the same, file and line included."""
    return hashlib.blake2b(msgspec.json.encode(what, order="deterministic"), digest_size=16).digest()
