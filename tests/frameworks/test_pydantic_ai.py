"""What holds for Pydantic AI alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="run by scripts/frameworks")

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ExternalToolset,
    ModelRetry,
    ToolReturn,
    UnexpectedModelBehavior,
)
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import ToolDefinition

from interpose import Confirm, Deny, FrameworkLimitError, RefusedError, Transform
from interpose.core.types import Allow
from interpose.frameworks.pydantic_ai import METADATA, guard
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding

pytestmark = pytest.mark.filterwarnings("default")


def calling(name: str, **arguments: Any) -> FunctionModel:
    """A model that calls one tool, then is done."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        answered = any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        return ModelResponse([TextPart("done")] if answered else [ToolCallPart(name, arguments, tool_call_id="c1")])

    return FunctionModel(answer)


def returned(result: Any) -> str:
    parts = [part for message in result.all_messages() for part in message.parts]
    return str(next(part.content for part in parts if isinstance(part, ToolReturnPart)))


class Order(BaseModel):
    """Arguments that are an object, once they are validated."""

    command: str


def test_arguments_are_judged_as_plain_data_also_where_they_are_objects() -> None:
    ran: list[Any] = []
    heard = Saying(lambda call: Deny("no") if "rm" in call.arguments["order"]["command"] else Allow())
    for command in ("rm -rf /", "ls"):
        agent = Agent(calling("do", order={"command": command}), capabilities=[guard(engine=engine_of(before=heard))])

        @agent.tool_plain
        def do(order: Order) -> str:
            ran.append(order)
            return "did"

        agent.run_sync("go")
    assert ran == [Order(command="ls")]


def test_changed_arguments_are_made_into_objects_again() -> None:
    ran: list[Any] = []
    change = Saying(lambda call: Transform(call.with_arguments({"order": {"command": "ls"}})))
    agent = Agent(calling("do", order={"command": "rm"}), capabilities=[guard(engine=engine_of(before=change))])

    @agent.tool_plain
    def do(order: Order) -> str:
        ran.append(order)
        return "did"

    agent.run_sync("go")
    assert ran == [Order(command="ls")]


def test_changed_arguments_that_do_not_fit_do_not_run() -> None:
    ran: list[Any] = []
    change = Saying(lambda call: Transform(call.with_arguments({"order": 7})))
    agent = Agent(calling("do", order={"command": "rm"}), capabilities=[guard(engine=engine_of(before=change))])

    @agent.tool_plain
    def do(order: Order) -> str:
        ran.append(order)
        return "did"

    assert "Order" in returned(agent.run_sync("go")), "the model is told, as of any argument that does not fit"
    assert ran == []


class Meddling(AbstractCapability[Any]):
    """Another capability that changes every call."""

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        return {"text": "poison"}


@pytest.mark.parametrize(("note", "ours_first"), [("before ours", False), ("after ours", True)])
def test_what_another_capability_makes_of_a_call_is_judged(note: str, ours_first: bool) -> None:
    ran: list[str] = []
    heard = Saying(lambda call: Deny("poison") if call.arguments["text"] == "poison" else Allow())
    both: list[Any] = [Meddling(), guard(engine=engine_of(before=heard))]
    agent = Agent(calling("take", text="milk"), capabilities=both[::-1] if ours_first else both)

    @agent.tool_plain
    def take(text: str) -> str:
        ran.append(text)
        return "noted"

    assert "poison" in returned(agent.run_sync("go"))
    assert ran == []


def test_a_yes_to_the_models_arguments_is_none_to_others() -> None:
    """The tool's own approval shows what the model wrote. What we changed is asked about again."""
    from interpose import Engine, create_interceptor_registry

    ran: list[str] = []
    registry = create_interceptor_registry()
    change = Saying(lambda call: Transform(call.with_arguments({"text": "safe"})))
    registry.add(id="change", name="tool.before", priority=2, interceptor=change)
    registry.add(id="ask", name="tool.before", priority=1, interceptor=Saying(lambda _call: Confirm("Really?")))
    agent: Any = Agent(
        calling("note", text="milk"), output_type=[str, DeferredToolRequests],
        capabilities=[guard(engine=Engine(registry))],
    )  # fmt: skip

    def note(text: str) -> str:
        ran.append(text)
        return "noted"

    agent.tool_plain(note, requires_approval=True)

    def approved(paused: Any) -> Any:
        results = DeferredToolResults(approvals={"c1": True})
        return agent.run_sync(message_history=paused.all_messages(), deferred_tool_results=results)

    paused = agent.run_sync("go")
    assert METADATA not in paused.output.metadata.get("c1", {})
    again = approved(paused)
    assert again.output.metadata["c1"][METADATA]["arguments"] == {"text": "safe"}
    assert ran == []
    assert approved(again).output == "done"
    assert ran == ["safe"]


def test_what_a_tool_says_when_it_wants_to_be_called_again_is_judged() -> None:
    agent = Agent(calling("note"), retries=0, capabilities=[guard(engine=engine_of(after=Saying(hiding)))])

    @agent.tool_plain
    def note() -> str:
        raise ModelRetry(f"try again with {SECRET}")

    assert HIDDEN in returned(agent.run_sync("go"))


def test_all_that_a_tool_returns_is_judged() -> None:
    agent = Agent(calling("note"), capabilities=[guard(engine=engine_of(after=Saying(hiding)))])

    @agent.tool_plain
    def note() -> ToolReturn:
        return ToolReturn(f"one {SECRET}", content=f"two {SECRET}", metadata=SECRET)

    messages = repr(agent.run_sync("go").all_messages())
    assert SECRET not in messages
    assert messages.count(HIDDEN) == 2


def test_tools_that_run_elsewhere_raise_unless_they_are_accepted() -> None:
    search = NativeTool(WebSearchTool())
    with pytest.raises(FrameworkLimitError, match="web_search"):
        Agent(calling("x"), capabilities=[guard(engine=engine_of()), search]).run_sync("go")
    outside = ExternalToolset([ToolDefinition(name="outside")])
    with pytest.raises(FrameworkLimitError, match="outside"):
        Agent(calling("outside"), toolsets=[outside], capabilities=[guard(engine=engine_of())]).run_sync("go")
    accepting: Any = Agent(
        calling("outside"), toolsets=[outside], output_type=[str, DeferredToolRequests],
        capabilities=[guard(engine=engine_of(), unguarded=["outside"])],
    )  # fmt: skip
    assert accepting.run_sync("go").output.calls


def test_a_refused_message_ends_the_run_also_where_an_object_is_wanted() -> None:
    asked: list[Any] = []

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        asked.append(messages)
        return ModelResponse([TextPart("?")])

    refuse = Saying(lambda _message: Deny("not this"))
    agent = Agent(FunctionModel(answer), output_type=Order, capabilities=[guard(engine=engine_of(message=refuse))])
    with pytest.raises(RefusedError, match="not this"):
        agent.run_sync("go")
    assert asked == []


@dataclass
class Found:
    place: Path


class Kinds(Enum):
    OWN = SECRET


@pytest.mark.parametrize("gave", [Path(SECRET), Found(Path(SECRET)), Kinds.OWN, {"all": {Path(SECRET)}}], ids=str)
def test_what_json_makes_a_text_of_is_judged_as_that_text(gave: Any) -> None:
    agent = Agent(calling("look"), capabilities=[guard(engine=engine_of(after=Saying(hiding)))])
    agent.tool_plain(lambda: gave, name="look")
    said = returned(agent.run_sync("go"))
    assert SECRET not in said
    assert HIDDEN in said


def answering(ran: list[str], says: Any) -> Any:
    """What comes of an answer that goes to a function of the program."""

    def answer(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"query": "milk"}, tool_call_id="c1")])

    def run_query(query: str) -> str:
        """Run a query."""
        ran.append(query)
        return f"found {SECRET}"

    heard = Saying(says)
    engine = engine_of(before=heard, after=Saying(hiding))
    agent = Agent(FunctionModel(answer), output_type=run_query, capabilities=[guard(engine=engine)])
    return heard, agent


def test_a_function_that_is_given_the_answer_is_a_call() -> None:
    ran: list[str] = []
    heard, agent = answering(ran, lambda _call: Allow())
    assert agent.run_sync("go").output == f"found {HIDDEN}"
    assert ran == ["milk"]
    assert (heard.heard[0].name, heard.heard[0].arguments) == ("run_query", {"query": "milk"})


def test_a_function_that_is_given_the_answer_runs_with_what_was_decided_or_not_at_all() -> None:
    ran: list[str] = []
    _, agent = answering(ran, lambda call: Transform(call.with_arguments({"query": "bread"})))
    agent.run_sync("go")
    assert ran == ["bread"]
    _, agent = answering(ran, lambda _call: Deny("not now"))
    with pytest.raises(UnexpectedModelBehavior):
        agent.run_sync("go")
    _, agent = answering(ran, lambda _call: Confirm("really?"))
    with pytest.raises(FrameworkLimitError):
        agent.run_sync("go")
    assert ran == ["bread"]
