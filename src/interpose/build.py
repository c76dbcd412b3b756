"""The composition root: which interceptors are built in, and the one registry that a process shares.

The only module that knows the concrete classes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interpose.registry import InterceptorRegistry, create_interceptor_registry
from interpose.tools import KNOWN_TOOL_NAMES
from interpose.types import HookPoint

if TYPE_CHECKING:
    from pathlib import Path

    from interpose.ledger import Ledger, LedgerSettings
    from interpose.policy.load import Place
    from interpose.policy.reload import PolicyReload

_lock = threading.Lock()
_global: InterceptorRegistry | None = None


def add_builtin_interceptors(registry: InterceptorRegistry) -> InterceptorRegistry:
    """The interceptors that are on by default. Those of `tool.before` are guards: they see every rewrite."""
    from interpose.guards.command_safety_guard import CommandSafetyGuard
    from interpose.guards.secret_redaction import SecretRedaction
    from interpose.guards.security_audit import SecurityAudit

    registry.add(
        id="builtin:command-safety-guard",
        name=HookPoint.TOOL_BEFORE,
        priority=100,
        tool_matcher=_judging("exec", "process"),
        interceptor=CommandSafetyGuard(),
        guard=True,
    )
    registry.add(
        id="builtin:security-audit",
        name=HookPoint.TOOL_BEFORE,
        priority=99,
        tool_matcher=_judging("read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "web_fetch"),
        interceptor=SecurityAudit(),
        guard=True,
    )
    registry.add(
        id="builtin:secret-redaction",
        name=HookPoint.TOOL_AFTER,
        priority=90,
        on_error="deny",  # a result that could not be searched is withheld
        interceptor=SecretRedaction(),
    )
    return registry


def add_policy(
    registry: InterceptorRegistry, places: Sequence[Place] = (), *, packs: Sequence[str] = ("baseline",)
) -> PolicyReload:
    """The rules of these files and packs, as one interceptor that follows its files (`check`, `watch`).

    Raises PolicyError if they can't be loaded: at the start there is no last good policy to fall back on.
    """
    from interpose.policy.reload import PolicyReload

    return PolicyReload(registry, places, packs=packs)


def add_standard_policy(registry: InterceptorRegistry, cwd: str = "") -> PolicyReload:
    """The rules that hold for an agent that works in `cwd`, as one interceptor that follows its files.

    The organisation's (/etc/interpose/policy), the user's with the packs that are on (~/.config/interpose/policy), and
    the project's (.interpose/policy.yaml), which can only tighten. Raises PolicyError as `add_policy` does.
    """
    from interpose.policy.catalogue import standard_places

    return add_policy(registry, standard_places(cwd), packs=())


def open_ledger(directory: Path, settings: LedgerSettings | None = None) -> Ledger:
    """A ledger over SQLite in this directory. Its `recorder` is what an engine takes, `close` ends it.

    Raises LedgerError or StoreError if the directory can't be used.
    """
    from interpose.ledger import Ledger
    from interpose.store.sqlite import SqliteStore

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return Ledger(directory, SqliteStore(directory / "ledger.db"), settings, owns_store=True)


def _judging(*names: str) -> str:
    """Matches these tools, and those that have no known name: a guard looks at what their names end with."""
    return rf"^(?:{'|'.join(names)})$|^(?!(?:{'|'.join(KNOWN_TOOL_NAMES)})$)"


def initialize_global_interceptors() -> InterceptorRegistry:
    """The process-wide registry; made with the built-in guards on the first call, the same one ever after."""
    global _global  # noqa: PLW0603 - a process-wide registry is what this module is for
    with _lock:
        if _global is None:
            _global = add_builtin_interceptors(create_interceptor_registry())
        return _global


def get_global_interceptor_registry() -> InterceptorRegistry | None:
    """The process-wide registry, or None before it was initialised."""
    return _global


def reset_global_interceptors() -> None:
    """Forget the process-wide registry. For tests."""
    global _global  # noqa: PLW0603 - as above
    with _lock:
        _global = None
