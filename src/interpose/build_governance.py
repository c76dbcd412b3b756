"""Composition of governance: which governance files hold, and an engine under them.

Nothing of it is loaded before a file is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from interpose.config.settings import Config, GovernanceSettings
    from interpose.engine import Engine, Recorder
    from interpose.governance.budgets import BudgetCounters
    from interpose.governance.governing_rules import BypassWord
    from interpose.governance.rulebook import RulebookLevel
    from interpose.governance.rulebooks import BookPlace
    from interpose.governance.session_keeper import Checked, SessionKeeper
    from interpose.registry import InterceptorRegistry
    from interpose.service.governance_notices import GovernanceNotices
    from interpose.store.protocols import Store


class GovernedSessions:
    """What all governed engines of a process share: where sessions and budgets are kept (in the store, or in memory
    where there is none), and who hears of what happens. Opened by the first who governs."""

    def __init__(
        self,
        store: Store | None,
        recorder: Recorder | None,
        bypass_of: BypassWord | None = None,
        halts: Checked | None = None,
    ) -> None:
        self.recorder, self.bypass_of, self._halts = recorder, bypass_of, halts
        self._store = store
        self._opened: tuple[SessionKeeper, BudgetCounters, GovernanceNotices] | None = None

    def open(self, settings: GovernanceSettings) -> tuple[SessionKeeper, BudgetCounters, GovernanceNotices]:
        """Where sessions and budgets are kept, and who hears of them."""
        from interpose.governance.memory_sessions import MemoryCounters, MemorySessions
        from interpose.governance.session_keeper import SessionKeeper
        from interpose.service.governance_notices import GovernanceNotices

        if self._opened is None:
            store, notices = self._store, GovernanceNotices(settings, self.recorder)
            if store is None:
                self._opened = SessionKeeper(MemorySessions()), MemoryCounters(), notices
            else:
                # INVARIANT: a session that a server halted is halted for the engine, too, whatever its row says.
                kept = SessionKeeper(store) if self._halts is None else SessionKeeper(store, checked=self._halts)
                self._opened = kept, store, notices
        return self._opened


def govern(config: Config, files: Sequence[str], engine: Engine, sessions: GovernedSessions) -> None:
    """Put an engine under the governance files that are among these. Raises PolicyError if one can't be loaded."""
    from interpose.policy.rule_places import ORGANISATION_GOVERNANCE, PROJECT

    governing = [file for file in files if not file.endswith(PROJECT)]
    if not governing:
        return
    from interpose.errors import GovernanceError, PolicyError
    from interpose.governance.governing_rules import governance_entries, nobody
    from interpose.governance.governor import Governor
    from interpose.governance.rulebooks import BookPlace, Rulebooks
    from interpose.policy.rules import PolicyProblem

    levels: dict[str, RulebookLevel] = {ORGANISATION_GOVERNANCE: "organisation", config.governance.file: "user"}
    places = tuple(BookPlace(file, levels.get(file, "project")) for file in governing)
    try:
        books = Rulebooks(places, partial(_governance_text, config))
    except GovernanceError as error:
        problems = tuple(PolicyProblem(one.file, one.line, "", one.message) for one in error.problems)
        raise PolicyError(problems) from None
    engine.governor = Governor(books, *sessions.open(config.governance))
    entries = governance_entries(sessions.bypass_of or nobody)
    cast("InterceptorRegistry", engine.interceptors).swap(entries)


def _governance_text(config: Config, place: BookPlace) -> str:
    """The text of a governance file, if it is believed as a rule file of its level would be."""
    from interpose.errors import GovernanceError, GovernanceProblem, PolicyError
    from interpose.policy.load import RulePlace, read
    from interpose.policy.rule_file_trust import standing_of
    from interpose.policy.rules import Level

    level = {"organisation": Level.ORGANISATION, "user": Level.USER, "project": Level.PROJECT}[place.level]
    policy = config.policy
    standing = standing_of(policy.public_keys, required=policy.require_signature)
    try:
        (found,) = read([RulePlace(place.path, level, "", None if level is Level.PROJECT else standing)])
    except PolicyError as error:
        first = error.problems[0]
        raise GovernanceError((GovernanceProblem(place.path, first.line, first.message),)) from None
    return found.text
