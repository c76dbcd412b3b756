"""What people see of a change: every line of it, with nothing hidden."""

from __future__ import annotations

from interpose.record.pins.definitions import canonical, connection_of
from interpose.record.pins.differences import MOST_LINES, difference, lines_of
from interpose.record.pins.hidden_text import spelled_out


def test_a_changed_argument_and_a_hidden_order_are_seen() -> None:
    before = {
        "name": "add",
        "description": "Adds.\nTwo lines.",
        "inputSchema": {"properties": {"a": {"type": "string"}}},
    }
    after = before | {"description": "Adds.\nTwo lines.\u200b\U000e0049", "inputSchema": {"properties": {}}}
    assert difference(canonical(before), canonical(after)) == [
        " description: Adds.",
        "-description| Two lines.",
        "-inputSchema.properties.a.type: string",
        "+description| Two lines.<U+200B ZERO WIDTH SPACE><tag I>",
        "+inputSchema.properties: {}",
    ]


def test_a_changed_command_line_is_seen() -> None:
    before = connection_of(command="npx", args=["-y", "server"], env={"TOKEN": "secret", "PATH": "/bin"})
    after = connection_of(command="npx", args=["-y", "server@2"], env={"TOKEN": "other", "PATH": "/evil"})
    assert difference(before.text, after.text) == [
        '-command: ["npx", "-y", "server"]',
        "-env.PATH: /bin",
        '+command: ["npx", "-y", "server@2"]',
        "+env.PATH: /evil",
        " env.TOKEN: ",
    ]
    assert "secret" not in before.text


def test_nothing_is_hidden_at_the_end_of_a_long_line() -> None:
    lines = lines_of(canonical({"description": "x" * 1000 + "END"}))
    assert lines[-1].endswith("END")
    assert max(map(len, lines)) < 500
    assert len(lines_of(canonical({"a": ["\n" * 5000]}))) <= MOST_LINES + 1


def test_what_is_hidden_is_spelled_out_and_the_rest_stays() -> None:
    assert spelled_out("a\u202eb \u2600\ufe0f \x1b[0m") == "a<U+202E RIGHT-TO-LEFT OVERRIDE>b \u2600\ufe0f <U+001B>[0m"
