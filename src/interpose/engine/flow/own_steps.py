"""Interceptors of the flow's own: what is refused before anybody is asked, and a tool's own wish to be confirmed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpose.core.carried_calls import carrying
from interpose.core.interceptor import Registration
from interpose.core.registration import registration
from interpose.core.types import Allow, Confirm, Deny, HookPoint, ToolCall, thaw

Wish = Callable[[dict[str, Any]], bool | str]
"""A tool's own wish to be confirmed, asked with the arguments that it would really get."""


class _Refusing:
    def __init__(self, deny: Deny) -> None:
        self._deny = deny

    def intercept(self, _payload: object) -> Deny:
        return self._deny


def refusing(reason: str, rule: str = "not-available") -> Registration:
    """Refuses whatever comes, before anybody else is asked."""
    return registration(id="interpose:run", name=HookPoint.TOOL_BEFORE, interceptor=_Refusing(Deny(reason, rule)))


def withholding(deny: Deny) -> Registration:
    """Withholds a result, whatever it is."""
    return registration(id="interpose:run", name=HookPoint.TOOL_AFTER, interceptor=_Refusing(deny))


class _Wishing:
    def __init__(self, wish: Wish, came: ToolCall) -> None:
        self._wish, self._came = wish, came

    def intercept(self, call: ToolCall) -> Allow | Confirm:
        answer: object = self._wish(carrying(self._came.name, self._came.arguments, thaw(call.arguments)))
        if answer is False:
            return Allow()
        return Confirm(answer if isinstance(answer, str) and answer else f"Execute tool '{call.name}'?")


def wishing(tool: str, wish: Wish, came: ToolCall) -> Registration:
    """The tool's own wish has the last word before observers: it sees what it would really get."""
    return registration(id=f"tool:{tool}", name=HookPoint.TOOL_BEFORE, interceptor=_Wishing(wish, came))
