"""Arguments that name what is ours, whatever the command does with them.

A handler says what a command does with its files. Many commands have none, and no handler knows every option. So a
word that names our keys, tokens or records is touching them, unless the command only handles names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.effects.frozen_values import words
from interpose.effects.invocation import OUR_NAMES, Invocation, Word
from interpose.effects.late_patterns import late
from interpose.effects.paths import held, is_one_name, ours_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.effects.shell.lowering import CommandLowering
    from interpose.effects.values import Effect

_NAMES_ONLY = words(
    """
    [ : alias basename cd chdir declare dir dirname du echo egrep exa export eza false fd fgrep file find grep interpose
    jq let local ls mkdir nah popd printf pushd pwd readlink readonly realpath rg rgrep set stat test tree true type
    typeset unset which whereis ag ack
    """
)
"""Commands that handle names, or whose handlers know which of their words are files."""
_SEPARATORS = late(r"[=@:,]|(?<=^-[A-Za-z])")
_LONGEST = 4096


def state_touched(inv: Invocation, low: CommandLowering, first: int) -> None:
    """State it if an argument names what is ours and no effect since `first` has said so."""
    name = inv.name
    if name in _NAMES_ONLY or not inv.args:
        return
    own = held()
    if may_change_environment(inv, low.walker.effects[first:]):
        from interpose.effects.shell.environment_changes import state_changed_environment  # few commands do

        state_changed_environment(inv, low, first)
    if name in _INTO_PROCESSES:
        _state_process(inv.args, low)
    listed = next((word for word in inv.args if OUR_NAMES in word.taints and not word.known), None)
    if listed is not None and not any(effect.kind == "guard.tamper" for effect in low.walker.effects[first:]):
        low.emit("guard.tamper", listed.text, certainty="possible", at=listed, rule="guard-keys",
                 reason="Uses names that were listed where the guard itself keeps keys and tokens")  # fmt: skip
    # Most commands name nothing of ours: one look at all of their words says so.
    said = "\n".join([low.cwd, *[word.text for word in inv.args]]).lower()
    if "interpose" not in said and not _names_any(said, own.private) and not _names_any(said, own.databases):
        return
    _state_file(inv, low, first)
    if name in _SERVICES:
        _state_service(inv.args, low)
    if own.databases:
        _state_database(inv.args, low, own.databases)


_ENVIRONMENT_MAKERS = words("virtualenv uv")


def may_change_environment(inv: Invocation, effects: list[Effect]) -> bool:
    """Whether a command may change an environment of Python. `environment_changes` says which, and how."""
    return (
        inv.name in _ENVIRONMENT_MAKERS
        or inv.name.startswith(("python", "pypy"))
        or any(each.kind == "package.install" or each.details.get("rule") == "package-remove" for each in effects)
    )


def _state_file(inv: Invocation, low: CommandLowering, first: int) -> None:
    for before, word in zip((inv.argv0, *inv.args), inv.args, strict=False):
        if before.text == "--unix-socket":
            continue  # what is asked through it says whether it may be
        for text in named_in(word.text):
            where = low.path(text)
            mark = ours_of(where)
            if mark is not None and mark.private and not is_stated(low, first):
                low.emit("guard.tamper", where, at=word, ours=True, reason=mark.reason)
                return


_SERVICES = words(
    "systemctl service launchctl rc-service supervisorctl pm2 sv s6-rc initctl sc brew docker podman nerdctl"
)
_ENDING = words(
    """
    bootout clean delete disable down edit freeze kill mask pause reload-or-restart remove restart revert rm
    set-property stop stop-post terminate try-restart uninstall unload unlink
    """
)


def _state_service(args: tuple[Word, ...], low: CommandLowering) -> None:
    """Our own service is stopped, switched off or changed."""
    named = next((word for word in args if "interpose" in word.text.lower().rpartition("/")[2]), None)
    if named is not None and any(word.text in _ENDING for word in args):
        low.emit("guard.tamper", named.text, at=named, ours=True, rule="guard-kill",
                 reason="Stops or changes the service of the guard itself")  # fmt: skip


_INTO_PROCESSES = words(
    """
    austin bpftrace cgclassify chrt cpulimit criu debugpy gcore gdb htop injector ionice lldb ltrace memray node nsenter
    perf prlimit py-spy pyrasite pystack python python3 rbspy renice reptyr schedtool strace taskset uprobe
    """
)
"""Programs that look into another process, or change how it runs."""


def _state_process(args: tuple[Word, ...], low: CommandLowering) -> None:
    for word in args:
        if "keeper" in word.taints:
            low.emit("secret.read", word.text, certainty="possible", at=word, rule="process-memory",
                     reason="Looks into a process that keeps keys and passwords in memory")  # fmt: skip
        number = word.text.lstrip("-p=")
        if "our-process" in word.taints or (number.isdecimal() and int(number[:18]) in held().processes):
            low.emit("guard.tamper", word.text, at=word, ours=True, rule="guard-kill",
                     reason="Looks into a process of the guard itself, or changes how it runs")  # fmt: skip
            return


def _names_any(said: str, names: frozenset[str]) -> bool:
    return any(name in said for name in names)


def named_in(text: str) -> Iterator[str]:
    """What of a word may be a path: all of it, and what stands behind `=`, `@`, `:` or an option's letter."""
    if len(text) > _LONGEST or not is_one_name(text):
        return  # prose, or a program text
    yield text
    for piece in _SEPARATORS.split(text)[1:]:
        if piece:
            yield piece


def is_stated(low: CommandLowering, first: int) -> bool:
    return any(effect.kind == "guard.tamper" and "ours" in effect.details for effect in low.walker.effects[first:])


def _state_database(args: tuple[Word, ...], low: CommandLowering, databases: frozenset[str]) -> None:
    for word in args:
        if any(database in word.text.lower() for database in databases):
            low.emit("guard.tamper", "our database", at=word, ours=True,
                     reason="Opens the database in which the guard keeps its records and answers")  # fmt: skip
            return
