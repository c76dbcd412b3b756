"""`@guarded`: a plain Python function behind the interceptors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

from interpose.engine import Engine, NeedsConfirmation, Run, ToolRun
from interpose.errors import BlockedError, ToolError
from interpose.function_tools import FunctionTool
from interpose.types import Context, ToolCall

OnBlock = Literal["return", "raise"]
OnToolError = Literal["return", "raise"]


def guarded(
    tool: str | None = None,
    *,
    engine: Engine | None = None,
    context: Context | None = None,
    on_block: OnBlock = "return",
    on_error: OnToolError = "return",
    requires_confirmation: NeedsConfirmation | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function behind the interceptors, as the tool `tool` (default: the function's name).

    Its parameters become the call's arguments by name (a method's `self` does not), and interceptors may rewrite them.
    A blocked call, or one whose result is withheld, returns what the agent gets, or raises BlockedError with
    `on_block="raise"`. What the function raises is returned as an error result, or raised with `on_error="raise"`, as
    is the failure of an interceptor that refused the call. Without an engine, the global one decides, which has your
    configuration and policy, and nobody can be asked. Works on sync and async functions and on methods.
    """
    given: object = tool
    if given is not None and not isinstance(given, str):
        raise TypeError(f"guarded takes the name of a tool, not {given!r}: write @guarded()")
    for name, value in (("on_block", on_block), ("on_error", on_error)):
        if value not in ("return", "raise"):
            raise ValueError(f'{name} must be "return" or "raise", not {value!r}')

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        behind = FunctionTool(function, tool or "", requires_confirmation=requires_confirmation)

        def prepared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Run, ToolCall, Callable[[Any], Any]]:
            arguments, receiver = behind.bind(args, kwargs)
            call = ToolCall(behind.name, arguments, context=context or Context())
            run = _engine(engine).run(call.context)
            return run, call, lambda final: behind.execute(final, receiver)

        if behind.is_async:

            @wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                run, call, execute = prepared(args, kwargs)
                done = await run.arun_tool(call, execute, requires_confirmation=requires_confirmation)
                return _answer(done, on_block, on_error)

            return run_async

        @wraps(function)
        def run_sync(*args: Any, **kwargs: Any) -> Any:
            run, call, execute = prepared(args, kwargs)
            done = run.run_tool(call, execute, requires_confirmation=requires_confirmation)
            return _answer(done, on_block, on_error)

        return run_sync

    return decorate


def _engine(engine: Engine | None) -> Engine:
    if engine is not None:
        return engine
    from interpose.build import global_engine

    return global_engine()


def _answer(done: ToolRun, on_block: OnBlock, on_error: OnToolError) -> Any:
    error, after = done.outcome.error, done.after
    withheld = after is not None and not after.allowed
    if withheld and on_block == "raise":
        raise BlockedError(done.response, after)
    if on_error == "raise" and error is not None and not withheld:
        # INVARIANT: what tool.after rewrote is not raised as it was: its text may be what had to be hidden.
        if after is not None and after.rewritten:
            raise ToolError(str(done.response.get("error", "the tool failed"))) from None
        raise error
    if on_block == "raise" and done.outcome.denied:
        raise BlockedError(done.response, done.verdict)
    return done.response
