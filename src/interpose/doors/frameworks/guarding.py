"""How a framework's call walks the one hosted flow. Adapters translate into these words and out of them.

    around  = before -> [the framework asks its person] -> [the tool] -> after     for frameworks that wrap a call
    before, after                                                                  for frameworks with two hooks

Nothing escapes that would let a call run: what fails on the way is a text that tells the model so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import perf_counter_ns
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.answers import Approved
from interpose.core.driving import Await, Execute, Failure, Flow, is_awaitable
from interpose.core.errors import FrameworkLimitError, text_of
from interpose.core.types import Context, Deny, Raised, ToolCall, ToolOutcome, Verdict, new_id, thaw
from interpose.doors.frameworks import options as all_options
from interpose.doors.frameworks.deciders import Decider, decider
from interpose.doors.frameworks.facts import SOURCE, FrameworkFacts
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text
from interpose.engine.flow.hosted import AskThem, Go, GoWith, HostedAnswer, Refuse, WaitFor, undecidable
from interpose.engine.flow.run_parts import ToolRun

SAID_NO = "A person was asked and said no"


class FrameworkCall(Struct, frozen=True, kw_only=True):
    """A call as a framework makes it. `call_id` is the framework's own name for it; `session`, `agent` and `cwd` are
    what it knows of who acts, and where."""

    name: str
    arguments: dict[str, Any]
    call_id: str = ""
    session: str = ""
    agent: str = ""
    cwd: str = ""
    key: str = ""
    """What joins the two halves. Empty: `around` has both in its hands."""


class RunWith(Struct, frozen=True):
    """It may run, with these arguments. `call` is what was judged, for the other half."""

    arguments: dict[str, Any]
    call: ToolCall
    key: str
    changed: bool = False


class AskPerson(Struct, frozen=True):
    """The framework asks its person, who sees the question and the arguments, and runs `then` if the answer is yes."""

    question: str
    then: RunWith
    verdict: Verdict[ToolCall]


class Told(Struct, frozen=True):
    """The model gets this text instead of the call's result. `verdict` says why, for programs."""

    text: str
    verdict: Verdict[Any] | None = None


class Result(Struct, frozen=True):
    """The result of a call, in the framework's own shape."""

    value: Any


Answer = RunWith | AskPerson | Told
Ending = Result | Told
PersonsAnswer = Approved | Deny

AskInFramework = Callable[[AskPerson], Any]
"""Puts a question in the framework's own way: an Approved or a Deny, or an awaitable of one. What it raises to pause
the run leaves the flow as it is."""


def _same(result: Any) -> Any:
    return result


class ResultShape(Struct, frozen=True):
    """How a framework's result is shown to interceptors, as plain data, and how what they made of it goes back."""

    opened: Callable[[Any], Any] = _same
    closed: Callable[[Any, Any], Any] = fitted
    """Given the framework's result and the new plain data."""


PLAIN = ResultShape()


class FrameworkGuard:
    """What one `guard(...)` stands on: who decides, for whom."""

    def __init__(self, facts: FrameworkFacts, options: GuardOptions) -> None:
        """Raises TypeError, ValueError or FrameworkLimitError for options that can't be honoured."""
        all_options.check(dict(options))
        self.facts = facts
        self.messages = options.get("messages", facts.messages)
        if self.messages:
            facts.must_judge_messages()
        self._unguarded: Collection[str] = frozenset(options.get("unguarded", ()))
        self._decider: Decider = decider(facts, options)
        self._session, self._agent = options.get("session", ""), options.get("agent", "")
        self._own_session = new_id()
        self._context = Context(
            role=options.get("role", ""), principal=options.get("principal", ""), cwd=options.get("cwd", ""),
            source=f"{SOURCE}{facts.name}",
        )  # fmt: skip

    def around(
        self,
        call: FrameworkCall,
        execute: Callable[[dict[str, Any]], Any],
        *,
        ask: AskInFramework | None = None,
        shape: ResultShape = PLAIN,
        passes: tuple[type[BaseException], ...] = (),
        decided: Answer | None = None,
    ) -> Flow[Ending]:
        """A whole call. `execute` runs the framework's tool with the arguments that it is given; what the tool raises
        is raised, as is what is among `passes`, with which a framework steers its own run. `decided` is what `before`
        said of this very call."""
        answer = decided or (yield from self.before(call))
        if isinstance(answer, AskPerson):
            answer = yield from self.asked(answer, ask)
        if isinstance(answer, Told):
            return answer
        start = perf_counter_ns()
        came = yield Execute(execute, answer.arguments)
        took = perf_counter_ns() - start
        if type(came) is not Failure:
            return (yield from self.after(answer, came, duration_ns=took, shape=shape))
        error = came.error
        ending = yield from self.failed(answer, error, duration_ns=took)
        if ending is None or isinstance(error, passes) or not isinstance(error, Exception):
            raise error
        return ending

    def before(self, call: FrameworkCall) -> Flow[Answer]:
        """The first half."""
        key = call.key or new_id()
        try:
            judged = ToolCall(call.name, call.arguments, context=self.context(call))
            answer = yield from self._decider.before(judged, key)
        except Exception as error:  # noqa: BLE001 - deny by default: what could not be decided does not run
            return Told(reply_texts.refusal(undecidable(error)))
        return self._answer(judged, key, answer)

    def _answer(self, call: ToolCall, key: str, answer: HostedAnswer) -> Answer:
        match answer:
            case Go():
                # INVARIANT: what runs is what was judged: a copy, which nobody else can change meanwhile.
                return RunWith(thaw(call.arguments), call, key)
            case GoWith(_, arguments):
                return RunWith(arguments, call.with_arguments(arguments), key, changed=True)
            case AskThem(verdict, other):
                arguments = thaw(call.arguments) if other is None else other
                then = RunWith(arguments, call.with_arguments(arguments), key, changed=other is not None)
                return AskPerson(reply_texts.question(verdict), then, verdict)
            case WaitFor(verdict):
                return Told(reply_texts.waiting(verdict))
            case Refuse(verdict, ToolCall()):
                return Told(f"{reply_texts.refusal(verdict)}\nMake this call instead: {verdict.instead}")
            case Refuse(verdict):
                return Told(reply_texts.refusal(verdict))

    def asked(self, question: AskPerson, ask: AskInFramework | None) -> Flow[RunWith | Told]:
        """What comes of a question that the framework puts."""
        if ask is None:
            raise FrameworkLimitError(f"{self.facts.title} has no way to ask here: {question.question}")
        answer = ask(question)
        if is_awaitable(answer):
            answer = yield Await(answer)
            if type(answer) is Failure:
                raise answer.error
        if type(answer) is Approved:
            return question.then
        reason = answer.reason if type(answer) is Deny and answer.reason else ""
        return (yield from self.answered_no(question, reason))

    def answered_no(self, question: AskPerson, reason: str = "") -> Flow[Told]:
        """The person said no. That is recorded."""
        said = f"{SAID_NO}: {reason}" if reason else SAID_NO
        yield from self._decider.not_run(question.verdict, said, question.then.key)
        return Told(f"{said}. {question.question}")

    def after(
        self, ran: RunWith, result: Any, *, is_error: bool = False, duration_ns: int = 0, shape: ResultShape = PLAIN
    ) -> Flow[Ending]:
        """The other half: what the model gets of a result."""
        try:
            shown = shape.opened(result)
            outcome = ToolOutcome(ran.call, shown, is_error=is_error, duration_ns=duration_ns)
            done = yield from self._decider.after(outcome, ran.key)
            return self._ending(done, result, shape)
        except Exception as error:  # noqa: BLE001 - what could not be looked at is not shown
            return Told(reply_texts.withheld_unseen(text_of(error)))

    def _ending(self, done: ToolRun, result: Any, shape: ResultShape) -> Ending:
        after = done.after
        if done.streamed is not None:
            return Result(done.response if done.streamed.is_whole else shape.closed(result, done.response))
        if after is None or after.outcome == "allow":
            return Result(result)
        if after.outcome == "rewrite":
            return Result(shape.closed(result, done.response))
        return Told(reply_texts.withheld(after))

    def failed(self, ran: RunWith, error: BaseException, *, duration_ns: int = 0) -> Flow[Told | None]:
        """The tool raised. None: nobody objects to what it said, so it may be raised; else what the model gets."""
        from interpose.engine.flow.streamed_calls import failed_outcome

        try:
            outcome = failed_outcome(ran.call, error, duration_ns, "")
            done = yield from self._decider.after(replace(outcome, errors=Raised((error,))), ran.key)
        except Exception as problem:  # noqa: BLE001 - as above
            return Told(reply_texts.withheld_unseen(text_of(problem)))
        after = done.after
        if after is None or after.outcome == "allow":
            return None
        if after.outcome == "rewrite":
            text = done.response.get("error") if isinstance(done.response, dict) else done.response
            return Told(plain_text(text))
        return Told(reply_texts.withheld(after))

    def message(self, text: str, *, session: str = "", agent: str = "") -> Flow[str | Told]:
        """A message of the user: the text as the agent should see it, or what is said instead of running it."""
        try:
            verdict = yield from self._decider.message(text, self._who(session, agent))
        except Exception as error:  # noqa: BLE001 - deny by default
            verdict = undecidable(error)
        if verdict.allowed:
            return verdict.payload.text
        said = reply_texts.waiting(verdict) if verdict.outcome == "ask" else reply_texts.refusal(verdict)
        return Told(said, verdict)

    def must_guard(self, tool: str) -> None:
        """A tool runs where nobody can stand between. Raises FrameworkLimitError unless it was accepted by name."""
        if tool not in self._unguarded:
            raise FrameworkLimitError(
                f"{self.facts.title} runs the tool {tool!r} where nobody can stand between: take it away, or accept it "
                f"with unguarded=[{tool!r}]"
            )

    def context(self, call: FrameworkCall) -> Context:
        """Who makes a call."""
        who = self._who(call.session, call.agent)
        return replace(who, request_id=call.call_id, cwd=who.cwd or call.cwd)

    def _who(self, session: str, agent: str) -> Context:
        return replace(
            self._context,
            session_id=self._session or session or self._own_session,
            agent_id=self._agent or agent,
        )
