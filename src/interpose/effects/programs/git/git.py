"""git: global options, aliases given on the command line, and dispatch to its subcommands."""

from __future__ import annotations

import shlex

from msgspec.structs import replace

from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.programs.git import config, history, inspection, remotes, worktree
from interpose.effects.programs.git.calls import SUBCOMMANDS, GitCall
from interpose.effects.programs.git.programs import program_settings, runs_program
from interpose.effects.programs.git.whole_homes import state_home

__all__ = ["config", "history", "inspection", "remotes", "worktree"]
"""Imported so that they fill the table of subcommands."""

_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source")
_MAX_ALIASES = 8
"""Aliases may name aliases; git itself refuses loops."""


@command("git")
def git(inv: Invocation, low: Lowering) -> None:
    call = _call(inv, low)
    if call is None:
        return
    for _ in range(_MAX_ALIASES):
        expanded = _expanded(call, low)
        if expanded is None:
            run_call(call, low)
            return
        call = expanded
    low.emit("opaque", call.name, certainty="unknown", rule="unclear-git-command",
             reason="Git aliases that name further aliases hide which command runs.")  # fmt: skip


@command("git-filter-repo", "git-filter-branch", "git-lfs", "git-annex")
def git_program(inv: Invocation, low: Lowering) -> None:
    """A subcommand that is installed as a program of its own."""
    run_call(GitCall(inv, inv.name.removeprefix("git-"), inv.args), low)


def run_call(call: GitCall, low: Lowering) -> None:
    """State what one subcommand would do, and what the settings given with it would run."""
    program_settings(call, low)
    state_home(call, low)
    handler = SUBCOMMANDS.get(call.name)
    if handler is not None:
        handler(call, low)


def _call(inv: Invocation, low: Lowering) -> GitCall | None:
    directories: list[str] = []
    work_tree = ""
    config: list[tuple[str, Word]] = list(_environment_config(inv))
    index = 0
    args = inv.args
    while index < len(args):
        word = args[index]
        text = word.text
        if text == "--":
            index += 1
            continue
        if not text.startswith("-"):
            break
        index += 1
        name, value, index = _option(word, args, index)
        match name:
            case "-C":
                if value.text.startswith("/"):
                    directories.clear()
                directories.append(value.text)
            case "-c":
                key, equals, setting = value.text.partition("=")
                config.append((key.lower(), replace(value, text=setting if equals else "true")))
            case "--config-env":
                key, _, _ = value.text.partition("=")
                config.append((key.lower(), replace(value, text=UNKNOWN)))
            case "--work-tree":
                work_tree = value.text
            case "--exec-path" if value.text:
                runs_program(low, value, what="git --exec-path")
            case "--help" | "-h" | "--version" | "-v" | "--html-path" | "--man-path" | "--info-path":
                return GitCall(inv, "help", args[index:], tuple(config))
            case _:
                pass
    if index >= len(args):
        return GitCall(inv, "", (), tuple(config))
    name_word = args[index]
    if not name_word.known:
        low.emit("opaque", name_word.text, certainty="unknown", at=name_word, rule="unclear-git-command",
                 reason="Which git command runs only shows when it runs.")  # fmt: skip
        return None
    return GitCall(inv, name_word.text, args[index + 1 :], tuple(config), "/".join(directories), work_tree)


def _option(word: Word, args: tuple[Word, ...], index: int) -> tuple[str, Word, int]:
    text = word.text
    if text[:2] in ("-C", "-c") and len(text) > 2:
        return text[:2], replace(word, text=text[2:]), index
    name, equals, value = text.partition("=")
    if equals:
        return name, replace(word, text=value), index
    if name in _VALUES and index < len(args):
        return name, args[index], index + 1
    return name, Word("", word.span), index


def _environment_config(inv: Invocation) -> list[tuple[str, Word]]:
    """Settings by `GIT_CONFIG_KEY_n` / `GIT_CONFIG_VALUE_n` and by `GIT_CONFIG_PARAMETERS`."""
    given = dict(inv.env)
    found: list[tuple[str, Word]] = []
    for name, word in inv.env:
        if name.startswith("GIT_CONFIG_KEY_"):
            value = given.get(f"GIT_CONFIG_VALUE_{name.removeprefix('GIT_CONFIG_KEY_')}", Word(UNKNOWN))
            found.append((word.text.lower(), value))
        elif name == "GIT_CONFIG_PARAMETERS":
            for part in _split(word):
                key, _, setting = part.text.partition("=")
                found.append((key.lower(), replace(part, text=setting)))
    return found


def _expanded(call: GitCall, low: Lowering) -> GitCall | None:
    """The call with an alias of this command line resolved, or None when its name is no alias."""
    if call.name in SUBCOMMANDS:
        return None
    alias = [value for key, value in call.config if key == f"alias.{call.name.lower()}"]
    if not alias:
        return None
    if alias[-1].text.startswith("!"):
        runs_program(low, replace(alias[-1], text=alias[-1].text[1:]), what="git alias", args=call.args)
        return replace(call, name="")
    words = _split(alias[-1])
    if not words:
        return None
    return replace(call, name=words[0].text, args=(*words[1:], *call.args))


def _split(word: Word) -> tuple[Word, ...]:
    try:
        parts = shlex.split(word.text)
    except ValueError:
        parts = word.text.split()
    return tuple(replace(word, text=part) for part in parts)
