"""The composition root: which interceptors are built in, and the one registry that a process shares.

The only module that knows the concrete classes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from interpose.registry import InterceptorRegistry, create_interceptor_registry
from interpose.tools import KNOWN_TOOL_NAMES
from interpose.types import Deny, HookPoint, ToolCall, ToolOutcome

if TYPE_CHECKING:
    from pathlib import Path

    from interpose.approvals.desk import Desk
    from interpose.approvals.webhook import Webhook
    from interpose.config.model import Config, InterceptorSettings
    from interpose.config.model import Webhook as WebhookSettings
    from interpose.engine import Engine, Recorder
    from interpose.errors import PolicyError
    from interpose.ledger import Ledger, LedgerSettings
    from interpose.policy.load import RulePlace
    from interpose.policy.reload import PolicyReload
    from interpose.policy.startup_memory import Memory
    from interpose.service.project_engines import Policies
    from interpose.service.service import RuledEngine, Service
    from interpose.store.protocols import Store

_lock = threading.Lock()
_global: InterceptorRegistry | None = None


def add_builtin_interceptors(
    registry: InterceptorRegistry, settings: Mapping[str, InterceptorSettings] | None = None
) -> InterceptorRegistry:
    """The interceptors that are on by default. Those of `tool.before` are guards: they see every rewrite.

    `settings` of the configuration switch them off one by one, or change how they are registered.
    """
    from interpose.guards.command_safety_guard import CommandSafetyGuard
    from interpose.guards.secret_redaction import SecretRedaction
    from interpose.guards.security_audit import SecurityAudit

    given = settings or {}
    profile = _set(given, CommandSafetyGuard.id, "profile")
    _add(
        registry,
        given,
        id=CommandSafetyGuard.id,
        name=HookPoint.TOOL_BEFORE,
        priority=100,
        tool_matcher=_judging("exec", "process"),
        interceptor=CommandSafetyGuard(profile=profile) if profile else CommandSafetyGuard(),
        guard=True,
    )
    _add(
        registry,
        given,
        id="builtin:security-audit",
        name=HookPoint.TOOL_BEFORE,
        priority=99,
        tool_matcher=_judging("read", "write", "edit", "apply_patch", "delete", "move", "copy", "grep", "web_fetch"),
        interceptor=SecurityAudit(),
        guard=True,
    )
    _add(
        registry,
        given,
        id="builtin:secret-redaction",
        name=HookPoint.TOOL_AFTER,
        priority=90,
        on_error="deny",  # a result that could not be searched is withheld
        interceptor=SecretRedaction(),
    )
    return registry


def _add(registry: InterceptorRegistry, given: Mapping[str, InterceptorSettings], **options: Any) -> None:
    wanted = given.get(options["id"])
    if wanted is None:
        registry.add(**options)
    elif wanted.enabled:
        for name in ("priority", "timeout", "on_error", "mode"):
            if (value := getattr(wanted, name)) is not None:
                options[name] = value
        registry.add(**options)


def _set(given: Mapping[str, InterceptorSettings], id: str, name: str) -> Any:
    return getattr(given[id], name) if id in given else None


def add_policy(
    registry: InterceptorRegistry, places: Sequence[RulePlace] = (), *, packs: Sequence[str] = ("baseline",)
) -> PolicyReload:
    """The rules of these files and packs, as one interceptor that follows its files (`check`, `watch`).

    Raises PolicyError if they can't be loaded: at the start there is no last good policy to fall back on.
    """
    from interpose.policy.reload import PolicyReload

    return PolicyReload(registry, places, packs=packs)


def add_standard_policy(registry: InterceptorRegistry, cwd: str = "") -> PolicyReload:
    """The rules that hold for an agent that works in `cwd`, as one interceptor that follows its files.

    The organisation's (/etc/interpose/policy), the user's with the packs that are on (~/.config/interpose/policy), and
    the project's (.interpose/policy.yaml), which can only tighten. Raises PolicyError as `add_policy` does, or
    ConfigError.
    """
    from interpose.policy.rule_places import standard_places

    return add_policy(registry, standard_places(cwd), packs=())


def open_ledger(directory: Path, settings: LedgerSettings | None = None, store_url: str = "") -> Ledger:
    """A ledger over SQLite in this directory, or over the PostgreSQL that the url names; its journal is here always.

    Its `recorder` is what an engine takes, `close` ends it. Raises LedgerError or StoreError if the directory or the
    database can't be used.
    """
    return _ledger_and_store(directory, settings, store_url)[0]


def _ledger_and_store(directory: Path, settings: LedgerSettings | None, store_url: str) -> tuple[Ledger, Store]:
    from interpose.errors import StoreError
    from interpose.ledger import Ledger, make_directory
    from interpose.store import POSTGRES_SCHEMES, open_store

    if store_url and not store_url.startswith(POSTGRES_SCHEMES):
        raise StoreError(f"a store is named by {POSTGRES_SCHEMES[0]}..., or not at all for SQLite in {directory}")
    make_directory(directory)
    store = open_store(store_url or directory / "ledger.db")
    try:
        return Ledger(directory, store, settings, owns_store=True), store
    except BaseException:
        store.close()
        raise


def open_service(config: Config, *, follow: bool = True, memory: Memory | None = None) -> Service:
    """All that a process needs to decide for others. With `follow`, changed rule files are taken over as they change.

    A `memory` spares the checks of rules that it knows.
    Raises PolicyError, PluginError, LedgerError or StoreError if anything of it can't be had.
    """
    from pathlib import Path

    from interpose.service.activity import Activity
    from interpose.service.service import Service

    ledger, store = _ledger_and_store(Path(config.ledger.directory), config.ledger, config.store.url)
    activity = Activity(ledger.recorder)
    try:
        desk = _desk(config, store, ledger)
        policies = _policies(config, activity, follow=follow, memory=memory)
    except BaseException:
        ledger.close()
        raise
    return Service(config, store=store, ledger=ledger, desk=desk, policies=policies, activity=activity)


def _desk(config: Config, store: Store, ledger: Ledger) -> Desk:
    from interpose.approvals.desk import Desk

    tell = _webhook(config.approvals.webhook)
    return Desk(
        store, timeout=config.approvals.timeout, key=ledger.keys.digests, on_question=tell,
        waiters=max(1, config.server.limits.max_connections // 4),
    )  # fmt: skip


def _webhook(settings: WebhookSettings) -> Webhook | None:
    if not settings.url:
        return None
    from interpose.approvals.webhook import Webhook

    return Webhook(settings.url, headers=settings.headers, secret=settings.secret)


def reconfigure(service: Service, config: Config) -> None:
    """Let a service go on under a changed configuration: its interceptors, its rules, its answers, its questions.

    Calls under way end as they began. Where it listens and where it records stay as they are until it is started
    anew. Raises PolicyError or PluginError, and then nothing has changed.
    """
    before, after = service.policies, _policies(config, service.activity, follow=True)
    after.remember(before)
    service.config, service.policies = config, after
    service.desk = _desk(config, service.store, service.ledger)
    before.stop()


def _policies(
    config: Config, recorder: Recorder, *, follow: bool, memory: Memory | None = None
) -> Policies[RuledEngine]:
    from interpose.engine import Engine
    from interpose.policy.reload import PolicyReload
    from interpose.policy.rule_places import project_files, project_places, shared_places
    from interpose.service.project_engines import Files, Policies
    from interpose.service.service import RuledEngine

    shared = shared_places(config.policy.directory)

    def ruled(files: Files) -> RuledEngine:
        registry = _registry(config)
        policy = PolicyReload(registry, shared + project_places(files), memory=memory)
        if follow:
            policy.watch()
        return RuledEngine(Engine(registry, recorder=recorder), policy)

    def refusing(error: PolicyError) -> Engine:
        registry = _registry(config)
        # Results too: a call that breaks the rules while it runs must not get out what they would have held back.
        for point in (HookPoint.TOOL_BEFORE, HookPoint.TOOL_AFTER):
            registry.add(id=f"interpose:{point}", name=point, priority=1000, interceptor=_Unreadable(error))
        return Engine(registry, recorder=recorder)

    return Policies(ruled(()), ruled, refusing, project_files)


def _registry(config: Config) -> InterceptorRegistry:
    registry = add_builtin_interceptors(create_interceptor_registry(), config.interceptors)
    if config.plugins:
        from interpose.plugins import load_plugins

        load_plugins(registry, config.plugins)
    return registry


class _Unreadable:
    def __init__(self, error: PolicyError) -> None:
        first, *others = error.problems
        more = f" (and {len(others)} more)" if others else ""
        self._deny = Deny(f"The rules of this project can't be loaded: {first}{more}", rule="policy-unreadable")

    def intercept(self, _payload: ToolCall | ToolOutcome) -> Deny:
        return self._deny


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
