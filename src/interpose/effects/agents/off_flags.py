"""What switches an agent's hooks off where it is started: options, and its own commands for that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interpose.effects.agents.agent import Agent, OffOption
from interpose.effects.agents.known_agents import BY_NAME
from interpose.effects.agents.switch_reader import switched_off_by


def off_flags_in(host: str, words: Sequence[str]) -> Iterator[tuple[OffOption, str]]:
    """Options among these words that switch the hooks of a host off, and the word in which each begins."""
    agent = BY_NAME[host]
    for at, word in enumerate(words):
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if not equals and at + 1 < len(words):
            value = words[at + 1]
        for option in agent.off_options:
            if name in option.names and _is_off(option, value, agent):
                yield option, word


def is_off_command(host: str, words: Sequence[str]) -> bool:
    """Whether an agent is told to switch its hooks off."""
    plain = [word for word in words if not word.startswith("--")]
    commands = (command.split() for command in BY_NAME[host].off_commands)
    return any(plain[: len(command)] == command for command in commands)


def _is_off(option: OffOption, value: str, agent: Agent) -> bool:
    match option.when:
        case "given":
            return True
        case "any":
            return bool(value)
        case "one-of":
            return value in option.values
        case "other-than":
            return value not in option.values
        case "without":
            return not {part.strip() for part in value.split(",")}.intersection(option.values)
        case "assigns-false":
            key, _, word = value.replace(" ", "").replace('"', "").partition("=")
            return key in option.values and word.lower() in ("false", "0")
        case "settings":
            file = agent.settings_files[0].path.replace("~", "/x", 1)
            return value.lstrip().startswith("{") and switched_off_by(file, value) is not None
