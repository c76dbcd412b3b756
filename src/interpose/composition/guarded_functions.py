"""`@guarded`: a plain Python function behind the interceptors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Literal

from interpose.core.errors import BlockedError, ToolError, text_of
from interpose.core.types import INTERCEPTOR_ERROR, Context, ToolCall, ToolOutcome, Verdict
from interpose.engine.engine import Engine, NeedsConfirmation, Run, ToolRun
from interpose.engine.function_tools import FunctionTool

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
    is the failure of an interceptor that refused the call or its result. Of a generator, whoever reads it gets that as
    its last piece, or raised. Without an engine, the global one decides, which has your
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
    from interpose.composition.build import global_engine

    return global_engine()


def _answer(done: ToolRun, on_block: OnBlock, on_error: OnToolError) -> Any:
    problem = _problem(done.verdict, on_block, on_error, done.response, done.outcome, done.after)
    if problem is not None:
        raise problem
    if done.streamed is not None:  # what goes wrong from here on, its reader gets to know
        done.streamed.raises = partial(_problem, done.verdict, on_block, on_error)
    return done.response


def _problem(
    verdict: Verdict[ToolCall],
    on_block: OnBlock,
    on_error: OnToolError,
    response: Any,
    outcome: ToolOutcome,
    after: Verdict[ToolOutcome] | None,
) -> BaseException | None:
    """What is raised instead of this response; None if it is returned."""
    if after is not None and not after.allowed:
        failed = after.decided_by is not None and after.decided_by.rule == INTERCEPTOR_ERROR
        if on_error == "raise" and failed and after.errors:
            return after.errors[0]
        return BlockedError(response, after) if on_block == "raise" else None
    if on_error == "raise" and outcome.error is not None:
        # INVARIANT: what tool.after rewrote is not raised as it was: its text may be what had to be hidden.
        if after is not None and after.rewritten:
            text = response.get("error", "the tool failed") if isinstance(response, dict) else response
            told = ToolError(text_of(text))
            told.__cause__ = None  # as `from None` does: not even beside what a caller is handling
            return told
        return outcome.error
    return BlockedError(response, verdict) if on_block == "raise" and outcome.denied else None
