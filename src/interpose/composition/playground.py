"""Rules tried out on one call before they stand anywhere: what they say, why, and whether their own examples hold.

As `interpose check --explain --policy` and `interpose policy test` do it, but for a text that is still being
typed. Nothing is read from disk but the packs that it names, nothing is recorded, no judge is asked, no running
policy knows of it.

INVARIANT: all conditions together have SECONDS of the processor's time. What is typed may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from time import thread_time
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.carried_calls import canonical
from interpose.core.driving import drive
from interpose.core.errors import PolicyError
from interpose.core.interceptor import Registration
from interpose.core.pipeline import decide
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import HookPoint, ToolCall, ToolOutcome, Verdict
from interpose.engine.engine import Engine
from interpose.rules.cel.expression import Expression
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.policy.compiled import CompiledRule, Policy, compile_rule
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RuleText, rules_in
from interpose.rules.policy.rules import Level, PolicyProblem, Rule
from interpose.rules.policy_trials.rule_accounts import Account, accounts
from interpose.rules.policy_trials.trials import Trial, example_trials

FILE = "playground.yaml"
MAX_TEXT = 20_000
MAX_RULES = 40
"""Rules that a text may have itself. Those of packs that it names are known."""
MAX_EXAMPLES = 200
MAX_REWRITING = 8
"""Rules that rewrite: each shows its call to all others again, and may make it as long as a text gets."""
SECONDS = 1.5

_TOO_LONG = f"the rules take more than {SECONDS:g} seconds here"


class Played(Struct, frozen=True, kw_only=True):
    """What came of it. With `problems` there are no rules, and so no verdicts.

    `alone` is what the rules say by themselves, `guarded` what they say together with the guards. `after` is about the
    result, where the call has one.
    """

    problems: tuple[PolicyProblem, ...] = ()
    refused: tuple[PolicyProblem, ...] = ()
    """What a text of its level may not say, and what was left out."""
    call: ToolCall
    """As rules see it."""
    alone: Verdict[ToolCall] | None = None
    guarded: Verdict[ToolCall] | None = None
    after: Verdict[ToolOutcome] | None = None
    accounts: tuple[Account, ...] = ()
    trials: tuple[Trial, ...] = ()
    revision: str = ""
    late: bool = False
    """The time was used up: what is said of conditions after that is that they failed."""


def play(
    text: str,
    call: ToolCall,
    *,
    result: ToolOutcome | None = None,
    level: Level = Level.USER,
    guards: Iterable[Registration] = (),
    shell_tools: Sequence[str] = (),
) -> Played:
    """Try a text out on a call. Raises InvalidCallError; whatever is wrong with the text is in the answer."""
    beside = tuple(guards)
    call = canonical(call, Engine(shell_tools=shell_tools).shell_tools)
    if len(text) > MAX_TEXT:
        return Played(problems=(_problem(1, f"the text is longer than {MAX_TEXT} characters"),), call=call)
    clock = _PlayTime()
    try:
        rules, refused = rules_in([RuleText(FILE, text, level)])
        if problem := _too_many(rules):
            return Played(problems=(problem,), call=call)
        policy = Policy(tuple(_compiled(rules, clock)), tuple(refused))
    except PolicyError as error:
        return Played(problems=error.problems, call=call)
    own = tuple(compiled for compiled in policy.rules if not compiled.rule.source.pack)
    trials = tuple(trial for compiled in own for trial in example_trials(compiled))
    entries = registrations(Policy(_without_judge(policy.rules), policy.refused))
    alone = _engine(entries, shell_tools)
    return Played(
        refused=policy.refused,
        call=call,
        alone=alone.decide(call),
        guarded=_engine((*beside, *entries), shell_tools).decide(call),
        after=_after(alone, result) if result is not None else None,
        accounts=tuple(accounts(policy, call)),
        trials=trials,
        revision=policy.revision,
        late=clock.late,
    )


class _PlayTime:
    """The time that all conditions have together."""

    def __init__(self) -> None:
        self._left = SECONDS

    @property
    def late(self) -> bool:
        return self._left <= 0

    def timed(self, expression: Expression) -> Expression:
        """The same, which fails when the time is used up. One evaluation alone has a bound of its own."""
        evaluate = expression.closure

        def closure(scope: Any) -> object:
            if self._left <= 0:
                raise EvaluationError(_TOO_LONG)
            start = thread_time()
            try:
                return evaluate(scope)
            finally:
                self._left -= thread_time() - start

        return replace(expression, closure=closure)


def _compiled(rules: Sequence[Rule], clock: _PlayTime) -> Iterator[CompiledRule]:
    """Raises PolicyError with every problem of every rule."""
    problems: list[PolicyProblem] = []
    for rule in rules:
        try:
            made = compile_rule(rule)
        except PolicyError as error:
            problems.extend(error.problems)
            continue
        yield replace(
            made,
            when=None if made.when is None else clock.timed(made.when),
            rewrites=tuple((path, clock.timed(expression)) for path, expression in made.rewrites),
        )
    if problems:
        raise PolicyError(tuple(problems))


def _too_many(rules: Sequence[Rule]) -> PolicyProblem | None:
    own = [rule for rule in rules if not rule.source.pack]
    if len(own) > MAX_RULES:
        return _problem(own[MAX_RULES].source.line, f"expected {MAX_RULES} rules at most to be tried out together")
    if sum(bool(rule.rewrite or rule.redact) for rule in own) > MAX_REWRITING:
        return _problem(1, f"expected {MAX_REWRITING} rules at most that rewrite to be tried out together")
    if sum(len(rule.examples) for rule in own) > MAX_EXAMPLES:
        return _problem(1, f"expected {MAX_EXAMPLES} examples at most to be tried out together")
    return None


def _problem(line: int, message: str) -> PolicyProblem:
    return PolicyProblem(FILE, line, "", message)


def _without_judge(rules: Iterable[CompiledRule]) -> tuple[CompiledRule, ...]:
    """A judge would send the call away, and needs a key."""
    return tuple(compiled for compiled in rules if not compiled.rule.prompt)


def _engine(entries: Iterable[Registration], shell_tools: Sequence[str]) -> Engine:
    registry = InterceptorRegistry()
    registry.swap(entries)
    return Engine(registry, shell_tools=shell_tools)


def _after(engine: Engine, result: ToolOutcome) -> Verdict[ToolOutcome]:
    call = result.call
    entries = engine.interceptors.snapshot().select(HookPoint.TOOL_AFTER, call.name, call.context.agent_id)
    return drive(decide(entries, result))
