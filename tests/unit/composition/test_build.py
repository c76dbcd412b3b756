"""The composition root: the built-in interceptors and the registry that a process shares."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import interpose
from interpose import (
    Engine,
    InterceptorRegistry,
    ToolCall,
    add_builtin_interceptors,
    create_interceptor_registry,
    get_global_interceptor_registry,
    initialize_global_interceptors,
    reset_global_interceptors,
)


@pytest.fixture(autouse=True)
def _no_global_registry() -> Iterator[None]:
    reset_global_interceptors()
    yield
    reset_global_interceptors()


def test_there_is_none_before_it_was_initialised() -> None:
    assert get_global_interceptor_registry() is None


def test_initialising_is_idempotent_and_brings_the_built_ins_once() -> None:
    registry = initialize_global_interceptors()
    assert initialize_global_interceptors() is registry
    assert get_global_interceptor_registry() is registry
    assert [(entry.id, entry.priority, entry.guard) for entry in registry.list() if entry.kind == "guard"] == [
        ("builtin:command-safety-guard", 100, True),
        ("builtin:security-audit", 99, True),
        ("builtin:hidden-text", 95, False),
        ("builtin:secret-redaction", 90, False),
    ]


def test_what_was_removed_stays_removed() -> None:
    initialize_global_interceptors().remove("builtin:security-audit")
    assert "builtin:security-audit" not in {entry.id for entry in initialize_global_interceptors().list()}


def test_reset_forgets() -> None:
    first = initialize_global_interceptors()
    reset_global_interceptors()
    assert get_global_interceptor_registry() is None
    assert initialize_global_interceptors() is not first


def test_many_threads_get_one_registry() -> None:
    barrier = threading.Barrier(16)
    found: list[InterceptorRegistry] = []

    def initialise() -> None:
        barrier.wait()
        found.append(initialize_global_interceptors())

    threads = [threading.Thread(target=initialise) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(registry) for registry in found}) == 1
    ids = [entry.id for entry in found[0].list()]
    assert len(ids) == len(set(ids))


def test_the_built_ins_decide_real_calls() -> None:
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))
    assert engine.run_tool(ToolCall("Bash", {"command": "rm -rf /"}), lambda _: "ran")["status"] == "blocked"
    assert engine.run_tool(ToolCall("Bash", {"command": "ls"}), lambda _: "ran") == "ran"
    assert engine.run_tool(ToolCall("Read", {"file_path": "/home/u/.ssh/id_rsa"}), lambda _: "x")["status"] == "blocked"


def test_a_rewrite_can_not_smuggle_a_command_past_the_built_in() -> None:
    registry = add_builtin_interceptors(create_interceptor_registry())
    registry.add(id="late", name="tool.before", handler=lambda _i, o: o.args.update(command="rm -rf /"))
    answer = Engine(registry).run_tool(ToolCall("exec", {"command": "ls"}), lambda _: "ran")
    assert answer["status"] == "blocked"


def test_every_public_name_is_there() -> None:
    assert all(hasattr(interpose, name) for name in interpose.__all__)
    assert sorted(set(interpose.__all__)) == sorted(interpose.__all__)
