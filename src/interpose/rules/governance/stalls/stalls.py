"""Whether an agent gets nowhere. Counting is one thing (`with_step`), what a rulebook makes of it another (`stall_of`):
several rulebooks look at the same counts.

    same-call      the same call with the same result, be it with a counter that changes
    alternating    the same two, three or four calls in turn
    same-error     the same error, whatever was done in between
    denied-again   what was denied, in other words
    errors         more errors than a session may have

Rounds of a planner and its checker are in check_rounds.py, reports of validators in validations.py.

Progress is a step that succeeded and that was not seen lately: another call, or another result of the same one. It ends
what goes round in circles at once. An error is over when its call succeeds or fails in another way, and what was denied
when it is allowed; both are forgotten after a good deal of progress.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.types import ToolCall, Verdict
from interpose.rules.governance.files.file_model import Stall, StallsForm
from interpose.rules.governance.rulings import Ruling
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.sessions import GovernedSession, SeenStep, StallCounts, StallTally, StallTrack

RULE = "governance/stall"

MOST_STEPS = 40
"""Steps of a session that are kept. What is not among them was not seen lately."""
MOST_AGENTS = 32
"""Agents of a session that are watched, those that were active last."""
_CYCLES = (2, 3, 4)
_MOST_TALLIES = 6
_FORGOTTEN_AFTER = 16
"""Steps of progress after which an error, or what was denied, is forgotten."""
_MAKES_UP = 4
"""Steps of progress that make up for one error."""
_NO_CYCLES = (0,) * len(_CYCLES)
UNANSWERED = frozenset({
    "approval-impossible", "approval-no-server", "approval-queue-full", "approval-timeout", "approval-invalid",
    "no-confirmation-handler", "needs-approvers", "confirmation-failed", "questions-refused",
})  # fmt: skip
"""The rules of refusals by which nobody answered a question."""


class StallAnswer(Struct, frozen=True, kw_only=True):
    """That an agent gets nowhere, and what is to happen: a note to it, a question to a person, or a halt."""

    word: Stall
    kind: str
    times: int
    """How many steps of the escalation that makes, this one included."""
    agent: str
    count: int
    reason: str
    instead: str


def with_step(session: GovernedSession, step: SeenStep) -> GovernedSession:
    """The session with a finished call in it, counted."""
    counts = session.stall
    track = next((one for one in counts.tracks if one.agent == step.agent), StallTrack(agent=step.agent))
    others = [one for one in counts.tracks if one.agent != step.agent]
    known = step.key in track.keys or any(one.agent == step.agent and one.key == step.key for one in session.steps)
    progress = not (known or step.denied or step.error)
    if counts.asking and counts.agent == step.agent and step.approved:
        # Whoever said yes has looked at it: what was counted until then is no stall.
        counts, track = replace(counts, asking="", unanswered=0), StallTrack(agent=step.agent)
    over = next((one.count for one in track.errors if one.shape == step.shape), 0) if not step.error else 0
    track = _moved(track, step, progress=progress)
    counts = _counted(counts, step, progress=progress, over=0 if step.denied else over)
    counts = replace(counts, tracks=(*others, track)[-MOST_AGENTS:])
    return replace(session, steps=(*session.steps, step)[-MOST_STEPS:], stall=counts)


def _moved(track: StallTrack, step: SeenStep, *, progress: bool) -> StallTrack:
    errors, denied = track.errors, track.denied
    if progress:
        errors, denied = _aged(errors), _aged(denied)
    if step.denied:  # what did not run interrupts nothing that goes round in circles
        return replace(track, errors=errors, denied=_tallied(denied, step.target, step.target))
    denied = tuple(one for one in denied if one.key != step.target)
    if step.error:
        errors = _tallied(tuple(one for one in errors if one.key == step.error or one.shape != step.shape),
                          step.error, step.shape)  # fmt: skip
    else:
        errors = tuple(one for one in errors if one.shape != step.shape)
    again = bool(track.keys) and track.keys[-1] == step.key
    keys = (*track.keys, step.key)[-max(_CYCLES) - 1 :]
    return replace(
        track, keys=keys, run=track.run + 1 if again else 1, exact=step.exact, errors=errors, denied=denied,
        counter=again and (track.counter or track.exact != step.exact),
        cycles=tuple(_round(keys, length, before) for length, before in zip(_CYCLES, track.cycles or _NO_CYCLES,
                                                                            strict=True)),
    )  # fmt: skip


def _round(keys: tuple[str, ...], length: int, before: int) -> int:
    """How many steps in a row were those of `length` steps before. What is always the same is no cycle."""
    repeats = len(keys) > length and keys[-1] == keys[-1 - length] and len(set(keys[-length:])) > 1
    return before + 1 if repeats else 0


def _aged(tallies: tuple[StallTally, ...]) -> tuple[StallTally, ...]:
    return tuple(replace(one, age=one.age + 1) for one in tallies if one.age + 1 < _FORGOTTEN_AFTER)


def _tallied(tallies: tuple[StallTally, ...], key: str, shape: str) -> tuple[StallTally, ...]:
    before = next((one.count for one in tallies if one.key == key), 0)
    return (*(one for one in tallies if one.key != key), StallTally(key, shape, before + 1))[-_MOST_TALLIES:]


def _counted(counts: StallCounts, step: SeenStep, *, progress: bool, over: int) -> StallCounts:
    """The counts of the whole session. `over` is how many errors this success has put an end to."""
    errors, made = counts.errors - over + bool(step.error), counts.progress + progress
    if made >= _MAKES_UP:
        errors, made = errors - 1, 0
    counts = replace(counts, errors=max(0, errors), progress=made)
    if progress and counts.agent == step.agent and counts.kind:
        return replace(counts, kind="", times=0, agent="", told="", asking="", unanswered=0)
    return counts


def stall_of(form: StallsForm, session: GovernedSession, step: SeenStep, called: str = "") -> StallAnswer | None:
    """What a rulebook says to a session whose last step this was. The gravest stall, if there are several. `called` is
    what the host calls the tool."""
    track = next((one for one in session.stall.tracks if one.agent == step.agent), None)
    if track is None:
        return None
    found = [answer for answer in _all(form, session, track, step, one_line(called or step.tool)) if answer is not None]
    return max(found, key=lambda answer: _GRAVITY[answer.word]) if found else None


_GRAVITY: dict[Stall, int] = {"remind": 0, "ask": 1, "halt": 2}


def _all(
    form: StallsForm, session: GovernedSession, track: StallTrack, step: SeenStep, tool: str
) -> list[StallAnswer | None]:
    if step.denied:
        count = next((one.count for one in track.denied if one.key == step.target), 0)
        return [
            _reached(
                form, form.denied_again, count, "denied-again", step,
                f"What was denied came again in other words: {count} times, the last time by {tool}",
                "Do not try to reach the same in another way. Say what you need it for, and let a person decide.",
            )
        ]  # fmt: skip
    found: list[StallAnswer | None] = []
    if step.error:
        count = next((one.count for one in track.errors if one.key == step.error), 0)
        found.append(
            _reached(
                form, form.same_error, count, "same-error", step,
                f"{tool} failed {count} times with the same error, and nothing done in between has changed it",
                "Read the whole error and what it names before you change anything else, or say that you are stuck.",
            )
        )  # fmt: skip
        if form.errors and session.stall.errors > form.errors:
            found.append(_too_many(form, session.stall.errors, step))
    same = "the same call but for a number" if track.counter else "the same call"
    found.append(
        _reached(
            form, form.same_call, track.run, "same-call", step,
            f"{tool} was called {track.run} times in a row with {same}, and the same came of it",
            "Do something else, or say what you are waiting for: the next time will bring the same.",
        )
    )  # fmt: skip
    for length, steps in zip(_CYCLES, track.cycles, strict=True):
        rounds, rest = divmod(steps + length, length)
        if steps and not rest:
            found.append(
                _reached(
                    form, form.alternating, rounds, "alternating", step,
                    f"The same {length} calls came in turn, {rounds} times, and the same came of them",
                    "Leave this circle: look at what you have not looked at yet, or say that you are stuck.",
                )
            )  # fmt: skip
    return found


def _reached(
    form: StallsForm, every: int, count: int, kind: str, step: SeenStep, reason: str, instead: str
) -> StallAnswer | None:
    return reached(form, every, count, kind, step.agent, reason, instead)


def reached(
    form: StallsForm, every: int, count: int, kind: str, agent: str, reason: str, instead: str
) -> StallAnswer | None:
    """The next step of the escalation, each time that the count is full again."""
    if not every or not count or count % every:
        return None
    times = count // every
    return StallAnswer(
        word=_word(form, times), kind=kind, times=times, agent=agent, count=count, reason=reason, instead=instead
    )


def _word(form: StallsForm, times: int) -> Stall:
    return form.escalation[min(times, len(form.escalation)) - 1]


def _too_many(form: StallsForm, count: int, step: SeenStep) -> StallAnswer:
    return StallAnswer(
        word="halt", kind="errors", times=1, agent=step.agent, count=count,
        reason=f"There were {count} errors in this session, more than {form.errors}, and too little went well",
        instead="Stop, and tell the user what you tried and what failed.",
    )  # fmt: skip


def with_stall(session: GovernedSession, answer: StallAnswer) -> GovernedSession:
    """The session in which a reminder or a question is due. A halt is `with_halt`.

    A question that is due to another agent stays: there is one at a time.
    """
    counts = session.stall
    if counts.asking and counts.agent != answer.agent:
        return session
    if answer.word == "remind":
        told = f"{answer.reason}. {answer.instead}"
        if counts.asking:  # a lesser stall takes no question back
            return replace(session, stall=replace(counts, told=told))
        counts = replace(counts, told=told, asking="")
    else:
        counts = replace(counts, told="", asking=answer.reason)
    return replace(session, stall=replace(counts, kind=answer.kind, times=answer.times, agent=answer.agent))


def asks_about_stall(verdict: Verdict[ToolCall]) -> bool:
    """Whether a person was to be asked because an agent gets nowhere, and no person answered. A denial is an answer."""
    asked = any(
        found.said == "ask" and found.mode == "enforce" and found.rule.startswith(f"{RULE}/")
        for found in verdict.findings
    )
    return asked and (verdict.outcome == "ask" or (verdict.outcome == "deny" and _is_unanswered(verdict.rule)))


def _is_unanswered(rule: str) -> bool:
    return rule in UNANSWERED or rule.startswith("governance/budget")


def asked_again(session: GovernedSession) -> GovernedSession:
    """The session whose agent was asked about once more, and nobody answered."""
    counts = session.stall
    return replace(session, stall=replace(counts, unanswered=counts.unanswered + 1)) if counts.asking else session


def unanswered_stall(form: StallsForm, session: GovernedSession) -> StallAnswer | None:
    """The halt of a session that a person was asked about as often as its stall needs for the next step. Where the
    escalation goes no further, it is asked about on."""
    counts = session.stall
    every = _every(form, counts.kind)
    if not counts.asking or not every or not counts.unanswered or counts.unanswered % every:
        return None
    times = counts.times + counts.unanswered // every
    if _word(form, times) != "halt":
        return None
    return StallAnswer(
        word="halt", kind=counts.kind, times=times, agent=counts.agent, count=counts.unanswered,
        reason=f"{counts.asking}. A person was asked {counts.unanswered} times whether it may go on, and none answered",
        instead="Stop, and tell the user what you tried and what failed.",
    )  # fmt: skip


def _every(form: StallsForm, kind: str) -> int:
    """How often something comes for the next step of the escalation."""
    return {
        "same-call": form.same_call, "alternating": form.alternating, "same-error": form.same_error,
        "denied-again": form.denied_again, "planner-checker": form.same_issues, "validator-fix": form.same_error,
    }.get(kind, 0)  # fmt: skip


def stall_rulings(session: GovernedSession, agent: str) -> tuple[Ruling, ...]:
    """The question that is due before an agent's next call."""
    counts = session.stall
    if not counts.asking or counts.agent != short(agent):
        return ()
    return (
        Ruling(
            said="ask", rule=f"{RULE}/{counts.kind}", reason=f"The agent gets nowhere. {counts.asking}. Go on?",
            instead="Say yes to let it go on, or no and tell it what to do instead.",
            evidence=f"step {counts.times} of the escalation",
        ),
    )  # fmt: skip


def reminder_of(session: GovernedSession, agent: str) -> str:
    """What an agent is still to be told; empty if nothing."""
    return session.stall.told if session.stall.agent == short(agent) else ""


def reminded(session: GovernedSession) -> GovernedSession:
    """The session whose agent was told."""
    return replace(session, stall=replace(session.stall, told="")) if session.stall.told else session
