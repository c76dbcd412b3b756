"""What still passes when a budget is used up, so that no work is lost: looking, noting, committing.

INVARIANT: nothing gets by that only begins like one of these. A command passes if everything that it would run is
listed, and everything that it would do is reading or writing files that may be written; what is not understood is not
listed. It only lifts what budgets say: every other rule holds for it as for any call.
"""

from __future__ import annotations

import posixpath

from interpose.core.types import Effect, ToolCall
from interpose.effects.shell import Ran
from interpose.reading.calls import DEFAULT_CWD, Reading, reading_of
from interpose.rules.governance.files.file_model import Patterns, SaveWorkForm
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.roles.name_patterns import fits_any
from interpose.rules.governance.roles.path_globs import covers, parts_of
from interpose.rules.governance.roles.role_tools import tool_list

_WRITERS = frozenset({"write", "edit", "apply_patch"})
_ONLY_SPEAK = frozenset({"cat", "cd", "echo", "printf", "pwd", "true"})
"""Commands that commits are written with: `git commit -m "$(cat <<'END' ...)"`. What they write counts, as always."""


def saves_work(book: Rulebook, call: ToolCall, home: str) -> bool:
    """Whether a call is one of those that a rulebook lets pass when a budget is used up."""
    form = book.save_work
    if tool_list(book, form.tools).lets_in(call, home):
        return True
    if call.name in _WRITERS:
        effects = reading_of(call, home).effects
        return bool(effects) and all(_may_do(form, effect, call, home) for effect in effects)
    return call.name == "exec" and _is_saving_command(form, reading_of(call, home), call, home)


def _is_saving_command(form: SaveWorkForm, reading: Reading, call: ToolCall, home: str) -> bool:
    named = [ran for ran in reading.analysis.commands if ran.name not in _ONLY_SPEAK]
    return (
        bool(named)
        and reading.carried is None
        and all(_is_listed(form.commands, ran) for ran in named)
        and all(_may_do(form, effect, call, home) for effect in reading.effects)
    )


def _is_listed(patterns: Patterns, ran: Ran) -> bool:
    """By its words. `git status *` is `git status` alone, too; a program of a directory's own is another one."""
    words = " ".join((ran.name, *ran.args))
    return ran.program == ran.name and (fits_any(patterns, words) or fits_any(patterns, f"{words} "))


def _may_do(form: SaveWorkForm, effect: Effect, call: ToolCall, home: str) -> bool:
    if effect.kind == "fs.read":
        return True
    return effect.kind == "fs.write" and _may_write(form.writes, effect.resource, call.context.cwd or DEFAULT_CWD, home)


def _may_write(globs: Patterns, resource: str, project: str, home: str) -> bool:
    if "\0" in resource or not resource:
        return False
    if resource == "~" or resource.startswith("~/"):
        resource = home + resource[1:]
    path = posixpath.normpath(posixpath.join(project, resource))
    inside = posixpath.relpath(path, project)
    for glob in globs:
        if glob.startswith(("/", "~")):
            where, name = parts_of(home + glob[1:] if glob.startswith("~") else glob), path
        elif inside == ".." or inside.startswith("../"):
            continue
        else:
            where, name = parts_of(glob), inside
        if covers(where, parts_of(name)):
            return True
    return False
