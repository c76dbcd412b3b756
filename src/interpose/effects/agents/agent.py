"""What is known of one agent: the schema of the data files in `hosts/` and of `without_hooks.json`.

One file is all that the project knows of an agent by name: its programs, its directories, what switches its hooks off,
its tool servers, its tools, and its hooks. Whatever protects, installs, examines or speaks with agents reads it.

Every hook loads this module before it asks. So annotations are not text here, which msgspec would have to evaluate.
"""

import os
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct, field

OURS = "interpose"
"""The name that our hooks have in hosts that name them."""
MARGIN = 5
"""Seconds that a host gives a hook beyond our own time, so that it is us who refuse when time is up."""
LONGEST = 3600
"""Seconds that hosts are told to give a hook at most. None is known to take less where it takes a number at all."""

Names = tuple[str, ...]


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An object of a data file. What has its usual value is left out; what is written there must be known here."""


# --- Where it works, and what it leaves behind


class Transcripts(Facts, frozen=True):
    """Where an agent writes a session down, as a pattern of files, and where in a file's path the session's id is.

    `stem`: the file's name. `tail`: the last 36 letters of it. `parent`: the directory. `start`: the last 8 letters,
    with which the id begins.
    """

    pattern: str
    session: Literal["stem", "tail", "parent", "start"]


# --- What switches its hooks off

Level = Literal["managed", "user", "project", "local"]
"""Who writes a file: an administrator, the user, the project, or the user for one project. A cloned repository can
bring those of a project, and those of a user for it just as well."""


class SettingsFile(Facts, frozen=True):
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


class OffKey(Facts, frozen=True):
    """A key of settings that switches hooks off."""

    key: tuple[str, ...]
    """The way to the value. `*` is any key. Empty: the file as a whole."""
    off: Literal["true", "false", "ours", "not-ours", "nowhere-ours"]
    """Which value does: what counts as true; what counts as false; a list that names ours; one without ours; whatever
    has nothing of ours in it."""
    means: str
    files: tuple[str, ...] = ()
    """The paths among the agent's settings files in which it counts; empty if it does in all of them."""
    outlived_in: tuple[Level, ...] = ()
    """The files in which it leaves alone what hooks stand in the host's managed settings."""

    @property
    def spoken(self) -> str:
        """The key as people write it."""
        return ".".join(self.key) or "the whole file"


class OffOption(Facts, frozen=True):
    """An option with which an agent runs no hooks of its user. `shown` is how people write it."""

    names: Names
    shown: str
    when: Literal["given", "any", "one-of", "other-than", "without", "assigns-false", "settings"] = "given"
    """Which value switches off. `given`: it takes none. `any`: whatever it is. `one-of`, `other-than`: by `values`.
    `without`: a list, separated by commas, that has none of `values`. `assigns-false`: one of `values`, then `=false`.
    `settings`: settings as JSON, in which a key switches off."""
    values: Names = ()
    outlived: bool = False
    """Whether hooks in the host's managed settings run all the same."""


class OffVariable(Facts, frozen=True):
    """A variable with which an agent runs no hooks, given any value that counts as true."""

    name: str
    outlived: bool = False


# --- Its tool servers

McpScope = Literal["user", "project", "local"]
"""`local`: the user's own servers for one project, in the user's file."""


class McpFile(Facts, frozen=True):
    """A file with servers. `~` is the user's home; a relative path lies in the project. `key` holds the servers."""

    scope: McpScope
    path: str
    key: str = "mcpServers"
    moved_by: str = ""
    """The variable that replaces the directory of the file."""
    within: tuple[str, ...] = ()
    """Keys on the way to `key`. `{project}` is the project's directory."""


class ToolServers(Facts, frozen=True):
    """Where it keeps MCP servers. Of several files for one scope, the first that is there is meant; else the first."""

    files: tuple[McpFile, ...]
    style: Literal["common", "vscode", "opencode", "codex", "gemini", "copilot"] = "common"
    toml: bool = False


# --- Its hooks

Point = Literal[
    "tool.before", "tool.after", "permission.ask", "message.before", "command.before", "session.start", "session.idle",
    "session.end", "compact.before", "compact.after", "subagent.start", "subagent.stop", "ignored",
]  # fmt: skip
"""Where an event stands. `ignored` is known and needs no answer."""

Evidence = Literal["run", "source", "docs", "hearsay"]
"""How a contract is known: the real agent was run, its code was read, its maker wrote it, or others say so."""

Looseness = Literal["comment", "trailing comma", "byte order mark"]
"""What a text may have that is no plain JSON."""


class HookFile(Facts, frozen=True):
    """A file or directory that a host reads. `~` is the user's home; a relative path lies in the project.

    A `managed` one is an administrator's: it holds for everybody on the machine, and nobody else can change it.
    """

    scope: Literal["user", "project", "managed"]
    path: str
    moved_by: str = ""
    """The variable that replaces `root`, the beginning of the path."""
    root: str = ""
    also_run_by: Names = ()
    """Other hosts that run the hooks in it."""
    top: dict[str, Any] = field(default_factory=dict)
    """What this file must have at its top besides what all have: what holds the hooks on against other files."""
    also_command: str = ""
    """Another key under which this file wants the command line besides `command`."""
    beside: str = ""
    """A second file that the host needs for that, and its text."""
    beside_text: str = ""


class HookEvent(Facts, frozen=True):
    """An event to register. `gate` events decide: they get what makes the host refuse when the hook fails. What `tells`
    of an end must never fail: the host would take that for a wish to go on."""

    name: str
    gate: bool = False
    tells: bool = False
    matcher: str | None = None
    most: int = LONGEST
    """Seconds that the host gives at most."""


class HostSetup(Facts, frozen=True):
    """How hooks are written for a host.

    `groups`: each event has matcher groups with a list of hooks. `flat`: each event has a list of hooks.
    `scripts`: a directory with one executable file for each event. `plugin`: a file of ours that the host runs itself.
    """

    layout: Literal["groups", "flat", "scripts", "plugin"]
    files: tuple[HookFile, ...]
    events: tuple[HookEvent, ...] = ()
    key: str = "hooks"
    """The key of the file under which events lie; empty if they lie at the top."""
    top: dict[str, Any] = field(default_factory=dict)
    """What else the file must have at its top."""
    entry: dict[str, Any] = field(default_factory=dict)
    """What every hook has besides its command and its timeout."""
    fail_closed: dict[str, Any] = field(default_factory=dict)
    """What makes the host refuse when the hook of a gate fails."""
    while_it_runs: dict[str, Any] = field(default_factory=dict)
    """What makes the host show its person a text as long as the hook of a gate runs: the same for every call."""
    trusts_in: str = ""
    """The file beside that of the hooks in which the host writes, in TOML, which hooks its person trusts."""
    line: str = ""
    """The key at the top for a program that the host runs again each second, and whose output it always shows."""
    fail_closed_since: str = ""
    """The first version of the host that knows this."""
    also_command: str = ""
    """Another key for the command line besides `command`."""
    timeout_key: str = "timeout"
    """Empty if the host takes none."""
    timeout_unit: int = 1
    """How many of the host's units are a second."""
    plugin: str = ""
    """The program in `plugins/` that is installed."""
    plugin_files: dict[str, Any] = field(default_factory=dict)
    """Files of JSON that lie beside it, by their names; then it is called `index.js`."""
    afterwards: str = ""
    """What a person still has to do."""
    opens_on: tuple[str, ...] = ()
    """What makes this host run a call unasked, once the hooks are installed as said here."""
    canary: dict[str, Any] = field(default_factory=dict)
    """An event of this host before a shell command: `COMMAND` and `SESSION` stand for what they say."""
    program: str = ""
    """The host's own command, which says its version. In its file only where it is not the first of its programs."""
    takes: tuple[Looseness, ...] = ()
    """What the host reads besides plain JSON, as seen when it ran. It passes over a file with anything else."""
    traces: tuple[str, ...] = ()
    """Directories in which the host leaves something whenever it works."""

    @property
    def takes_timeout(self) -> bool:
        """Whether we say when a hook's time is up. A plugin is our own code, which ends when we say."""
        return self.layout == "plugin" or (self.layout in ("groups", "flat") and bool(self.timeout_key))

    def seconds_for(self, wanted: float) -> float:
        """How long a hook may take: as wanted, but less than the host waits for what decides."""
        return min([wanted, *(max(event.most - MARGIN, event.most / 2) for event in self.events if event.gate)])


class Fields(Facts, frozen=True):
    """What a host calls the fields of its events. The first that is there counts."""

    event: Names = ("hook_event_name",)
    session: Names = ("session_id",)
    agent: Names = ("agent_id",)
    agent_type: Names = ("agent_type",)
    cwd: Names = ("cwd",)
    tool: Names = ("tool_name",)
    arguments: Names = ("tool_input",)
    result: Names = ("tool_response",)
    error: Names = ("error",)
    key: Names = ("tool_use_id",)
    prompt: Names = ("prompt",)
    answer: Names = ("last_assistant_message",)
    """What a sub-agent that stopped answered."""
    command: Names = ("command_name",)
    command_arguments: Names = ("command_args",)
    milliseconds: Names = ("duration_ms",)
    failures: Names = ("PostToolUseFailure", "postToolUseFailure")
    """Events after a tool that failed."""


class HookFacts(Facts, frozen=True):
    """What is known of an agent's hooks. The tuples name events: those in which it truly does what is said."""

    evidence: Evidence
    wire: Literal["claude-code", "exit-code", "in-process", "own"]
    """Whose words it takes for an answer: those of Claude Code, an exit code, those of our own plugins, its own."""
    setup: HostSetup
    codec: bool = False
    """Whether a module of its name in `surfaces/hosts` says what it does otherwise."""
    shares_files: bool = False
    """Whether others read its settings, or it reads those of others: then a payload says who speaks."""
    points: dict[str, Point] = field(default_factory=dict)
    """Its events, besides those of its wire."""
    ignored: Names = ()
    """More of them, which need no answer."""
    fields: Fields = Fields()
    gates: Names = ()
    """Events in which exit code 2 refuses, for a host that takes nothing else."""
    prints: Names = ()
    """Events after which the agent reads the standard output of such a host's hook."""
    asks: Names = ()
    """Events after which the host has a prompt for our `ask`. Elsewhere we refuse."""
    mode_field: str = ""
    """Where its events say in which mode it works; empty if they don't say."""
    asks_in: Names = ()
    """The modes in which it puts `ask` to a person, or refuses where nobody sits: in any other we refuse. The empty
    word is for events that name no mode: in whatever mode the host is, it asks."""
    hands_over_in: Names = ()
    """The modes in which it has a prompt that something else than its person might answer (service/hand_overs.py)."""
    tells_version: tuple[str, str] = ("", "")
    """The variable that it gives its hooks and that has its version, and the pattern of what stands there."""
    prompts: Names = ()
    """Events by which the host says that it asks its own person, and takes the answer of somebody else."""
    says_it_asks: Names = ()
    """Events by which the host says that it puts a call to its person now."""
    unasked_input: Names = ()
    """Tools that type into what already runs, and that no hook is asked about."""
    rewrites: Names = ()
    """Events whose changed arguments really run. Elsewhere a rewrite is a refusal that names the safer call."""
    hears: Names = ()
    """Events after which the agent reads a text of ours beside what it gets. The start of a session is one anyway."""
    unheard_beside: Names = ()
    """How messages begin that the host writes itself, and beside which it drops a text of ours."""
    replaces: Names = ()
    """Events whose replaced result is what the agent sees."""
    tells_person: str = ""
    """The key, beside a decision, whose text its person sees. Empty: none is known, or the person sees the reason."""
    sets_model: Names = ()
    """Events of messages whose run then uses the model that we answer with."""
    replaces_tools: str = ""
    """How the names of the tools begin whose results can be replaced."""
    commands: Names = ()
    """Events in which the host tells of its commands. A host without one tells of those that a person types as messages
    that begin with a slash, if at all."""
    windows_shell: Literal["bash", "powershell"] = "powershell"
    """What the host's shell tool runs on Windows."""
    because: dict[str, str] = field(default_factory=dict)
    """Why a fact is as it is, by its name. For whoever reads the file."""


# --- All of it


class Agent(Facts, frozen=True):
    """An agent. Those that we have no hooks for count, too: what one agent does to another's settings is as bad."""

    name: str
    title: str
    listed: int = 1000
    """Where it stands in lists; those of one number by their names."""
    aliases: Names = ()
    """Other names that people call it by."""
    programs: Names = ()
    """Its commands, and the names of the packages that an interpreter runs."""
    packages: Names = ()
    """Other names under which a package registry has it."""
    libraries: Names = ()
    """Packages with which a program runs it as a library."""
    library_calls: Names = ()
    """The names that such a program calls."""
    shared_names: Names = ()
    """Those of its programs whose names other programs have as well, with handlers of their own or with plain words."""
    editors: Names = ()
    """Commands of editors that have it in them."""
    only_app: bool = False
    """Whether it is nothing but an editor or a program of the desktop that has agents in it."""
    hooks_since: tuple[int, ...] = ()
    """The first version that is known to run hooks; empty where nobody looked."""
    one_shot: bool = False
    """Whether a plain prompt makes it work, without an option for that and without a terminal."""
    rarely_works: bool = False
    """Whether it has many commands that start no work: its hooks are what matters."""
    directories: Names = ()
    """What holds its settings, as a whole: `~` is the home of a user."""
    in_projects: Names = ()
    """Directories of a project that hold its settings, as a whole."""
    settings: Names = ()
    """What holds hooks, permissions or code that the agent loads, in the patterns of `paths/catalogue.py`."""
    servers: Names = ()
    """What decides which tool servers the agent starts, in the same patterns."""
    credentials: Names = ()
    """What holds its login, in the same patterns."""
    in_home: Names = ()
    """Names that are settings only where they are in a home directory itself."""
    moved_by: Names = ()
    """Variables that make it read its settings elsewhere."""
    marks: Names = ()
    """Variables that it sets for the commands that it runs."""
    transcripts: Transcripts | None = None
    tools: dict[str, str] | None = None
    """What it calls the tools that we know by one name. A tool that it has not is left out."""
    usual_subagent: str = ""
    """The kind of sub-agent that it starts if the call names none."""
    tool_joint: str = ""
    """What it puts between an MCP server and its tool, if it writes `server_tool` for `mcp__server__tool`."""
    tool_servers: ToolServers | None = None
    settings_files: tuple[SettingsFile, ...] = ()
    """Files in which a key can switch hooks off."""
    off_keys: tuple[OffKey, ...] = ()
    off_options: tuple[OffOption, ...] = ()
    off_commands: Names = ()
    """Commands of its own that switch hooks off for later, without the program; `*` is any word."""
    off_variables: tuple[OffVariable, ...] = ()
    hooks: HookFacts | None = None


class AgentFileError(Exception):
    """A data file that can't be read. The text says which, and what is wrong in it."""


T = TypeVar("T")
_HERE = Path(__file__).parent


def has_hooks(name: str) -> bool:
    """Whether there is a file of that host."""
    return name.replace("-", "").isalnum() and os.path.isfile(_HERE / "hosts" / f"{name}.json")  # noqa: PTH113 - once for every hook


def agent_of_host(name: str) -> Agent:
    """What is known of an agent that we have hooks for. Raises AgentFileError."""
    return _read(_HERE / "hosts" / f"{name}.json", Agent)


def every_agent() -> tuple[Agent, ...]:
    """All of them, those with hooks first. Raises AgentFileError."""
    hosts = [agent_of_host(file.stem) for file in (_HERE / "hosts").iterdir()]
    ordered = sorted(hosts, key=lambda agent: (agent.listed, agent.name))
    return (*ordered, *_read(_HERE / "without_hooks.json", tuple[Agent, ...]))


def _read(path: Path, sort: type[T]) -> T:
    try:
        return msgspec.json.decode(path.read_bytes(), type=sort)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise AgentFileError(f"{path}: {error}") from error
