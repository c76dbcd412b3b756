"""What must be so before a command: files that exist, what the state file says, what succeeded a short while ago.

Pure, but for a `ProjectLook` that looks at the project's files (project_files.py). What can't be looked at is missing,
and it is said why.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from interpose.rules.governance.budgets.durations import NANOSECONDS, duration_ns, spoken_ns
from interpose.rules.governance.chains.command_names import command_fits
from interpose.rules.governance.chains.state_expressions import StateExpressionError
from interpose.rules.governance.files.file_model import PrerequisiteForm
from interpose.rules.governance.sessions.sessions import GovernedSession

PHASE = "{phase}"
DEEPEST = 5
"""How deep `one_of` may lie in `one_of`."""
_READ = 2000
"""Characters of a command's arguments in which a number is looked for."""
_MOST_DIGITS = 9
_LONGEST_PHASE = 64
_AHEAD_NS = 300 * NANOSECONDS
"""How far the clocks of servers that share a session may be apart."""


class FittingFile(Struct, frozen=True):
    """The first file that fits a glob; or why none was found, if that is more than that there is none."""

    path: str = ""
    problem: str = ""


class StateContent(Struct, frozen=True):
    """What a state file holds; or why that can't be said."""

    data: Any = None
    problem: str = ""
    text: str = ""


class ProjectLook(Protocol):
    """One look at a project: all that it looks at together is bounded."""

    def found(self, pattern: str, /) -> FittingFile:
        """A file of the project that fits a glob."""

    def state(self, file: str, /) -> StateContent:
        """What the state file of the project holds."""


class ProjectFiles(Protocol):
    """Looks at projects."""

    def look(self, project: str, /) -> ProjectLook:
        """A new look at this directory."""


class Circumstances(Struct, frozen=True, kw_only=True):
    """What prerequisites are held against."""

    look: ProjectLook
    phase: str
    state_file: str = ""
    session: GovernedSession | None = None
    now_ns: int = 0


class MissingPrerequisite(Struct, frozen=True):
    """What is not so, and how to get there."""

    what: str
    how: str = ""


def missing_of(forms: tuple[PrerequisiteForm, ...], around: Circumstances) -> tuple[MissingPrerequisite, ...]:
    """Those that are not fulfilled."""
    return tuple(missing for form in forms if (missing := _missing(form, around, 0)) is not None)


def _missing(form: PrerequisiteForm, around: Circumstances, depth: int) -> MissingPrerequisite | None:
    if problem := prerequisite_problem(form, around.state_file, depth):
        return MissingPrerequisite(f"something that can't be checked: {problem}", form.how)
    if form.exists is not None:
        return _file_missing(form, form.exists.replace(PHASE, around.phase), around)
    if form.state is not None:
        return _state_missing(form, form.state, around)
    if form.validated is not None:
        return _validation_missing(form, form.validated, around)
    found = [_missing(one, around, depth + 1) for one in form.one_of or ()]
    lacking = [one for one in found if one is not None]
    if len(lacking) < len(found):
        return None
    how = form.how or " or ".join(dict.fromkeys(one.how for one in lacking if one.how))
    return MissingPrerequisite(f"one of these: {'; '.join(one.what for one in lacking)}", how)


def _file_missing(form: PrerequisiteForm, pattern: str, around: Circumstances) -> MissingPrerequisite | None:
    found = around.look.found(pattern)
    if found.path:
        return None
    return MissingPrerequisite(f"the file {pattern}" + (f" ({found.problem})" if found.problem else ""), form.how)


def _state_missing(form: PrerequisiteForm, text: str, around: Circumstances) -> MissingPrerequisite | None:
    from interpose.rules.governance.chains.state_conditions import Undetermined, holds  # few rulebooks compare states

    content = around.look.state(around.state_file)
    held = Undetermined(content.problem) if content.problem else holds(text, content.data)
    if held is True:
        return None
    why = f" ({held.why})" if isinstance(held, Undetermined) else ""
    return MissingPrerequisite(f"the state {text} in {around.state_file}{why}", form.how)


def _validation_missing(form: PrerequisiteForm, name: str, around: Circumstances) -> MissingPrerequisite | None:
    within = None if form.within is None else duration_ns(form.within)
    validations = () if around.session is None else around.session.validations
    newest = max((one.at_ns for one in validations if command_fits(name, one.name)), default=None)
    when = "" if within is None else f" within {form.within}"
    if newest is None:
        return MissingPrerequisite(f"a success of {name}{when}", form.how)
    age = around.now_ns - newest
    # A time that has not come yet proves nothing, but for clocks that differ a little.
    if age < -_AHEAD_NS or (within is not None and age > within):
        ago = f"the last was {spoken_ns(age)} ago" if age >= 0 else "the last has a time that has not come yet"
        return MissingPrerequisite(f"a success of {name}{when} ({ago})", form.how)
    return None


def prerequisite_problem(form: PrerequisiteForm, state_file: str, depth: int = 0) -> str:
    """What is wrong with a prerequisite as it is written; empty if nothing is. Those of `one_of` are looked at."""
    given = [name for name in ("exists", "state", "validated", "one_of") if getattr(form, name) is not None]
    if len(given) != 1:
        said = f"not {' and '.join(given)}" if given else "and it has none"
        return f"a prerequisite has exactly one of exists, state, validated and one_of, {said}"
    if form.within is not None and form.validated is None:
        return "`within` belongs to `validated`"
    if form.exists is not None:
        return glob_problem(form.exists)
    if form.state is not None:
        return expression_problem(form.state, state_file)
    if form.one_of is None:
        return ""
    if not form.one_of:
        return "`one_of` has nothing in it"
    if depth >= DEEPEST:
        return f"`one_of` lies in `one_of` deeper than {DEEPEST} times"
    return next((found for one in form.one_of if (found := prerequisite_problem(one, state_file, depth + 1))), "")


def glob_problem(pattern: str) -> str:
    """Why a glob names no files of the project; empty if it does."""
    parts = pattern.split("/")
    if pattern.startswith(("/", "~")) or "\\" in pattern or "\0" in pattern:
        return f"{pattern!r} is no path in the project: write it from the project's directory on, with /"
    return f"{pattern!r} leaves the project" if ".." in parts else ""


def expression_problem(text: str, state_file: str) -> str:
    """Why a text is no comparison over the state file; empty if it is one."""
    from interpose.rules.governance.chains.state_conditions import translated  # as above

    if not state_file:
        return "there is no `state_file` that it could be compared with"
    try:
        translated(text)
    except StateExpressionError as error:
        return f"{text[:100]!r} is no comparison: {error}"
    return ""


def phase_of(arguments: str, state: StateContent, default: str) -> str:
    """The phase that a command is about: the first number of its arguments, else what the state file says, else this.

    INVARIANT: it is one plain name. It stands in a path, and arguments and state file are not ours.
    """
    if number := _first_number(arguments[:_READ]):
        return number
    said = state.data.get("phase") if not state.problem and isinstance(state.data, dict) else None
    if isinstance(said, int) and not isinstance(said, bool):
        said = str(said)
    return (_plain_phase(said) if isinstance(said, str) else "") or default


def _first_number(text: str) -> str:
    start = next((at for at, letter in enumerate(text) if _is_digit(letter)), None)
    if start is None:
        return ""
    end = next((at for at in range(start, len(text)) if not _is_digit(text[at])), len(text))
    return text[start:end].zfill(2) if end - start <= _MOST_DIGITS else ""


def _plain_phase(said: str) -> str:
    said = said.strip()
    plain = said.replace("-", "").replace("_", "").replace(".", "")
    if len(said) > _LONGEST_PHASE or not plain.isascii() or not plain.isalnum():
        return ""
    return said.zfill(2) if said.isdigit() else said


def _is_digit(letter: str) -> bool:
    return letter.isascii() and letter.isdigit()
