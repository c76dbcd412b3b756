"""The form of `governance.yaml`: what may be written, its default and what it means. JSON Schema and docs come from it.

One word per thing: a `role` is what an agent may do; a `scope` is a set of files; a `chain` is what must come before a
command; a `budget` is how much of something there is. Whoever is none of the listed agents has no role.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from interpose.core.types import EMPTY, Mode

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Pattern = Annotated[str, Meta(min_length=1, max_length=500)]
Names = tuple[Name, ...]
Patterns = tuple[Pattern, ...]
Duration = Annotated[
    str, Meta(pattern=r"^[0-9]{1,6}(s|m|h|d)$(?!\n)", extra={"form": "a time such as 90s, 30m, 48h or 7d"})
]
Amount = Annotated[int, Meta(ge=0, le=1 << 53)]
Small = Annotated[int, Meta(ge=0, le=1000)]
Money = Annotated[float, Meta(ge=0, le=1e9)]

Unknown = Literal["deny", "ask", "note", "allow"]
FirstTools = Literal["off", "warn", "block"]
ChainAction = Literal["block", "redirect", "warn"]
Stall = Literal["remind", "ask", "halt"]


class AgentForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who has a role. All that is written must fit; the first entry that fits counts. Names are exact or globs.

    What is compared comes from the transport: the hook's own fields, a token, the context that a program gives. Text
    that an agent writes is never compared.
    """

    role: Annotated[Name, Meta(description="the role that it has")]
    agent: Annotated[Pattern | None, Meta(description="name or kind of the agent, as its host says it")] = None
    host: Annotated[Pattern | None, Meta(description="the host: claude-code, codex, opencode, gateway, http ...")] = (
        None
    )
    principal: Annotated[Pattern | None, Meta(description="whom a token proves")] = None
    project: Annotated[Pattern | None, Meta(description="the directory that it works in, with **")] = None
    given_role: Annotated[Pattern | None, Meta(description="the role that a program gave in the call's context")] = None
    sub_agent: Annotated[bool | None, Meta(description="true: only sub-agents; false: only main agents")] = None


class FileScopeForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set of files. Globs are relative to the project's directory unless they begin with / or ~."""

    paths: Annotated[Patterns, Meta(min_length=1, description="globs of files; ** is any number of directories")]
    outside: Annotated[Patterns, Meta(description="globs of files that are not part of it")] = ()
    others: Annotated[Names, Meta(description="scopes whose files are not part of it")] = ()


class ToolsForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tools by exact name, group (`group:fs`, or one of `tools`) or glob. Never by a part of a name.

    The first of deny, ask, note and allow that a tool is in counts. With `allow`, a tool in none of them is denied;
    without, it is allowed.
    """

    allow: Annotated[Patterns | None, Meta(description="what it may use; left out: everything")] = None
    deny: Annotated[Patterns, Meta(description="what it may not use")] = ()
    ask: Annotated[Patterns, Meta(description="what a person is asked about")] = ()
    note: Annotated[Patterns, Meta(description="what is only noted in the record")] = ()


class CeilingForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What neither the role nor any role below it may do, whatever those say."""

    deny: Annotated[Patterns, Meta(description="tools")] = ()
    write: Annotated[Names | None, Meta(description="the only scopes that may be written; left out: any")] = None
    commands: Annotated[
        Names | None, Meta(description="the only categories of commands, or commands by their words; left out: any")
    ] = None


class FirstForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent has to do first: at the beginning, and again after a compaction or a resume."""

    any_of: Annotated[Patterns, Meta(min_length=1, description="one of these tools comes first")]
    mode: Annotated[FirstTools, Meta(description="off, warn (a note), or block (other tools are denied)")] = "block"


class DelegationForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """To whom a role may delegate. Never to itself, never to a role above it, whatever stands here."""

    to: Annotated[Patterns, Meta(description="roles that it may start; exact or globs")] = ()
    depth: Annotated[Small, Meta(description="how deep the tree of agents may become below the main agent")] = 3
    at_most: Annotated[Small, Meta(description="how many agents it may start in a session")] = 100
    at_once: Annotated[Small, Meta(description="how many of them may work at the same time")] = 20
    expires: Annotated[Duration, Meta(description="after this time a delegation is over")] = "8h"


class RoleForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A role. What it does not say it takes from its parent; what it says takes the place of its parent's.

    Only `ceiling` adds up: a role is under its own and those of all roles above it.
    """

    parent: Annotated[Name | None, Meta(description="the role above it")] = None
    description: Annotated[str, Meta(max_length=2000)] = ""
    tier: Annotated[
        Small | UnsetType,
        Meta(description="rank for delegation: never to a lower number. Default: depth below parents"),
    ] = UNSET
    tools: ToolsForm | UnsetType = UNSET
    ceiling: CeilingForm | UnsetType = UNSET
    write: Annotated[Names | UnsetType, Meta(description="scopes that it may write; [] is none; left out: all")] = UNSET
    commands: Annotated[
        Names | UnsetType,
        Meta(
            description="categories of commands that it may run, or commands by their words (git log *); left out: all"
        ),
    ] = UNSET
    first_tools: FirstForm | UnsetType = UNSET
    delegates: DelegationForm | UnsetType = UNSET
    instead: Annotated[str | UnsetType, Meta(description="what to do instead, said with each refusal")] = UNSET
    mode: Annotated[Mode | UnsetType, Meta(description="`watch` only records what would have been blocked")] = UNSET


class PrerequisiteForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must be so before a command. Exactly one key, except `within`, which belongs to `validated`."""

    exists: Annotated[Pattern | None, Meta(description="a glob of files in the project; {phase} is filled in")] = None
    state: Annotated[
        Pattern | None, Meta(description="a comparison over the state file, such as phase == 'complete'")
    ] = None
    validated: Annotated[Name | None, Meta(description="a command or tool that succeeded in this session")] = None
    within: Annotated[Duration | None, Meta(description="and not longer ago than this")] = None
    one_of: Annotated["tuple[PrerequisiteForm, ...] | None", Meta(description="one of these is enough")] = None
    how: Annotated[str, Meta(max_length=500, description="how to get there, said when it is missing")] = ""


class ChainForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must and should come before a command, or before a change of the state file (`becomes`).

    All rules that fit are evaluated; the strictest answer counts.
    """

    id: Name
    command: Annotated[Pattern | None, Meta(description="exact or glob; a leading / makes no difference")] = None
    becomes: Annotated[
        str,
        Meta(
            max_length=500,
            description="a comparison over the state file: the rule holds for writing it so that this becomes true",
        ),
    ] = ""
    exceptions: Annotated[Patterns, Meta(description="commands that it does not hold for")] = ()
    must_before: tuple[PrerequisiteForm, ...] = ()
    should_before: tuple[PrerequisiteForm, ...] = ()
    action: Annotated[
        ChainAction, Meta(description="if something of must_before is missing. should_before only warns")
    ] = "block"
    target: Annotated[str, Meta(max_length=500, description="the command to use first, for `redirect`")] = ""
    message: Annotated[str, Meta(max_length=2000)] = ""


class ChainsForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rules about the order of commands."""

    rules: tuple[ChainForm, ...] = ()
    read_only: Annotated[Patterns, Meta(description="commands that are always allowed")] = ()
    state_file: Annotated[
        str, Meta(max_length=500, description="JSON or YAML in the project, for `state` and `becomes`")
    ] = ""
    state_tools: Annotated[
        Patterns,
        Meta(description="tools whose arguments are the keys of the state file that they change, for `becomes`"),
    ] = ()
    phase: Annotated[Name, Meta(description="{phase} if neither the command nor the state file says one")] = "01"


class SessionsForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long sessions live."""

    idle_after: Annotated[Duration, Meta(description="without a call for so long it is idle")] = "15m"
    resume_after: Annotated[Duration, Meta(description="a session that was away longer is resumed with context")] = "1h"
    fresh_after: Annotated[Duration, Meta(description="a session that was away longer begins anew")] = "48h"
    prefix: Annotated[bool, Meta(description="tell the agent its role and rules when a session begins")] = True
    reminder: Annotated[bool, Meta(description="remind the agent of them after a compaction")] = True


class StallsForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an agent gets nowhere. Each is a number of times; 0 switches that one off. Progress begins the count anew.

    What happens goes up with every further time: remind, ask a person, halt.
    """

    errors: Annotated[Amount, Meta(description="more errors than this in a session halt it")] = 20
    same_call: Annotated[Small, Meta(description="the same call, also with a counter in it that changes")] = 5
    alternating: Annotated[Small, Meta(description="A-B-A-B: rounds of the same two calls")] = 4
    same_error: Annotated[Small, Meta(description="the same error")] = 3
    denied_again: Annotated[Small, Meta(description="a denied call in other words")] = 3
    same_issues: Annotated[Small, Meta(description="planner and checker: equal issues without a better score")] = 3
    escalation: Annotated[tuple[Stall, ...], Meta(min_length=1, max_length=5)] = ("remind", "ask", "halt")


class BudgetForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much there is of something. Left out is without limit."""

    per: Annotated[Literal["session", "agent", "project", "principal"], Meta(description="who has it")]
    match: Annotated[Pattern, Meta(description="only for those whose id, name or directory fits")] = "*"
    window: Annotated[
        Duration | None, Meta(description="it is there anew after each such stretch of time; left out: once")
    ] = None
    calls: Amount | None = None
    denials: Amount | None = None
    questions: Amount | None = None
    tokens: Amount | None = None
    cost: Annotated[Money | None, Meta(description="in the currency that the host reports")] = None
    time: Annotated[Duration | None, Meta(description="from the first call on")] = None


class SaveWorkForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What still passes when a budget is used up, so that no work is lost. Nothing passes a halt but reading."""

    tools: Annotated[Patterns, Meta(description="tools")] = ("group:search", "read", "todo")
    commands: Annotated[Patterns, Meta(description="commands, by their words; globs")] = (
        "git add *", "git commit *", "git status *", "git diff *", "git stash *",
    )  # fmt: skip
    writes: Annotated[Patterns, Meta(description="files that may be written")] = ("**/*.md", "**/NOTES*")
    at_most: Annotated[Amount, Meta(description="how many such calls there are")] = 50


class FrontmatterForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Markdown that gets its frontmatter when it is written."""

    paths: Annotated[Patterns, Meta(description="globs of managed files; empty is off")] = ()


class GovernanceForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    version: Literal[1]
    mode: Annotated[
        Mode, Meta(description="`watch` records everything that would have been blocked, and blocks nothing")
    ] = "enforce"
    unknown_role: Annotated[Unknown, Meta(description="agents without a role")] = "deny"
    agents: tuple[AgentForm, ...] = ()
    tools: Annotated[dict[Name, Patterns], Meta(description="names for groups of tools")] = EMPTY
    scopes: dict[Name, FileScopeForm] = EMPTY
    roles: dict[Name, RoleForm] = EMPTY
    chains: ChainsForm = ChainsForm()
    sessions: SessionsForm = SessionsForm()
    stalls: StallsForm = StallsForm()
    budgets: tuple[BudgetForm, ...] = ()
    save_work: SaveWorkForm = SaveWorkForm()
    frontmatter: FrontmatterForm = FrontmatterForm()
    include: Annotated[
        Names,
        Meta(description="ready files of ours that are added: roles, scopes, tools, chains, frontmatter; idumb, tiers"),
    ] = ()
