"""Completion for zsh: one function for each verb, in the words of its `_arguments`."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.doors.cli.helping.command_tree import Kind, TypedValue, VerbCommand, VerbOption

_HEAD = """#compdef interpose
# Completion of `interpose` for zsh, made by `interpose completion zsh`. Pressing TAB starts no program of ours.
"""

_TAIL = """
if [[ $funcstack[1] == _interpose ]]; then
    _interpose "$@"
else
    compdef _interpose interpose
fi
"""

_ACTIONS: dict[Kind, str] = {
    "": "", "file": "_files", "directory": "_files -/", "user": "_users", "command": "_command_names -e",
}  # fmt: skip


def zsh_script(tree: VerbCommand) -> str:
    """The script. The innermost verbs come first, so that each function is there when it is called."""
    functions = ["\n".join(_function(command)) for command in tree.walk()]
    return "\n".join([_HEAD, *reversed(functions), _TAIL.lstrip("\n")])


def _function(command: VerbCommand) -> Iterator[str]:
    yield f"{_name(command)}() {{"
    specs = [spec for option in command.options for spec in _option(option)]
    if command.acts:
        yield "    local curcontext=$curcontext state line ret=1"
        yield "    local -a acts"
        specs += [_quoted("1: :->act"), _quoted("*:: :->rest")]
        yield from _arguments(specs, "-C -s")
        yield "    case $state in"
        yield "    act)"
        yield "        acts=("
        yield from (f"            {_quoted(f'{act.path[-1]}:{_plain(act.help)}')}" for act in command.acts)
        yield "        )"
        yield "        _describe -t verbs verb acts && ret=0 ;;"
        yield "    rest)"
        yield "        case $words[1] in"
        yield from (f"        {act.path[-1]}) {_name(act)} && ret=0 ;;" for act in command.acts)
        yield "        esac ;;"
        yield "    esac"
        yield "    return ret"
    else:
        for place, argument in enumerate(command.arguments, 1):
            value = argument.value
            if value.kind == "command":
                specs += [_quoted(f"(-){place}:{_plain(value.name)}:{_action(value)}"), _quoted("*::ARG:_normal")]
            elif value.many:
                specs.append(_quoted(f"*:{_plain(value.name)}:{_action(value)}"))
            else:
                optional = ":" if value.optional else ""
                specs.append(_quoted(f"{place}:{optional}{_plain(value.name)}:{_action(value)}"))
        yield from _arguments(specs, "-s -S")
    yield "}"
    yield ""


def _arguments(specs: list[str], how: str) -> Iterator[str]:
    ending = " && ret=0" if "-C" in how else ""
    yield f"    _arguments {how} \\"
    yield " \\\n".join(f"        {spec}" for spec in specs) + ending


def _option(option: VerbOption) -> Iterator[str]:
    others = "" if option.again or len(option.flags) == 1 else f"({' '.join(option.flags)})"
    for flag in option.flags:
        several = "*" if option.again else ""
        told = _bracketed(option.help)
        if option.value is None:
            yield _quoted(f"{others}{several}{flag}[{told}]")
        else:
            between = "=" if flag.startswith("--") else "+"
            value = option.value
            yield _quoted(f"{others}{several}{flag}{between}[{told}]:{_plain(value.name)}:{_action(value)}")


def _action(value: TypedValue) -> str:
    return f"({' '.join(value.words)})" if value.words else _ACTIONS[value.kind]


def _name(command: VerbCommand) -> str:
    return "_interpose" + "".join(f"_{word.replace('-', '_')}" for word in command.path)


def _plain(text: str) -> str:
    return text.replace("\\", "").replace(":", "\\:")


def _bracketed(text: str) -> str:
    return text.replace("\\", "").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
