"""The governor: reads a session before its call is judged, charges it afterwards, and counts what came of it.

One for each set of rulebooks. Everything that it makes of a session is a pure function elsewhere; here is only the
order, and what is done when something can't be read or written.

INVARIANT: in `watch` nothing is refused here. In `enforce` what can't be read or charged raises, and the flow refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any, Protocol

from msgspec.structs import replace

from interpose.driving import Block, Failure, Flow
from interpose.errors import text_of
from interpose.governance.budgets import BudgetCounters, Overdrawn, budgets_of, charge_all, charge_spent, saves_work
from interpose.governance.delegation import delegation_of, with_agent, with_delegation
from interpose.governance.first_tools import with_first_tool
from interpose.governance.governance_interceptors import watches
from interpose.governance.governed_context import GovernedView, governed, view_of
from interpose.governance.identity import seat_of
from interpose.governance.outcomes import after_outcome
from interpose.governance.rulebook import Rulebook, Seat
from interpose.governance.session_keeper import MemorySessions, SessionKeeper
from interpose.governance.session_states import SessionEvent, after_event
from interpose.governance.sessions import GovernedSession
from interpose.types import (
    Allow,
    Command,
    Context,
    Deny,
    Finding,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Verdict,
    refused,
)
