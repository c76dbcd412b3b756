"""What authors of interceptors need to test theirs.

from interpose.testing import ScriptedEngine, assert_denied, call

def test_fridays_are_quiet():
    engine = ScriptedEngine(NoFridays(today="friday"))
    verdict = engine.decide(call("exec", command="deploy"))
    assert_denied(verdict, reason="Friday", by="NoFridays")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from interpose.core.registry import create_interceptor_registry
from interpose.core.types import Context, HookPoint, PermissionRequest, ToolCall, Verdict
from interpose.engine.engine import Engine, ToolRun
from interpose.people.approvals import CallbackConfirmation


def call(
    tool: str = "exec", /, *, context: Context | None = None, call_id: str = "call-1", **arguments: Any
) -> ToolCall:
    """A tool call: `call("write", path="a.txt", content="hi")`."""
    return ToolCall(tool, arguments, call_id, context or Context(agent_id="main", cwd="/workspace/project"))


class ScriptedEngine:
    """An engine over the interceptors under test, with scripted people and tools.

    `approvals` are the answers that people give, in order; a question too many fails the test. `results` are what
    the tools return, in order (default: "ok"); an exception among them is raised. Afterwards `executed` has the calls
    that really ran, as their tools got them, and `questions` what was asked.
    """

    def __init__(
        self,
        *interceptors: object,
        approvals: Sequence[bool] = (),
        results: Sequence[Any] = (),
        point: HookPoint | str = HookPoint.TOOL_BEFORE,
        **options: Any,
    ) -> None:
        """Objects with `intercept` are registered class style, functions handler style, all with `options`."""
        self.registry = create_interceptor_registry()
        for number, one in enumerate(interceptors, 1):
            own = getattr(one, "id", None) or getattr(one, "__name__", None) or f"{type(one).__name__}#{number}"
            style: dict[str, Any] = {"interceptor": one} if hasattr(one, "intercept") else {"handler": one}
            self.registry.add(id=own, name=point, **style, **options)
        self.executed: list[dict[str, Any]] = []
        self.questions: list[PermissionRequest] = []
        self._approvals, self._results = list(approvals), list(results)
        self.engine = Engine(self.registry, confirm=CallbackConfirmation(self._answer))

    def decide(self, tool_call: ToolCall) -> Verdict[ToolCall]:
        """What the interceptors say."""
        return self.engine.decide(tool_call)

    def run(self, tool_call: ToolCall, execute: Callable[[dict[str, Any]], Any] | None = None) -> ToolRun:
        """The whole flow, with a scripted tool unless one is given."""
        return self.engine.run(tool_call.context).run_tool(tool_call, execute or self._execute)

    def _execute(self, arguments: dict[str, Any]) -> Any:
        self.executed.append(arguments)
        result = self._results.pop(0) if self._results else "ok"
        if isinstance(result, BaseException):
            raise result
        return result

    def _answer(self, request: PermissionRequest) -> bool:
        self.questions.append(request)
        if not self._approvals:
            raise AssertionError(f"nobody was scripted to answer: {request.message}")
        return self._approvals.pop(0)


def assert_allowed(verdict: Verdict[Any]) -> None:
    """The call may run."""
    _expect(verdict.allowed, verdict, "to be allowed")


def assert_denied(verdict: Verdict[Any], *, reason: str = "", rule: str = "", by: str = "") -> None:
    """The call was refused: for a reason with this text, by this rule, by an interceptor with this in its id."""
    _expect(verdict.outcome == "deny", verdict, "to be denied")
    _expect(reason in verdict.reason, verdict, f"to have {reason!r} in its reason")
    said = [finding for finding in verdict.findings if finding.said == "deny"]
    _expect(not rule or any(finding.rule == rule for finding in said), verdict, f"to name the rule {rule!r}")
    _expect(not by or any(by in finding.interceptor for finding in said), verdict, f"to be denied by {by!r}")


def assert_asked(verdict: Verdict[Any], *, message: str = "") -> None:
    """A person must agree."""
    _expect(verdict.outcome == "ask", verdict, "to ask")
    _expect(message in verdict.reason, verdict, f"to ask {message!r}")


def assert_rewritten(verdict: Verdict[ToolCall], **arguments: Any) -> None:
    """The call may run with these arguments, which are not those that it came with."""
    _expect(verdict.rewritten and verdict.allowed, verdict, "to be rewritten")
    got = {name: verdict.payload.arguments.get(name) for name in arguments}
    _expect(got == arguments, verdict, f"to have the arguments {arguments!r}, not {got!r}")


def _expect(holds: bool, verdict: Verdict[Any], wanted: str) -> None:
    if not holds:
        findings = "".join(f"\n  {f.interceptor} said {f.said}: {f.reason}" for f in verdict.findings)
        raise AssertionError(f"expected the verdict {wanted}; it is {verdict.outcome!r}: {verdict.reason!r}{findings}")
