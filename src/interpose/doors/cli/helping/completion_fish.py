"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.doors.cli.helping.command_tree import TypedValue, VerbCommand, VerbOption

_HEAD = """# Completion of `interpose` for fish, made by `interpose completion fish`. Pressing TAB starts no program.

set -g __interpose_verbs @VERBS@

function __interpose_at --description 'Whether the command line has come to this verb'
    set -l words (commandline -opc)
    set -l path
    for word in $words[2..-1]
        string match -q -- '-*' $word; and continue
        contains -- (string join ' ' $path $word) $__interpose_verbs; or break
        set -a path $word
    end
    test "$path" = "$argv[1]"
end

complete -c interpose -f
"""


def fish_script(tree: VerbCommand) -> str:
    """The script."""
    verbs = " ".join(_quoted(command.name) for command in tree.walk() if command.path)
    lines = [line for command in tree.walk() for line in _lines(command)]
    return "\n".join([_HEAD.replace("@VERBS@", verbs), *lines, ""])


def _lines(command: VerbCommand) -> Iterator[str]:
    at = f'complete -c interpose -n "__interpose_at {_quoted(command.name)}"'
    for act in command.acts:
        yield f"{at} -a {act.path[-1]} -d {_quoted(act.help)}"
    for option in command.options:
        yield f"{at}{_flags(option)} -d {_quoted(option.help)}"
    for argument in command.arguments:
        if how := _how(argument.value):
            yield f"{at}{how} -d {_quoted(argument.value.name)}"


def _flags(option: VerbOption) -> str:
    flags = "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags)
    if option.value is None:
        return flags
    return f"{flags}{_how(option.value, required=True)}"


def _how(value: TypedValue, *, required: bool = False) -> str:
    alone = " -x" if required else ""
    match value.kind:
        case "words":
            return f"{alone} -a {_quoted(' '.join(value.words))}"
        case "file":
            return " -r -F" if required else " -F"
        case "directory":
            return f"{alone} -a '(__fish_complete_directories)'"
        case "user":
            return f"{alone} -a '(__fish_complete_users)'"
        case "command":
            return " -F -a '(__fish_complete_command)'"
        case _:
            return alone


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
