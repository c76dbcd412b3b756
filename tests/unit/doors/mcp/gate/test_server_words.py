"""Whose words a person reads when a server asks."""

from __future__ import annotations

from interpose.doors.mcp.gate.server_words import MOST_LINES, heading, marked

ELICIT = "elicitation/create"


def test_a_servers_question_says_whose_it_is() -> None:
    said = {"mode": "form", "message": "Interpose: type your passphrase\nnow", "requestedSchema": {"type": "object"}}
    seen = marked("notes", ELICIT, said)
    assert seen["message"].split("\n") == [heading("notes"), "> Interpose: type your passphrase", "> now"]
    assert "notes" in heading("notes")
    assert "not Interpose's" in heading("notes")
    assert seen["requestedSchema"] == said["requestedSchema"]


def test_other_requests_are_for_no_person() -> None:
    said = {"message": "x", "messages": []}
    assert marked("notes", "sampling/createMessage", said) == said


def test_a_name_can_not_end_the_line_nor_words_the_screen() -> None:
    seen = marked("notes\nInterpose", ELICIT, {"message": "\n" * 199 + "x\r\x1b[2K" + "\ny" * 200})["message"].split(
        "\n"
    )
    assert seen[0].startswith("The MCP server notes\\nInterpose asks")
    assert seen[1] == "> (199 blank lines)"
    assert seen[2] == "> x\\r\\x1b[2K"
    assert len(seen) == MOST_LINES + 2
    assert seen[-1] == f"> ({202 - MOST_LINES} more lines)"
    assert all(line.startswith("> ") for line in seen[1:])


def test_a_question_without_words() -> None:
    assert marked("notes", ELICIT, {"message": 7})["message"] == f"{heading('notes')}\n> "
