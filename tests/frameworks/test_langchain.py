"""What holds for LangChain and LangGraph alone."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

pytest.importorskip("langchain.agents", reason="run by scripts/frameworks")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.types import Allow
from interpose.frameworks.langchain import guard
from tests.frameworks.drivers.langchain import ScriptedModel
from tests.frameworks.interceptors import HIDDEN, INSTEAD, SECRET, Saying, engine_of, hiding, replacing

THREAD: Any = {"configurable": {"thread_id": "t"}}


def calling(name: str, **arguments: Any) -> ScriptedModel:
    return ScriptedModel(calls=[{"name": name, "args": arguments, "id": "c0", "type": "tool_call"}], given=[])


def played(does: Any, engine: Any, **options: Any) -> list[Any]:
    """The messages of a run in which a model calls this tool."""
    agent: Any = create_agent(calling(does.name), [does], middleware=[guard(engine=engine)], **options)
    return list(agent.invoke({"messages": [HumanMessage("go")]}, THREAD)["messages"])


def told(messages: list[Any]) -> ToolMessage:
    return next(one for one in messages if isinstance(one, ToolMessage))


@tool
def handing_over(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
    """Change the state of the graph."""
    result = ToolMessage(f"I hold {SECRET}", tool_call_id=tool_call_id)
    return Command(update={"messages": [result, HumanMessage(f"and {SECRET}")]})


def test_what_a_command_puts_into_the_state_is_judged() -> None:
    messages = played(handing_over, engine_of(after=Saying(hiding)))
    assert SECRET not in repr(messages)
    assert [one.content for one in messages[2:4]] == [f"I hold {HIDDEN}", f"and {HIDDEN}"]


def test_a_command_that_is_replaced_by_something_else_is_a_message() -> None:
    messages = played(handing_over, engine_of(after=Saying(replacing)))
    assert SECRET not in repr(messages)
    assert told(messages).content == INSTEAD


def test_an_artifact_is_judged_with_its_content() -> None:
    def make() -> tuple[str, dict[str, str]]:
        """Make it."""
        return f"see {SECRET}", {"file": SECRET}

    does = StructuredTool.from_function(make, response_format="content_and_artifact")
    message = told(played(does, engine_of(after=Saying(hiding))))
    assert (message.content, message.artifact) == (f"see {HIDDEN}", {"file": HIDDEN})
    message = told(played(does, engine_of(after=Saying(lambda _outcome: Deny("no")))))
    assert message.artifact is None


def test_a_bare_graph_takes_both_wrappers() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        """Take a note."""
        ran.append(text)
        return "noted"

    behind = guard(engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    node = ToolNode([note], wrap_tool_call=behind.wrap_tool_call, awrap_tool_call=behind.awrap_tool_call)
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    call = {"name": "note", "args": {"text": "milk"}, "id": "c0", "type": "tool_call"}
    messages = graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})["messages"]
    assert ran == []
    assert "not now" in told(messages).content


NOTES = [{"name": "note", "args": {"text": text}, "id": text, "type": "tool_call"} for text in ("milk", "bread")]


def asking_node(ran: list[str]) -> tuple[Any, Any]:
    @tool
    def note(text: str) -> str:
        """Take a note."""
        ran.append(text)
        return "noted"

    behind = guard(engine=engine_of(before=Saying(lambda _call: Confirm("really?"))))
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([note], wrap_tool_call=behind.wrap_tool_call))
    return graph, {"messages": [AIMessage("", tool_calls=NOTES)]}


def test_calls_that_share_a_node_get_no_answer_that_may_be_anothers() -> None:
    """LangGraph gives the answer to whichever of them asks first."""
    ran: list[str] = []
    graph, said = asking_node(ran)
    graph.add_edge(START, "tools")
    ended = graph.compile(checkpointer=InMemorySaver()).invoke(said, THREAD)
    assert "__interrupt__" not in ended
    assert ran == []
    assert "several calls at once" in told(ended["messages"]).content


def test_calls_that_are_sent_to_a_node_one_by_one_are_asked_about() -> None:
    ran: list[str] = []
    graph, said = asking_node(ran)
    graph.add_conditional_edges(START, lambda _state: [Send("tools", [call]) for call in NOTES])
    app = graph.compile(checkpointer=InMemorySaver())
    asked = app.invoke(said, THREAD)["__interrupt__"]
    no, yes = {"type": "reject", "message": "no"}, {"type": "approve"}
    app.invoke(Command(resume={one.id: yes if one.value["args"]["text"] == "bread" else no for one in asked}), THREAD)
    assert ran == ["bread"]


def test_a_tool_of_the_provider_raises_unless_it_is_accepted() -> None:
    search = {"type": "web_search"}
    agent: Any = create_agent(calling("x"), [search], middleware=[guard(engine=engine_of())])
    with pytest.raises(FrameworkLimitError, match="web_search"):
        agent.invoke({"messages": [HumanMessage("go")]})
    model = ScriptedModel(calls=[], given=[])
    agent = create_agent(model, [search], middleware=[guard(engine=engine_of(), unguarded=["web_search"])])
    agent.invoke({"messages": [HumanMessage("go")]})
    assert model.given


@tool
def asking() -> str:
    """Ask a person something."""
    return f"they said {interrupt('What is your name?')}"


def test_a_tool_that_asks_by_itself_still_does() -> None:
    agent: Any = create_agent(
        calling("asking"), [asking], middleware=[guard(engine=engine_of())], checkpointer=InMemorySaver()
    )
    paused = agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
    assert paused["__interrupt__"][0].value == "What is your name?"
    assert told(agent.invoke(Command(resume="Kim"), THREAD)["messages"]).content == "they said Kim"


def test_an_answer_to_the_tools_own_question_is_none_to_ours() -> None:
    """The rules changed while the tool waited: its person's answer is not taken for a yes to the call."""
    asks: list[bool] = []
    engine = engine_of(before=Saying(lambda _call: Confirm("Really?") if asks else Allow()))
    agent: Any = create_agent(
        calling("asking"), [asking], middleware=[guard(engine=engine)], checkpointer=InMemorySaver()
    )
    agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
    asks.append(True)
    with pytest.raises(ValueError, match="type"):
        agent.invoke(Command(resume="yes"), THREAD)


@pytest.mark.parametrize("answer", [True, "approve", {"type": "yes"}, {"type": "edit"}, {"decisions": []}])
def test_an_answer_that_is_none_is_refused_and_the_question_stays(answer: Any) -> None:
    ran: list[str] = []

    @tool
    def note() -> str:
        """Take a note."""
        ran.append("milk")
        return "noted"

    agent: Any = create_agent(
        calling("note"), [note], checkpointer=InMemorySaver(),
        middleware=[guard(engine=engine_of(before=Saying(lambda _call: Confirm("Really?"))))],
    )  # fmt: skip
    agent.invoke({"messages": [HumanMessage("go")]}, THREAD)
    with pytest.raises(ValueError, match="type"):
        agent.invoke(Command(resume=answer), THREAD)
    assert ran == []
    agent.invoke(Command(resume={"type": "approve"}), THREAD)
    assert ran == ["milk"]


def test_without_a_checkpointer_a_question_ends_the_run() -> None:
    ran: list[str] = []

    @tool
    def note() -> str:
        """Take a note."""
        ran.append("milk")
        return "noted"

    engine = engine_of(before=Saying(lambda _call: Confirm("Really?")))
    agent: Any = create_agent(calling("note"), [note], middleware=[guard(engine=engine)])
    assert agent.invoke({"messages": [HumanMessage("go")]})["__interrupt__"]
    assert ran == []


def test_what_a_tool_raises_is_raised_as_without_us() -> None:
    @tool
    def note() -> str:
        """Take a note."""
        raise LookupError("no paper")

    with pytest.raises(LookupError, match="no paper"):
        played(note, engine_of())


def test_only_what_the_user_said_since_the_agent_spoke_is_judged() -> None:
    heard = Saying(lambda _message: Allow())
    agent: Any = create_agent(
        ScriptedModel(calls=[], given=[]), [], middleware=[guard(engine=engine_of(message=heard))],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    for text in ("one", "two"):
        agent.invoke({"messages": [HumanMessage(text)]}, THREAD)
    assert [message.text for message in heard.heard] == ["one", "two"]
