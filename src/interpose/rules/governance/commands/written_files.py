"""What a call would write or delete, as far as its text tells: the effects of file tools and of commands."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.tools import is_destination, only_views, path_arguments, paths_of, typed_of
from interpose.core.types import Effect, EffectKind
from interpose.effects.paths import UNKNOWN
from interpose.effects.shell import Ran
from interpose.reading.calls import Reading, reading_of

if TYPE_CHECKING:
    from interpose.core.types import ToolCall
    from interpose.rules.governance.files.scope_files import Files

_WRITING: frozenset[EffectKind] = frozenset({"fs.write", "fs.delete", "fs.permission"})
_FILE_TOOLS = frozenset({"write", "edit", "apply_patch", "delete", "move", "copy"})
_GIT_NAMES_PATHS = frozenset({"git-checkout-paths", "git-restore", "git-rm"})
_GIT_CHANGES_FILES = frozenset({
    "git-reset-hard", "git-reset-merge", "git-checkout-force", "git-checkout-index", "git-switch-force", "git-clean",
    "git-apply-reverse", "git-read-tree", "git-submodule-force", "git-worktree-remove",
})  # fmt: skip
"""All else that git throws away are no files: branches, tags, stashes, commits."""
_GIT_MAKES = {"worktree": ("add", 1), "submodule": ("add", 2), "merge-file": ("", 0)}
"""Verbs of git that write what they are given: the word behind the verb, and which word is the first that may be it."""
_GIT_WRITES = frozenset({"mv", "apply", "am", *_GIT_MAKES})
_CHANGING = _WRITING | {"opaque", "vcs.discard"}
_COULD_WRITE = object()
_TO_STDOUT = frozenset({"-p", "--stdout"})
_STEPS_ASIDE = frozenset({"cd", "pushd", "popd"})
_MAKES_DIRECTORIES = frozenset({"mkdir", "install", "mktemp"})
_SEARCHES = ("find", "fd", "xargs")
_UNNAMED = "which file that is, is only known when it runs"
_ONLY_LOOKS = frozenset({"--check", "--stat", "--numstat", "--summary", "--dry-run"})
_SAY_IT = "Name the file in the command itself"


class Written(Struct, frozen=True, kw_only=True):
    """A file or a set of files that a call would change."""

    kind: EffectKind
    named: str
    is_tree: bool = False
    """With all that lies below it."""
    is_literal: bool = True
    """Nothing in its name is a pattern."""
    is_deep: bool = False
    """What is a pattern in its name may lie at any depth."""
    is_there: bool = False
    """Only files that are there already are changed."""
    unknown: str = ""
    """Why nobody can say what it is."""
    is_question: bool = False
    instead: str = ""


def could_write(call: ToolCall, home: str) -> bool:
    """Whether there is anything that `written_by` could find. It says no by the text of the call alone."""
    reading = reading_of(call, home)
    return reading.remember(_COULD_WRITE, lambda: _could_write(reading))


def _could_write(reading: Reading) -> bool:
    seen = reading.seen
    if seen.name == "exec":
        return (
            reading.script is None
            or any(effect.kind in _CHANGING for effect in reading.effects)
            or any(map(_may_name_files, reading.analysis.commands))
        )
    if seen.name in _FILE_TOOLS:
        return not only_views(seen)
    return reading.call.name == "process" or any(effect.kind in _CHANGING for effect in reading.effects)


def _may_name_files(ran: Ran) -> bool:
    return ran.name == "patch" or (ran.name == "git" and not _GIT_WRITES.isdisjoint(ran.args))


def written_by(call: ToolCall, home: str, files: Files) -> Iterator[Written]:
    """All that a call would change."""
    reading = reading_of(call, home)
    seen = reading.seen
    if seen.name == "exec":
        yield from _by_command(reading, files)
    elif seen.name in _FILE_TOOLS:
        if not only_views(seen):
            yield from _by_file_tool(seen, files)
    elif call.name == "process":
        for effect in reading.effects_in(typed_of(call), files.cwd):
            yield from _of_effect(effect, (), files)
    else:
        for effect in reading.effects:
            yield from _of_effect(effect, (), files, is_literal=True)


# --- file tools


def _by_file_tool(call: ToolCall, files: Files) -> Iterator[Written]:
    if call.name in ("move", "copy"):
        yield from _by_moving(call, files)
        return
    kind: EffectKind = "fs.delete" if call.name == "delete" else "fs.write"
    named = [path for path in paths_of(call) if path.strip()]
    for path in named:
        if call.name == "delete":
            yield _gone(path, files, is_literal=True)
        else:
            yield Written(kind=kind, named=path)
    if not named or any(not isinstance(value, str | None) for _, value in path_arguments(call)):
        yield Written(kind=kind, named="a file", unknown="the call names no file that can be read", instead=_SAY_IT)


def _by_moving(call: ToolCall, files: Files) -> Iterator[Written]:
    """INVARIANT: what is moved into a directory keeps its name there."""
    named = [(is_destination(key), value) for key, value in path_arguments(call)]
    sources = [value for is_end, value in named if not is_end and isinstance(value, str) and value.strip()]
    ends = [value for is_end, value in named if is_end and isinstance(value, str) and value.strip()]
    for source in sources if call.name == "move" else ():
        yield _gone(source, files, is_literal=True)
    for end in ends:
        yield Written(kind="fs.write", named=end)
        if _is_directory(end, files):
            for source in sources:
                inside = posixpath.join(end, posixpath.basename(source.replace("\\", "/").rstrip("/")))
                yield Written(kind="fs.write", named=inside, is_tree=not _is_file(source, files))
    if not sources or not ends:
        yield Written(kind="fs.write", named="a file", unknown="the call does not name both ends", instead=_SAY_IT)


def _gone(path: str, files: Files, kind: EffectKind = "fs.delete", *, is_literal: bool) -> Written:
    """What is taken away or overwritten: all that is there now, at and below a path."""
    return Written(kind=kind, named=path, is_tree=not _is_file(path, files), is_literal=is_literal, is_there=True)


def _is_directory(path: str, files: Files) -> bool:
    try:
        return os.path.isdir(files.absolute(path))  # noqa: PTH112 - a text that an agent chose
    except ValueError:
        return False


def _is_file(path: str, files: Files) -> bool:
    """Whether nothing can lie below it: it is there, and no directory."""
    try:
        return os.path.lexists(at := files.absolute(path)) and not os.path.isdir(at)  # noqa: PTH112 - as above
    except ValueError:
        return False


# --- commands


def _by_command(reading: Reading, files: Files) -> Iterator[Written]:
    if reading.script is None:
        yield Written(kind="opaque", named="a command", unknown="nobody can read the command of this call")
        return
    commands = reading.analysis.commands
    for effect in reading.effects:
        if effect.kind == "vcs.discard":
            yield from _by_git(effect, commands, files)
        else:
            yield from _of_effect(effect, commands, files)
    for ran in commands:
        yield from _by_git_move(ran, commands, files)
        yield from _by_git_names(ran, commands, files)
    if any(_applies_patch(ran) for ran in commands) and not any(effect.kind in _WRITING for effect in reading.effects):
        yield Written(
            kind="fs.write", named="the files of a patch", unknown="which files those are stands only in the patch",
            is_question=True, instead="Apply it with a tool that shows its files, such as apply_patch",
        )  # fmt: skip


def _of_effect(
    effect: Effect, commands: tuple[Ran, ...], files: Files, *, is_literal: bool = False
) -> Iterator[Written]:
    if effect.kind == "opaque":
        reason = str(effect.details.get("reason") or "what it does is only known when it runs")
        yield Written(kind="opaque", named="files that nobody knows", unknown=reason, is_question=True)
        return
    if effect.kind not in _WRITING:
        return
    path = effect.resource
    if not path or path[0] == UNKNOWN:
        yield Written(kind=effect.kind, named="a file", unknown=_UNNAMED, instead=_SAY_IT)
        return
    yield Written(
        kind=effect.kind, named=path, is_literal=is_literal, is_tree=_is_tree(effect, commands, files),
        is_deep=bool(effect.details.get("recursive")) or any(wrapper.startswith(_SEARCHES) for wrapper in effect.via),
        is_there=effect.kind != "fs.write" or bool(effect.details.get("in_place")),
    )  # fmt: skip
    for linked in (effect.details.get("link"), effect.details.get("linked")):
        if isinstance(linked, str) and linked:
            # A link to a file is a way to write it.
            yield Written(kind="fs.write", named=linked, is_literal=is_literal, is_tree=not _is_file(linked, files))


def _is_tree(effect: Effect, commands: tuple[Ran, ...], files: Files) -> bool:
    """Whether all that lies below a path is changed, too."""
    details = effect.details
    if details.get("recursive") or details.get("extracted"):
        return not _is_file(effect.resource, files)
    if effect.kind != "fs.write" or not _is_directory(effect.resource, files):
        return False
    return not (details.get("directory") and any(_made(ran, effect) for ran in commands))


def _made(ran: Ran, effect: Effect) -> bool:
    return ran.name in _MAKES_DIRECTORIES and ran.span[0] <= effect.span[0] and effect.span[1] <= ran.span[1]


def _by_git(effect: Effect, commands: tuple[Ran, ...], files: Files) -> Iterator[Written]:
    """What git overwrites or deletes: the paths that it is given, or anything in the project."""
    named, rule = effect.resource.split(), effect.details.get("rule")
    if rule in _GIT_CHANGES_FILES or (rule in _GIT_NAMES_PATHS and (_works_elsewhere(commands) or _has_magic(named))):
        yield Written(kind="vcs.discard", named=files.root, is_tree=True, is_there=True)
    elif rule in _GIT_NAMES_PATHS:
        yield from (_gone(path, files, "vcs.discard", is_literal=False) for path in named)


def _by_git_move(ran: Ran, commands: tuple[Ran, ...], files: Files) -> Iterator[Written]:
    if ran.name != "git" or "mv" not in ran.args:
        return
    words = [word for word in ran.args[ran.args.index("mv") + 1 :] if not word.startswith("-")]
    for source in words[:-1]:
        if _works_elsewhere(commands) or _has_magic([source]):
            yield Written(kind="fs.delete", named=files.root, is_tree=True, is_there=True)
        else:
            yield _gone(source, files, is_literal=False)


def _by_git_names(ran: Ran, commands: tuple[Ran, ...], files: Files) -> Iterator[Written]:
    """Files and directories that git is told to make: a worktree, a submodule, the end of a merge."""
    if ran.name != "git":
        return
    for verb, (act, at) in _GIT_MAKES.items():
        if verb not in ran.args:
            continue
        rest = ran.args[ran.args.index(verb) + 1 :]
        words = [word for word in rest if not word.startswith("-")]
        if (act and words[:1] != [act]) or (verb == "merge-file" and not _TO_STDOUT.isdisjoint(rest)):
            continue
        # Which of the words is the path depends on options with values: each that stands there, or later, may be it.
        for path in words[at:]:
            elsewhere = _works_elsewhere(commands) or _has_magic([path])
            yield Written(
                kind="fs.write", named=files.root if elsewhere else path, is_literal=True,
                is_tree=bool(act) or elsewhere,
            )  # fmt: skip


def _works_elsewhere(commands: tuple[Ran, ...]) -> bool:
    """Whether git's paths may be relative to another directory than that of the call."""
    return any(
        ran.name in _STEPS_ASIDE
        or (ran.name == "git" and any(word.startswith(("-C", "--work-tree", "--git-dir")) for word in ran.args))
        for ran in commands
    )


def _has_magic(paths: list[str]) -> bool:
    return not paths or any(path[0] == ":" or UNKNOWN in path for path in paths)


def _applies_patch(ran: Ran) -> bool:
    if not _ONLY_LOOKS.isdisjoint(ran.args):
        return False
    return ran.name == "patch" or (ran.name == "git" and any(verb in ran.args[:4] for verb in ("apply", "am")))
