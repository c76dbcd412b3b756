"""The manual page interpose(1), from the same parsers as everything else, in the plain words of man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap

from interpose.doors.cli.helping.command_tree import VerbArgument, VerbCommand, VerbOption
from interpose.doors.cli.verbs import GROUPS, UNLISTED

_DATE = "2026-11-17"
"""When the page got its form. What it says comes from the verbs of the version that it belongs to."""

_DESCRIPTION = """Interpose stands between AI agents and their tools. Each call of a tool passes guards and rules that
allow it, rewrite it, ask a person about it, or refuse it. Every decision is kept in a record that can be verified."""
_FILES = (
    ("~/.config/interpose/interpose.yaml", "what you set; `interpose config init` begins one"),
    ("~/.config/interpose/policy/", "your rules, and which packs are on"),
    ("~/.local/state/interpose/", "the record, hooks' clients, backups of agents' files, sockets"),
    ("~/Library/Preferences/interpose/, ~/Library/Application Support/interpose/", "the same on macOS"),
    ("/etc/interpose/", "what an organisation sets for everybody on this machine"),
)
_CODES = (
    ("0", "done; `check`: the call is allowed"),
    ("1", "not done, not found or not agreed to; `check`: a person would be asked"),
    ("2", "`check` and `hook`: the call is refused"),
    ("64", "wrong usage"),
    ("65", "some rows on standard input can't be read (`audit redact --jsonl`)"),
    ("69", "the server can't listen there, or its ledger can't be used"),
    ("70", "an error of ours, or a decision that could not be made"),
    ("77", "`run`: the command was refused"),
    ("78", "a configuration or rules that can't be loaded, or a package of an extra that is missing"),
    ("130", "interrupted"),
)
_VARIABLES = (
    ("COLUMNS", "how wide text is wrapped; without it as wide as the terminal, and not at all in a pipe"),
    ("NO_COLOR", "if it is set, nothing is coloured"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "move the files below"),
    ("INTERPOSE_*", "set a key of the configuration: INTERPOSE_SERVER_PORT is server.port"),
)


def manual_page(tree: VerbCommand) -> str:
    """The page, as roff."""
    return "\n".join(_page(tree)) + "\n"


def _page(tree: VerbCommand) -> Iterator[str]:
    yield f'.TH INTERPOSE 1 {_DATE} "Interpose" "User Commands"'
    yield ".SH NAME"
    yield "interpose \\- the layer between AI agents and their tools"
    yield ".SH SYNOPSIS"
    yield "\\fBinterpose\\fR \\fIVERB\\fR [\\fIoptions\\fR]"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(_DESCRIPTION)
    verbs = {command.name: command for command in tree.acts}
    for title, (example, names) in GROUPS.items():
        yield f".SH {_text(title.upper())}"
        yield f"Example: \\fB{_text(example)}\\fR"
        for name in names:
            yield from _verb(verbs[name])
    yield ".SH FOR HOOKS AND SHELLS"
    yield "Example: \\fBinterpose completion bash\\fR"
    for name in UNLISTED:
        yield from _verb(verbs[name])
    yield ".SH OPTIONS"
    for option in tree.options:
        yield from _option(option)
    yield from _table("EXIT STATUS", _CODES)
    yield from _table("ENVIRONMENT", _VARIABLES)
    yield from _table("FILES", _FILES)


def _verb(command: VerbCommand) -> Iterator[str]:
    for each in command.walk():
        if each.acts:
            yield f".SS {_text(f'interpose {each.name}')}"
            yield from _paragraphs(each.help)
        else:
            yield f".SS {_text(_synopsis(each))}"
            yield from _paragraphs(each.help)
        for argument in each.arguments:
            yield from _argument(argument)
        for option in each.options:
            if "--help" not in option.flags:
                yield from _option(option)
        if each.epilog and not each.acts:
            yield ".PP"
            yield from _paragraphs(each.epilog)
    if command.epilog and command.acts:
        yield ".PP"
        yield from _paragraphs(command.epilog)


def _synopsis(command: VerbCommand) -> str:
    words = ["interpose", command.name]
    if len(command.options) > 1:
        words.append("[options]")
    for argument in command.arguments:
        value = argument.value
        word = f"{value.name}..." if value.many else value.name
        words.append(f"-- {word}" if value.kind == "command" else f"[{word}]" if value.optional else word)
    return " ".join(words)


def _option(option: VerbOption) -> Iterator[str]:
    value = option.value
    behind = "" if value is None else f" \\fI{_text(value.name)}\\fR"
    yield ".TP"
    yield ", ".join(f"\\fB{_text(flag)}\\fR{behind}" for flag in option.flags)
    words = f" One of {', '.join(value.words)}." if value is not None and value.closed else ""
    yield from _paragraphs((option.help or "see above") + ("." if words else "") + words)


def _argument(argument: VerbArgument) -> Iterator[str]:
    yield ".TP"
    yield f"\\fI{_text(argument.value.name)}\\fR"
    yield from _paragraphs(argument.help or "see above")


def _table(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, meaning in rows:
        yield ".TP"
        yield f"\\fB{_text(name)}\\fR"
        yield from _paragraphs(meaning)


def _paragraphs(text: str) -> Iterator[str]:
    """Text with its paragraphs; lines that are indented stay as they are."""
    for at, paragraph in enumerate(re.split(r"\n\s*\n", text.strip("\n"))):
        if at:
            yield ".PP"
        if paragraph.startswith(" "):
            yield ".nf"
            yield from (_line(line) for line in paragraph.split("\n"))
            yield ".fi"
        else:
            yield from (_line(line) for line in wrap(" ".join(paragraph.split()), 66, break_long_words=False))


def _line(text: str) -> str:
    """A line of text, which must not begin as a request to roff does."""
    shown = _text(text)
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


def _text(text: str) -> str:
    """Text in which nothing is a command to roff. Dashes are those that one types, and can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha")
    return "".join(letter if letter < "\x7f" else f"\\[u{ord(letter):04X}]" for letter in plain)
