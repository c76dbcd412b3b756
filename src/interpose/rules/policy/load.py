"""Rule files to one compiled policy: files and directories, levels, packs, and what may override what.

organisation > user > project. The word of a higher level stays. A lower level may add rules, and may sharpen a rule of
the same id; what would loosen one is refused and recorded. A project file, which an agent can write, can only tighten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from errno import ELOOP, ENOENT, ENOTDIR
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import NoReturn

from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.core.types import FrozenDict, HookPoint
from interpose.rules.policy.compiled import Policy, compile_rules
from interpose.rules.policy.rule_file_trust import Standing, read_in_project, read_standing, require_ours
from interpose.rules.policy.rules import WEIGHT, Level, PolicyProblem, Rule, RuleFile
from interpose.rules.policy.startup_memory import Memory

SUFFIXES = (".yaml", ".yml")

_NO_JUDGE = "can't choose the judge that calls are sent to"
_MAX_READ = 4_000_000
"""Bytes: as many as the longest text has that is taken for YAML."""
_PACKS = Path(__file__).with_name("packs")
MAX_OF_PROJECTS = 100_000
"""How much projects may say together. Agents write their files, and everybody waits while rules are compiled."""
"""No character takes more bytes than four."""


class RulePlace(Struct, frozen=True):
    """A rule file, or a directory of them, and whose word it is."""

    path: str
    level: Level = Level.USER
    missing: str = ""
    """What is read where the place is not there. Empty: that is an error."""
    standing: Standing | None = None
    """What rules that hold for everything must show. None: somebody chose this file by hand."""


class RuleText(Struct, frozen=True):
    """The text of one rule file."""

    file: str
    text: str
    level: Level = Level.USER
    pack: str = ""


def load(places: Iterable[RulePlace], *, packs: Sequence[str] = ()) -> Policy:
    """The policy of these files, and of packs that are switched on by name. Raises PolicyError."""
    return load_texts(read(places), packs=packs)


def load_text(text: str, *, file: str = "policy.yaml", level: Level = Level.USER) -> Policy:
    """The policy of one text."""
    return load_texts([RuleText(file, text, level)])


def load_texts(texts: Iterable[RuleText], *, packs: Sequence[str] = (), memory: Memory | None = None) -> Policy:
    """The policy of rule files that were read. Nothing is loaded if anything is wrong."""
    files = _files(texts, packs, memory)
    rules, refused = _combine(files)
    return compile_rules(rules, tuple(refused), _judge(files), memory)


def rules_in(texts: Iterable[RuleText], *, packs: Sequence[str] = ()) -> tuple[list[Rule], list[PolicyProblem]]:
    """The rules that these texts have together, not compiled yet, and what was refused. Raises PolicyError."""
    return _combine(_files(texts, packs, None))


def _files(texts: Iterable[RuleText], packs: Sequence[str], memory: Memory | None) -> list[RuleFile]:
    """What the texts and their packs say, the highest level first."""
    texts = tuple(texts)
    if sum(len(text.text) for text in texts if text.level is Level.PROJECT) > MAX_OF_PROJECTS:
        why = f"all rules of projects that hold here are longer than {MAX_OF_PROJECTS} characters"
        raise PolicyError((PolicyProblem(texts[-1].file, 1, "", why),))
    problems: list[PolicyProblem] = []
    files: list[RuleFile] = []
    for text in texts:
        try:
            files.append(parsed(text, memory))
        except PolicyError as error:
            problems.extend(error.problems)
    files.extend(_packs(files, packs, problems, memory))
    problems.extend(_duplicates(files))
    if problems:
        raise PolicyError(tuple(problems))
    return sorted(files, key=lambda file: -file.level.rank)


def parsed(text: RuleText, memory: Memory | None = None) -> RuleFile:
    """The rules of one text. Raises PolicyError with all that is wrong in their form."""
    if memory is not None:
        return memory.parse(text.text, text.file, text.level, text.pack)
    return _parsed_pack(text) if text.pack else _parsed(text)


def _parsed(text: RuleText) -> RuleFile:
    from interpose.rules.policy.parsing import parse  # reading YAML takes long to load, and a memory may do without

    return parse(text.text, text.file, text.level, text.pack)


_parsed_pack = lru_cache(maxsize=64)(_parsed)
"""Packs come with the program and are few: every engine of a process has the same."""


def read(places: Iterable[RulePlace]) -> list[RuleText]:
    """The texts of files and directories, in a fixed order, each file once. Raises PolicyError."""
    found: dict[Path, RuleText] = {}
    for place in places:
        for file in files_of(place):
            if file not in found:
                found[file] = _read(file, place)
    return list(found.values())


def files_of(place: RulePlace) -> list[Path]:
    """The rule files of a place. Raises PolicyError: a directory that can't be looked into may hold rules.

    A project has one file: an agent could put a link to all directories of the machine in its place.
    """
    path = Path(place.path)
    try:
        if place.level is Level.PROJECT or not path.is_dir():
            return [path]
        inside = (Path(at) / name for at, _, names in os.walk(path, onerror=_raise) for name in names)
        found = sorted(file for file in inside if file.suffix in SUFFIXES and _is_file(file))
        if place.standing is not None:
            for directory in dict.fromkeys((path, *(file.parent for file in found))):
                require_ours(directory)
        return found
    except OSError as error:
        raise _unreadable(Path(error.filename or path), error) from None


def _is_file(path: Path) -> bool:
    """Whether it is a file. Raises OSError where that can't be said: `Path.is_file` of Python 3.14 returns False."""
    try:
        return S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in (ENOENT, ENOTDIR, ELOOP):  # a link to nothing
            return False
        raise


def _raise(error: OSError) -> NoReturn:
    raise error


def _read(file: Path, place: RulePlace) -> RuleText:
    try:
        limit = MAX_OF_PROJECTS if place.level is Level.PROJECT else _MAX_READ
        data = read_in_project(file, limit + 1) if place.level is Level.PROJECT else _bytes(file, place, limit + 1)
        if len(data) > limit:
            raise PolicyError((PolicyProblem(str(file), 1, "", f"the file is larger than {limit} bytes"),))
        return RuleText(str(file), data.decode("utf-8"), place.level)
    except UnicodeDecodeError:
        raise PolicyError((PolicyProblem(str(file), 1, "", "expected UTF-8 text"),)) from None
    except FileNotFoundError as error:
        if place.missing:
            return RuleText(str(file), place.missing, place.level)
        raise _unreadable(file, error) from None
    except OSError as error:
        raise _unreadable(file, error) from None


def _bytes(file: Path, place: RulePlace, most: int) -> bytes:
    if place.standing is None:
        with file.open("rb") as opened:
            return opened.read(most)
    return read_standing(file, place.standing, most)


def _unreadable(file: Path, error: OSError) -> PolicyError:
    return PolicyError((PolicyProblem(str(file), 1, "", f"can't be read: {error.strerror or error}"),))


def pack_names() -> tuple[str, ...]:
    """The packs that come with Interpose."""
    return tuple(sorted(file.stem for file in _PACKS.glob("*.yaml")))


def pack_text(name: str, level: Level = Level.USER) -> RuleText:
    """The text of a pack."""
    text = (_PACKS / f"{name}.yaml").read_text(encoding="utf-8")
    return RuleText(f"pack:{name}", text, level, name)


def _packs(
    files: Sequence[RuleFile], named: Sequence[str], problems: list[PolicyProblem], memory: Memory | None
) -> list[RuleFile]:
    """The packs that are switched on, each once, at the highest level that asked for it."""
    wanted: dict[str, tuple[Level, str, int]] = {name: (Level.USER, name, 1) for name in named}
    for file in files:
        for name, line in file.packs:
            if name not in wanted or file.level.rank > wanted[name][0].rank:
                wanted[name] = (file.level, file.file, line)
    known = pack_names()
    found: list[RuleFile] = []
    for name, (level, file_name, line) in wanted.items():
        if name not in known:
            problems.append(
                PolicyProblem(file_name, line, "", f"unknown pack {name!r}, expected one of {', '.join(known)}")
            )
            continue
        found.append(parsed(pack_text(name, level), memory))
    return found


def _duplicates(files: Sequence[RuleFile]) -> Iterable[PolicyProblem]:
    """A rule id stands once in a level. Two rules of one source are the two halves of an imported rule."""
    first: dict[tuple[Level, str], Rule] = {}
    for rule in (rule for file in files for rule in file.rules):
        known = first.setdefault((rule.source.level, rule.id), rule)
        if known.source != rule.source:
            where = f"{known.source.file}:{known.source.line}"
            yield rule.problem("id", f"expected an id of its own, {rule.id!r} is taken by {where}")


def _combine(files: Sequence[RuleFile]) -> tuple[list[Rule], list[PolicyProblem]]:
    """The rules that hold, the highest level first, and what was refused."""
    refused: list[PolicyProblem] = []
    held: list[Rule] = []
    by_id: dict[str, Rule] = {}
    for file in files:
        for rule in file.rules:
            higher = by_id.get(rule.id)
            own = higher is None or higher.source.level == rule.source.level
            why = _loosens(rule, None if own else higher)
            if why:
                refused.append(rule.problem("id", why))
                continue
            by_id.setdefault(rule.id, rule)
            held.append(rule)
    for file in files:
        if file.judge and file.level is Level.PROJECT:
            refused.append(PolicyProblem(file.file, file.judge_line, "", f"refused: a project file {_NO_JUDGE}"))
    switched_off = set(_switched_off(files, held, refused))
    return [rule for rule in held if (rule.id, rule.source.level) not in switched_off], refused


def _loosens(rule: Rule, higher: Rule | None) -> str:
    """Why a rule would loosen what a higher level decided; empty if it would not."""
    level = rule.source.level
    if level is Level.PROJECT and (why := _beyond_a_project(rule)):
        return f"refused: a project file {why}"
    if higher is None:
        return ""
    whose = f"the {higher.source.level}'s rule of this id"
    if not rule.enabled and higher.enabled:
        return f"refused: the {level} can't switch off {whose}"
    if higher.enabled and WEIGHT[rule.action] < WEIGHT[higher.action]:
        return f"refused: action {rule.action!r} is weaker than {higher.action!r} of {whose}"
    if rule.mode == "watch" and higher.mode == "enforce":
        return f"refused: the {level} can't turn {whose} into a watching one"
    return ""


def _beyond_a_project(rule: Rule) -> str:
    """What a rule asks for that a file which an agent can write must not have."""
    if rule.action == "allow":
        return "can't answer questions, only the organisation or the user can"
    if rule.action == "transform" or (rule.action == "redact" and HookPoint.TOOL_BEFORE in rule.on.points):
        return "can't rewrite calls"
    return _NO_JUDGE if rule.judge else ""


def _switched_off(
    files: Sequence[RuleFile], held: Sequence[Rule], refused: list[PolicyProblem]
) -> Iterable[tuple[str, Level]]:
    """Which rules `disable` switches off: those of its own level and below; a project switches off nothing."""
    for file in files:
        for name, line in file.disable:
            if file.level is Level.PROJECT:
                refused.append(PolicyProblem(file.file, line, name, "refused: a project file can't switch off rules"))
                continue
            for rule in held:
                if rule.id != name:
                    continue
                if rule.source.level.rank > file.level.rank:
                    why = f"refused: the {file.level} can't switch off a rule of the {rule.source.level}"
                    refused.append(PolicyProblem(file.file, line, name, why))
                else:
                    yield rule.id, rule.source.level


def _judge(files: Sequence[RuleFile]) -> FrozenDict:
    """The shared settings of the judge: the highest level that has any. A project file has no say in who judges."""
    for file in sorted(files, key=lambda file: -file.level.rank):
        if file.judge and file.level is not Level.PROJECT:
            return file.judge
    return FrozenDict()
