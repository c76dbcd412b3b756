"""The built-in interceptors: one table for composition and for configuration. It imports none of them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from interpose.core.types import EMPTY, FrozenDict, HookPoint


class Builtin(Struct, frozen=True, kw_only=True):
    """One built-in interceptor. Its id, its file in guards/ and its key in the configuration are the same name."""

    id: str
    name: str
    """The class, in the module of the id's name."""
    point: HookPoint
    priority: int
    tools: tuple[str, ...] = ()
    """The tools it judges, and those that have no known name. None: whatever there is."""
    on: bool = False
    """Whether it is on if nobody says anything."""
    guard: bool = False
    """Whether it sees the payload again when somebody below rewrites it."""
    settings: FrozenDict = EMPTY
    """The keys of the configuration that are its own, and what its class calls each of them."""
    needs: tuple[str, ...] = ()
    """One of these keys has to be set while it is on."""

    @property
    def module(self) -> str:
        """Where its class is."""
        return f"interpose.rules.guards.{self.id.removeprefix('builtin:').replace('-', '_')}"

    def arguments(self, wanted: object) -> dict[str, Any]:
        """What its class is made with, of its settings. Raises ValueError if a setting that it can't do without is
        missing."""
        found = {key: value for key in self.settings if (value := getattr(wanted, key, None)) is not None}
        if self.needs and not any(found.get(key) for key in self.needs):
            raise ValueError(f"interceptors.{self.id} is on and needs {' or '.join(f'`{key}`' for key in self.needs)}")
        return {self.settings[key]: value for key, value in found.items()}


BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        id="builtin:command-safety-guard", name="CommandSafetyGuard", point=HookPoint.TOOL_BEFORE, priority=100,
        tools=(
            "exec", "process", "sql", "browser", "canvas", "cron", "gateway", "nodes", "message", "web_fetch",
            "web_search",
        ), on=True, guard=True, settings=FrozenDict(profile="profile"),
    ),
    Builtin(
        id="builtin:security-audit", name="SecurityAudit", point=HookPoint.TOOL_BEFORE, priority=99,
        tools=("read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "web_fetch", "sql", "image",
               "browser", "exec"),
        on=True, guard=True,
    ),
    Builtin(
        id="builtin:input-limits", name="InputLimits", point=HookPoint.TOOL_BEFORE, priority=95, guard=True,
        settings=FrozenDict(max_bytes="max_bytes"), needs=("max_bytes",),
    ),
    Builtin(
        id="builtin:file-security", name="FileSecurity", point=HookPoint.TOOL_BEFORE, priority=91,
        tools=("write", "edit", "apply_patch", "delete", "move", "copy"), guard=True,
        settings=FrozenDict(directories="blocked_paths"), needs=("directories",),
    ),
    Builtin(
        id="builtin:path-sandbox", name="PathSandbox", point=HookPoint.TOOL_BEFORE, priority=90,
        tools=(
            "read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "list", "glob", "exec", "process",
        ), guard=True,
        settings=FrozenDict(directories="allowed_paths", include_commands="include_commands"), needs=("directories",),
    ),
    Builtin(
        id="builtin:conditional-permission", name="ConditionalPermission", point=HookPoint.TOOL_BEFORE, priority=80,
        guard=True, settings=FrozenDict(patterns="patterns", fields="fields", effects="effects"),
        needs=("patterns", "effects"),
    ),
    Builtin(
        # Below 0: it sees every call, also those that were refused, as they would really run.
        id="builtin:audit-log", name="AuditLog", point=HookPoint.TOOL_BEFORE, priority=-10,
        settings=FrozenDict(level="level"),
    ),
    Builtin(id="builtin:metrics", name="Metrics", point=HookPoint.TOOL_BEFORE, priority=-20),
    Builtin(
        # Tools of strangers. Above the search for secrets: hidden letters in the middle of one would hide it, too.
        id="builtin:hidden-text", name="HiddenText", point=HookPoint.TOOL_AFTER, priority=95, on=True,
        tools=("web_fetch", "web_search", "browser"),
    ),
    Builtin(
        # A result that could not be searched is withheld: its failure means deny, as everybody's does.
        id="builtin:secret-redaction", name="SecretRedaction", point=HookPoint.TOOL_AFTER, priority=90, on=True,
    ),
)  # fmt: skip


def owners(key: str) -> tuple[str, ...]:
    """The interceptors that have a setting of this name; none for one that every interceptor has."""
    return tuple(one.id for one in BUILTINS if key in one.settings)
