"""What switches an agent's hooks off where it is started: options, and its own commands for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from interpose.agents.off_switches import OURS
from interpose.agents.switch_reader import switched_off_by


class OffFlag(Struct, frozen=True, kw_only=True):
    """An option with which an agent runs no hooks of its user. `shown` is how people write it."""

    host: str
    names: tuple[str, ...]
    shown: str
    off: Callable[[str], bool] | None = None
    """Whether a value switches off. Without it, the option takes none."""
    outlived: bool = False
    """Whether hooks in the host's managed settings run all the same."""


class OffCommand(Struct, frozen=True):
    """A command of an agent that switches hooks off for later. `words` follow its program; `*` is any word."""

    host: str
    words: tuple[str, ...]


def _settings_off(value: str) -> bool:
    return value.lstrip().startswith("{") and switched_off_by("/x/.claude/settings.json", value) is not None


def _without_user(value: str) -> bool:
    return "user" not in [part.strip() for part in value.split(",")]


def _codex_off(value: str) -> bool:
    key, _, word = value.replace(" ", "").replace('"', "").partition("=")
    return key in ("features.hooks", "features.codex_hooks") and word.lower() in ("false", "0")


FLAGS: tuple[OffFlag, ...] = (
    OffFlag(host="claude-code", names=("--bare",), shown="--bare", outlived=True),
    OffFlag(host="claude-code", names=("--safe-mode",), shown="--safe-mode", outlived=True),
    OffFlag(host="claude-code", names=("--settings",), shown="--settings '{\"disableAllHooks\": true}'",
            off=_settings_off, outlived=True),
    OffFlag(host="claude-code", names=("--setting-sources",), shown="--setting-sources, without `user`",
            off=_without_user, outlived=True),
    OffFlag(host="qwen-code", names=("--bare",), shown="--bare"),
    OffFlag(host="qwen-code", names=("--safe-mode",), shown="--safe-mode"),
    OffFlag(host="codex", names=("--disable",), shown="--disable hooks",
            off=lambda value: value in ("hooks", "codex_hooks"), outlived=True),
    OffFlag(host="codex", names=("-c", "--config"), shown="-c features.hooks=false", off=_codex_off, outlived=True),
    OffFlag(host="codex", names=("--ignore-user-config",), shown="--ignore-user-config", outlived=True),
    OffFlag(host="opencode", names=("--pure",), shown="--pure"),
    OffFlag(host="copilot", names=("--config-dir",), shown="--config-dir", off=bool, outlived=True),
    OffFlag(host="openclaw", names=("--profile",), shown="--profile", off=bool),
    OffFlag(host="openclaw", names=("--dev",), shown="--dev"),
    OffFlag(host="kiro", names=("--agent",), shown="--agent, another one", off=lambda value: value != OURS),
)  # fmt: skip

COMMANDS: tuple[OffCommand, ...] = (
    OffCommand("codex", ("features", "disable", "hooks")),
    OffCommand("codex", ("features", "disable", "codex_hooks")),
    OffCommand("claude-code", ("config", "set", "disableAllHooks")),
    OffCommand("claude-code", ("config", "set", "-g", "disableAllHooks")),
    OffCommand("gemini-cli", ("hooks", "disable")),
    OffCommand("gemini-cli", ("hooks", "disable-all")),
    OffCommand("qwen-code", ("hooks", "disable")),
    OffCommand("openclaw", ("plugins", "disable", OURS)),
    OffCommand("openclaw", ("plugins", "uninstall", OURS)),
    OffCommand("openclaw", ("config", "set", "plugins.enabled")),
    OffCommand("openclaw", ("agent", "exec")),
    OffCommand("kiro", ("agent", "set-default")),
)


def off_flags_in(host: str, words: Sequence[str]) -> Iterator[tuple[OffFlag, str]]:
    """Options among these words that switch the hooks of a host off, and the word in which each begins."""
    for at, word in enumerate(words):
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if not equals and at + 1 < len(words):
            value = words[at + 1]
        for flag in FLAGS:
            if flag.host == host and name in flag.names and (flag.off is None or flag.off(value)):
                yield flag, word


def is_off_command(host: str, words: Sequence[str]) -> bool:
    """Whether an agent is told to switch its hooks off."""
    plain = tuple(word for word in words if not word.startswith("--"))
    return any(each.host == host and plain[: len(each.words)] == each.words for each in COMMANDS)
