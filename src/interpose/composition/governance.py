"""Composition of governance: which governance files hold, and an engine under them.

Nothing of it is loaded before a file is there.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from os import PathLike

    from interpose.composition.service.governance_notices import GovernanceNotices
    from interpose.core.config.settings import Config, GovernanceSettings
    from interpose.core.registry import InterceptorRegistry
    from interpose.engine.engine import Engine, Recorder
    from interpose.record.store.protocols import Store
    from interpose.rules.governance.budgets.budgets import BudgetCounters
    from interpose.rules.governance.files.rulebook import Rulebook, RulebookLevel
    from interpose.rules.governance.files.rulebooks import BookPlace, Rulebooks
    from interpose.rules.governance.governing_rules import BypassWord
    from interpose.rules.governance.sessions.session_keeper import Checked, SessionKeeper


class GovernedSessions:
    """What all governed engines of a process share: where sessions and budgets are kept (in the store, or in memory
    where there is none), and who hears of what happens. Opened by the first who governs; so is a store that is given as
    the function that opens it."""

    def __init__(
        self,
        store: Store | Callable[[], Store] | None,
        recorder: Recorder | None,
        bypass_of: BypassWord | None = None,
        halts: Checked | None = None,
    ) -> None:
        self.recorder, self.bypass_of, self._halts = recorder, bypass_of, halts
        self._store = store
        self._opened: tuple[SessionKeeper, BudgetCounters, GovernanceNotices] | None = None

    def open(self, settings: GovernanceSettings) -> tuple[SessionKeeper, BudgetCounters, GovernanceNotices]:
        """Where sessions and budgets are kept, and who hears of them."""
        from interpose.composition.service.governance_notices import GovernanceNotices
        from interpose.rules.governance.sessions.memory_sessions import MemoryCounters, MemorySessions
        from interpose.rules.governance.sessions.session_keeper import SessionKeeper

        if self._opened is None:
            given, notices = self._store, GovernanceNotices(settings, self.recorder)
            store = given() if callable(given) else given
            if store is None:
                self._opened = SessionKeeper(MemorySessions()), MemoryCounters(), notices
            else:
                # INVARIANT: a session that a server halted is halted for the engine, too, whatever its row says.
                kept = SessionKeeper(store) if self._halts is None else SessionKeeper(store, checked=self._halts)
                self._opened = kept, store, notices
                if callable(given):  # it is ours, and an engine has no end of its own
                    weakref.finalize(kept, store.close)
        return self._opened


def get_allowed_tools(role: str, *, config: Config | None = None, cwd: str | PathLike[str] = "") -> tuple[str, ...]:
    """The tools that a role may use, as names and globs; `("*",)` is every tool. A tool that a person is asked about is
    among them. Which files and commands they may be used for is not said here.

    `config` and `cwd` say which governance files hold, as for `open_engine`. Raises NoRoleError if none of them has the
    role, PolicyError if one of them can't be loaded.
    """
    from interpose.rules.governance.roles.role_uses import tools_of_role

    return tools_of_role(_books_of(role, config, cwd), role)


def get_required_first_tools(
    role: str, *, config: Config | None = None, cwd: str | PathLike[str] = ""
) -> tuple[str, ...]:
    """The tools of which a role has to use one before any other; empty if it may begin as it likes. The rest is as for
    `get_allowed_tools`."""
    from interpose.rules.governance.roles.role_uses import first_tools_of_role

    return first_tools_of_role(_books_of(role, config, cwd), role)


def _books_of(role: str, config: Config | None, cwd: str | PathLike[str]) -> tuple[Rulebook, ...]:
    import os

    from interpose.core.config.load import load
    from interpose.core.errors import NoRoleError
    from interpose.rules.policy.rule_places import governance_files, project_files

    config = config or load().config
    place = os.path.abspath(cwd or ".")  # noqa: PTH100 - links stay as they are named
    books = rulebooks_of(config, (*governance_files(config.governance.file), *project_files(place)))
    current = () if books is None else books.current()
    if not any(role in book.roles for book in current):
        raise NoRoleError(
            f"no governance.yaml here has the role {role!r}" if current else "there is no governance.yaml here"
        )
    return current


def govern(config: Config, files: Sequence[str], engine: Engine, sessions: GovernedSessions) -> None:
    """Put an engine under the governance files that are among these. Raises PolicyError if one can't be loaded."""
    books = rulebooks_of(config, files)
    if books is None:
        return
    from interpose.rules.governance.governing_rules import governance_entries, nobody
    from interpose.rules.governance.governor import Governor

    engine.governor = Governor(books, *sessions.open(config.governance))
    entries = governance_entries(sessions.bypass_of or nobody)
    cast("InterceptorRegistry", engine.interceptors).swap(entries)


def open_session_store(config: Config) -> Store:
    """The store of the configuration, for governed sessions alone. Raises PolicyError: rules that can't be kept to hold
    everything."""
    from pathlib import Path

    from interpose.core.errors import LedgerError, PolicyError, StoreError, text_of
    from interpose.record.ledger import make_directory
    from interpose.record.store import open_store
    from interpose.rules.policy.rules import PolicyProblem

    directory = Path(config.ledger.directory)
    try:
        if not config.store.url:
            make_directory(directory)
        return open_store(config.store.url or directory / "ledger.db")
    except (LedgerError, StoreError) as error:
        why = f"governed sessions can't be kept: {text_of(error)}"
        raise PolicyError((PolicyProblem("the store", 0, "", why),)) from None


def rulebooks_of(config: Config, files: Sequence[str]) -> Rulebooks | None:
    """The rulebooks of the governance files that are among these; None if none is. Raises PolicyError."""
    from interpose.rules.policy.rule_places import ORGANISATION_GOVERNANCE, PROJECT

    governing = [file for file in files if not file.endswith(PROJECT)]
    if not governing:
        return None
    from interpose.core.errors import GovernanceError, PolicyError
    from interpose.rules.governance.files.rulebooks import BookPlace, Rulebooks
    from interpose.rules.policy.rules import PolicyProblem

    levels: dict[str, RulebookLevel] = {ORGANISATION_GOVERNANCE: "organisation", config.governance.file: "user"}
    places = tuple(BookPlace(file, levels.get(file, "project")) for file in governing)
    try:
        return Rulebooks(places, partial(_governance_text, config))
    except GovernanceError as error:
        problems = tuple(PolicyProblem(one.file, one.line, "", one.message) for one in error.problems)
        raise PolicyError(problems) from None


def _governance_text(config: Config, place: BookPlace) -> str:
    """The text of a governance file, if it is believed as a rule file of its level would be."""
    from interpose.core.errors import GovernanceError, GovernanceProblem, PolicyError
    from interpose.rules.policy.load import RulePlace, read
    from interpose.rules.policy.rule_file_trust import standing_of
    from interpose.rules.policy.rules import Level

    level = {"organisation": Level.ORGANISATION, "user": Level.USER, "project": Level.PROJECT}[place.level]
    policy = config.policy
    standing = standing_of(policy.public_keys, required=policy.require_signature)
    try:
        (found,) = read([RulePlace(place.path, level, "", None if level is Level.PROJECT else standing)])
    except PolicyError as error:
        first = error.problems[0]
        raise GovernanceError((GovernanceProblem(place.path, first.line, first.message),)) from None
    return found.text
