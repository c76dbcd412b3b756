"""Python functions as tools: their parameters are the arguments of a call, by name, and back again after a rewrite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from interpose.core.driving import is_async
from interpose.core.errors import RegistrationError, ToolError, name_of, text_of
from interpose.core.tools import normalize_tool_name
from interpose.engine.flow.run_parts import NeedsConfirmation

_RECEIVERS = ("self", "cls")


class FunctionTool:
    """One function under the name of a tool. A method's `self` is no argument: interceptors never see it."""

    def __init__(
        self, function: Callable[..., Any], name: str = "", *, requires_confirmation: NeedsConfirmation | None = None
    ) -> None:
        import inspect

        if not callable(function):
            raise RegistrationError(f"a tool is a function, not {function!r}")
        self.function = function
        inner: Any = function
        while isinstance(inner, partial):
            inner = inner.func
        self.name = name or getattr(inner, "__name__", "")
        if not self.name:
            raise RegistrationError(f"{function!r} has no name of its own: give it one with name=")
        self.signature = inspect.signature(function)
        self.requires_confirmation = requires_confirmation
        self.is_async = is_async(inner) or inspect.iscoroutinefunction(function)
        first = next(iter(self.signature.parameters), "")
        self._receiver = first if first in _RECEIVERS and _is_in_a_class(inner) else ""

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
        """The arguments of a call by name, and its receiver (`self`) if it is a method. TypeError as Python would."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)
        receiver = (given.pop(self._receiver),) if self._receiver else ()
        flat: dict[str, Any] = {}
        for name, value in given.items():
            parameter = self.signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                # INVARIANT: each argument of a call has one name. Of two under one, interceptors would see one only.
                if twice := sorted(value.keys() & self.signature.parameters.keys()):
                    raise TypeError(
                        f"{self.name}() takes {twice[0]!r} as a parameter and again as a keyword of **{name}, and "
                        "a call has one argument of a name: rename one of them"
                    )
                flat.update(value)
            else:
                flat[name] = value
        return flat, receiver

    def execute(self, arguments: Mapping[str, Any], receiver: tuple[Any, ...] = ()) -> Any:
        """Call the function with these arguments, also after a rewrite that added, dropped or renamed some."""
        import inspect

        left = dict(arguments)
        given: dict[str, Any] = dict(zip([self._receiver], receiver, strict=False)) if receiver else {}
        for name, parameter in self.signature.parameters.items():
            if name in given:
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                given[name] = {key: left.pop(key) for key in list(left) if key not in self.signature.parameters}
            elif name in left:
                given[name] = left.pop(name)
            elif parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
                raise TypeError(f"the call has no argument {name!r}")
        if left:
            raise TypeError(f"the call has arguments that the function does not take: {', '.join(sorted(left))}")
        bound = inspect.BoundArguments(self.signature, given)
        return self.function(*bound.args, **bound.kwargs)


def arguments_of(given: object) -> tuple[dict[str, Any], str]:
    """The arguments that an agent gave, as a mapping or as JSON text, or why they are none."""
    if given is None:
        return {}, ""
    if isinstance(given, str):
        from interpose.core.formats import strict_json

        try:
            given = strict_json.decode(given.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            return {}, f"the arguments are no JSON object: {text_of(error)}"
    if not isinstance(given, Mapping):
        return {}, f"the arguments must be an object, not {name_of(given)}"
    wrong = next((key for key in given if not isinstance(key, str)), None)
    return ({}, f"the arguments must have names, not {name_of(wrong)}") if wrong is not None else (dict(given), "")


def _is_in_a_class(function: Any) -> bool:
    """Whether a function was written in the body of a class: then its first parameter is whom it is called on."""
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(outer) and not outer.endswith("<locals>")


class ToolTable:
    """The tools of an engine by name: as they were registered, or by any agent's name for the same tool."""

    def __init__(self) -> None:
        self._tools: dict[str, FunctionTool] = {}

    def add(self, tool: FunctionTool) -> None:
        """Register a tool. RegistrationError if the name is taken."""
        if (taken := self.find(tool.name)) is not None:
            also = "" if taken.name == tool.name else f": {taken.name!r} is the same tool by another name"
            raise RegistrationError(f"there is a tool {tool.name!r} already{also}")
        self._tools[tool.name] = tool

    def find(self, name: str) -> FunctionTool | None:
        """The tool of this name."""
        found = self._tools.get(name)
        if found is not None:
            return found
        wanted = normalize_tool_name(name)
        return next((tool for known, tool in self._tools.items() if normalize_tool_name(known) == wanted), None)

    def execute(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run the tool of this name. A name that nobody registered is the agent's mistake: ToolError says which are."""
        tool = self.find(name)
        if tool is None:
            raise ToolError(f"there is no tool {name!r}; tools: {', '.join(self.names) or 'none'}")
        return tool.execute(arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """As they were registered, in order."""
        return tuple(self._tools)
