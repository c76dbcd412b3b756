"""`governance.yaml` to a rulebook: read strictly, with everything that is wrong told at once, each with file and line.

Nothing of a file that has a problem is used. Comments are the user's: nobody but `interpose governance init` writes
such a file, and that never over another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import GovernanceError, GovernanceProblem
from interpose.core.formats.yaml_text import Document, Path, YamlError, read_yaml
from interpose.core.types import FrozenDict
from interpose.reading.calls import home_directory
from interpose.rules.governance.commands.command_categories import role_limits
from interpose.rules.governance.files.file_checks import CheckedForms, problems_of
from interpose.rules.governance.files.file_model import ChainsForm, FrontmatterForm, GovernanceForm, Patterns
from interpose.rules.governance.files.form_reading import problems_in, unknown
from interpose.rules.governance.files.rulebook import FileScope, Rulebook, RulebookLevel
from interpose.rules.governance.files.scope_files import compiled_scopes
from interpose.rules.governance.roles.role_inheritance import built_roles
from interpose.rules.governance.roles.role_tools import canonical_pattern, tool_list
from interpose.rules.governance.roles.role_uses import unusable_first_tools
from interpose.rules.governance.roles.roles import role_lists
from interpose.rules.governance.roles.scopes import scope_limits
from interpose.rules.governance.roles.tool_groups import opened_groups

MAX_OF_PROJECT = 100_000
"""Characters of a project's file. Agents write such files, and everybody waits while they are read."""

_READY = FilePath(__file__).with_name("ready")
_SHARED = ("tools", "scopes", "roles")
"""What is taken out of a ready file by name, besides its chains and frontmatter."""
_ORIGINAL_WORDS: Mapping[str, Mapping[str, str]] = {
    "mode": {"block": "enforce", "warn": "watch", "log": "watch"},
    "unknown_role": {"block": "deny", "warn": "note", "log": "note"},
}
"""Words that others use for the same."""


class _Source(Struct, frozen=True):
    """A file that was read, and how it is called in evidence."""

    file: str
    short: str
    document: Document
    form: GovernanceForm

    def place(self, *path: str | int) -> str:
        return f"{self.short}:{self.document.line_at(path)}: {'.'.join(map(str, path))}"


def load_rulebook(text: str, file: str, level: RulebookLevel = "user") -> Rulebook:
    """The rulebook of one file. Raises GovernanceError with all its problems."""
    if level == "project" and len(text) > MAX_OF_PROJECT:
        raise GovernanceError.of(file, 1, f"a project's file has at most {MAX_OF_PROJECT} characters")
    own = _read(text, file, _short(file, level))
    problems: list[GovernanceProblem] = []
    included: list[_Source] = []
    for index, name in enumerate(own.form.include):
        if name in ready_names():
            included += [source for source in _ready_sources(name) if source not in included]
        else:
            line = own.document.line_at(("include", index))
            problems.append(GovernanceProblem(file, line, unknown("ready file", name, ready_names())))
    sources = (*included, own)
    homes = {
        (section, name): source for source in sources for section in _SHARED for name in getattr(source.form, section)
    }
    forms = CheckedForms(
        form=own.form,
        tools={name: source.form.tools[name] for (section, name), source in homes.items() if section == "tools"},
        scopes={name: source.form.scopes[name] for (section, name), source in homes.items() if section == "scopes"},
        roles={name: source.form.roles[name] for (section, name), source in homes.items() if section == "roles"},
        chains=_chains(sources),
        frontmatter=_frontmatter(sources),
    )
    for path, message in problems_of(forms):
        source = homes.get((str(path[0]), str(path[1])), own) if len(path) > 1 else own
        problems.append(GovernanceProblem(source.file, source.document.line_at(path), message))
    if problems:
        raise GovernanceError(tuple(sorted(problems, key=lambda one: (one.file != file, one.line))))
    book = _built(own, level, forms, homes, _digest(text, included))
    for name, message in unusable_first_tools(book):
        source = homes["roles", name]
        line = source.document.line_at(("roles", name, "first_tools"))
        problems.append(GovernanceProblem(source.file, line, f"roles.{name}: {message}"))
    if problems:
        raise GovernanceError(tuple(problems))
    _compile(book)
    return book


def _compile(book: Rulebook) -> None:
    """Make what every call is compared with: it depends on the file alone. Comparisons of states are made by checking
    them."""
    for role in book.roles.values():
        role_lists(book, role)
        role_limits(book, role)
        scope_limits(book, role)
        if role.first_tools is not None:
            tool_list(book, role.first_tools.any_of)
    tool_list(book, book.save_work.tools)
    compiled_scopes(book, home_directory())


def json_schema() -> dict[str, Any]:
    """The JSON Schema of governance.yaml, for editors."""
    schema = msgspec.json.schema(GovernanceForm)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interpose governance"} | schema


@cache
def ready_names() -> tuple[str, ...]:
    """The files of ours that `include` and `init --ready` know."""
    return tuple(sorted(path.stem for path in _READY.glob("*.yaml")))


def ready_text(name: str) -> str:
    """The text of such a file."""
    return (_READY / f"{name}.yaml").read_text(encoding="utf-8")


@cache
def _ready_sources(name: str) -> tuple[_Source, ...]:
    """A ready file, behind those that it includes itself."""
    source = _ready_source(name)
    return (*(one for included in source.form.include for one in _ready_sources(included)), source)


@cache
def _ready_source(name: str) -> _Source:
    return _read(ready_text(name), f"{name}.yaml (ready)", f"{name}.yaml")


def _read(text: str, file: str, short: str) -> _Source:
    try:
        document = read_yaml(text)
    except YamlError as error:
        raise GovernanceError.of(file, error.line, str(error)) from None
    data = _in_our_words(document.data)
    problems = [
        GovernanceProblem(file, document.line_at(path), _about(path, message))
        for path, message in problems_in(data, GovernanceForm)
    ]
    if problems:
        raise GovernanceError(tuple(sorted(problems, key=lambda one: one.line)))
    return _Source(file, short, document, msgspec.convert(data, GovernanceForm, strict=True))


def _about(path: Path, message: str) -> str:
    return f"{'.'.join(map(str, path))}: {message}" if path else message


def _in_our_words(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    said: dict[str, Any] = {
        key: _ORIGINAL_WORDS[key].get(data[key], data[key]) for key in _ORIGINAL_WORDS if _is_text(data, key)
    }
    roles = data.get("roles")
    if isinstance(roles, dict):
        words = _ORIGINAL_WORDS["mode"]
        said["roles"] = {
            name: {**role, "mode": words.get(role["mode"], role["mode"])} if _is_text(role, "mode") else role
            for name, role in roles.items()
        }
    return {**data, **said}


def _is_text(data: Any, key: str) -> bool:
    return isinstance(data, dict) and isinstance(data.get(key), str)


def _short(file: str, level: RulebookLevel) -> str:
    """How a file is called towards agents: the user's by its name alone."""
    name = file.rpartition("/")[2]
    match level:
        case "organisation":
            return file
        case "user":
            return name
        case "project":
            return f".interpose/{name}"


def _chains(sources: tuple[_Source, ...]) -> ChainsForm:
    """The chains of all files. A rule of the file itself takes the place of one of the same id, its settings come
    first; lists are added up."""
    own = sources[-1].form.chains
    ids = {rule.id for rule in own.rules}
    included = {rule.id: rule for source in sources[:-1] for rule in source.form.chains.rules if rule.id not in ids}
    merged: dict[str, Any] = {}
    for key, default in ((key, getattr(ChainsForm(), key)) for key in ChainsForm.__struct_fields__):
        said = [getattr(source.form.chains, key) for source in (sources[-1], *sources[:-1])]
        if isinstance(default, tuple):
            merged[key] = tuple(dict.fromkeys(item for items in said for item in items))
        else:
            merged[key] = next((value for value in said if value != default), default)
    return replace(own, **(merged | {"rules": (*own.rules, *included.values())}))


def _frontmatter(sources: tuple[_Source, ...]) -> FrontmatterForm:
    """The managed files of all."""
    return FrontmatterForm(
        paths=tuple(dict.fromkeys(path for source in sources for path in source.form.frontmatter.paths))
    )


def _spelled(groups: Mapping[str, Patterns]) -> dict[str, str]:
    names = [name.strip() for group in groups.values() for name in group]
    return {plain: name for name in names if (plain := canonical_pattern(name)) != name}


def _digest(text: str, included: list[_Source]) -> str:
    said = [text, *(ready_text(source.short.removesuffix(".yaml")) for source in included)]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]


def _built(
    own: _Source, level: RulebookLevel, forms: CheckedForms, homes: dict[tuple[str, str], _Source], revision: str
) -> Rulebook:
    form = own.form
    roles = built_roles(forms.roles, lambda name, *key: homes["roles", name].place("roles", name, *key), form.mode)
    scopes = {
        name: FileScope(name=name, paths=one.paths, outside=one.outside, others=one.others)
        for name, one in forms.scopes.items()
    }
    return Rulebook(
        file=own.file, level=level, mode=form.mode, revision=revision, unknown_role=form.unknown_role,
        agents=form.agents, roles=FrozenDict(roles), scopes=FrozenDict(scopes),
        tools=FrozenDict(opened_groups(forms.tools)), spelled=FrozenDict(_spelled(forms.tools)), chains=forms.chains,
        sessions=form.sessions, stalls=form.stalls, budgets=form.budgets, save_work=form.save_work,
        frontmatter=forms.frontmatter,
        places=FrozenDict({key: own.place(key) for key in form.__struct_fields__}),
    )  # fmt: skip
