"""`@guarded`: a plain Python function behind the interceptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Literal

from interpose.engine import Engine, NeedsConfirmation, ToolRun
from interpose.errors import BlockedError
from interpose.types import Context, ToolCall

OnBlock = Literal["return", "raise"]


def guarded(
    tool: str | None = None,
    *,
    engine: Engine | None = None,
    context: Context | None = None,
    on_block: OnBlock = "return",
    requires_confirmation: NeedsConfirmation | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function behind the interceptors, as the tool `tool` (default: the function's name).

    Its parameters become the call's arguments by name, and interceptors may rewrite them. A blocked call returns the
    blocked result, or raises BlockedError with `on_block="raise"`. Without an engine, the global interceptors decide
    and nobody can be asked. Works on sync and async functions.
    """
    given: object = tool
    if given is not None and not isinstance(given, str):
        raise TypeError(f"guarded takes the name of a tool, not {given!r}: write @guarded()")
    if on_block not in ("return", "raise"):
        raise ValueError(f'on_block must be "return" or "raise", not {on_block!r}')

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        signature = inspect.signature(function)
        name = tool or function.__name__

        def call_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolCall:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return ToolCall(name, _by_name(signature, bound.arguments), context=context or Context())

        def execute(arguments: dict[str, Any]) -> Any:
            bound = _bind(signature, arguments)
            return function(*bound.args, **bound.kwargs)

        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                call = call_of(args, kwargs)
                run = _engine(engine).run(call.context)
                done = await run.arun_tool(call, execute, requires_confirmation=requires_confirmation)
                return _answer(done, on_block)

            return run_async

        @wraps(function)
        def run_sync(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            run = _engine(engine).run(call.context)
            return _answer(run.run_tool(call, execute, requires_confirmation=requires_confirmation), on_block)

        return run_sync

    return decorate


def _engine(engine: Engine | None) -> Engine:
    if engine is not None:
        return engine
    from interpose.build import global_engine

    return global_engine()


def _answer(done: ToolRun, on_block: OnBlock) -> Any:
    if done.outcome.denied and on_block == "raise":
        raise BlockedError(done.response, done.verdict)
    return done.response


def _by_name(signature: Any, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name; `**kwargs` are laid flat beside the others."""
    flat: dict[str, Any] = {}
    for name, value in bound.items():
        if signature.parameters[name].kind is signature.parameters[name].VAR_KEYWORD:
            flat.update(value)
        else:
            flat[name] = value
    return flat


def _bind(signature: Any, arguments: Mapping[str, Any]) -> Any:
    """The way back: also after a rewrite that added, dropped or renamed arguments."""
    import inspect

    left = dict(arguments)
    given: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given[name] = {key: left.pop(key) for key in list(left) if key not in signature.parameters}
        elif name in left:
            given[name] = left.pop(name)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            raise TypeError(f"the rewritten call has no argument {name!r}")
    if left:
        raise TypeError(f"the rewritten call has arguments that the function does not take: {', '.join(sorted(left))}")
    return inspect.BoundArguments(signature, given)
