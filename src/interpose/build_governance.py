"""Composition of governance: which governance files hold, and an engine under them. Nothing of it is loaded before a file
is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from interpose.config.settings import Config
    from interpose.engine import Engine, Recorder
    from interpose.governance.budgets import BudgetCounters
    from interpose.governance.rulebooks import BookPlace
    from interpose.governance.session_keeper import SessionKeeper
    from interpose.registry import InterceptorRegistry
    from interpose.store.protocols import Store

ORGANISATION_GOVERNANCE = "/etc/interpose/governance.yaml"


def governance_files(config: Config) -> tuple[str, ...]:
    """The governance files that hold wherever an agent works, as far as they are there."""
    from os.path import lexists

    return tuple(file for file in (ORGANISATION_GOVERNANCE, config.governance.file) if lexists(file))


class GovernedSessions:
    """Where governed sessions and budgets are kept: in the store, or in memory where there is none. Opened by the first
    who governs."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self._opened: tuple[SessionKeeper, BudgetCounters] | None = None

    def open(self) -> tuple[SessionKeeper, BudgetCounters]:
        from interpose.governance.memory_sessions import MemoryCounters, MemorySessions
        from interpose.governance.session_keeper import SessionKeeper

        if self._opened is None:
            store = self._store
            self._opened = (
                (SessionKeeper(MemorySessions()), MemoryCounters()) if store is None else (SessionKeeper(store), store)
            )
        return self._opened


def govern(
    config: Config, files: Sequence[str], engine: Engine, sessions: GovernedSessions, recorder: Recorder | None
) -> None:
    """Put an engine under the governance files that are among these. Raises PolicyError if one can't be loaded."""
    from interpose.policy.rule_places import PROJECT

    governing = [file for file in files if not file.endswith(PROJECT)]
    if not governing:
        return
    from interpose.errors import GovernanceError, PolicyError
    from interpose.governance.governing_rules import governance_entries
    from interpose.governance.governor import Governor
    from interpose.governance.rulebooks import BookPlace, Rulebooks
    from interpose.policy.rules import PolicyProblem
    from interpose.service.governance_notices import GovernanceNotices

    levels = {ORGANISATION_GOVERNANCE: "organisation", config.governance.file: "user"}
    places = tuple(BookPlace(file, levels.get(file, "project")) for file in governing)
    try:
        books = Rulebooks(places, partial(_governance_text, config))
    except GovernanceError as error:
        problems = tuple(PolicyProblem(one.file, one.line, "", one.message) for one in error.problems)
        raise PolicyError(problems) from None
    keeper, counters = sessions.open()
    engine.governor = Governor(books, keeper, counters, GovernanceNotices(config.governance, recorder))
    cast("InterceptorRegistry", engine.interceptors).swap(governance_entries())


def _governance_text(config: Config, place: BookPlace) -> str:
    """The text of a governance file, if it is believed as a rule file of its level would be."""
    from interpose.errors import GovernanceError, PolicyError
    from interpose.policy.load import RulePlace, read
    from interpose.policy.rule_file_trust import standing_of
    from interpose.policy.rules import Level

    level = {"organisation": Level.ORGANISATION, "user": Level.USER, "project": Level.PROJECT}[place.level]
    policy = config.policy
    standing = standing_of(policy.public_keys, required=policy.require_signature)
    try:
        (found,) = read([RulePlace(place.path, level, "", None if level is Level.PROJECT else standing)])
    except PolicyError as error:
        raise GovernanceError.of(place.path, error.problems[0].line, error.problems[0].message) from None
    return found.text
