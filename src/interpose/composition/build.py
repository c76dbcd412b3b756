"""The composition root: the one door to an engine, and the one engine that a process shares.

The only module that knows the concrete classes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from interpose.core.config.builtins import BUILTINS
from interpose.core.registry import InterceptorRegistry
from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.core.types import Command, Context, Deny, HookPoint, ToolCall, ToolOutcome
from interpose.engine.engine import Engine

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from interpose.composition.governance import GovernedSessions
    from interpose.composition.service.activity import Activity
    from interpose.composition.service.answering import Answering
    from interpose.composition.service.project_engines import ProjectEngines
    from interpose.composition.service.service import RuledEngine, Service
    from interpose.core.config.builtins import Builtin
    from interpose.core.config.settings import Config, InterceptorSettings
    from interpose.core.errors import PolicyError
    from interpose.engine.engine import Confirming, Recorder
    from interpose.engine.flow.status_lines import Verbose
    from interpose.people.approvals.desk import Desk
    from interpose.record.ledger import Ledger, LedgerSettings
    from interpose.record.store.protocols import Store
    from interpose.rules.governance.governing_rules import BypassWord
    from interpose.rules.governance.roles.bypasses import Bypass
    from interpose.rules.governance.sessions.session_keeper import Checked
    from interpose.rules.policy.load import RulePlace
    from interpose.rules.policy.reload import OnRefused, PolicyReload, Rules
    from interpose.rules.policy.startup_memory import Memory

    ServiceParts = tuple[Store, Ledger, Activity, Answering | None]

_lock = threading.Lock()
_global: Engine | None = None


def open_engine(
    config: Config | None = None,
    cwd: str | PathLike[str] = "",
    *,
    confirm: Confirming | None = None,
    recorder: Recorder | None = None,
    verbose: Verbose = "off",
    sinks: Iterable[Callable[[str], object]] = (),
    follow: bool = False,
) -> Engine:
    """THE DOOR: the whole engine, as the server has it: guards, plugins, baseline, your policy and configuration.

    `config` is yours unless another is given (`interpose.load_config`). `cwd` is where calls run whose context doesn't
    say it (default: here); the rules of the project that a call runs in hold for it. It asks through `confirm` and
    records to `recorder`; without them every question is answered no, and nothing is recorded. With `follow`, changed
    rule files are taken over as they change. Where a governance.yaml holds, its sessions are in the store that the
    configuration names, which all processes share. An empty engine is `Engine()`.

    Raises ConfigError, PolicyError or PluginError if any of it can't be loaded. Rules of the project that can't be
    loaded, and a store that governance can't open, make an engine that refuses everything.
    """
    import os

    from interpose.composition.governance import open_session_store

    place, config = os.path.abspath(cwd or "."), _given(config)  # noqa: PTH100 - links stay as they are named
    engines = open_engines(
        config, recorder, confirm=confirm, verbose=verbose, sinks=sinks, follow=follow, cwd=place,
        store=partial(open_session_store, config),
    )  # fmt: skip
    engine = engines.engine(Context(cwd=place))
    engine.elsewhere = engines.engine
    return engine


def open_engines(
    config: Config | None = None,
    recorder: Recorder | None = None,
    *,
    follow: bool = False,
    memory: Memory | None = None,
    rules: Rules | None = None,
    store: Store | Callable[[], Store] | None = None,
    on_refused: OnRefused | None = None,
    bypass_of: BypassWord | None = None,
    halts: Checked | None = None,
    **options: Any,
) -> ProjectEngines[RuledEngine]:
    """The engines behind the door: one for everywhere, and one for each project whose rules tighten it.

    `rules` takes the place of the rules that hold here; `memory` spares the checks of rules that it knows; `store` has
    governed sessions, and which projects' rules sessions are under: not if it is a function that opens it; `on_refused`
    hears of rules that tried to loosen; `bypass_of` knows the operator's word for commands; `halts` are those that a
    server remembers. `options` are those of `Engine`.
    """
    from interpose.composition.service.project_engines import ProjectEngines
    from interpose.composition.service.session_rules import Files, SessionRules
    from interpose.rules.policy.rule_places import PROJECT, governance_files, project_files

    config = _given(config)

    @cache
    def shared() -> GovernedSessions:
        from interpose.composition.governance import GovernedSessions

        return GovernedSessions(store, recorder, bypass_of, halts)

    def ruled(files: Files) -> RuledEngine:
        ruled = _ruled_engine(
            config, recorder, files, follow=follow, memory=memory, rules=rules, options=options, on_refused=on_refused
        )
        if any(not file.endswith(PROJECT) for file in files):
            from interpose.composition.governance import govern

            govern(config, files, ruled.engine, shared())
        return ruled

    def refusing(error: PolicyError) -> Engine:
        registry = _registry(config)
        # Results too: a call that breaks the rules while it runs must not get out what they would have held back.
        for point in (HookPoint.TOOL_BEFORE, HookPoint.TOOL_AFTER, HookPoint.COMMAND_BEFORE):
            registry.add(id=f"interpose:{point}", name=point, priority=1000, interceptor=_Unreadable(error))
        return _engine(config, registry, recorder, options)

    everywhere = partial(governance_files, config.governance.file)
    rules_of_sessions = SessionRules(None if callable(store) else store)
    return ProjectEngines(ruled(()), ruled, refusing, project_files, rules_of_sessions, everywhere)


def open_rules(config: Config | None = None, cwd: str = "", rules: Rules | None = None) -> RuledEngine:
    """The engine of a directory with its rules and governance, for callers that explain them. Raises PolicyError."""
    from interpose.rules.policy.rule_places import PROJECT, governance_files, project_files

    config = _given(config)
    files = (*governance_files(config.governance.file), *project_files(cwd))
    ruled = _ruled_engine(config, None, files, follow=False, memory=None, rules=rules, options={})
    if any(not file.endswith(PROJECT) for file in files):
        from interpose.composition.governance import GovernedSessions, govern

        govern(config, files, ruled.engine, GovernedSessions(None, None))
    return ruled


def open_guards(config: Config | None = None, **options: Any) -> Engine:
    """The engine without any rules: the built-in interceptors and plugins alone, as they are configured."""
    config = _given(config)
    return _engine(config, _registry(config), None, options)


def _given(config: Config | None) -> Config:
    from interpose.core.config.settings import Config

    if config is None:
        return load_config()
    if not isinstance(config, Config):
        raise TypeError(f"config must be what load_config() returns, not {config!r}; rule files go to add_policy()")
    return config


def _hold(config: Config) -> None:
    """Let guards know what is ours on this machine: where the configuration puts it, and where the package lies."""
    import sys
    from pathlib import Path
    from urllib.parse import urlsplit

    from interpose.core.config.places import places_of
    from interpose.effects.paths import environment_places, hold

    places, package = places_of(), Path(__file__).parents[1]
    # A checkout that is worked on is no installed program: who develops Interpose changes it.
    installed = package.parent.name in ("site-packages", "dist-packages")
    sockets = [config.server.socket, config.hooks.socket]
    stored = urlsplit(config.store.url)
    hold(
        private=[
            *map(str, (places.config, places.state, places.runtime)), config.ledger.directory,
            config.approvals.directory, config.approvals.key, config.server.tokens_file, *sockets,
            *(str(Path(socket).with_name("hook.addr")) for socket in sockets if socket),
            *(str(Path(file).expanduser()) for one in config.notifications.channels.values()
              for file in (one.url_file, one.secret_file) if file),
        ],
        kept=[str(package), str(Path(sys.prefix) / "bin" / "interpose")] if installed else (),
        readable=[config.policy.directory, str(places.config / "policy")],
        ports=(config.server.port, config.hooks.port),
        databases=[f"{stored.netloc.rpartition('@')[2]}{stored.path}"] if config.store.url else (),
        environment=environment_places(),
    )  # fmt: skip


def hold_server(addresses: Iterable[str]) -> None:
    """Let guards know that this process is the server, and where it listens: nobody ends it unasked."""
    import os
    from urllib.parse import urlsplit

    from interpose.effects.paths import hold

    ports = [urlsplit(address).port for address in addresses if address.startswith("http")]
    hold(processes=[os.getpid()], ports=[port for port in ports if port])


def load_config() -> Config:
    """The configuration of this user. Raises ConfigError."""
    from interpose.core.config.load import load

    return load().config


def _ruled_engine(
    config: Config,
    recorder: Recorder | None,
    files: Sequence[str],
    *,
    follow: bool,
    memory: Memory | None,
    rules: Rules | None,
    options: dict[str, Any],
    on_refused: OnRefused | None = None,
) -> RuledEngine:
    from interpose.composition.service.service import RuledEngine
    from interpose.rules.policy.reload import PolicyReload, Rules
    from interpose.rules.policy.rule_places import project_places, shared_places

    registry, rules = _registry(config), rules or Rules()
    places = rules.places
    if places is None:
        places = shared_places(config.policy) + project_places(files)
    policy = PolicyReload(
        registry, places, packs=rules.packs, register=rules.register, memory=memory, on_refused=on_refused
    )
    if follow:
        policy.watch()
    return RuledEngine(_engine(config, registry, recorder, options), policy)


def _engine(
    config: Config, registry: InterceptorRegistry, recorder: Recorder | None, options: dict[str, Any]
) -> Engine:
    shells = config.intercept.shell_tool_names
    refuse = config.approvals.ask == "refuse"
    return Engine(registry, recorder=recorder, shell_tools=shells, refuse_questions=refuse, **options)


def _registry(config: Config) -> InterceptorRegistry:
    _hold(config)
    registry = add_builtin_interceptors(InterceptorRegistry(), config.interceptors)
    if config.plugins:
        from interpose.composition.plugins import load_plugins

        load_plugins(registry, config.plugins, config.plugin_settings)
    if config.remote_interceptors:
        from interpose.rules.interceptor_protocol.remote_steps import remote_registrations

        for options in remote_registrations(config.remote_interceptors):
            registry.add(**options)
    return registry


def add_builtin_interceptors(
    registry: InterceptorRegistry, settings: Mapping[str, InterceptorSettings] | None = None
) -> InterceptorRegistry:
    """The built-in interceptors alone, without policy and configuration. `open_engine` has all of them.

    `settings` of a configuration switch them on and off one by one, or change how they are registered.
    """
    given = settings or {}
    for one in BUILTINS:
        wanted = given.get(one.id)
        if one.on if wanted is None else wanted.enabled:
            registry.add(**_registered(one, wanted))
    return registry


def _registered(one: Builtin, wanted: InterceptorSettings | None) -> dict[str, Any]:
    """A built-in interceptor as it is registered. Those of `tool.before` are guards: they see every rewrite."""
    made = getattr(import_module(one.module), one.name)(**one.arguments(wanted))
    options = {
        "id": one.id, "name": one.point, "priority": one.priority, "interceptor": made, "guard": one.guard,
        "tool_matcher": _judging(*one.tools) if one.tools else None,
    }  # fmt: skip
    for name in ("priority", "timeout", "on_error", "mode"):
        if (value := getattr(wanted, name, None)) is not None:
            options[name] = value
    return options


def add_policy(
    registry: InterceptorRegistry | Engine, *files: str | PathLike[str] | RulePlace, packs: Sequence[str] = ()
) -> PolicyReload:
    """The rules of these files and packs beside what the registry, or an engine, has. They follow their files
    (`check`, `watch`).

    A file is the user's own; a `RulePlace` says whose rules it holds. Raises PolicyError if they can't be loaded: at
    the start there is no last good policy to fall back on.
    """
    from os import fspath

    from interpose.core.errors import RegistrationError
    from interpose.rules.policy.interceptor import registrations
    from interpose.rules.policy.load import RulePlace
    from interpose.rules.policy.reload import PolicyReload
    from interpose.rules.policy.rules import POLICY

    into: object = registry.interceptors if isinstance(registry, Engine) else registry
    if not isinstance(into, InterceptorRegistry):
        raise RegistrationError(
            f"rules go into a registry, or into an engine that has one, not into {into!r}: write registry = "
            "create_interceptor_registry(), add_policy(registry, ...), then Engine(registry)"
        )
    registry = into
    places = [file if isinstance(file, RulePlace) else RulePlace(fspath(file)) for file in files]
    # INVARIANT: rules are only added. Under an id that is taken they would take the place of those that hold.
    taken = {entry.id for entry in registry.list()}
    id = next(id for number in count(1) if (id := POLICY if number == 1 else f"{POLICY}-{number}") not in taken)
    return PolicyReload(registry, places, packs=packs, register=partial(registrations, id=id))


def open_ledger(directory: str | PathLike[str], settings: LedgerSettings | None = None, store_url: str = "") -> Ledger:
    """A ledger over SQLite in this directory, or over the PostgreSQL that the url names; its journal is here always.

    Its `recorder` is what an engine takes, `close` ends it. Raises LedgerError or StoreError if the directory or the
    database can't be used.
    """
    from pathlib import Path

    return _ledger_and_store(Path(directory), settings, store_url)[0]


def _ledger_and_store(directory: Path, settings: LedgerSettings | None, store_url: str) -> tuple[Ledger, Store]:
    from interpose.core.errors import DamagedStoreError, StoreError
    from interpose.record.ledger import Ledger, make_directory
    from interpose.record.store import POSTGRES_SCHEMES, open_store

    if store_url and not store_url.startswith(POSTGRES_SCHEMES):
        raise StoreError(f"a store is named by {POSTGRES_SCHEMES[0]}..., or not at all for SQLite in {directory}")
    make_directory(directory)
    try:
        store = open_store(store_url or directory / "ledger.db")
        try:
            return Ledger(directory, store, settings, owns_store=True), store
        except BaseException:
            store.close()
            raise
    except DamagedStoreError as error:
        raise DamagedStoreError(f"{error}. `interpose audit recover` sets it aside and deletes nothing") from error


def open_service(
    config: Config, *, follow: bool = True, memory: Memory | None = None, serving: bool = False
) -> Service:
    """All that a process needs to decide for others. With `follow`, changed rule files are taken over as they change.

    A `memory` spares the checks of rules that it knows. A server is `serving`: it alone has the key of approvals, so it
    alone puts questions, takes answers and honours grants.
    Raises PolicyError, PluginError, LedgerError, ServerError or StoreError if anything of it can't be had.
    """
    from pathlib import Path

    from interpose.composition.service.activity import Activity
    from interpose.composition.service.service import Service

    ledger, store = _ledger_and_store(Path(config.ledger.directory), config.ledger, config.store.url)
    activity = Activity(ledger.recorder)
    try:
        answering: Answering | None = None
        desk: Callable[[], Desk] = partial(_desk, config, store, ledger, None)
        if serving:  # at once: what is wrong with it is said at the start
            from interpose.composition.service.answering import open_answering

            answering = open_answering(config.approvals, store)
            opened = _desk(config, store, ledger, answering)
            desk = lambda: opened  # noqa: E731 - as short as a function gets

        def bypass_of(command: str, session: str) -> Bypass | None:  # the service is there when it is asked for
            return service.bypasses.bypass_of(command, session)

        policies = _compose(config, (store, ledger, activity, answering), bypass_of, follow=follow, memory=memory)
    except BaseException:
        ledger.close()
        raise
    service = Service(
        config, store=store, ledger=ledger, desk=desk, policies=policies, activity=activity, answering=answering
    )
    return service


def _compose(
    config: Config, parts: ServiceParts, bypass_of: BypassWord, *, follow: bool, memory: Memory | None = None
) -> ProjectEngines[RuledEngine]:
    """The engines of a service. Raises PolicyError or PluginError.

    INVARIANT: a start and a reload compose them here, so that neither forgets bypasses, halts or what was refused.
    """
    from interpose.composition.service.loosening import LooseningRecords

    store, ledger, activity, answering = parts
    engines = open_engines(
        config, activity, follow=follow, memory=memory, store=store, bypass_of=bypass_of,
        on_refused=LooseningRecords(ledger.recorder, store), halts=None if answering is None else answering.halts,
    )  # fmt: skip
    if config.remote_interceptors:
        from interpose.rules.interceptor_protocol.remote_steps import prepare_all

        prepare_all(config.remote_interceptors)
    return engines


def record_undecided(config: Config, call: ToolCall, why: str) -> None:
    """Put a call into the ledger that runs although nobody could decide about it.

    Raises LedgerError, StoreError or AuditUnavailableError: then it must not run.
    """
    from pathlib import Path

    from interpose.core.driving import drive
    from interpose.engine.flow.hosted import let_through_undecided

    with open_ledger(Path(config.ledger.directory), config.ledger, config.store.url) as ledger:
        drive(let_through_undecided(ledger.recorder, call, why))


def _desk(config: Config, store: Store, ledger: Ledger, answering: Answering | None) -> Desk:
    from interpose.people.approvals.desk import Desk

    tell = None
    if (hook := config.approvals.webhook).url:
        from interpose.people.approvals.webhook import Webhook

        tell = Webhook(hook.url, headers=hook.headers, secret=hook.secret)
    own: dict[str, Any] = {} if answering is None else answering.of_desk()
    return Desk(
        store, timeout=config.approvals.timeout, key=ledger.keys.digests, on_question=tell,
        on_escalated=None if tell is None else tell.escalated,
        waiters=max(1, config.server.limits.max_connections // 4), **own,
    )  # fmt: skip


def reconfigure(service: Service, config: Config) -> None:
    """Let a service go on under a changed configuration: its interceptors, its rules, its answers, its questions.

    Calls under way end as they began. Where it listens and where it records stay as they are until it is started
    anew. Raises PolicyError or PluginError, and then nothing has changed.
    """
    before, parts = service.policies, (service.store, service.ledger, service.activity, service.answering)
    after = _compose(config, parts, service.bypasses.bypass_of, follow=True)
    after.remember(before)
    service.config, service.policies = config, after
    service.desk = _desk(config, service.store, service.ledger, service.answering)
    before.stop()


class _Unreadable:
    def __init__(self, error: PolicyError) -> None:
        first, *others = error.problems
        more = f" (and {len(others)} more)" if others else ""
        self._deny = Deny(f"The rules of this project can't be loaded: {first}{more}", rule="policy-unreadable")

    def intercept(self, _payload: ToolCall | ToolOutcome | Command) -> Deny:
        return self._deny


def _judging(*names: str) -> str:
    """Matches these tools, and those that have no known name: a guard looks at what their names end with."""
    return rf"^(?:{'|'.join(names)})$|^(?!(?:{'|'.join(KNOWN_TOOL_NAMES)})$)"


def initialize_global_interceptors() -> InterceptorRegistry:
    """The process-wide registry: that of the engine that `open_engine()` opens on the first call, and the same ever
    after. `@guarded` decides by it."""
    return cast("InterceptorRegistry", global_engine().interceptors)


def global_engine() -> Engine:
    """The process-wide engine, opened on the first call."""
    global _global  # noqa: PLW0603 - a process-wide engine is what this is for
    with _lock:
        if _global is None:
            _global = open_engine()
        return _global


def get_global_interceptor_registry() -> InterceptorRegistry | None:
    """The process-wide registry, or None before it was initialised."""
    return None if _global is None else cast("InterceptorRegistry", _global.interceptors)


def reset_global_interceptors() -> None:
    """Forget the process-wide registry. For tests."""
    global _global  # noqa: PLW0603 - as above
    with _lock:
        _global = None
