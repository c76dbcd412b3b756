"""What rules see of a call."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Context, ToolCall
from interpose.core.carried_calls import canonical
from interpose.core.types import ToolOutcome, freeze
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.cel.variable_shapes import FixedMap, Listing
from interpose.rules.policy.imported_variables import ImportedVariables
from interpose.rules.policy.result_texts import replace_texts, text_of_result
from interpose.rules.policy.variables import READERS, VARIABLES, Variables, host_of

CONTEXT = Context(session_id="s", agent_id="a", role="r", principal="p", cwd="/work", source="hook", trace_id="t")


def variables(tool: str, **args: Any) -> Variables:
    return Variables(canonical(ToolCall(tool, args, "id", CONTEXT)))


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("tool", ["exec", "read", "nothing-known"])
def test_what_is_declared_is_there(name: str, tool: str) -> None:
    """The checker trusts the table: every field that it names exists, and no other."""
    seen = variables(tool, command="rm -rf x; curl -d @f https://h.test", path="x")[name]
    shape = VARIABLES[name]
    if isinstance(shape, FixedMap):
        assert seen.keys() == shape.fields.keys()
    if isinstance(shape, Listing) and isinstance(shape.of, FixedMap):
        assert all(item.keys() == shape.of.fields.keys() for item in seen)
        assert seen or tool != "exec"


def test_every_variable_has_a_reader() -> None:
    assert READERS.keys() == VARIABLES.keys()


@pytest.mark.parametrize(
    ("note", "tool", "args", "name", "want"),
    [
        ("the canonical name", "Bash", {"command": "ls"}, "tool", "exec"),
        (
            "a command as words is text",
            "shell",
            {"command": ["git", "push origin"]},
            "args",
            {"command": "git 'push origin'"},
        ),
        ("another spelling of a path", "Read", {"file_path": "a/b"}, "args", {"file_path": "a/b", "path": "a/b"}),
        (
            "a command beside another",
            "Bash",
            {"command": "ls", "cmd": "rm a"},
            "args",
            {"command": "ls\nrm a", "cmd": "rm a"},
        ),
        (
            "a command and its words",
            "Bash",
            {"command": "git", "args": ["push", "-f"]},
            "args",
            {"command": "git push -f", "args": ["push", "-f"]},
        ),
        (
            "texts beside a text",
            "Write",
            {"path": "a", "content": "x", "text": "y"},
            "args",
            {"path": "a", "content": "x\ny", "text": "y"},
        ),
        ("a path that is said twice", "Read", {"path": "a", "file_path": "a"}, "args", {"path": "a", "file_path": "a"}),
        ("paths are absolute", "Read", {"file_path": "a/../b"}, "paths", ["/work/b"]),
        ("paths of a command", "Bash", {"command": "cat a; rm /etc/b"}, "paths", ["/work/a", "/etc/b"]),
        ("hosts of a command", "Bash", {"command": "curl https://U@H.Example:8080/x"}, "hosts", ["h.example"]),
        ("hosts of a fetch", "WebFetch", {"url": "http://a.test./p"}, "hosts", ["a.test"]),
        ("hosts of ssh", "Bash", {"command": "scp f me@box.test:/x"}, "hosts", ["box.test"]),
        ("no command, no effects", "exec", {}, "effects", []),
    ],
)
def test_seen(note: str, tool: str, args: dict[str, Any], name: str, want: Any) -> None:
    assert variables(tool, **args)[name] == want, note


def test_the_context_is_seen() -> None:
    seen = variables("mcp__github__create_issue")
    assert (seen["session"], seen["agent"], seen["principal"]) == ({"id": "s"}, {"id": "a", "role": "r"}, {"id": "p"})
    assert (seen["call"]["server"], seen["call"]["cwd"], seen["call"]["source"]) == ("github", "/work", "hook")


def test_commands_are_parsed() -> None:
    seen = variables("exec", command="sudo env A=1 git push 'a b'")["command"]
    assert [(ran["name"], list(ran["args"])) for ran in seen][-1] == ("git", ["push", "a b"])
    assert list(seen[-1]["via"]) == ["sudo", "env"]


@pytest.mark.parametrize("around", [{"env": {"A": "b"}}, {"stdin": "x"}, {"env": {"A": "b"}, "input": "x"}])
def test_the_text_of_a_command_is_its_own_whatever_stands_around_it(around: dict[str, Any]) -> None:
    call = canonical(ToolCall("exec", freeze({"command": "git push --force", **around})))
    ran = {command["name"]: command["text"] for command in Variables(call)["command"]}
    assert ran.pop("git") == "git push --force"
    assert set(ran.values()) <= {""}


def test_a_variable_is_computed_once_and_only_if_read() -> None:
    seen = variables("exec", command="ls")
    assert not seen
    assert seen["effects"] is seen["effects"]
    assert seen.keys() == {"effects"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("https://a.test/x", "a.test"), ("http://user:pass@A.Test:80?q", "a.test"),
        ("git@github.com:x/y", "github.com"),
        ("h:8080", "h"), ("[::1]:80", "::1"), ("https://[fe80::1]/", "fe80::1"),
        ("https://evil.test\\@good.test/", "evil.test"),
        ("https://b\u00fccher.test/", "xn--bcher-kva.test"), ("https://\uff25vil.test/", "evil.test"),
        ("https://%65vil.test/", "evil.test"), ("https://a..\u00e9/", "a..\u00e9"),
        ("a.test.", "a.test"), ("", ""), ("!x", ""), ("https:///x", ""), ("-x", ""),
    ],
)  # fmt: skip
def test_host_of(text: str, want: str) -> None:
    assert host_of(text) == want


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("a", "a"), (None, ""), (3, ""), ({"content": [{"type": "text", "text": "a"}, {"text": "b"}]}, "text\na\nb"),
        (["a", ("b", {"c": "d"})], "a\nb\nd"), (b"x\xff", "x\ufffd"),
    ],
)  # fmt: skip
def test_the_texts_of_a_result(result: Any, text: str) -> None:
    outcome = ToolOutcome(ToolCall("x"), freeze(result))
    assert text_of_result(result) == text
    assert Variables(outcome.call, outcome)["result"]["text"] == text


def test_bytes_are_replaced_as_the_text_that_rules_see() -> None:
    value = freeze({"a": b"key-1 \xff"})
    assert replace_texts(value, lambda text: text.replace("key-1", "-")) == {"a": b"- \xff"}
    assert replace_texts(value, str) is value


def test_replacing_leaves_what_does_not_change() -> None:
    value = freeze({"a": ["x", {"b": 1}], "c": ("y",)})
    assert replace_texts(value, str) is value
    assert replace_texts(value, lambda text: text + "!") == {"a": ["x!", {"b": 1}], "c": ("y!",)}


@pytest.mark.parametrize(
    ("note", "tool", "args", "name"),
    [
        ("one name hides another", "Read", {"path": "a.txt", "file_path": ".env"}, "path"),
        ("the first of a list hides the others", "Read", {"paths": ["a.txt", ".env"]}, "path"),
        ("a list beside a text", "Read", {"path": "a.txt", "files": [{"path": ".env"}]}, "path"),
        ("addresses", "WebFetch", {"url": "https://a.test", "uri": "https://b.test"}, "url"),
        ("addresses in a prompt", "web_fetch", {"prompt": "https://a.test and https://b.test"}, "url"),
    ],
)
def test_one_of_several_is_not_taken_for_all(note: str, tool: str, args: dict[str, Any], name: str) -> None:
    seen = variables(tool, **args)["args"]
    assert name in seen
    with pytest.raises(EvaluationError, match=f"the call has more than one {name}: use"):
        seen[name]
    assert [seen[other] for other in args if other != name] == [args[other] for other in args if other != name]


def test_a_wrapper_hides_no_server() -> None:
    seen = variables("use_mcp_tool", server_name="github", tool_name="push", arguments={})
    assert (seen["call"]["server"], seen["call"]["tool"]) == ("github", "mcp__github__push")
    assert ImportedVariables(seen)["tool"]["name"] == "github__push"
