"""The governor: reads a session before its call is judged, charges it afterwards, and counts what came of it.

One for each set of rulebooks. Everything that it makes of a session is a pure function elsewhere; here is only the
order, and what happens when something can't be read or written.

INVARIANT: in `watch` nothing is refused here. In `enforce` what can't be read or charged raises, and the flow refuses.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import time_ns
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from interpose.driving import Block, Failure, Flow
from interpose.flow.governing import SessionWords
from interpose.governance.budgets import BudgetCounters, Spending
from interpose.governance.governance_interceptors import watches
from interpose.governance.governed_context import GovernedView, governed, view_of
from interpose.governance.identity import seat_of
from interpose.governance.outcomes import GovernanceEvents, let_through, outcome_of
from interpose.governance.rulebook import Rulebook, Seat
from interpose.governance.rulings import Ruling
from interpose.governance.session_keeper import SessionKeeper
from interpose.governance.session_keys import session_key
from interpose.governance.sessions import GovernedSession
from interpose.types import Command, Context, Deny, Finding, PermissionRequest, ToolCall, ToolOutcome, Verdict, refused

T = TypeVar("T")

MOST_TEXTS = 1000
"""Texts that wait for their session to hear them. The oldest is forgotten: it is said again when it matters again."""
