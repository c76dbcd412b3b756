"""What calls, their ends and a host's events make of a session. Pure: a session and what happened in, the next one out.

arrived      a call came: the session is active, its agent is known
let_through  it may run: a first tool was used, a delegation begun, what was warned about counted
handed_on    a command of the host was let through
ended        what came of it: counted, looked at for stalls, a delegation over; and what is to be told of it
asked_in_vain  a question about a stall that nobody answered
handed_back  an agent stopped that worked in the background: what it answered is what came of the call that started it
heard_of     the host tells of the session: the next one, and what its agent should read
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.governing import SessionWords
from interpose.core.types import Command, Context, Finding, ToolCall, ToolOutcome, Verdict
from interpose.reading.calls import home_directory
from interpose.rules.governance.budgets.budgets import Left
from interpose.rules.governance.chains.chains import validated_names, with_success
from interpose.rules.governance.chains.command_names import command_fits_any
from interpose.rules.governance.chains.host_commands import commands_in
from interpose.rules.governance.files.file_model import SessionsForm
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.governed_context import GovernedView
from interpose.rules.governance.roles.agent_tree import background_work_of, with_delegation_launched
from interpose.rules.governance.roles.delegation import (
    with_agent,
    with_agent_stopped,
    with_delegation,
    with_delegation_ended,
)
from interpose.rules.governance.roles.first_tools import with_first_tool
from interpose.rules.governance.roles.identity import is_below
from interpose.rules.governance.roles.spawns import collects, delegation_of
from interpose.rules.governance.rulings import RULE_PREFIX
from interpose.rules.governance.sessions.halts import with_halt
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.session_states import (
    SessionEvent,
    after_event,
    counted,
    new_session,
    strictest,
)
from interpose.rules.governance.sessions.session_texts import session_text, warning_of
from interpose.rules.governance.sessions.sessions import AgentNotice, GovernedSession, SeenStep, SeenViolation
from interpose.rules.governance.stalls.check_rounds import round_of, round_stall, with_round
from interpose.rules.governance.stalls.said_results import is_launched, tells_failure
from interpose.rules.governance.stalls.stalls import (
    StallAnswer,
    asked_again,
    reminded,
    reminder_of,
    stall_of,
    unanswered_stall,
    with_stall,
    with_step,
)
from interpose.rules.governance.stalls.step_digests import step_of
from interpose.rules.governance.stalls.validations import report_of, report_stall, with_report

NewsWord = Literal["deny", "ask", "note", "watch", "remind", "halt", "task", "alarm"]
MOST_NOTICES = 20
_WARNED = ("governance/first-tool", "governance/unknown-role", "governance/chain/")
"""Rules whose notes are violations. What a role lists under `note` is permitted, and only noted."""
_TOLD = ("governance/first-tool", "governance/chain/")
"""Those of which the agent is told, each time that it is said."""


class SessionNews(Struct, frozen=True, kw_only=True):
    """Something that happened in a session, for the log, and if it is a halt or a task for the ledger."""

    word: NewsWord
    at_ns: int
    session: GovernedSession
    context: Context
    tool: str = ""
    rule: str = ""
    text: str = ""
    failed: bool = False
    would_halt: str = ""
    """Why the session would have been halted by what is only watched."""


def arrived(
    last: GovernedSession | None, context: Context, seats: Sequence[Seat], form: SessionsForm, now_ns: int
) -> GovernedSession:
    """The session when a call comes."""
    session = new_session(context, now_ns, form) if last is None else last
    session = after_event(session, "call", now_ns, form, can_tell=False).session
    return _known(session, context, seats, now_ns)


def _known(session: GovernedSession, context: Context, seats: Sequence[Seat], now_ns: int) -> GovernedSession:
    for seat in seats:
        if seat.role is not None:
            return with_agent(session, context, seat, now_ns)
    return with_agent(session, context, seats[0], now_ns) if seats else session


def violations_in(verdict: Verdict[ToolCall]) -> tuple[Finding, ...]:
    """What a call is not allowed to do: what was denied, what was only warned about, what is only watched."""
    return tuple(found for found in _ours(verdict) if _is_violation(found))


def _is_violation(found: Finding) -> bool:
    return found.said == "deny" or (found.said == "note" and found.rule.startswith(_WARNED))


def violated(session: GovernedSession, call: ToolCall, violations: Sequence[Finding], now_ns: int) -> GovernedSession:
    """The session with these violations counted, and what its agent is to be told of them: warnings, since what was
    denied was told at once, and what is only watched is told to nobody."""
    if not violations:
        return session
    agent = short(call.context.agent_id)
    notices = tuple(
        AgentNotice(agent, warning_of(found)) for found in violations
        if found.said == "note" and found.mode == "enforce" and found.rule.startswith(_TOLD)
    )  # fmt: skip
    session = counted(session, violations=len(violations))
    return replace(
        session,
        violations=(*session.violations, *_kept(violations, call, now_ns)),
        notices=tuple(dict.fromkeys((*session.notices, *notices)))[-MOST_NOTICES:],
    )


def let_through(
    last: GovernedSession | None, view: GovernedView, call: ToolCall, violations: Sequence[Finding] = ()
) -> GovernedSession:
    """The session when a call may run."""
    session = violated(last or view.session, call, violations, view.now_ns)
    for seat in view.seats:
        session = with_first_tool(session, seat, call)
        session = with_delegation(session, seat, call, call.call_id, view.now_ns)
    return session


def is_delegation(call: ToolCall) -> bool:
    """Whether a call starts another agent."""
    return delegation_of(call) is not None


def ended(
    last: GovernedSession | None,
    view: GovernedView,
    verdict: Verdict[ToolCall],
    outcome: ToolOutcome,
    now_ns: int,
) -> tuple[GovernedSession, list[SessionNews]]:
    """The session when it is known what came of a call, and what is to be told of it."""
    session, call = last or view.session, outcome.call
    if verdict.outcome == "deny" and not outcome.denied:
        return session, list(_ran_refused(session, verdict, call, now_ns))
    told = [replace(one, context=call.context) for one in news_of(verdict, call.name, session, now_ns)]
    if outcome.denied:
        session = violated(session, call, violations_in(verdict), now_ns)
    else:  # what was warned about or watched was counted and told when it was let through
        told = [one for one in told if one.word not in ("note", "watch")]
    session = counted(
        session, denials=outcome.denied, errors=outcome.is_error and not outcome.denied,
        questions=bool(verdict.questions),
    )  # fmt: skip
    if not outcome.denied:
        form = strictest([seat.book.sessions for seat in view.seats])
        session = after_event(session, "result", now_ns, form, can_tell=False).session  # what it owes is told elsewhere
        session, task = _with_task(session, call, outcome, now_ns)
        told += task
        if not outcome.is_error:
            names = (call.original_name or call.name, *_started(call))
            for seat in view.seats:
                session = with_success(session, seat.book.chains, names, now_ns)
    session, stalls = _with_stalls(session, view, call, outcome, now_ns)
    return session, told + stalls


def _ran_refused(
    session: GovernedSession, verdict: Verdict[ToolCall], call: ToolCall, now_ns: int
) -> Iterator[SessionNews]:
    """A host ran what was refused. It was counted when it was refused.

    INVARIANT: it opens nothing: it is no first tool, no validation and no delegation that was done.
    """
    rule = verdict.rule if verdict.rule.startswith(RULE_PREFIX) else f"{RULE_PREFIX}refused"
    yield SessionNews(
        word="alarm", at_ns=now_ns, session=session, context=call.context, tool=call.name, rule=rule,
        text="ran although it was refused; its result is withheld",
    )  # fmt: skip
    if (target := delegation_of(call)) is not None:
        yield SessionNews(
            word="task", at_ns=now_ns, session=session, context=call.context, tool=call.name, rule=f"{RULE_PREFIX}task",
            text=f"{target}: refused, and it ran all the same", failed=True,
        )  # fmt: skip


def _started(call: ToolCall) -> tuple[str, ...]:
    """The command that a call started. INVARIANT: which of several its host took is not known, so that none of them
    succeeded: an agent could name one beside the one that it runs."""
    commands = commands_in(call)
    return (commands[0].name,) if len(commands) == 1 else ()


def handed_on(last: GovernedSession | None, view: GovernedView, command: Command, now_ns: int) -> GovernedSession:
    """The session when a command of the host was let through. That is its success: nobody says what becomes of it."""
    form = strictest([seat.book.sessions for seat in view.seats])
    session = new_session(command.context, now_ns, form) if last is None else last
    for seat in view.seats:
        session = with_success(session, seat.book.chains, (command.name,), now_ns)
    return session


def is_waited_for(view: GovernedView, command: Command) -> bool:
    """Whether some chain asks for the success of a command."""
    return any(command_fits_any(validated_names(seat.book.chains), command.name) for seat in view.seats)


def news_of(
    verdict: Verdict[ToolCall] | Verdict[Command], tool: str, session: GovernedSession, now_ns: int
) -> list[SessionNews]:
    """What governance said about a call or a command."""
    return [
        SessionNews(
            word=_word(found), at_ns=now_ns, session=session, context=verdict.payload.context, tool=tool,
            rule=found.rule, text=found.reason,
        )
        for found in _ours(verdict)
    ]  # fmt: skip


def _ours(verdict: Verdict[ToolCall] | Verdict[Command]) -> list[Finding]:
    return [found for found in verdict.findings if found.kind == "governance" and found.rule.startswith(RULE_PREFIX)]


def _word(found: Finding) -> NewsWord:
    if found.mode == "watch":
        return "watch"
    return found.said if found.said in ("deny", "ask") else "note"


def _kept(violations: Sequence[Finding], call: ToolCall, now_ns: int) -> Iterator[SeenViolation]:
    for found in violations:
        yield SeenViolation(
            at_ns=now_ns, call_id=call.call_id, agent=call.context.agent_id[:200], role=call.context.role[:200],
            tool=call.name[:200], rule=found.rule[:200], said=_word(found),
        )  # fmt: skip


def _with_task(
    session: GovernedSession, call: ToolCall, outcome: ToolOutcome, now_ns: int
) -> tuple[GovernedSession, list[SessionNews]]:
    """A delegation that is over, by the result of the very call that began it."""
    target = delegation_of(call)
    if target is None:
        return session, []
    if is_launched(outcome.result):  # how it ended is told when its agent stops
        return with_delegation_launched(session, call.call_id, now_ns), []
    failed = tells_failure(outcome)
    session = with_delegation_ended(session, call.call_id, failed=failed, now_ns=now_ns)
    return session, [_task_over(session, call, target, failed=failed, now_ns=now_ns)]


def _task_over(session: GovernedSession, call: ToolCall, target: str, *, failed: bool, now_ns: int) -> SessionNews:
    return SessionNews(
        word="task", at_ns=now_ns, session=session, context=call.context, tool=call.name, rule=f"{RULE_PREFIX}task",
        text=f"{target}: {'failed' if failed else 'done'}", failed=failed,
    )  # fmt: skip


def handed_back(
    session: GovernedSession, context: Context, seats_of: Callable[[Context], Sequence[Seat]], said: str, now_ns: int
) -> tuple[GovernedSession, list[SessionNews]]:
    """The session when an agent stopped, by what it answered. Of one that worked while its call waited nothing is told
    here: the same is the result of that call."""
    work = background_work_of(session, context.agent_id)
    if work is None:
        return session, []
    above = session.agent(work.by)
    of_whom = replace(
        context, agent_id=work.by, agent_type=above.name if above is not None and work.by else "", role=work.from_role
    )
    call = ToolCall("task", {"subagent_type": work.target}, work.id, context=of_whom)
    outcome = ToolOutcome(call, said)
    told: list[SessionNews] = []
    if work.state == "working":
        failed = tells_failure(outcome)
        session = with_agent_stopped(session, context.agent_id, now_ns, failed=failed)
        told = [_task_over(session, call, work.target or "an agent", failed=failed, now_ns=now_ns)]
    heard = tuple(replace(one, reported=True) if one.id == work.id else one for one in session.delegations)
    session = replace(session, delegations=heard)
    session, stalls = _with_reports(session, seats_of(of_whom), call, outcome, now_ns)
    return session, told + stalls


def _with_stalls(
    session: GovernedSession, view: GovernedView, call: ToolCall, outcome: ToolOutcome, now_ns: int
) -> tuple[GovernedSession, list[SessionNews]]:
    """The session with this step in it. Each rulebook says what it makes of it; the gravest of those that block counts,
    and what others only watch is told."""
    if session.halt is not None:
        return session, []
    step = step_of(call, outcome, home_directory())
    return _with_reports(with_step(session, step), view.seats, call, outcome, now_ns, step)


def _with_reports(
    session: GovernedSession,
    seats: Sequence[Seat],
    call: ToolCall,
    outcome: ToolOutcome,
    now_ns: int,
    step: SeenStep | None = None,
) -> tuple[GovernedSession, list[SessionNews]]:
    """The same for what an agent or a tool reports. Without a `step` it is no result of a call."""
    if session.halt is not None:
        return session, []
    agent, known = short(call.context.agent_id), step is not None and _is_known(session, call)
    if (seen := None if known else round_of(call, outcome)) is not None:
        session = with_round(session, seen)
    report = report_of(call, outcome) if seen is None and not known else None
    if report is not None:
        session = with_report(session, report)
    found: list[tuple[Seat, StallAnswer]] = []
    for seat in seats:
        answers: list[StallAnswer | None] = []
        if step is not None:
            answers.append(stall_of(seat.book.stalls, session, step, (call.original_name or call.name)[:100]))
        if seen is not None:
            answers.append(round_stall(seat.book.stalls, session, agent))
        if report is not None and not report.passed:
            answers.append(report_stall(seat.book.stalls, session, agent))
        found += [(seat, answer) for answer in answers if answer is not None]
    told = [
        SessionNews(
            word="watch", at_ns=now_ns, session=session, context=call.context, tool=call.name,
            rule=f"{RULE_PREFIX}stall/{answer.kind}", text=f"would {answer.word}: {answer.reason}",
            would_halt=answer.reason if answer.word == "halt" else "",
        )
        for seat, answer in found
        if seat.mode == "watch"
    ]  # fmt: skip
    blocking = [answer for seat, answer in found if seat.mode == "enforce"]
    if not blocking:
        return session, told
    session, said = _escalated(session, max(blocking, key=lambda answer: _GRAVITY[answer.word]), call, now_ns)
    return session, [*told, said]


def _is_known(session: GovernedSession, call: ToolCall) -> bool:
    """Whether a call only reads again what was counted when its agent stopped: Claude Code's `TaskOutput`."""
    heard = {one.agent for one in session.delegations if one.reported}
    return collects(call) and any(isinstance(said, str) and short(said) in heard for said in call.arguments.values())


def _escalated(
    session: GovernedSession, answer: StallAnswer, call: ToolCall, now_ns: int
) -> tuple[GovernedSession, SessionNews]:
    rule = f"{RULE_PREFIX}stall/{answer.kind}"
    session = with_halt(session, answer.reason, rule, now_ns) if answer.word == "halt" else with_stall(session, answer)
    return session, SessionNews(
        word=answer.word, at_ns=now_ns, session=session, context=call.context, tool=call.name, rule=rule,
        text=answer.reason,
    )  # fmt: skip


def asked_in_vain(
    last: GovernedSession | None, view: GovernedView, call: ToolCall, now_ns: int
) -> tuple[GovernedSession, SessionNews | None]:
    """The session when nobody answered whether an agent that gets nowhere may go on: in the end it is halted."""
    session = asked_again(last or view.session)
    forms = [seat.book.stalls for seat in view.seats if seat.mode == "enforce"]
    answer = next((found for form in forms if (found := unanswered_stall(form, session)) is not None), None)
    return (session, None) if answer is None else _escalated(session, answer, call, now_ns)


_GRAVITY = {"remind": 0, "ask": 1, "halt": 2}

_EVENTS: dict[SessionWords, SessionEvent] = {
    "start": "start", "clear": "clear", "resume": "resume", "compact": "compact", "compacted": "compacted",
    "idle": "idle", "end": "end", "due": "message", "agent-start": "message", "agent-stop": "message",
}  # fmt: skip
_TELLS = ("start", "clear", "resume", "compacted", "due")
"""Events whose answer an agent can read."""


def heard_of(
    last: GovernedSession | None,
    context: Context,
    seats: Sequence[Seat],
    event: SessionWords,
    now_ns: int,
    left: Sequence[Left] = (),
) -> tuple[GovernedSession, str]:
    """The session after an event of its host, and what its agent should read. `left` is what is left of its budgets."""
    form = strictest([seat.book.sessions for seat in seats])
    session = new_session(context, now_ns, form) if last is None else last
    change = after_event(session, _EVENTS[event], now_ns, form, can_tell=event in _TELLS and not is_below(context))
    session = change.session
    if event == "agent-start":
        session = _known(session, context, seats, now_ns)
    if event == "agent-stop":
        session = with_agent_stopped(session, context.agent_id, now_ns)
    texts = [session_text(change.tell, seats, session, context, now_ns, left)] if change.tell else []
    if event in _TELLS and (reminder := reminder_of(session, context.agent_id)):
        texts.append(reminder)
        session = reminded(session)
    if event in _TELLS and session.notices:
        agent = short(context.agent_id)
        texts += [one.text for one in session.notices if one.agent == agent]
        session = replace(session, notices=tuple(one for one in session.notices if one.agent != agent))
    if event == "agent-start":
        texts.append(session_text("prefix", seats, session, context, now_ns, left))
    return session, "\n\n".join(text for text in texts if text)
