"""Claude Agent SDK: callbacks for its hooks, `ClaudeAgentOptions(hooks=guard())`.

A callback that fails decides nothing, unless its matcher says `on_failure="block"`; and even then the result of a tool
is shown as it was. So nothing here fails, and nothing is given up: what can't be decided is answered, and the SDK waits
for the answer as long as it takes.

Nothing is ever allowed here: a call to which nobody objects goes the way of Claude's own permissions. A question is its
own, too: `can_use_tool` is asked, and sees the arguments that would run; without it the call is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Unpack, assert_never

from claude_agent_sdk import HookMatcher

from interpose.core.driving import drive_async
from interpose.core.errors import text_of
from interpose.core.types import ToolCall
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import AskPerson, FrameworkCall, FrameworkGuard, Result, RunWith, Told
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.hooks.hosts.result_shapes import texts_in, with_text

FACTS = FrameworkFacts(name="claude_agent_sdk", title="Claude Agent SDK", asks="can_use_tool", messages=True)
FOREVER = 24 * 3600.0
"""Seconds that the SDK waits for a callback. It would show a result for which it did not want to wait any more."""
UNHIDDEN = (
    "Interpose: what this tool said when it failed should not have been shown as it is, and nobody can hide it. Don't "
    "repeat, store or send what it holds."
)

_MOST = 10_000

Callback = Callable[[Any, str | None, Any], Awaitable[dict[str, Any]]]
Hooks = dict[Any, list[HookMatcher]]


def guard(**options: Unpack[GuardOptions]) -> Hooks:
    """Hooks that let every tool call pass Interpose: `ClaudeAgentOptions(hooks=guard())`.

    The options are those of `GuardOptions`.
    """
    return _Callbacks(FrameworkGuard(FACTS, options)).hooks()


class _Callbacks:
    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard
        self._running: OrderedDict[tuple[str, str], RunWith] = OrderedDict()
        """Calls that may run, by the session and Claude's own name for them."""

    def hooks(self) -> Hooks:
        """One callback for each event, for every tool."""
        found: dict[str, Callback] = {
            "PreToolUse": self.before,
            "PostToolUse": self.after,
            "PostToolUseFailure": self.failed,
        }
        if self._guard.messages:
            found["UserPromptSubmit"] = self.message
        return {
            event: [HookMatcher(hooks=[callback], timeout=FOREVER, on_failure="block")]
            for event, callback in found.items()
        }

    async def before(self, event: Any, tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        """A call that is about to run."""
        key = _key(event, tool_use_id)
        answer = await drive_async(self._guard.before(_call(event, key)))
        match answer:
            case RunWith():
                self._keep(key, answer)
                return _said(event, updatedInput=answer.arguments) if answer.changed else {}
            case AskPerson(question, then):
                self._keep(key, then)
                changed = {"updatedInput": then.arguments} if then.changed else {}
                return _said(event, permissionDecision="ask", permissionDecisionReason=question, **changed)
            case Told(text):
                return _said(event, permissionDecision="deny", permissionDecisionReason=text)
            case _:
                assert_never(answer)

    async def after(self, event: Any, tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        """A result, which the model has not seen. Raises nothing: the model would see it as it was."""
        came = event.get("tool_response")
        try:
            ran = self._ran(event, _key(event, tool_use_id))
            ending = await drive_async(self._guard.after(ran, came, duration_ns=_duration(event)))
        except Exception as error:  # noqa: BLE001 - what could not be looked at is not shown
            ending = Told(reply_texts.withheld_unseen(text_of(error)))
        if isinstance(ending, Told):
            said = frozenset(texts_in(event.get("tool_input")))
            return _said(event, updatedToolOutput=with_text(came, ending.text, said))
        return {} if ending.value is came else _said(event, updatedToolOutput=ending.value)

    async def failed(self, event: Any, tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        """What a tool said when it failed. The model sees it in any case: it can only be told what to do with it."""
        came = event.get("error", "")
        ran = self._ran(event, _key(event, tool_use_id))
        ending = await drive_async(self._guard.after(ran, came, is_error=True, duration_ns=_duration(event)))
        shown = isinstance(ending, Result) and ending.value is came
        return {} if shown else _said(event, additionalContext=UNHIDDEN)

    async def message(self, event: Any, _tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        """What the user says. It can't be changed: what would be changed is refused."""
        text = event["prompt"]
        answer = await drive_async(self._guard.message(text, session=event["session_id"]))
        if answer == text:
            return {}
        other = "Interpose refused this message as it is. Send this instead:"
        why = answer.text if isinstance(answer, Told) else f"{other}\n{answer}"
        return {"decision": "block", "reason": why, **_said(event, suppressOriginalPrompt=True)}

    def _keep(self, key: tuple[str, str], ran: RunWith) -> None:
        self._running[key] = ran
        if len(self._running) > _MOST:
            self._running.popitem(last=False)

    def _ran(self, event: Any, key: tuple[str, str]) -> RunWith:
        """What ran, as Claude says: whoever was asked may have changed it, and then the record says so."""
        arguments = event["tool_input"]
        ran = self._running.pop(key, None)
        if ran is None:
            call = ToolCall(event["tool_name"], arguments, context=self._guard.context(_call(event, key)))
            return RunWith(arguments, call, key[1])
        return RunWith(arguments, ran.call.with_arguments(arguments), ran.key, ran.changed)


def _call(event: Any, key: tuple[str, str]) -> FrameworkCall:
    return FrameworkCall(
        name=event["tool_name"], arguments=event["tool_input"], call_id=key[1], session=key[0],
        agent=event.get("agent_type") or "", cwd=event.get("cwd") or "", key=key[1],
    )  # fmt: skip


def _key(event: Any, tool_use_id: str | None) -> tuple[str, str]:
    return event["session_id"], tool_use_id or event.get("tool_use_id") or ""


def _duration(event: Any) -> int:
    took = event.get("duration_ms")
    return int(took * 1_000_000) if isinstance(took, int | float) else 0


def _said(event: Any, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"], **fields}}
