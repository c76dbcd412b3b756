"""Everything that can be set, its default and what it means. The JSON Schema and the docs are made from this.

`load()` of config/load.py makes a Config: it fills in `{config}`, `{state}` and `{runtime}` (config/places.py), so that
whoever is handed one finds absolute paths. An empty path means: none.

Annotations are no texts here, as they are elsewhere: evaluating them took five times as long as the rest of loading.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from interpose.core.config.builtins import BUILTINS
from interpose.core.config.gateway import GatewayDecisions
from interpose.core.config.ledger import LedgerSettings
from interpose.core.config.notifications import NotificationSettings
from interpose.core.config.proxy import ProxySettings
from interpose.core.config.remote_interceptors import RemoteInterceptorProgram, wrong_names
from interpose.core.tools import TOOL_ALIASES
from interpose.core.types import EMPTY, EffectKind, FrozenDict, Mode, OnError, freeze

Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
HostSeconds = dict[str, Annotated[float, Meta(ge=0, le=3600)]]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Text = Annotated[str, Meta(min_length=1)]
Texts = tuple[Text, ...]
PublicKey = Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]{43}=$(?!\n)")]
Pattern = Annotated[str, Meta(pattern=r"\S", max_length=80)]

# Secret, since a password or a key may stand in an address. `(?!\n)`: `$` alone would take the end of a line, too.
HttpAddress = Annotated[
    str,
    Meta(
        pattern=r"^(https?://[^\s]+)?$(?!\n)",
        extra={"secret": True, "form": "an address that starts with http:// or https://"},
    ),
]
DatabaseAddress = Annotated[
    str,
    Meta(
        pattern=r"^(postgres(ql)?://[^\s]+)?$(?!\n)",
        extra={"secret": True, "form": "an address that starts with postgresql://"},
    ),
]


class ServerLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may cost."""

    max_body_bytes: Annotated[int, Meta(ge=1024, le=1 << 30, description="largest body of a request")] = 4 << 20
    max_header_bytes: Annotated[int, Meta(ge=1024, le=1 << 20, description="largest head of a request")] = 32768
    header_timeout: Annotated[Seconds, Meta(description="seconds until the head of a request must be there")] = 10.0
    body_timeout: Annotated[Seconds, Meta(description="seconds until the body of a request must be there")] = 10.0
    idle_timeout: Annotated[Seconds, Meta(description="seconds that a connection may be idle")] = 75.0
    max_connections: Annotated[Count, Meta(description="connections at the same time")] = 2000
    anonymous_per_second: Annotated[
        Count, Meta(description="requests a second of callers without a token, all together")
    ] = 20
    anonymous_at_once: Annotated[Count, Meta(description="requests of callers without a token at the same time")] = 32


class TlsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Certificates. `client_ca_file` makes every client show a certificate of that authority."""

    cert_file: Annotated[str, Meta(description="the server's certificate chain (PEM)", extra={"path": True})] = ""
    key_file: Annotated[str, Meta(description="the key of the certificate (PEM)", extra={"path": True})] = ""
    client_ca_file: Annotated[
        str, Meta(description="clients need a certificate of this authority (PEM)", extra={"path": True})
    ] = ""

    def __post_init__(self) -> None:
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("server.tls: cert_file and key_file are needed together")
        if self.client_ca_file and not self.cert_file:
            raise ValueError("server.tls: client_ca_file needs cert_file and key_file")


class ServerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the decision server listens, and whom it lets in."""

    host: Annotated[Text, Meta(description="address to listen on; one that is not loopback needs tokens or mTLS")] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Meta(description="port to listen on; 0 takes any free one")] = 8080
    socket: Annotated[str, Meta(description="Unix socket, readable by its owner only", extra={"path": True})] = (
        "{runtime}/api.sock"
    )
    loopback: Annotated[
        Literal["anonymous", "open", "closed"],
        Meta(
            description="what callers of this machine get over TCP without a token. `anonymous`: verdicts and nothing "
            "else; `open`: sessions, grants, project rules and the principal that they claim, so that every user of "
            "this machine can act as any other; `closed`: nothing"
        ),
    ] = "anonymous"
    allowed_hosts: Annotated[
        Texts, Meta(description="values of the `Host` header that are accepted besides loopback names")
    ] = ()
    allowed_origins: Annotated[
        Texts, Meta(description="values of the `Origin` header that are accepted besides our own")
    ] = ()
    trusted_proxies: Annotated[
        Texts, Meta(description="addresses or networks whose `X-Forwarded-For` is believed")
    ] = ()
    public_url: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[A-Za-z0-9._\[\]:-]+)?$(?!\n)",
            description="address under which other machines reach this server, such as https://interpose.example: "
            "links in notifications begin with it; its host and origin are accepted",
            extra={"form": "an address such as https://interpose.example:8443, without a path"},
        ),
    ] = ""
    tokens_file: Annotated[str, Meta(description="names, roles and tokens of callers", extra={"path": True})] = (
        "{config}/tokens"
    )
    tls: TlsSettings = TlsSettings()
    limits: ServerLimits = ServerLimits()
    shutdown_timeout: Annotated[Seconds, Meta(description="seconds for accepted requests to end at a stop")] = 10.0


SHELL_TOOL_NAMES: tuple[str, ...] = ("exec", *(alias for alias, name in TOOL_ALIASES.items() if name == "exec"))


class InterceptSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST /api/v1/intercept`."""

    enabled: Annotated[bool, Meta(description="false answers `intercept_disabled`")] = True
    identity: Annotated[Literal["interpose", "maybe-dont"], Meta(description="the `interceptor` of answers")] = (
        "interpose"
    )
    shell_tool_names: Annotated[
        Texts, Meta(description="tools whose `command` is analysed as a shell command; case and dashes don't matter")
    ] = SHELL_TOOL_NAMES
    wait_limit: Annotated[
        Seconds, Meta(description="longest `Prefer: wait=N` in seconds, and longest wait of a gateway or proxy")
    ] = 300.0


class CliValidationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST /api/v1/cli/validate` and `interpose run`."""

    enabled: Annotated[bool, Meta(description="false answers `cli_validation_disabled`")] = True
    validate_commands: Annotated[
        Texts, Meta(min_length=1, description="names of commands that are validated; `*` is all of them")
    ] = ("*",)

    def covers(self, command: str) -> bool:
        """Whether a command is one of those that are validated. One text with several words is not one name."""
        names = self.validate_commands
        return "*" in names or command in names or command.rpartition("/")[2] in names or len(command.split()) > 1


class WebhookSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is told of new questions."""

    url: Annotated[HttpAddress, Meta(description="where new questions are posted; empty is nowhere")] = ""
    headers: Annotated[dict[str, str], Meta(description="headers that are sent along", extra={"secret": True})] = EMPTY
    secret: Annotated[
        str, Meta(description="key of the signature that is sent along; empty is none", extra={"secret": True})
    ] = ""

    def __post_init__(self) -> None:
        force_setattr(self, "headers", FrozenDict(self.headers))


class ApprovalSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Questions to a person."""

    ask: Annotated[
        Literal["host", "queue", "refuse"],
        Meta(
            description="`host`: the agent's own prompt where it truly asks, else our queue; `queue`: always our "
            "queue; `refuse`: nobody is asked, and what would be a question is refused"
        ),
    ] = "host"
    timeout: Annotated[Seconds, Meta(description="seconds until a question that nobody answered is a no")] = 300.0
    proof: Annotated[
        Literal["terminal", "passphrase", "code", "user", "token"],
        Meta(
            description="how whoever says yes on this machine proves to be no agent: by their own terminal, a "
            "passphrase, a code that the server shows, or as another system user; `token` is the weak one: whoever can "
            "read the tokens file may answer"
        ),
    ] = "terminal"
    key: Annotated[
        Text,
        Meta(description="private key (Ed25519, PEM) that signs approvals; servers share one", extra={"path": True}),
    ] = "{config}/approvals.key"
    directory: Annotated[
        Text, Meta(description="where uses of grants are counted, outside the store", extra={"path": True})
    ] = "{state}/approvals"
    passphrase_file: Annotated[
        Text, Meta(description="the hash of the operator's passphrase, for proof `passphrase`", extra={"path": True})
    ] = "{config}/passphrase"  # noqa: S105 - the path of a file
    operator: Annotated[str, Meta(description="name of the system user who answers, for proof `user`")] = ""
    socket: Annotated[
        str, Meta(description="Unix socket that the operator reaches, for proof `user`", extra={"path": True})
    ] = ""
    webhook: WebhookSettings = WebhookSettings()

    def __post_init__(self) -> None:
        if self.proof == "user" and not (self.operator and self.socket):
            raise ValueError(
                "approvals: proof `user` needs operator and socket; run: interpose approvals operator init --user NAME"
            )


class HookSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How agents' hooks reach a decision."""

    socket: Annotated[str, Meta(description="Unix socket of the listener for hooks", extra={"path": True})] = (
        "{runtime}/hook.sock"
    )
    port: Annotated[
        Port, Meta(description="loopback port for hooks that have no Unix sockets; 0 takes any free one")
    ] = 0
    idle_timeout: Annotated[Seconds, Meta(description="seconds without a call until a listener ends")] = 1800.0
    deadline: Annotated[Seconds, Meta(description="seconds that a hook waits for its decision")] = 30.0
    wait: Annotated[
        HostSeconds,
        Meta(
            description="seconds that a hook waits for a person besides, where its host can't ask: `{codex: 120}`; "
            "`all` is for hosts without a value of their own, 0 is not at all. `interpose install` tells the host",
            extra={"form": "a map of seconds by host"},
        ),
    ] = EMPTY
    fail_open: Annotated[bool, Meta(description="let calls run that could not be decided; recorded")] = False
    ask: Annotated[
        Literal["queue", "host"],
        Meta(
            description="in modes in which something else than a person may answer an agent's prompt (`auto` of "
            "Claude Code): `queue`: questions wait in our queue; `host`: ordinary ones go to that prompt, once a "
            "person has run `interpose approvals operator handover HOST`"
        ),
    ] = "queue"

    def __post_init__(self) -> None:
        force_setattr(self, "wait", FrozenDict(self.wait))


class LedgerConfig(LedgerSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ledger: what is kept, where, and for how long."""

    directory: Annotated[Text, Meta(description="where it lies", extra={"path": True})] = "{state}/ledger"


class StoreSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where records, approvals and grants are."""

    url: Annotated[DatabaseAddress, Meta(description="empty is SQLite in the ledger's directory")] = ""


class PolicySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's rules. Those of the organisation and of a project have their fixed places."""

    directory: Annotated[Text, Meta(description="your rule files and packs", extra={"path": True})] = "{config}/policy"
    public_keys: Annotated[
        tuple[PublicKey, ...],
        Meta(description="who may sign rule files: what `interpose policy keygen` prints, one for each signer"),
    ] = ()
    require_signature: Annotated[
        bool, Meta(description="take rule files of the organisation and the user only with a signature beside them")
    ] = False

    def __post_init__(self) -> None:
        if self.require_signature and not self.public_keys:
            raise ValueError("policy.require_signature needs policy.public_keys")


class GovernanceSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Roles, sessions, chains and budgets. Off until the file is there; see `interpose help governance`."""

    file: Annotated[Text, Meta(description="your governance file", extra={"path": True})] = "{config}/governance.yaml"
    log: Annotated[str, Meta(description="what governance did, for people; empty is nowhere", extra={"path": True})] = (
        "{state}/governance.log"
    )
    log_bytes: Annotated[
        int, Meta(ge=10_000, le=1 << 30, description="size at which the log is put away and begun anew")
    ] = 5 << 20
    log_archives: Annotated[int, Meta(ge=0, le=100, description="how many old logs are kept")] = 3
    checkpoints: Annotated[
        Text, Meta(description="where the context of halted sessions is written", extra={"path": True})
    ] = "{state}/checkpoints"


class InterceptorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One interceptor. What is not set here is as the interceptor was registered."""

    enabled: Annotated[bool, Meta(description="whether it is asked")] = True
    priority: Annotated[int | None, Meta(description="higher is asked first; below 0 only observes")] = None
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=86400)] | None, Meta(description="seconds until it counts as failed")
    ] = None
    on_error: Annotated[OnError | None, Meta(description="what its failure means")] = None
    mode: Annotated[Mode | None, Meta(description="`watch` says what it would have done and never blocks")] = None
    profile: Annotated[
        Literal["balanced", "strict"] | None,
        Meta(description="`builtin:command-safety-guard`: how much it asks about and refuses"),
    ] = None
    directories: Annotated[
        Texts | None,
        Meta(
            description="`builtin:path-sandbox`: where file tools may work; `builtin:file-security`: where nothing is "
            "written",
            extra={"path": True},
        ),
    ] = None
    include_commands: Annotated[
        bool | None, Meta(description="`builtin:path-sandbox`: judge the files that commands name, too")
    ] = None
    max_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=1 << 30)] | None,
        Meta(description="`builtin:input-limits`: largest arguments of a call, as JSON"),
    ] = None
    patterns: Annotated[
        tuple[Pattern, ...] | None,
        Meta(description="`builtin:conditional-permission`: words to ask about, up to 80 characters each"),
    ] = None
    fields: Annotated[
        Texts | None,
        Meta(description="`builtin:conditional-permission`: arguments that are searched for the words first"),
    ] = None
    effects: Annotated[
        tuple[EffectKind, ...] | None, Meta(description="`builtin:conditional-permission`: effects to ask about")
    ] = None
    level: Annotated[
        Literal["debug", "info", "warning"] | None,
        Meta(description="`builtin:audit-log`: level of its lines in the program's log; failures are warnings"),
    ] = None
    settings: Annotated[
        dict[str, Any],
        Meta(
            description="what the plugin of this name is given: its own keys, as its package describes them",
            extra={"secret": True, "form": "a map of the plugin's own keys"},
        ),
    ] = EMPTY

    def __post_init__(self) -> None:
        force_setattr(self, "settings", freeze(self.settings))


BUILTIN_INTERCEPTORS: Mapping[str, InterceptorSettings] = {
    one.id: InterceptorSettings(
        enabled=one.on, priority=one.priority, on_error="deny", mode="enforce",
        profile="balanced" if "profile" in one.settings else None, level="info" if "level" in one.settings else None,
    )
    for one in BUILTINS
}  # fmt: skip
"""The built-in interceptors, as they are set if nobody says otherwise."""


class TelemetryEndpoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where telemetry goes."""

    endpoint: Annotated[HttpAddress, Meta(description="OTLP address; empty is off")] = ""


class TelemetrySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """OpenTelemetry. Off unless an endpoint is set."""

    service_name: Annotated[Text, Meta(description="`service.name` of what is sent")] = "interpose"
    traces: TelemetryEndpoint = TelemetryEndpoint()
    metrics: TelemetryEndpoint = TelemetryEndpoint()


class LoggingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The program's own log. What was decided is in the ledger."""

    level: Annotated[Literal["debug", "info", "warning", "error"], Meta(description="what is worth a line")] = "info"
    format: Annotated[Literal["text", "json"], Meta(description="lines for people or for programs")] = "text"
    path: Annotated[str, Meta(description="file; empty is the standard error", extra={"path": True})] = ""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    server: ServerSettings = ServerSettings()
    intercept: InterceptSettings = InterceptSettings()
    cli_validation: CliValidationSettings = CliValidationSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    notifications: NotificationSettings = NotificationSettings()
    hooks: HookSettings = HookSettings()
    gateway: GatewayDecisions = GatewayDecisions()
    proxy: ProxySettings = ProxySettings()
    ledger: LedgerConfig = LedgerConfig()
    store: StoreSettings = StoreSettings()
    policy: PolicySettings = PolicySettings()
    governance: GovernanceSettings = GovernanceSettings()
    plugins: Annotated[Texts, Meta(description="interceptors of installed packages that are on, by name")] = ()
    interceptors: Annotated[dict[str, InterceptorSettings], Meta(description="settings of interceptors, by id")] = (
        field(default_factory=partial(FrozenDict, BUILTIN_INTERCEPTORS))
    )
    remote_interceptors: Annotated[
        dict[str, RemoteInterceptorProgram],
        Meta(
            description="programs with interceptors (MCP's interceptor protocol) by name, each with `command` or "
            "`url`; see `interpose help interceptor-protocol`",
            extra={
                "secret": True,
                "form": "a map of programs by name, each with command or url",
                "servers": RemoteInterceptorProgram,
            },
        ),
    ] = EMPTY
    telemetry: TelemetrySettings = TelemetrySettings()
    logging: LoggingSettings = LoggingSettings()
    lock: Annotated[
        Texts, Meta(description="in /etc/interpose/interpose.yaml only: keys or groups that nobody below can change")
    ] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "interceptors", FrozenDict(self.interceptors))
        force_setattr(self, "remote_interceptors", FrozenDict(self.remote_interceptors))
        if why := wrong_names(self.remote_interceptors):
            raise ValueError(f"remote_interceptors: {why}")
        for one in BUILTINS:
            if one.needs and (wanted := self.interceptors.get(one.id)) is not None and wanted.enabled:
                one.arguments(wanted)

    @property
    def plugin_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """What plugins are given, by their names."""
        return {name: one.settings for name, one in self.interceptors.items() if one.settings}
