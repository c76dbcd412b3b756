"""The programs that a call carries, each as a shell text that means the same: a command as it stands, Python as
`python3 -c ...`, SQL as a client's argument, `git_reset(mode="hard")` as `git reset --hard`.

INVARIANT: every reading that is possible is taken, and none takes the place of another. An argument may add a reading
(`language: lua`); it never removes one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, Literal

from msgspec import Struct

from interpose.core.tool_words import word_set, words_of
from interpose.core.tools import environment_of, typed_of
from interpose.core.types import ToolCall, freeze
from interpose.reading.unknown_tools import program_words as told
from interpose.reading.unknown_tools.argument_names import ArgumentName, argument_name
from interpose.reading.unknown_tools.arguments import DEEPEST_JSON, Leaf, json_object, number_text
from interpose.reading.unknown_tools.deed_words import NO_SAFES
from interpose.reading.unknown_tools.tool_names import ToolWords

Counts = Literal["all", "clear", "fatal"]
"""Which effects of a text count: all, also what nobody understands; what is understood; what would be refused."""

MOST_SCRIPTS = 1_000
"""How many texts of one call are read. What has more is a question."""
_MOST_STEPS = 50_000
_MOST_GUESSES = 64
_MOST_OPERANDS = 12
_LONGEST_GUESS, _LONGEST_CODE = 2_000, 32_768
_LANGUAGE_KEYS = frozenset(
    {"language", "lang", "runtime", "kernel", "interpreter", "engine", "shell", "syntax", "dialect"}
)
_ARGUMENT_KEYS = frozenset({"args", "argv", "arguments", "flags", "options", "params", "parameters"})
_LINES = _ARGUMENT_KEYS | {"subcommand", "subcommands", "input"}
_FILLERS = word_set("cli call cmd command tool client")
_WHERE = frozenset({"repo", "repository", "cwd", "workdir", "workspace", "project", "root"})
_INPUTS = frozenset({"input", "text", "content", "data", "payload", "body"})
_SQL_TEXTS = frozenset({"text", "input", "content", "body"})
_HTTP = frozenset({"http", "https", "request", "rest", "api", "webhook", "curl", "call", "fetch", "url", "web"})
_CHANGING = frozenset({"post", "put", "patch", "delete"})
_BODY = frozenset({"body", "data", "payload", "json", "form", "formdata", "content"})
_ONLY_TALKS = word_set("dryrun dry help version simulate whatif noop check explain preview plan")
_TELLS_ABOUT = word_set("description reason explanation summary title justification purpose comment note intent")
"""What an agent says about its command."""
_META = frozenset(
    {"id", "sessionid", "pid", "timeout", "cwd", "name", "title", "description", "session", "window", "pane"}
)


class Script(Struct, frozen=True):
    """A shell text that does what a call would do. What is not `sure` is only possible."""

    text: str
    counts: Counts = "clear"
    sure: bool = True


UNREAD = Script("$WHAT_IS_TOO_LONG_TO_BE_READ_IN_EVERY_LANGUAGE", "all")
"""A command that only shows when it runs. INVARIANT: what is not read is not taken for harmless."""


def scripts(
    tool: ToolWords, arguments: Mapping[str, Any], leaves: tuple[Leaf, ...], said: Mapping[str, str]
) -> tuple[Script, ...]:
    """Every program text in the arguments, in every way in which it may be read. `said` is what a schema says."""
    found: dict[Script, None] = {}
    for script in _scripts(tool, arguments, leaves, said):
        if script.text.strip():
            found[script] = None
        if len(found) > MOST_SCRIPTS:
            break
    return tuple(found)


def _scripts(
    tool: ToolWords, arguments: Mapping[str, Any], leaves: tuple[Leaf, ...], said: Mapping[str, str]
) -> Iterator[Script]:
    yield from _as_whole_program(tool, arguments)
    if tool.own and (tool.own[0] in told.TALKS or tool.own[-1] in told.LOOKS_AT) and told.RUNS.isdisjoint(tool.own):
        return
    shell = is_shell(tool)
    counts: Counts = "all" if shell else "clear"
    program = _program(tool)
    for text in _commands(arguments, said):
        yield Script(text, counts)
        yield from _shebang(text)
        if program and text.split()[:1] != [program]:
            yield Script(f"{program} {text}", sure=False)
    yield from _requests(tool, arguments)
    yield from _code(tool, leaves)
    yield from _sql(tool, leaves)
    if program:
        yield from _as_program(program, tool, leaves)
    yield from _as_plain_program(tool, leaves)
    yield from _by_value(tool, leaves, shell=shell)
    for text in _word_lists(arguments):
        yield Script(text, "clear" if shell else "fatal", sure=False)


def is_shell(tool: ToolWords) -> bool:
    """Whether a name says that the tool runs commands."""
    own = frozenset(tool.own)
    if not own.isdisjoint(told.SHELLS):
        return True
    if not own.isdisjoint(told.BROWSERS) or not told.BROWSERS.isdisjoint(tool.server):
        return False
    if own and own <= told.ALONE:
        return told.DATABASES.keys().isdisjoint(tool.server) and told.PROGRAMS.keys().isdisjoint(tool.server)
    if own.isdisjoint(told.RUNS):
        return False
    return not own.isdisjoint(told.RUN_OBJECTS) or not told.SHELL_SERVERS.isdisjoint(tool.server)


def _program(tool: ToolWords) -> str:
    named = frozenset(tool.server) - told.OF_SERVERS
    for word in (*tool.own, *tool.server):
        everyday = word in told.EVERYDAY_NAMES and word in named and len(named) > 1
        if word in told.PROGRAMS and not everyday and not (word == "vault" and NO_SAFES & tool.all):
            return told.PROGRAMS[word]
    return ""


# Commands


def _commands(arguments: Mapping[str, Any], said: Mapping[str, str]) -> Iterator[str]:
    """Every command among the arguments, at any depth: as it stands, and with the words, the variables and the input
    that stand beside it."""
    for held in _maps(arguments):
        texts: list[str] = []
        words: list[str] = []
        for key, value in held.items():
            name = argument_name(str(key), said.get(str(key), ""))
            if name.plain in _ARGUMENT_KEYS:
                words += _words(value)
                texts += _command_texts(value) if name.plain == "argv" else ()
            elif name.is_command:
                texts += _command_texts(value)
        before, inputs = _around(held) if texts else ("", ())
        for text in texts:
            yield text
            for line in (text, *(f"{text} {given}" for given in words)):
                if before or line is not text:
                    yield f"{before}{line}"
                yield from (f"{before}{{ {line}\n}} <<< {shlex.quote(typed)}" for typed in inputs)


def _word_lists(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Lists that may be the words of a command, alone or behind a program that stands beside them."""
    for held in _maps(arguments):
        programs = [value for value in held.values() if isinstance(value, str) and value.split("/")[-1] in told.HARMFUL]
        for value in held.values():
            if isinstance(value, list | tuple) and value and all(isinstance(word, str) for word in value):
                words = shlex.join(value)
                if value[0].split("/")[-1] in told.HARMFUL:
                    yield words
                yield from (f"{program} {words}" for program in programs)


def _around(held: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The variables that stand beside a command, and each text that it may get on its input."""
    variables = environment_of(ToolCall("exec", freeze(dict(held))))
    typed = (typed_of(ToolCall("exec", freeze({key: value}))) for key, value in held.items())
    return "".join(f"export {shlex.quote(one)}\n" for one in variables), tuple(text for text in typed if text)


def _command_texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple):
        return []
    if all(isinstance(word, str) for word in value):
        # Words of one command, or several commands: which it is, only the tool knows.
        lines = [word for word in value if isinstance(word, str) and " " in word.strip()]
        return [shlex.join(value), *lines]
    return [shlex.join(map(number_text, item)) for item in value if isinstance(item, list | tuple)]


def _words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield shlex.join(map(number_text, value))
    elif isinstance(value, dict):
        yield from (shlex.quote(number_text(item)) for item in value.values() if isinstance(item, str | int))


def _maps(arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    pending: list[tuple[object, int]] = [(arguments, 0)]
    for _ in range(_MOST_STEPS):
        if not pending:
            return
        item, opened = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend((inner, opened) for inner in item.values())
        elif isinstance(item, list | tuple):
            pending.extend((inner, opened) for inner in item)
        elif isinstance(item, str) and opened < DEEPEST_JSON and (inner := json_object(item)) is not None:
            pending.append((inner, opened + 1))


def _shebang(text: str) -> Iterator[Script]:
    if not text.startswith("#!"):
        return
    for word in words_of(text.partition("\n")[0].replace("/", " ")):
        if runner := told.LANGUAGES.get(word.rstrip("0123456789.")):
            yield Script(f"{runner} {shlex.quote(text)}")


# Code


def _code(tool: ToolWords, leaves: tuple[Leaf, ...]) -> Iterator[Script]:
    if tool.has(told.BROWSERS):
        return
    named = _named_languages(tool)
    runs = not told.RUNS.isdisjoint(tool.own)
    if not runs and not named and not told.KEEPS.isdisjoint(tool.own):
        return
    only = bool(tool.own) and all(word in told.LANGUAGES for word in tool.own)
    asked = [
        runner for leaf in leaves if leaf.name.plain in _LANGUAGE_KEYS for runner in _languages(words_of(leaf.text))
    ]
    for leaf in leaves:
        by_key = _languages(leaf.name.words) if leaf.name.is_code else ()
        if not leaf.name.is_code and not ((runs or only) and _may_be_code(leaf, named=bool(named))):
            continue
        if lines := "\n".join(_notebook_commands(leaf.text)):
            yield Script(lines)
        yield from _shebang(leaf.text)
        quoted = shlex.quote(leaf.text)
        for runner in dict.fromkeys((*named, *by_key, *asked)):
            yield Script(f"{runner} {quoted}")
        if not named and len(leaf.text) > _LONGEST_CODE:
            yield UNREAD
        elif not named:
            yield from (Script(f"{runner} {quoted}", sure=False) for runner in told.GUESSED)
            yield Script(leaf.text, "fatal", sure=False)


def _may_be_code(leaf: Leaf, *, named: bool) -> bool:
    """Whether a text may be the program of a tool that runs something, although its name does not say so."""
    if leaf.name.plain in _INPUTS:
        return "(" in leaf.text
    return named and not leaf.name.is_prose and any(sign in leaf.text for sign in "\n(`")


def _named_languages(tool: ToolWords) -> tuple[str, ...]:
    found = _languages((*tool.own, *tool.server))
    joined = "".join(tool.own)
    return (*found, *(told.LANGUAGES[name] for name in told.SPELLED_OUT if name in joined))


def _languages(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(told.LANGUAGES[word] for word in words if word in told.LANGUAGES))


def _notebook_commands(text: str) -> Iterator[str]:
    """What a cell of a notebook gives to a shell: `!command`, `x = !command`, `%%bash`."""
    head, _, rest = text.lstrip().partition("\n")
    if head.startswith("%%") and _languages(words_of(head)) and "bash -c" in _languages(words_of(head)):
        yield rest
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(("!", "%sx ", "%system ", "%%!")):
            yield bare.lstrip("!%").removeprefix("sx ").removeprefix("system ")
        elif "= !" in bare or "=!" in bare:
            yield bare.partition("!")[2]


# SQL


def _sql(tool: ToolWords, leaves: tuple[Leaf, ...]) -> Iterator[Script]:
    clients = tuple(dict.fromkeys(one for word in (*tool.own, *tool.server) for one in told.DATABASES.get(word, ())))
    searches = not told.SEARCHES.isdisjoint(tool.own) or tool.has(told.VECTORS)
    runs = not told.RUNS.isdisjoint(tool.own) or not told.QUERIES.isdisjoint(tool.own)
    runs = runs or all(word in told.DATABASES for word in tool.own)
    for leaf in leaves:
        reads = leaf.name.is_sql or (leaf.name.is_query and not searches and (bool(clients) or runs))
        if not reads and clients and not searches and (not leaf.name.is_prose or leaf.name.plain in _SQL_TEXTS):
            reads = runs or leaf.name.is_command
        if not reads or not _starts_as_sql(leaf.text):
            continue
        for client in clients or told.ANY_DATABASE:
            yield Script(f"{client} {shlex.quote(leaf.text)}", sure=leaf.name.is_sql or bool(clients))


def _starts_as_sql(text: str) -> bool:
    """Whether it may be SQL. A comment or a bracket in front, or a client's own command, is no sign against it."""
    bare = text.lstrip(" \t\r\n;(")
    if bare[:2] in ("--", "/*") or bare[:1] in ("#", "\\", ".", "$"):
        return True
    return "".join(c for c in bare[:12].partition(" ")[0].lower() if c.isalpha()) in told.SQL_STARTS or "\n" in bare


# Requests and programs that tools are named after


def _requests(tool: ToolWords, arguments: Mapping[str, Any]) -> Iterator[Script]:
    """An HTTP request that changes something, as `curl` would make it."""
    by_name = [word for word in tool.own if word in _CHANGING] if tool.has(_HTTP) else []
    for held in _maps(arguments):
        urls: list[str] = []
        methods, body = list(by_name), ""
        for key, value in held.items():
            name = argument_name(str(key))
            if name.plain in _BODY and value:
                body = value if isinstance(value, str) else "..."
                methods += ["post"] if tool.has(_HTTP) else []
            elif isinstance(value, str) and (name.is_url or (value[:4] == "http" and _may_be_metadata(value))):
                urls.append(value)
            elif isinstance(value, str) and name.plain in ("method", "httpmethod", "verb"):
                methods.append(value.lower())
        yield from (Script(f"curl {shlex.quote(url)}") for url in urls if _may_be_metadata(url))
        sent = f" --data-raw {shlex.quote(body[:_LONGEST_GUESS])}" if body else ""
        for method in dict.fromkeys(methods):
            if method in _CHANGING:
                yield from (Script(f"curl -X {method.upper()}{sent} {shlex.quote(url)}") for url in urls)


def _may_be_metadata(url: str) -> bool:
    """Whether an address may be that of a cloud's own service, which hands out credentials: a number, or its name."""
    host = url.lower().partition("//")[2].partition("/")[0]
    return "metadata" in host or (host != "" and not any(c in "ghijklmnopqrstuvwyz" for c in host))


def _as_plain_program(tool: ToolWords, leaves: tuple[Leaf, ...]) -> Iterator[Script]:
    """The call as a call of a program that has no subcommands: `chmod(path="/etc", mode="777")`."""
    given = [leaf.text for leaf in leaves if len(leaf.text) < _LONGEST_GUESS and leaf.text not in ("true", "false")]
    program = next((word for word in tool.own if word in told.PLAIN_PROGRAMS), "ln" if "symlink" in tool.own else "")
    if program and len(given) > _MOST_OPERANDS:
        yield UNREAD
    elif program:
        # INVARIANT: any two are also read without the rest, or one more would make them harmless.
        for words in (given, *permutations(given, 2)):
            yield Script(shlex.join((program, *words)), sure=False)
    if not told.SETS.isdisjoint(tool.own) and not told.VARIABLES.isdisjoint(tool.own) and len(given) <= _MOST_OPERANDS:
        for name, value in permutations(given, 2):  # `set_env(name="LD_PRELOAD", value="/tmp/x.so")`
            if name.isidentifier():
                yield Script(f"export {name}={shlex.quote(value)}", "all", sure=False)
    if not told.INSTALLS.isdisjoint(tool.own) and not told.PACKAGES.isdisjoint(tool.own):
        for installer in told.INSTALLERS:
            yield from (Script(f"{installer} {shlex.quote(word)}", sure=False) for word in given)


def _as_whole_program(tool: ToolWords, arguments: Mapping[str, Any]) -> Iterator[Script]:
    """The words for a program that the tool is named after: `curl(args=["-X", "DELETE", ...])`."""
    programs = [word for word in tool.own if word in told.HARMFUL]
    for held in _maps(arguments) if programs else ():
        for key, value in held.items():
            if argument_name(str(key)).plain in _ARGUMENT_KEYS:
                yield from (Script(f"{program} {line}", sure=False) for program in programs for line in _words(value))


def _as_program(program: str, tool: ToolWords, leaves: tuple[Leaf, ...]) -> Iterator[Script]:
    """The call as a call of the program that the tool is named after: its words, then its arguments as operands, as
    options, and as switches."""
    named = [word for word in tool.own if told.PROGRAMS.get(word) != program and word not in told.RUNS | _FILLERS]
    given = [leaf for leaf in leaves if _WHERE.isdisjoint(leaf.name.words) and len(leaf.text) < _LONGEST_GUESS]
    # INVARIANT: what makes a program only talk (`dry_run`, `--help`) is read alone: it would make the rest harmless.
    plain = [leaf for leaf in given if leaf.text[:1] != "-" and leaf.name.plain not in _ONLY_TALKS]
    head = shlex.join((program, *named))
    operands = [leaf.text for leaf in given if leaf.text not in ("true", "false")]
    told_plainly = [leaf.text for leaf in plain if leaf.text not in ("true", "false")]
    options = [[f"--{'-'.join(leaf.name.words)}", leaf.text] for leaf in plain]
    switches = [
        f"--{leaf.text if leaf.text != 'true' else '-'.join(leaf.name.words)}" for leaf in given if _is_switch(leaf)
    ]
    alone = [*options[:_MOST_GUESSES], *([switch] for switch in switches[:_MOST_GUESSES])]
    for leaf in given:
        if leaf.name.plain in _LINES and " " in leaf.text:  # `args: "s3 rb s3://prod --force"`
            yield Script(f"{head} {leaf.text}", sure=False)
    for words in (operands, told_plainly, [word for option in options for word in option], *alone):
        yield Script(f"{head} {shlex.join(words)}", sure=False)


def _is_switch(leaf: Leaf) -> bool:
    return leaf.text != "false" and leaf.text.replace("-", "").isalpha()


# Texts under names that say nothing


def _by_value(tool: ToolWords, leaves: tuple[Leaf, ...], *, shell: bool) -> Iterator[Script]:
    """A text whose name says nothing. In a shell it may be the command; elsewhere only a catastrophe counts."""
    types = not told.TYPES_IN.isdisjoint(tool.own)
    runs = not told.RUNS.isdisjoint(tool.own) or frozenset(tool.own) <= (told.SHELLS | told.ALONE)
    guesses = 0
    for leaf in leaves:
        if (
            leaf.name.is_command
            or _bare(leaf).is_sql
            or leaf.name.plain in _META
            or not _TELLS_ABOUT.isdisjoint(leaf.name.words[-1:])
            or len(leaf.text) > _LONGEST_GUESS
            or " " not in leaf.text.strip()
        ):
            continue
        if shell and (runs or types):
            yield Script(leaf.text, sure=types)
        elif guesses < _MOST_GUESSES and _may_be_command(leaf, tool, runs=runs):
            guesses += 1
            yield Script(leaf.text, "fatal", sure=False)


def _may_be_command(leaf: Leaf, tool: ToolWords, *, runs: bool) -> bool:
    if told.HARMFUL.isdisjoint(leaf.text[:_LONGEST_GUESS].replace("/", " ").replace(";", " ").split()):
        return False
    if tool.has(told.SCREENS) or (runs and leaf.name.is_content):
        return True
    named = _bare(leaf)
    return not named.is_prose and not named.is_code and not named.is_path


def _bare(leaf: Leaf) -> ArgumentName:
    """What the name alone says. INVARIANT: what a schema says excuses nothing."""
    return argument_name("_".join(leaf.name.words))
