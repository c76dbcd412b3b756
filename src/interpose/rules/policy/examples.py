"""The examples inside a rule, run when it is loaded: a rule that fails its own examples does not load."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.core.types import Context, HookPoint, ToolCall, ToolOutcome
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.policy.compiled import CompiledRule, applies
from interpose.rules.policy.evaluate import fires
from interpose.rules.policy.rules import Example, PolicyProblem
from interpose.rules.policy.variables import Variables

HOME = "/home/dev"
"""The home of every example: what a rule file means must not depend on who loads it."""


def failing_examples(compiled: CompiledRule) -> Iterator[PolicyProblem]:
    """Each example that the rule gets wrong. What only a judge can say is not asked here."""
    if compiled.rule.prompt:
        return
    for example in compiled.rule.examples:
        why = failure(compiled, example)
        if why:
            wanted = "match" if example.matches else "not match"
            message = f"examples: expected {shown(example)} to {wanted}, {why}"
            yield PolicyProblem(compiled.rule.source.file, example.line, compiled.rule.id, message)


def failure(compiled: CompiledRule, example: Example) -> str:
    """What an example says against its rule; empty if they agree."""
    rule = compiled.rule
    call = call_of(example)
    known = Variables(call).known_tool
    heard = [variables_at(point, call, example) for point in rule.on.points if applies(rule, point, call.name, known)]
    try:
        fired = any(fires(compiled, variables) for variables in heard)
    except EvaluationError as error:
        return f"it fails: {error}"
    if fired == example.matches:
        return ""
    if fired:
        return "it does"
    return "it does not" if heard else f"the rule is not about the tool {call.name!r}"


def call_of(example: Example) -> ToolCall:
    """The call of an example."""
    context = Context(
        cwd=example.cwd, agent_id=example.agent, role=example.role, principal=example.principal,
        session_id=example.session, source="example",
    )  # fmt: skip
    return ToolCall(example.tool, example.args, "example", context)


def variables_at(point: HookPoint, call: ToolCall, example: Example) -> Variables:
    """What a rule at a hook point sees of an example."""
    if point is not HookPoint.TOOL_AFTER:
        return Variables(call, home=HOME)
    return Variables(call, ToolOutcome(call, example.result, is_error=example.is_error), HOME)


def shown(example: Example) -> str:
    """An example as it was written, shortened."""
    if example.tool == "exec" and set(example.args) == {"command"}:
        return repr(example.args["command"])[:120]
    return f"{example.tool} {dict(example.args)!r}"[:120]
