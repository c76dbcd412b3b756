"""What is wrong when things are set up is said at once, with what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose import Engine, InterceptorChain, RegistrationError, ToolSetError, add_policy, create_interceptor_registry

WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one text as names of shells": (
        lambda: Engine(shell_tools="my_shell"), RegistrationError, "write shell_tools=['my_shell']",
    ),
    "a shell that is no name": (
        lambda: Engine(shell_tools=[1]), RegistrationError, "and 1 is none",  # type: ignore[list-item]
    ),
    "a list of tools": (
        lambda: Engine(tools=["bash"]), ToolSetError, "write ToolSet.specific(['bash'])",  # type: ignore[arg-type]
    ),
    "one tool": (
        lambda: Engine(tools="bash"), ToolSetError, "write ToolSet.specific(['bash'])",  # type: ignore[arg-type]
    ),
    "no tools": (
        lambda: Engine(tools=[]), ToolSetError, "write ToolSet.specific([])",  # type: ignore[arg-type]
    ),
    "a list of interceptors": (
        lambda: Engine([1]), RegistrationError, "then Engine(registry)",  # type: ignore[arg-type]
    ),
    "a list of a sub-agent's tools": (
        lambda: Engine().sub_agent(["read"]), ToolSetError, "write ToolSet.specific(['read'])",  # type: ignore[arg-type]
    ),
    "rules for a chain": (
        lambda: add_policy(InterceptorChain(), Path("policy.yaml")),  # type: ignore[arg-type]
        RegistrationError, "create_interceptor_registry()",
    ),
    "rules for an engine over a chain": (
        lambda: add_policy(Engine(InterceptorChain()), Path("policy.yaml")), RegistrationError, "then Engine(registry)",
    ),
    "no hook point": (
        lambda: create_interceptor_registry().on(), RegistrationError, '@registry.on("tool.before")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("note", WRONG)
def test_a_mistake_is_told_at_once_with_what_to_write_instead(note: str) -> None:
    act, kind, want = WRONG[note]
    with pytest.raises(kind) as caught:
        act()
    assert want in str(caught.value)
