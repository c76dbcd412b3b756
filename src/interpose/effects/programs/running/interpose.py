"""Our own command line: asking and looking is fine, changing what holds or stopping it is not."""

from __future__ import annotations

from itertools import takewhile

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import UNKNOWN, Invocation, Lowering, Word
from interpose.effects.ourselves.command_line import OLD, OwnVerb, spelled_now, verb_of
from interpose.effects.paths import is_running_program
from interpose.effects.programs.shared.options import parse

_VALUES = words(
    "--server --token-file --config --cwd --socket --host --port --tool --arg --output -o --tag --junit --key-file"
)
_INFORM = ("--help", "-h", "--version")
_HARMLESS_INSTALL = words("--cwd --dry-run --json --list --project --user --yes -y")
_MISLEADING = words(
    """
    HOME LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD PATH PYTHONHOME PYTHONPATH PYTHONSTARTUP XDG_CONFIG_HOME XDG_RUNTIME_DIR
    XDG_STATE_HOME DYLD_INSERT_LIBRARIES
    """
)
"""Variables that make our programs read other settings, or other code."""


@command("interpose")
def interpose(inv: Invocation, low: Lowering) -> None:
    """What a verb of ours does. INVARIANT: a verb that is not known to look only is one that changes something."""
    opts = parse(inv.args, values=_VALUES)
    for file in opts.values("--output", "-o"):
        low.write(file)
    for file in opts.values("--token-file", "--key-file"):  # what is read here is sent, or shown
        low.read(file)
    operands = opts.operands
    if not operands:
        return
    verb, rest = _verb_of(inv.args, operands)
    if (verb is None or verb.judged != "runs") and _only_informs(inv.args):
        return
    match verb.judged if verb is not None else "":
        case "runs":
            _state_misled(inv, low)
            low.run(_behind(inv.args, operands[0]), via="interpose run")
        case "serves" if len(inv.args) == 1:
            _state_misled(inv, low)
            _state_elsewhere(inv, low, operands[0])
        case "installs" if all(_is_harmless(word) for word in inv.args):
            _state_misled(inv, low)
            _state_elsewhere(inv, low, operands[0])
        case "tells":
            _state_misled(inv, low)
            low.emit("guard.tamper", "interpose hook", certainty="possible", at=operands[0], ours=True,
                     rule="guard-events", reason="Tells the guard of events as if an agent's host did")  # fmt: skip
        case "looks" | "acts" | "value" if verb is not None and _only_looks(verb, rest):
            pass
        case _:
            named = operands[: len(operands) - len(rest)] or operands[:1]
            at = rest[0] if rest and verb is not None and (verb.for_agents or verb.for_people) else named[-1]
            low.emit("guard.tamper", f"interpose {' '.join(word.text for word in named)}", at=at, wide=True, ours=True,
                     rule="guard-off", reason="Changes, stops or answers for the guard that watches this")  # fmt: skip


def _verb_of(args: tuple[Word, ...], operands: tuple[Word, ...]) -> tuple[OwnVerb | None, tuple[Word, ...]]:
    """The verb as the program finds it, by its first two words, and the operands behind it."""
    together = len(operands) > 1 and args[:2] == operands[:2]
    typed = [word.text for word in operands[: 2 if together else 1]]
    verb = verb_of(spelled_now(typed))
    if verb is None:
        return None, operands[1:]
    return verb, operands[1 if typed[0] in OLD else len(verb.path) :]


def _only_informs(args: tuple[Word, ...]) -> bool:
    """Whether help is all that is asked for. Behind `--`, or what could stand for it, `-h` is the name of a file."""
    before = takewhile(lambda word: word.text != "--" and UNKNOWN not in word.text, args)
    return any(word.text in _INFORM for word in before)


def _only_looks(verb: OwnVerb, rest: tuple[Word, ...]) -> bool:
    """Whether a subcommand changes nothing. One behind a word that we take for it counts as well: that word may be the
    value of an option."""
    if verb.judged == "looks":
        return True
    if verb.judged == "value":  # its subcommand may be a time: any word but the one is taken for it
        return [word.text in verb.for_agents for word in rest] == [True]
    if not rest:
        return True
    return rest[0].text in verb.for_agents and not any(word.text in verb.for_people for word in rest)


def _behind(args: tuple[Word, ...], verb: Word) -> tuple[Word, ...]:
    """The command that `interpose run` runs, after its own options."""
    rest = args[next(index for index, word in enumerate(args) if word is verb) + 1 :]
    return parse(rest, values=("--server", "--timeout"), stop=True).operands


def _is_harmless(word: Word) -> bool:
    return UNKNOWN not in word.text and (word.text[:1] != "-" or word.text.partition("=")[0] in _HARMLESS_INSTALL)


def _state_misled(inv: Invocation, low: Lowering) -> None:
    for name, value in inv.env:
        if name in _MISLEADING or name.startswith("INTERPOSE_"):
            low.emit("guard.tamper", name, at=value, ours=True, rule="own-settings",
                     reason=f"{name} makes the guard's own program read other settings or other code")  # fmt: skip
            return


_PLAIN = words("bash command doas env exec ionice nice nohup setsid sh stdbuf sudo systemd-run time timeout zsh")
"""What starts the same program as the bare name would. Others start one of their own environments."""
_USUAL = ("/usr/bin/interpose", "/usr/local/bin/interpose", "/opt/homebrew/bin/interpose")


def _state_elsewhere(inv: Invocation, low: Lowering, verb: Word) -> None:
    """State it if this is perhaps not the installation that runs: a changed copy would be asked from now on."""
    path = low.path(inv.argv0.text) if "/" in inv.argv0.text else ""
    ours = not path or path in _USUAL or path == f"{low.home}/.local/bin/interpose" or is_running_program(path)
    if not ours or not all(each in _PLAIN for each in low.via):
        low.emit("guard.tamper", f"interpose {verb.text}", certainty="possible", at=verb, ours=True,
                 rule="own-settings",
                 reason="Lets another installation of the guard judge calls from now on")  # fmt: skip
