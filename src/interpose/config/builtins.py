"""The built-in interceptors: one table for composition and for configuration. It imports none of them."""

from __future__ import annotations

from msgspec import Struct

from interpose.types import HookPoint


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
    settings: tuple[str, ...] = ()
    """The keys of its configuration that its class takes."""

    @property
    def module(self) -> str:
        """Where its class is."""
        return f"interpose.guards.{self.id.removeprefix('builtin:').replace('-', '_')}"


BUILTINS: tuple[Builtin, ...] = (
    Builtin(
        id="builtin:command-safety-guard", name="CommandSafetyGuard", point=HookPoint.TOOL_BEFORE, priority=100,
        tools=("exec", "process"), on=True, guard=True, settings=("profile",),
    ),
    Builtin(
        id="builtin:security-audit", name="SecurityAudit", point=HookPoint.TOOL_BEFORE, priority=99,
        tools=("read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "web_fetch"), on=True,
        guard=True,
    ),
    Builtin(
        # A result that could not be searched is withheld: its failure means deny, as everybody's does.
        id="builtin:secret-redaction", name="SecretRedaction", point=HookPoint.TOOL_AFTER, priority=90, on=True,
    ),
)  # fmt: skip
