"""Values that are no JSON: paths are paths, arrays are compared by identity, models are searched for secrets."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec
import pydantic
import pytest

from interpose import (
    Engine,
    InterceptorRegistry,
    RegistrationError,
    ToolCall,
    ToolSet,
    ToolSetError,
    add_builtin_interceptors,
    create_interceptor_registry,
    guarded,
    paths_of,
)
from interpose.core.errors import MatcherError
from interpose.core.types import same

SECRET = "ghp_" + "a1B2" * 9


class Folder:
    """Something of another library that says it is a path."""

    def __init__(self, at: str) -> None:
        self.at = at

    def __fspath__(self) -> str:
        return self.at


PATHS = [pathlib.Path("/home/dev/.ssh/id_rsa"), pathlib.PurePosixPath("/home/dev/.ssh/id_rsa"), Folder("/etc/shadow")]


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.fixture
def guards() -> Engine:
    return Engine(add_builtin_interceptors(create_interceptor_registry()))


@pytest.mark.parametrize("path", PATHS, ids=[type(path).__name__ for path in PATHS])
def test_a_path_is_judged_as_the_text_that_it_is(guards: Engine, path: os.PathLike[str]) -> None:
    call = ToolCall("read", {"path": path})
    assert paths_of(call) == (os.fspath(path),)
    as_text = guards.decide(ToolCall("read", {"path": os.fspath(path)}))
    assert guards.decide(call).outcome == as_text.outcome == "ask"
    assert guards.decide(ToolCall("read", {"path": pathlib.Path("README.md")})).outcome == "allow"


def test_a_command_of_words_may_have_paths_in_it(guards: Engine) -> None:
    assert guards.decide(ToolCall("exec", {"command": ["rm", "-rf", pathlib.Path("/")]})).rule == "delete-system"


def test_the_function_gets_the_path_that_it_was_given(guards: Engine) -> None:
    @guarded("read", engine=guards)
    def read(path: pathlib.Path) -> str:
        return path.name

    assert read(pathlib.Path("docs/a.md")) == "a.md"


class Array:
    """Compares like an array: element by element, and has no truth."""

    def __eq__(self, other: object) -> Any:
        return Array()

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise ValueError("the truth of an array is ambiguous")


def test_arrays_are_compared_by_identity(registry: InterceptorRegistry) -> None:
    array = Array()

    @registry.on("tool.before")
    def look(_input: Any, output: Any) -> None:
        assert output.args["data"] is array

    @registry.on("tool.after")
    def look_again(_input: Any, output: Any) -> None:
        assert output.result is array

    engine = Engine(registry)
    done = engine.run().run_tool(ToolCall("plot", {"data": array}), lambda args: args["data"])
    assert done.response is array
    assert not done.verdict.rewritten

    @registry.on("tool.before")
    def change(_input: Any, output: Any) -> None:
        output.args["data"] = Array()

    assert engine.decide(ToolCall("plot", {"data": array})).rewritten


SAME = [
    ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
    (1, True, False),
    (1, 1.0, False),
    ("a", "a", True),
    ((1,), (1,), True),
    ((1,), [1], False),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    (float("nan"), float("nan"), False),
    (Array(), Array(), False),
]


@pytest.mark.parametrize(("one", "other", "wanted"), SAME)
def test_what_is_the_same(one: Any, other: Any, wanted: bool) -> None:
    assert same(one, other) is wanted
    assert same(one, one)


@dataclass(frozen=True, slots=True)
class Frozen:
    note: str
    token: str


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)

    token: str
    inner: Frozen


class Record(msgspec.Struct, frozen=True):
    token: str


MODELS = [Frozen("n", SECRET), Model(token=SECRET, inner=Frozen("n", SECRET)), Record(SECRET)]


@pytest.mark.parametrize("result", MODELS, ids=[type(one).__name__ for one in MODELS])
def test_models_come_back_without_secrets_in_their_own_shape(guards: Engine, result: Any) -> None:
    answer = guards.run_tool(ToolCall("lookup", {}), lambda _: [result, {"more": result}])
    assert SECRET not in repr(answer)
    assert type(answer[0]) is type(result)
    assert "[redacted:" in answer[0].token
    assert SECRET in repr(result), "what the tool keeps is not changed"
    clean = Frozen("n", "none")
    assert guards.run_tool(ToolCall("lookup", {}), lambda _: clean) is clean


def test_groups_in_tool_sets() -> None:
    tools = ToolSet.specific(["group:fs", "exec"])
    assert tools.matches("Read")
    assert tools.matches("bash")
    assert not tools.matches("web_fetch")
    assert not ToolSet.except_(["group:web"]).matches("web_fetch")
    with pytest.raises(ToolSetError, match="there is no group 'group:files'"):
        ToolSet.specific(["group:files"])


def test_mistakes_of_registration_are_told_at_once(registry: InterceptorRegistry) -> None:
    with pytest.raises(RegistrationError, match=r'write @registry.on\("tool.before"\) above .*forgot'):

        @registry.on  # type: ignore[arg-type]
        def forgot(_input: Any, _output: Any) -> None: ...

    with pytest.raises(MatcherError, match="It matches 'bash', which interceptors see as 'exec'"):
        registry.add(id="x", name="tool.before", tool_matcher="^Bash$", handler=lambda _i, _o: None)
    with pytest.raises(ValueError, match="verbose must be"):
        Engine(verbose="loud")  # type: ignore[arg-type]
