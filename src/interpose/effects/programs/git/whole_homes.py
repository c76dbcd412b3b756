"""Repositories whose files are a whole home: what git puts there lands among settings, what it keeps has our keys."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Lowering
from interpose.effects.paths import is_above_ours
from interpose.effects.programs.git.calls import GitCall

_FILLS = words(
    "am apply checkout checkout-index cherry-pick merge pull read-tree rebase reset restore revert stash switch"
)
_ONLY_WITH = {
    "reset": words("--hard --merge --keep"),
    "stash": words("pop apply branch"),
    "read-tree": words("-u --reset"),
}
"""Verbs that change files only when they are told one of these."""
_UNLESS = words("-b -B --orphan -c -C --create --check --stat --numstat --summary --cached --staged --abort -h --help")
"""With one of these, no file is changed by a name that another commit chose."""
_KEEPS = words("add stage commit stash")
_EVERYTHING = words("-A --all --no-ignore-removal . ./ :/ : * -a -u --include-untracked")


def state_home(call: GitCall, low: Lowering) -> None:
    """State that a call fills a whole home with files, or keeps all files of one."""
    if call.name not in _FILLS and call.name not in _KEEPS:
        return
    given = {word.text for word in call.args}
    takes = call.name in _KEEPS and not given.isdisjoint(_EVERYTHING)
    only = _ONLY_WITH.get(call.name)
    fills = call.name in _FILLS and given.isdisjoint(_UNLESS) and (only is None or not given.isdisjoint(only))
    if not takes and not fills:
        return
    set_by = next((value.text for name, value in call.inv.env if name == "GIT_WORK_TREE"), "")
    where = low.path(call.work_tree or set_by or call.directory or ".")
    if not is_above_ours(where, low.home):
        return
    if takes:
        low.read(where, recursive=True)
    else:
        low.emit("guard.tamper", where, certainty="possible", rule="guarded-place",
                 reason="Puts files of another commit into a home, where agents keep settings and hooks")  # fmt: skip
