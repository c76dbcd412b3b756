"""What can be wrong with a file whose form is right: names that nobody defined, circles, parts that contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, Struct

from interpose.core.formats.yaml_text import Path
from interpose.rules.governance.budgets.durations import duration_ns
from interpose.rules.governance.chains.chains import chain_problems
from interpose.rules.governance.commands.command_words import CATEGORIES
from interpose.rules.governance.files.file_model import (
    BudgetForm,
    ChainsForm,
    FileScopeForm,
    FrontmatterForm,
    GovernanceForm,
    Patterns,
    RoleForm,
)
from interpose.rules.governance.files.form_reading import FormProblem, shown, unknown
from interpose.rules.governance.roles.name_patterns import fits, is_glob
from interpose.rules.governance.roles.role_inheritance import parents_of
from interpose.rules.governance.roles.tool_groups import group_problems, wrong_group

_LIMITS = ("calls", "denials", "questions", "tokens", "cost", "time")
_MOST = 1_000
"""Roles, agents, scopes: files of people have fewer."""


class CheckedForms(Struct, frozen=True, kw_only=True):
    """A file's form, and what it has together with the ready files that it includes."""

    form: GovernanceForm
    tools: dict[str, Patterns]
    scopes: dict[str, FileScopeForm]
    roles: dict[str, RoleForm]
    chains: ChainsForm
    frontmatter: FrontmatterForm


def problems_of(forms: CheckedForms) -> Iterator[FormProblem]:
    """Everything that is wrong, with its place."""
    for section, held in (("roles", forms.roles), ("scopes", forms.scopes), ("agents", forms.form.agents)):
        if len(held) > _MOST:
            yield (section,), f"there are more than {_MOST}"
            return
    yield from group_problems(forms.tools)
    yield from _in_agents(forms)
    yield from _in_scopes(forms.scopes)
    for name, role in forms.roles.items():
        for path, message in _in_role(name, role, forms):
            yield ("roles", name, *path), f"roles.{name}: {message}"
    yield from _in_rest(forms.form, forms.tools)
    yield from _in_chains(forms)


def _in_agents(forms: CheckedForms) -> Iterator[FormProblem]:
    for index, agent in enumerate(forms.form.agents):
        if agent.role not in forms.roles:
            yield ("agents", index, "role"), unknown("role", agent.role, forms.roles)
        if agent.project is not None and not agent.project.startswith(("/", "~/")):
            yield (
                ("agents", index, "project"),
                f"expected a directory that begins with / or ~/, got {shown(agent.project)}",
            )
        if agent.project is not None and (why := wrong_glob(agent.project)):
            yield ("agents", index, "project"), why


def _in_scopes(scopes: Mapping[str, FileScopeForm]) -> Iterator[FormProblem]:
    for name, scope in scopes.items():
        for key in ("paths", "outside"):
            for index, glob in enumerate(getattr(scope, key)):
                if why := wrong_glob(glob):
                    yield ("scopes", name, key, index), why
        for index, other in enumerate(scope.others):
            if other not in scopes:
                yield ("scopes", name, "others", index), unknown("scope", other, scopes)
        if name in _reached(name, scopes):
            yield ("scopes", name, "others"), f"the scope {name!r} is outside of itself: `others` lead in a circle"


def _reached(name: str, scopes: Mapping[str, FileScopeForm]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for other in scopes[waiting.pop()].others:
            if other in scopes and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def wrong_glob(glob: str) -> str:
    """Why a text is no glob of files; empty if it is one."""
    parts = glob.split("/")
    if glob.startswith("!"):
        return f"{shown(glob)}: what is not part of a scope stands in `outside`"
    if ".." in parts:
        return f"{shown(glob)}: write the path without .."
    if any("**" in part and part != "**" for part in parts):
        return f"{shown(glob)}: ** stands alone between slashes"
    if "{" in glob and "," in glob and "}" in glob:
        return f"{shown(glob)}: braces are not understood, write a glob for each"
    if glob.startswith("~") and not glob.startswith("~/"):
        return f"{shown(glob)}: only ~/ is understood, not another user's home"
    if "\\" in glob or "\0" in glob:
        return f"{shown(glob)}: expected / between names, and nothing escaped"
    return "" if glob.strip("/. ") else f"{shown(glob)}: names no files; ** is all of them"


def _in_role(name: str, role: RoleForm, forms: CheckedForms) -> Iterator[FormProblem]:
    if role.parent is not None:
        if role.parent not in forms.roles:
            yield ("parent",), unknown("role", role.parent, forms.roles)
        elif role.parent == name or name in _above(name, forms.roles):
            yield ("parent",), "it is above itself: parents lead in a circle"
    if role.tools is not UNSET:
        for key in ("allow", "deny", "ask", "note"):
            yield from _in_tools(getattr(role.tools, key) or (), ("tools", key), forms.tools)
    if role.first_tools is not UNSET:
        yield from _in_tools(role.first_tools.any_of, ("first_tools", "any_of"), forms.tools)
    if role.ceiling is not UNSET:
        yield from _in_tools(role.ceiling.deny, ("ceiling", "deny"), forms.tools)
        yield from _in_names(role.ceiling.write or (), ("ceiling", "write"), "scope", forms.scopes)
        yield from _in_commands(role.ceiling.commands or (), ("ceiling", "commands"))
    if role.write is not UNSET:
        yield from _in_names(role.write, ("write",), "scope", forms.scopes)
    if role.commands is not UNSET:
        yield from _in_commands(role.commands, ("commands",))
    if role.delegates is not UNSET:
        yield from _in_targets(name, role.delegates.to, forms)


def _above(name: str, roles: Mapping[str, RoleForm]) -> set[str]:
    found: set[str] = set()
    at = roles[name].parent
    while at is not None and at in roles and at not in found:
        found.add(at)
        at = roles[at].parent
    return found


def _in_tools(patterns: Iterable[str], at: Path, groups: Mapping[str, Patterns]) -> Iterator[FormProblem]:
    for index, pattern in enumerate(patterns):
        yield from (((*at, index), why) for why in wrong_group(pattern, groups))


def _in_names(names: Iterable[str], at: Path, what: str, known: Iterable[str]) -> Iterator[FormProblem]:
    listed = tuple(known)
    yield from (((*at, index), unknown(what, name, listed)) for index, name in enumerate(names) if name not in listed)


def _in_commands(commands: Iterable[str], at: Path) -> Iterator[FormProblem]:
    """A word is a category; what has a blank or a star in it is a command by its words."""
    plain = ((index, name) for index, name in enumerate(commands) if " " not in name and not is_glob(name))
    yield from (
        ((*at, index), unknown("category of commands", name, CATEGORIES))
        for index, name in plain
        if name not in CATEGORIES
    )


def _in_targets(name: str, targets: Iterable[str], forms: CheckedForms) -> Iterator[FormProblem]:
    above = parents_of(name, forms.roles)
    for index, target in enumerate(targets):
        at = ("delegates", "to", index)
        if target == name:
            yield at, "a role never delegates to itself"
        elif target in above:
            yield at, f"{target!r} is above it, and a role never delegates upwards"
        elif not any(fits(target, role) for role in forms.roles):
            yield at, unknown("role", target, forms.roles)


def _in_rest(form: GovernanceForm, groups: Mapping[str, Patterns]) -> Iterator[FormProblem]:
    yield from _in_tools(form.save_work.tools, ("save_work", "tools"), groups)
    for section, globs in (("save_work", form.save_work.writes), ("frontmatter", form.frontmatter.paths)):
        key = "writes" if section == "save_work" else "paths"
        yield from (((section, key, index), why) for index, glob in enumerate(globs) if (why := wrong_glob(glob)))
    yield from (
        (("budgets", index), "a budget needs one of " + ", ".join(_LIMITS))
        for index, budget in enumerate(form.budgets)
        if _is_endless(budget)
    )
    if duration_ns(form.sessions.resume_after) >= duration_ns(form.sessions.fresh_after):
        yield ("sessions", "resume_after"), "`resume_after` must be shorter than `fresh_after`"


def _is_endless(budget: BudgetForm) -> bool:
    return all(getattr(budget, limit) is None for limit in _LIMITS)


def _in_chains(forms: CheckedForms) -> Iterator[FormProblem]:
    """INVARIANT: the rules of the file itself come first; those behind them are of ready files."""
    for problem in chain_problems(forms.chains):
        is_own = 0 <= problem.rule < len(forms.form.chains.rules)
        path: Path = ("chains", "rules", problem.rule) if is_own else ("chains",)
        yield path, f"chains: {problem.id}: {problem.message}" if problem.id else f"chains: {problem.message}"
