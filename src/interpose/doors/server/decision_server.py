"""The decision server: a service, where it listens, and what the signals mean.

SIGTERM and SIGINT stop it: every request that was accepted is answered, and every record is in the store. SIGHUP
reloads configuration, rules, tokens and certificates; what is wrong with them is said, and the old ones stay.
"""

from __future__ import annotations

import asyncio
import logging
import pwd
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from interpose.composition.build import hold_server, reconfigure
from interpose.composition.observability.telemetry import open_telemetry
from interpose.core.errors import InterposeError, ServerError, text_of
from interpose.doors.http.all_routes import for_people, routes
from interpose.doors.http.metrics import Traffic
from interpose.doors.http.operation_routes import served
from interpose.doors.http_server.listener import Listener, Tcp, Unix, addresses_of, trust_of
from interpose.doors.http_server.listener_state import Answered
from interpose.doors.http_server.messages import Refusal, Request, Response, json_response
from interpose.doors.http_server.trust import Trust
from interpose.doors.known_callers import KnownCallers
from interpose.doors.page import page_api, page_routes, refusal_page
from interpose.doors.page.page_visits import Visits
from interpose.doors.server import question_routes
from interpose.doors.server.grant_watch import watch_grants
from interpose.doors.server.hook_listener import LOOPBACK, HookListener
from interpose.doors.server.ledger_alarm import LedgerAlarm
from interpose.doors.server.refusal_log import Refusals

if TYPE_CHECKING:
    from interpose.composition.service.overview import HeardAgent
    from interpose.composition.service.service import Service
    from interpose.core.config.settings import Config, ServerSettings
    from interpose.doors.mcp.clients.http_serving import ServedGateway

log = logging.getLogger("interpose.server")

_FIXED = (
    "server.host", "server.port", "server.socket", "server.limits", "hooks", "ledger", "store", "telemetry", "logging",
    "approvals.proof", "approvals.key", "approvals.directory", "approvals.passphrase_file", "approvals.operator",
    "approvals.socket", "gateway",
)  # fmt: skip
"""Groups of the configuration that hold from start to stop."""


class Reloaded(Struct, frozen=True):
    """What a reload did. `problems` are why something stayed as it was, `restart` which changes need a new start."""

    changed: bool
    policy: str
    problems: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


class NotReloaded(Reloaded, frozen=True, kw_only=True):
    """The same as an error: something is wrong, and what it is about stayed as it was."""

    error: str = "not_reloaded"
    message: str


class DecisionServer:
    """Serves until it is told to stop."""

    def __init__(self, service: Service, load: Callable[[], Config], *, version: str, on_demand: bool = False) -> None:
        """`load` reads the configuration again; it raises ConfigError.

        A server that a hook started `on_demand` answers hooks only, ends when they don't come any more, and makes room
        for one that a person starts.
        """
        self._service, self._load = service, load
        self._stopping = asyncio.Event()
        self._reloading, self._opening = asyncio.Lock(), asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._version, self._traffic, self._refusals = version, Traffic(), Refusals()
        settings = service.config.server
        reload = served(
            "reload", self._on_reload,
            answer=Reloaded, codes=((409, "not_reloaded"),),
        )  # fmt: skip
        self._gateway = None if on_demand else _gateway_of(service, version)
        visits = Visits(service, lambda: self._listener.trust.tokens)
        of_page = page_api.routes(visits, self._page_address)
        agents = _Agents(service)
        callers, trust = KnownCallers(service), self._trust(settings)
        self._listener = Listener(
            callers.registering(
                (
                    *routes(
                        service,
                        version=version,
                        traffic=self._traffic,
                        more=(reload, *of_page, *(self._gateway.routes() if self._gateway is not None else ())),
                        agents=agents,
                    ),
                    *page_routes.routes(visits, agents),
                )
            ),
            () if on_demand else addresses_of(settings),
            trust,
            settings.limits,
            tls=settings.tls,
            shutdown_timeout=settings.shutdown_timeout,
            observe=self._answered,
            refusal_page=refusal_page.refusal_page,
        )
        # Another user answers here: nothing else is to be had on this socket.
        self._operator = (
            Listener(
                (*for_people(service), *of_page),
                [Unix(service.config.approvals.socket, for_group=True)],
                Trust(users=_uids_of(service.config.approvals.operator)),
                observe=self._answered,
            )
            if service.config.approvals.socket
            else None
        )
        self._traffic.connections = lambda: self._listener.connections
        self._hooks = (
            HookListener(
                service,
                observe=self._answered,
                retire=self.stop if on_demand else None,
                is_busy=lambda: self._listener.connections > 0,
                more=(reload, *for_people(service), *of_page, *question_routes.routes(service)),
                tokens=trust.tokens,
            )
            if service.config.hooks.socket
            else None
        )

    async def serve(
        self, started: Callable[[tuple[str, ...]], object], *, stopping: Callable[[], object] = lambda: None
    ) -> None:
        """Listen until a signal or `stop`. `started` is told the addresses, `stopping` that the end begins."""
        loop, service = asyncio.get_running_loop(), self._service
        telemetry, alarm, grants = None, None, None
        await self._listener.start()
        try:
            telemetry = open_telemetry(service.config.telemetry, service.activity, version=self._version)
            if telemetry is not None:
                self._traffic.telemetry_dropped = partial(getattr, telemetry, "dropped")
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self.stop)
            loop.add_signal_handler(signal.SIGHUP, self._reload_soon)
            if self._operator is not None:
                await self._operator.start()
            if self._hooks is not None:
                await self._hooks.start()
            addresses = self._listener.addresses + (self._hooks.addresses if self._hooks is not None else ())
            log.info("started", extra={"version": self._version, "addresses": " ".join(addresses)})
            hold_server(addresses)
            self._warn_of_openness()
            if self._gateway is not None:
                self._gateway.start()
            service.notifier.start(_looked_at(self._listener.addresses))
            started(addresses)
            alarm = loop.create_task(LedgerAlarm(service.ledger.status).watch())
            grants = loop.create_task(watch_grants(service))
            await self._stopping.wait()
        finally:
            stopping()
            service.events.end()
            service.let_go()  # first: what is waited for holds up the end
            await asyncio.to_thread(service.notifier.stop)
            for task in (alarm, grants):
                if task is not None:
                    task.cancel()
            if self._hooks is not None:
                await self._hooks.stop()
            if self._operator is not None:
                await self._operator.stop()
            if self._gateway is not None:
                self._gateway.hush()
            await self._listener.stop()
            if self._gateway is not None:
                await self._gateway.close()
            if telemetry is not None:
                await asyncio.to_thread(telemetry.close)
            log.info("stopped")

    async def _page_address(self) -> str:
        """Where a browser finds the page. A server that a hook started listens there from now on, until it ends."""
        async with self._opening:
            if not self._listener.web_addresses:
                await self._listen_for_browsers()
        return self._listener.web_addresses[0]

    async def _listen_for_browsers(self) -> None:
        """INVARIANT: other machines reach a server only if a person started it so."""
        try:
            await self._listener.listen_also(Tcp(LOOPBACK, self._service.config.server.port))
        except ServerError as error:
            log.info("the page is at another port: %s", text_of(error))
            try:
                await self._listener.listen_also(Tcp(LOOPBACK))
            except ServerError as error:
                raise Refusal(503, "no_page", text_of(error)) from None
        hold_server(self._listener.addresses + (self._hooks.addresses if self._hooks is not None else ()))

    def _trust(self, settings: ServerSettings) -> Trust:
        trust = trust_of(settings)
        return trust if self._gateway is None else self._gateway.trusting(trust)

    def _warn_of_openness(self) -> None:
        if not self._service.config.server.tls.cert_file and not self._listener.local:
            log.warning("other machines can reach this server without TLS: tokens can be read on their way")
        if self._service.config.server.loopback == "open":
            log.warning(
                "server.loopback is open: every user of this machine can act as any other here, use up grants and bind "
                "sessions to rules of their own; give callers tokens, or let them use the Unix socket"
            )

    def _answered(self, answer: Answered) -> None:
        self._traffic.answered(answer)
        self._refusals.answered(answer)

    def stop(self) -> None:
        """Answer what was accepted, and end."""
        self._stopping.set()

    async def reload(self) -> Reloaded:
        """Take over what has changed, as far as it is right."""
        async with self._reloading:
            service, problems = self._service, []
            before, old = service.policy_status()[0].revision, service.config
            try:
                config = self._load()
                trust = self._trust(config.server)
                self._listener.check_reload(trust, config.server.tls)
                # INVARIANT: everything that can be refused is looked at before the first of it is taken over.
                await asyncio.to_thread(_take_over, service, config)
                await self._listener.reload(trust, config.server.tls)
                if self._hooks is not None:
                    await self._hooks.reload(trust.tokens)
                service.notifier.start()
            except InterposeError as error:
                problems.append(text_of(error))
            status = service.policy_status()[0]
            problems += [str(problem) for problem in status.problems]
            changed = service.config != old or status.revision != before
            done = Reloaded(changed, status.revision, tuple(problems), _needing_restart(old, service.config))
            _tell(done)
            return done

    async def _on_reload(self, _request: Request) -> Response:
        done = await self.reload()
        if not done.problems:
            return json_response(done)
        more = f" (and {len(done.problems) - 1} more)" if len(done.problems) > 1 else ""
        return json_response(NotReloaded(**structs.asdict(done), message=f"{done.problems[0]}{more}"), 409)

    def _reload_soon(self) -> None:
        task = asyncio.get_running_loop().create_task(self.reload())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _gateway_of(service: Service, version: str) -> ServedGateway | None:
    """The MCP gateway, where the configuration has it on this server."""
    settings = service.config.gateway
    if not settings.http.serve or not settings.servers:
        return None
    from interpose.doors.mcp.clients.http_serving import ServedGateway

    return ServedGateway(service, settings.servers, version=version)


def _take_over(service: Service, config: Config) -> None:
    if config == service.config:
        service.reload()
    else:
        reconfigure(service, config)


def _looked_at(addresses: Sequence[str]) -> str:
    """Where a browser of this machine finds the server; empty where none does."""
    own = next((address for address in addresses if address.startswith("http")), "")
    return own.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _needing_restart(old: Config, new: Config) -> tuple[str, ...]:
    return tuple(name for name in _FIXED if _at(old, name) != _at(new, name))


def _at(config: Config, name: str) -> object:
    found: object = config
    for word in name.split("."):
        found = getattr(found, word)
    return found


def _tell(done: Reloaded) -> None:
    for problem in done.problems:
        log.error("reload: kept as it was: %s", problem)
    for name in done.restart:
        log.warning("reload: %s has changed and holds from the next start", name)
    log.info("reload: policy %s%s", done.policy, "" if done.changed else ", nothing has changed")


class _Agents:
    """Which agents were heard of. What looks for them is loaded when somebody wants to know."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._look: Callable[[], Sequence[HeardAgent]] | None = None

    def __call__(self) -> Sequence[HeardAgent]:
        if self._look is None:
            from interpose.doors.server.agents_heard import AgentsHeard

            self._look = AgentsHeard(self._service.store)
        return self._look()


def _uids_of(name: str) -> frozenset[int]:
    try:
        return frozenset({pwd.getpwnam(name).pw_uid})
    except KeyError:
        return frozenset()  # the proof says so to whoever answers
