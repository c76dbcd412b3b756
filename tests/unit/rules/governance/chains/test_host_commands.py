"""Commands that an agent starts through a tool, however its host calls the tool and its arguments."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.chains.host_commands import commands_in

CASES: list[tuple[str, str, dict[str, Any], list[tuple[str, str]]]] = [
    ("Claude Code's skill", "Skill", {"skill": "review", "args": "12"}, [("review", "12")]),
    ("with a slash", "Skill", {"skill": "/review"}, [("review", "")]),
    ("an older Claude Code's command", "SlashCommand", {"command": "/review 12 now"}, [("review", "12 now")]),
    ("OpenCode's skill", "skill", {"name": "review"}, [("review", "")]),
    ("Gemini CLI's skill", "activate_skill", {"name": "review"}, [("review", "")]),
    ("in other letters", "SKILL", {"Skill": "review"}, [("review", "")]),
    ("in a wrapper", "tool_call", {"name": "Skill", "arguments": {"skill": "review"}}, [("review", "")]),
    ("arguments as a list", "Skill", {"skill": "review", "args": ["12", 3]}, [("review", '["12",3]')]),
    ("which of two is meant is not ours to guess", "Skill", {"skill": "a", "name": "b"}, [("a", ""), ("b", "")]),
    ("nor which spelling", "Skill", {"skill": "a", "Skill": "b"}, [("a", ""), ("b", "")]),
    ("nor which arguments", "Skill", {"skill": "a", "args": "1", "Args": "2"}, [("a", "1 2")]),
    ("a tab before its arguments", "Skill", {"skill": "review\t12"}, [("review", "12")]),
    ("blanks behind the slash", "Skill", {"skill": "/\t\xa0review\n12"}, [("review", "12")]),
    ("a sign that hosts take away", "Skill", {"skill": "\ufeff/review"}, [("review", "")]),
    ("nothing that is named", "Skill", {"skill": ""}, []),
    ("no text", "Skill", {"skill": 5}, []),
    ("no arguments", "Skill", {}, []),
    ("another tool", "Bash", {"command": "/review 12"}, []),
    ("a tool whose name ends alike", "my_skill_list", {"name": "review"}, []),
]


@pytest.mark.parametrize(("note", "tool", "arguments", "want"), CASES, ids=[case[0] for case in CASES])
def test_commands(note: str, tool: str, arguments: dict[str, Any], want: list[tuple[str, str]]) -> None:
    call = canonical(ToolCall(tool, arguments, context=Context(session_id="s")))
    found = commands_in(call)
    assert [(command.name, command.arguments) for command in found] == want, note
    assert all(command.context.session_id == "s" for command in found)
