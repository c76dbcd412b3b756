"""What calls, their ends and a host's events make of a session. Pure: a session and what happened in, the next one out.

arrived      a call came: the session is active, its agent is known
let_through  it may run: a first tool was used, a delegation begun
ended        what came of it: counted, looked at for stalls, a delegation over; and what is to be told of it
heard_of     the host tells of the session: the next one, and what its agent should read
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.governance.check_rounds import after_round, round_of
from interpose.governance.delegation import (
    delegation_of,
    with_agent,
    with_agent_stopped,
    with_delegation,
    with_delegation_ended,
)
from interpose.governance.file_model import SessionsForm
from interpose.governance.first_tools import with_first_tool
from interpose.governance.governed_context import GovernedView
from interpose.governance.halts import with_halt
from interpose.governance.rulebook import Seat
from interpose.governance.rulings import RULE_PREFIX
from interpose.governance.session_states import SessionEvent, after_event, counted, new_session, strictest
from interpose.governance.session_texts import text_for
from interpose.governance.sessions import GovernedSession, SeenViolation, Validation
from interpose.governance.stalls import StallAnswer, reminded, reminder_of, stall_of, with_stall, with_step
from interpose.governance.step_digests import step_of
from interpose.reading import home_directory
from interpose.types import Context, Finding, ToolCall, ToolOutcome, Verdict
