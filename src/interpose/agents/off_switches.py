"""Everything in a settings file that switches an agent's hooks off: one row for each switch.

How each is known stands in `interpose help agents`, which a test holds against this table.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Level = Literal["managed", "user", "project", "local"]
"""Who writes a file: an administrator, the user, the project, or the user for one project. A cloned repository can
bring those of a project, and those of a user for it just as well."""

OURS = "interpose"
"""The name that our hooks have in hosts that name them."""


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A file that an agent takes settings from. `~` is the user's home; a relative path lies in the project.

    `*` in the last part of a path stands for any letters.
    """

    level: Level
    path: str
    form: Literal["json", "toml"] = "json"
    upwards: bool = False
    """Whether it is read in the directories above, too, up to the root of the repository."""
    moved_by: str = ""
    """The variable that takes the place of `root`, the beginning of the path."""
    root: str = ""
    named_by: str = ""
    """The variable that names another file instead."""


Off = Literal["true", "false", "ours", "not-ours"]
"""Which value switches off: what counts as true; what counts as false; a list that names ours; one without ours."""


class OffSwitch(Struct, frozen=True, kw_only=True):
    """A key that switches hooks off in any of these files."""

    host: str
    key: tuple[str, ...]
    """The way to the value. `*` is any key."""
    off: Off
    means: str
    files: tuple[SettingsFile, ...]
    outlived_in: tuple[Level, ...] = ()
    """The files in which it leaves alone what hooks stand in the host's managed settings."""

    @property
    def spoken_key(self) -> str:
        """The key as people write it."""
        return ".".join(self.key)


_CLAUDE_MANAGED = (
    SettingsFile(level="managed", path="/etc/claude-code/managed-settings.json"),
    SettingsFile(level="managed", path="/etc/claude-code/managed-settings.d/*.json"),
)
_CLAUDE = (
    SettingsFile(level="user", path="~/.claude/settings.json", moved_by="CLAUDE_CONFIG_DIR", root="~/.claude"),
    SettingsFile(level="project", path=".claude/settings.json", upwards=True),
    SettingsFile(level="local", path=".claude/settings.local.json", upwards=True),
)
_GEMINI = (
    SettingsFile(level="managed", path="/etc/gemini-cli/settings.json", named_by="GEMINI_CLI_SYSTEM_SETTINGS_PATH"),
    SettingsFile(
        level="managed", path="/etc/gemini-cli/system-defaults.json", named_by="GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
    ),
    SettingsFile(level="user", path="~/.gemini/settings.json", moved_by="GEMINI_CLI_HOME", root="~"),
    SettingsFile(level="project", path=".gemini/settings.json"),
)
_QWEN = (
    SettingsFile(level="managed", path="/etc/qwen-code/settings.json", named_by="QWEN_CODE_SYSTEM_SETTINGS_PATH"),
    SettingsFile(
        level="managed", path="/etc/qwen-code/system-defaults.json", named_by="QWEN_CODE_SYSTEM_DEFAULTS_PATH"
    ),
    SettingsFile(level="user", path="~/.qwen/settings.json", moved_by="QWEN_HOME", root="~/.qwen"),
    SettingsFile(level="project", path=".qwen/settings.json"),
)
_CODEX = (
    SettingsFile(level="managed", path="/etc/codex/requirements.toml", form="toml"),
    SettingsFile(level="managed", path="/etc/codex/managed_config.toml", form="toml"),
    SettingsFile(level="managed", path="/etc/codex/config.toml", form="toml"),
    SettingsFile(level="user", path="~/.codex/config.toml", form="toml", moved_by="CODEX_HOME", root="~/.codex"),
    SettingsFile(level="user", path="~/.codex/*.config.toml", form="toml", moved_by="CODEX_HOME", root="~/.codex"),
    SettingsFile(level="project", path=".codex/config.toml", form="toml", upwards=True),
)
_CODEX_MANAGED = tuple(file for file in _CODEX if file.path == "/etc/codex/requirements.toml")
_COPILOT = (
    SettingsFile(level="user", path="~/.copilot/settings.json", moved_by="COPILOT_HOME", root="~/.copilot"),
    SettingsFile(level="user", path="~/.copilot/config.json", moved_by="COPILOT_HOME", root="~/.copilot"),
    SettingsFile(level="user", path="~/.copilot/hooks/*.json", moved_by="COPILOT_HOME", root="~/.copilot"),
    SettingsFile(level="project", path=".github/copilot/settings.json", upwards=True),
    SettingsFile(level="local", path=".github/copilot/settings.local.json", upwards=True),
    SettingsFile(level="project", path=".github/hooks/*.json", upwards=True),
)
_OPENCLAW = (SettingsFile(level="user", path="~/.openclaw/openclaw.json"),)
_DROID = (
    SettingsFile(level="user", path="~/.factory/settings.json"),
    SettingsFile(level="project", path=".factory/settings.json", upwards=True),
    SettingsFile(level="local", path=".factory/settings.local.json", upwards=True),
)
_VSCODE = (
    SettingsFile(level="user", path="~/.config/Code/User/settings.json"),
    SettingsFile(level="project", path=".vscode/settings.json"),
)

_BELOW: tuple[Level, ...] = ("user", "project", "local")
_NO_HOOK = "it runs no hook at all"
_NOT_OURS = "it leaves our hook out"
_MANAGED_ONLY = "it runs only hooks of the managed settings, and ours are not among them"

SWITCHES: tuple[OffSwitch, ...] = (
    OffSwitch(host="claude-code", key=("disableAllHooks",), off="true", means=_NO_HOOK, files=_CLAUDE,
              outlived_in=_BELOW),
    OffSwitch(host="claude-code", key=("disableAllHooks",), off="true", means=_NO_HOOK, files=_CLAUDE_MANAGED),
    OffSwitch(host="claude-code", key=("allowManagedHooksOnly",), off="true", means=_MANAGED_ONLY,
              files=_CLAUDE_MANAGED, outlived_in=("managed",)),
    OffSwitch(host="qwen-code", key=("disableAllHooks",), off="true", means=_NO_HOOK, files=_QWEN, outlived_in=_BELOW),
    OffSwitch(host="gemini-cli", key=("hooksConfig", "enabled"), off="false", means=_NO_HOOK, files=_GEMINI,
              outlived_in=_BELOW),
    OffSwitch(host="gemini-cli", key=("hooksConfig", "disabled"), off="ours", means=_NOT_OURS, files=_GEMINI),
    OffSwitch(host="codex", key=("features", "hooks"), off="false", means=_NO_HOOK, files=_CODEX, outlived_in=_BELOW),
    OffSwitch(host="codex", key=("features", "codex_hooks"), off="false", means=_NO_HOOK, files=_CODEX,
              outlived_in=_BELOW),
    OffSwitch(host="codex", key=("hooks", "state", "*", "enabled"), off="false", means="it leaves that hook out",
              files=_CODEX),
    OffSwitch(host="codex", key=("allow_managed_hooks_only",), off="true", means=_MANAGED_ONLY, files=_CODEX_MANAGED,
              outlived_in=("managed",)),
    OffSwitch(host="copilot", key=("disableAllHooks",), off="true", means=_NO_HOOK, files=_COPILOT, outlived_in=_BELOW),
    OffSwitch(host="openclaw", key=("plugins", "enabled"), off="false", means="it loads no plugin", files=_OPENCLAW),
    OffSwitch(host="openclaw", key=("plugins", "entries", OURS, "enabled"), off="false", means=_NOT_OURS,
              files=_OPENCLAW),
    OffSwitch(host="openclaw", key=("plugins", "deny"), off="ours", means=_NOT_OURS, files=_OPENCLAW),
    OffSwitch(host="openclaw", key=("plugins", "allow"), off="not-ours", means=_NOT_OURS, files=_OPENCLAW),
    OffSwitch(host="droid", key=("hooksDisabled",), off="true", means=_NO_HOOK, files=_DROID),
    OffSwitch(host="vscode", key=("chat.useHooks",), off="false", means=_NO_HOOK, files=_VSCODE),
)  # fmt: skip


def is_off(switch: OffSwitch, value: Any) -> bool:
    """Whether this value switches off. What an agent might take for it counts: a word, or a number."""
    match switch.off:
        case "true":
            return value not in (None, False, "false", "False", "", 0, "0")
        case "false":
            return value in (False, "false", "False", 0, "0")
        case "ours":
            return any(OURS in str(each) for each in _list(value))
        case "not-ours":
            return isinstance(value, list) and value != [] and OURS not in value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
