"""Completion for bash, from 3.2 on, which macOS has; it needs no package of completions."""

from __future__ import annotations

from interpose.doors.cli.helping.command_tree import TypedValue, VerbCommand

_SCRIPT = r"""# Completion of `interpose` for bash, made by `interpose completion bash`. Pressing TAB starts no program.

_interpose_at() { # What may stand behind a verb: verbs of its own, and options.
    acts='' options=''
    case $1 in
@AT@
    esac
}

_interpose_value() { # How the value of an option is completed. Fails if the option takes none.
    case "$1 $2" in
@VALUES@
    *) return 1 ;;
    esac
}

_interpose_argument() { # The same for the argument at a place.
    case "$1 $2" in
@ARGUMENTS@
    esac
}

_interpose_offer() {
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done
}

_interpose() {
    local cur=${COMP_WORDS[COMP_CWORD]} path='' pending='' rest='' acts options kind='' words='' word at nth=1
    COMPREPLY=()
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ $word == '=' ]]; then
            continue # bash takes --option=value apart
        elif [[ $pending ]]; then
            pending=''
        elif [[ $rest ]]; then
            nth=$((nth + 1))
        elif [[ $word == -- ]]; then
            rest=yes
        elif [[ $word == -* ]]; then
            if _interpose_value "$path" "$word"; then pending=$word; fi
        else
            _interpose_at "$path"
            if [[ " $acts " == *" $word "* ]]; then
                path=${path:+$path }$word
            else
                nth=$((nth + 1))
            fi
        fi
    done
    if [[ $cur == '=' ]]; then cur=''; fi
    kind='' words=''
    _interpose_at "$path"
    if [[ $pending ]]; then
        _interpose_value "$path" "$pending"
    elif [[ ! $rest && $cur == -* ]]; then
        kind=words words=$options
    elif [[ $acts ]]; then
        kind=words words=$acts
    else
        _interpose_argument "$path" "$nth"
        if [[ ! $kind && ! $rest ]]; then kind=words words=$options; fi
    fi
    case $kind in
    words) _interpose_offer < <(compgen -W "$words" -- "$cur") ;;
    file) compopt -o filenames 2>/dev/null; _interpose_offer < <(compgen -f -- "$cur") ;;
    directory) compopt -o filenames 2>/dev/null; _interpose_offer < <(compgen -d -- "$cur") ;;
    user) _interpose_offer < <(compgen -u -- "$cur") ;;
    command) _interpose_offer < <(compgen -c -- "$cur") ;;
    esac
}

complete -F _interpose interpose
"""


def bash_script(tree: VerbCommand) -> str:
    """The script."""
    at: list[str] = []
    values: dict[str, list[str]] = {}
    arguments: dict[str, list[str]] = {}
    for command in tree.walk():
        acts = " ".join(act.path[-1] for act in command.acts)
        flags = " ".join(flag for option in command.options for flag in option.flags)
        at.append(f"    '{command.name}') acts='{acts}' options='{flags}' ;;")
        for option in command.options:
            if option.value is not None:
                how = _how(option.value)
                values.setdefault(how, []).extend(f"'{command.name} {flag}'" for flag in option.flags)
        for place, argument in enumerate(command.arguments, 1):
            value = argument.value
            arguments.setdefault(_how(value), []).append(f"'{command.name} {place}'")
            if value.many:
                later = "kind=file" if value.kind == "command" else _how(value)
                arguments.setdefault(later, []).append(f"'{command.name} '*")
    parts = {"@AT@": "\n".join(at), "@VALUES@": _cases(values), "@ARGUMENTS@": _cases(arguments)}
    script = _SCRIPT
    for mark, text in parts.items():
        script = script.replace(mark, text)
    return script


def _how(value: TypedValue) -> str:
    return f"kind=words words='{' '.join(value.words)}'" if value.words else f"kind={value.kind}"


def _cases(by_how: dict[str, list[str]]) -> str:
    # What holds for any place comes after what holds for one.
    ordered = sorted(by_how.items(), key=lambda item: any(key.endswith("*") for key in item[1]))
    return "\n".join(f"    {' | '.join(keys)}) {how} ;;" for how, keys in ordered)
