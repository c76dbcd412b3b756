"""Reads programs from a data file: `[acts.NAME]` says what can be done, each `[[program]]` which words do it.

CONTRIBUTING.md describes the keys. What is not understood is an error that names the file, the line where the program
begins, and the key: a program is never half described.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from interpose.effects.frozen_values import words
from interpose.effects.languages import LANGUAGES
from interpose.effects.programs.shared.carried_code import Carrier
from interpose.effects.programs.shared.programs import Category, Program, register_program
from interpose.effects.programs.shared.tool_acts import HELP, Act, ToolActs
from interpose.effects.values import EffectKind

_CODE_FORMS = frozenset({"sh", "bash", "pipe", "commas"})
_Row = TypeVar("_Row", bound=Struct)


class ProgramFileError(ImportError):
    """A data file of ours is wrong. Like a module that cannot be imported, it never passes for the command's fault."""


class ActRow(Struct, frozen=True, forbid_unknown_fields=True):
    """`[acts.NAME]`."""

    effect: EffectKind
    rule: str
    reason: str
    recoverable: bool = False
    wide: bool = False
    instead: str = ""


class CarriesRow(Struct, frozen=True, forbid_unknown_fields=True):
    """`carries` of a program: options by the language of their value, and the rest of `Carrier`."""

    code: dict[str, str] = {}
    files: dict[str, str] = {}
    written: dict[str, str] = {}
    skips: dict[str, int] = {}
    words: str = ""
    starts: str = ""
    keys: str = ""
    fetches: str = ""
    clones: str = ""
    loads: str = ""
    operand: str = ""
    texts: str = ""
    stdin: str = ""


class ProgramRow(Struct, frozen=True, forbid_unknown_fields=True):
    """`[[program]]`."""

    names: str
    category: Category
    verbs: dict[str, str] = {}
    options: dict[str, str] = {}
    shows: str = ""
    values: str = ""
    default: str = ""
    bare: str = ""
    assigns: str = ""
    reach: int = 1
    bundle: bool = True
    help: str = " ".join(sorted(HELP))
    secret_output: bool = False
    secrets: str = ""
    carries: CarriesRow | None = None


def read_programs(text: str, place: str) -> tuple[Program, ...]:
    """The programs of a data file. `place` names it in errors."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProgramFileError(f"{place}: {error}") from None
    rows = tables.get("program")
    if unknown := tables.keys() - {"acts", "program"}:
        raise ProgramFileError(f"{place}: unknown key {min(unknown)!r}; a file has [acts.NAME] and [[program]]")
    if not isinstance(rows, list) or not rows:
        raise ProgramFileError(f"{place}: no [[program]]")
    acts = _acts(tables.get("acts", {}), place)
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith("[[program]]")]
    programs = tuple(_program(row, acts, f"{place}:{line}") for row, line in zip(rows, lines, strict=True))
    _check_whole(rows, programs, acts, place)
    return programs


def register_file(path: Path, family: str) -> None:
    """Make the programs of a file commands."""
    place = "/".join(path.parts[-2:])
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgramFileError(f"{place}: {error}") from None
    for program in read_programs(text, place):
        try:
            register_program(program, family)
        except ValueError as error:
            raise ProgramFileError(f"{place}: {error}") from None


def _acts(tables: Any, place: str) -> dict[str, Act]:
    if not isinstance(tables, dict):
        raise ProgramFileError(f"{place}: `acts` is not a table: write [acts.NAME]")
    return {name: _act(table, f"{place}: acts.{name}") for name, table in tables.items()}


def _act(table: Any, where: str) -> Act:
    row = _convert(table, ActRow, where)
    if not (row.rule and row.reason):
        raise ProgramFileError(f"{where}: `rule` and `reason` may not be empty")
    return Act(row.effect, row.rule, row.reason, row.recoverable, row.wide, row.instead)


def _program(table: Any, acts: Mapping[str, Act], where: str) -> Program:
    named = table.get("names") if isinstance(table, dict) else None
    where = f"{where}: program {named!r}" if named else where
    row = _convert(table, ProgramRow, where)
    if not row.names.split():
        raise ProgramFileError(f"{where}: `names` is empty")
    if row.reach < 1:
        raise ProgramFileError(f"{where}: reach: {row.reach} is less than 1")
    options = _by_word(row.options, acts, f"{where}: options")
    verbs = _by_word(row.verbs, acts, f"{where}: verbs")
    _check_words(verbs, options, row, where)
    return Program(
        names=tuple(row.names.split()),
        category=row.category,
        acts=ToolActs(
            verbs=verbs,
            options=options,
            shows=words(row.shows),
            values=words(row.values),
            default=_named(row.default, acts, f"{where}: default"),
            bare=_named(row.bare, acts, f"{where}: bare"),
            assigns=_named(row.assigns, acts, f"{where}: assigns"),
            reach=row.reach,
            bundle=row.bundle,
            secret=row.secret_output,
            help=words(row.help),
        ),
        secrets=row.secrets,
        carries=None if row.carries is None else _carrier(row.carries, f"{where}: carries"),
    )


def _convert(table: Any, to: type[_Row], where: str) -> _Row:
    try:
        return msgspec.convert(table, to)
    except msgspec.ValidationError as error:
        raise ProgramFileError(f"{where}: {error}") from None


def _by_word(table: Mapping[str, str], acts: Mapping[str, Act], where: str) -> dict[str, Act]:
    found: dict[str, Act] = {}
    for name, text in table.items():
        act = _named(name, acts, where)
        if act is None or not text.split():
            raise ProgramFileError(f"{where}.{name}: no words")
        for word in text.split():
            if word in found:
                raise ProgramFileError(f"{where}.{name}: {word!r} stands here twice")
            found[word] = act
    return found


def _named(name: str, acts: Mapping[str, Act], where: str) -> Act | None:
    if name and name not in acts:
        raise ProgramFileError(f"{where}: no act {name!r}; this file has {', '.join(sorted(acts)) or 'none'}")
    return acts[name] if name else None


def _check_words(verbs: Iterable[str], options: Iterable[str], row: ProgramRow, where: str) -> None:
    """A word that can never be met is a mistake."""
    for verb in verbs:
        if verb[0] == "-" or verb != verb.lower():
            raise ProgramFileError(
                f"{where}: verbs: {verb!r} is no verb: write small letters, and options in `options`"
            )
    for key, given in (("options", options), ("values", row.values.split())):
        for option in given:
            if option[0] != "-":
                raise ProgramFileError(f"{where}: {key}: {option!r} is no option: it has no dash")


def _carrier(row: CarriesRow, where: str) -> Carrier:
    stdin = row.stdin.replace("orders", "")
    for language in " ".join((*row.code, *row.files, *row.written.values(), row.operand, row.texts, stdin)).split():
        if language not in LANGUAGES and language not in _CODE_FORMS:
            raise ProgramFileError(f"{where}: unknown language {language!r}")
    return Carrier(
        code=dict(_flat(row.code)),
        files=dict(_flat(row.files)),
        written=row.written,
        skips=row.skips,
        words=tuple(row.words.split()),
        starts=tuple(row.starts.split()),
        keys=tuple(row.keys.split()),
        fetches=tuple(row.fetches.split()),
        clones=tuple(row.clones.split()),
        loads=tuple(row.loads.split()),
        operand=row.operand,
        texts=row.texts,
        stdin=row.stdin,
    )


def _flat(table: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for language, options in table.items():
        for option in options.split():
            yield option, language


def _check_whole(rows: list[Any], programs: tuple[Program, ...], acts: Mapping[str, Act], place: str) -> None:
    seen: set[str] = set()
    for program in programs:
        for name in program.names:
            if name in seen:
                raise ProgramFileError(f"{place}: the program {name!r} is described twice")
            seen.add(name)
    used = {name for row in rows for key in ("verbs", "options") for name in row.get(key, ())}
    used |= {row.get(key) for row in rows for key in ("default", "bare", "assigns")}
    if unused := acts.keys() - used:
        raise ProgramFileError(f"{place}: acts.{min(unused)}: no program does this")
