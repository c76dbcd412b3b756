"""The `allow` rules of a policy: standing answers to questions that other rules and guards ask.

They answer questions, never refusals, and only if every question about a call is answered. Whose rule answered is the
approver in the record.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from interpose.core.tools import cwds_of
from interpose.core.types import HookPoint, PermissionRequest, ToolCall
from interpose.reading.calls import DEFAULT_CWD, home_directory, starts_of
from interpose.rules.cel.text_functions import glob, wildcard
from interpose.rules.policy.compiled import CompiledRule, Policy, names_tool
from interpose.rules.policy.evaluate import opinion
from interpose.rules.policy.rules import AnswerScope, Level
from interpose.rules.policy.variables import Variables


class PolicyAnswers:
    """Answers for one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def answer(self, request: PermissionRequest, /) -> str:
        """The rules that answer every question of the request; empty if one question is left."""
        call = request.subject
        if not isinstance(call, ToolCall) or not request.findings:
            return ""
        asked = {finding.rule for finding in request.findings}
        if "" in asked:
            return ""  # a question of no rule is nobody's to answer in advance
        answering = self._answering(call, asked)
        answered = {name for compiled in answering for name in _named(compiled)}
        if not asked <= answered:
            return ""
        return ", ".join(f"policy:{compiled.rule.id}" for compiled in answering)

    def _answering(self, call: ToolCall, asked: set[str]) -> list[CompiledRule]:
        variables = Variables(call)
        return [
            compiled
            for compiled in self._policy.select(HookPoint.TOOL_BEFORE, call.name)
            if not asked.isdisjoint(_named(compiled))
            and in_scope(compiled, call)
            and opinion(compiled, variables).saw == "fired"
        ]


def _named(compiled: CompiledRule) -> Sequence[str]:
    """The rules whose questions a rule answers.

    INVARIANT: no word of a project file answers anything, whatever let it through so far, and watching rules never do.
    """
    rule = compiled.rule
    if rule.answers is None or rule.prompt or rule.mode == "watch" or rule.source.level is Level.PROJECT:
        return ()
    return rule.answers.rules


def in_scope(compiled: CompiledRule, call: ToolCall) -> bool:
    """Whether a rule may answer questions about this call."""
    answers = compiled.rule.answers
    scope = answers.scope if answers else AnswerScope()
    context = call.context
    return (
        (not scope.tools or names_tool(scope.tools, call.name))
        and _one_of(scope.agents, context.agent_id)
        and _one_of(scope.roles, context.role)
        and _one_of(scope.principals, context.principal)
        and _one_of(scope.sessions, context.session_id)
        and (not scope.directories or all(_within(scope.directories, at) for at in _directories(call)))
    )


def _directories(call: ToolCall) -> tuple[str, ...]:
    """Where the agent works, and where the call's own arguments move it: no argument widens a scope."""
    cwd = call.context.cwd
    return (cwd, *starts_of(call, cwd or DEFAULT_CWD, home_directory())) if cwds_of(call) else (cwd,)


def _within(patterns: Sequence[str], directory: str) -> bool:
    plain = posixpath.normpath(directory) if directory else ""
    return any(glob(plain, pattern) for pattern in patterns)


def _one_of(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(wildcard(name, pattern) for pattern in patterns)
