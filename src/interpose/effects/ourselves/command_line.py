"""Every verb of the command line: its help, the verbs below it, its old spelling, and what an agent may run of it.

The program finds its verbs here and shows them from here; the analysis of shell commands judges by the same rows.
INVARIANT: nothing is imported: `interpose --help` and the hook of an agent must not wait for more than they use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class OwnVerb:
    """One row: a verb, or a verb below another."""

    __slots__ = ("alone", "for_agents", "for_people", "help", "judged", "name", "old")

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - as argparse calls it
        *,
        judged: str = "changes",
        for_agents: str = "",
        for_people: str = "",
        alone: str = "",
        old: str = "",
    ) -> None:
        self.name = name
        """The words behind `interpose`."""
        self.help = help
        self.judged = judged
        """What the analysis says of it. looks: whatever follows changes nothing. acts: `for_agents` change nothing.
        value: the same, and anything else may be a value. runs, serves, installs, tells: judged by what follows.
        changes, or a word that is not known: not for agents."""
        self.for_agents = frozenset(for_agents.split())
        """Subcommands that change nothing."""
        self.for_people = frozenset(for_people.split())
        """All others."""
        self.alone = alone
        """The subcommand that is meant if none is given. It lists or shows."""
        self.old = old
        """What it was called, which keeps working."""

    @property
    def path(self) -> tuple[str, ...]:
        """The words of its name."""
        return tuple(self.name.split())


ROWS: tuple[OwnVerb, ...] = (
    OwnVerb(
        "install",
        "put Interpose into an agent's hooks: without HOST, offers the agents found here; shows what changes, keeps a "
        "copy, can be undone byte for byte",
        judged="installs",
    ),
    OwnVerb("uninstall", "take Interpose out of an agent's hooks; nothing else in the file changes"),
    OwnVerb(
        "doctor",
        "run every installed hook with a harmless canary and say whether it holds, how fast, and what would open it",
        judged="looks",
    ),
    OwnVerb(
        "status",
        "show in one screen what holds here: rules, server, ledger, questions, agents, and what stands in their way",
        judged="looks",
    ),
    OwnVerb(
        "proxy",
        "stand between an agent without hooks and its model: judge calls in answers, hide secrets in results",
    ),
    OwnVerb(
        "mcp",
        "MCP servers behind the rules: the configured ones, and the verbs for them",
        judged="acts",
    ),
    OwnVerb(
        "mcp wrap", "put one MCP server behind the rules: start it, and stand between it and its client", old="wrap"
    ),
    OwnVerb("mcp gateway", "put all MCP servers of the configuration behind the rules, as one server", old="gateway"),
    OwnVerb(
        "mcp pins",
        "what MCP servers behind the gateway may show: list, show, approve, reject, forget",
        judged="acts",
        for_agents="list show",
        for_people="approve reject forget",
        old="pins",
    ),
    OwnVerb(
        "mcp interceptor-server",
        "offer the rules to MCP clients that speak the interceptor protocol (SEP-2624), over stdio or HTTP",
        old="interceptor-server",
    ),
    OwnVerb(
        "check",
        "say what is decided about a command or tool call here and now, and what it would do; with --explain, what "
        "every guard and rule says",
        judged="looks",
    ),
    OwnVerb("run", "run a command if the rules let it", judged="runs"),
    OwnVerb("demo", "watch your guards and rules decide calls, then type your own", judged="looks"),
    OwnVerb(
        "approvals",
        "answer what agents ask: list, show, approve (also with changes), deny, defer, or watch and answer as it comes",
        judged="acts",
        for_agents="list show",
        for_people="approve edit deny defer watch",
        alone="list",
    ),
    OwnVerb(
        "approvals grants",
        "what was approved and still counts: list it, or revoke it",
        judged="acts",
        for_agents="list",
        for_people="revoke",
        alone="list",
        old="grants",
    ),
    OwnVerb(
        "approvals pause",
        "auto-approve questions for a limited time (10m, 8h at most); denials still apply, and every approval is "
        "recorded",
        judged="value",
        for_agents="list",
        for_people="end",
        old="pause",
    ),
    OwnVerb(
        "approvals notify",
        "how people are notified of questions: list channels, try them out, or mute them for a while",
        judged="acts",
        for_agents="list",
        for_people="test mute unmute",
        old="notify",
    ),
    OwnVerb(
        "approvals operator",
        "who answers, and how: show it, set up a passphrase or a second system user",
        judged="acts",
        for_agents="show",
        for_people="init handover",
        alone="show",
        old="operator",
    ),
    OwnVerb("open", "show the page in your browser, and let the browser in by the code that it shows"),
    OwnVerb(
        "policy",
        "switch packs of rules on and off; test rule files, and read them for mistakes",
        judged="acts",
        for_agents="lint list schema show test",
        for_people="add disable enable keygen remove sign",
        alone="list",
    ),
    OwnVerb(
        "config",
        "show what is set and where, check interpose.yaml, or begin one",
        judged="acts",
        for_agents="check schema show",
        for_people="init",
        alone="show",
    ),
    OwnVerb(
        "governance",
        "create, lint and show governance.yaml",
        judged="acts",
        for_agents="check report schema show",
        for_people="init",
        alone="show",
    ),
    OwnVerb(
        "governance role",
        "list roles; say what a role may do with a tool, a file or a command, and why",
        for_people="check list",
        alone="list",
        old="role",
    ),
    OwnVerb(
        "governance session",
        "agents' sessions and how they stand: list, show, halt one, or let a halted one go on",
        judged="acts",
        for_agents="list show",
        for_people="halt lift",
        alone="list",
        old="session",
    ),
    OwnVerb(
        "governance command",
        "say whether a command of an agent's host may run now; let one pass its chain rules for a while",
        judged="acts",
        for_agents="bypasses check",
        for_people="bypass revoke",
        alone="bypasses",
        old="command",
    ),
    OwnVerb(
        "audit",
        "what was decided and what came of it: search it, count it, verify it, export it",
        judged="acts",
        for_agents="export search show stats tail verify",
        for_people="recover",
        alone="tail",
    ),
    OwnVerb("audit redact", "hide secrets in text that passes through", judged="looks", old="redact"),
    OwnVerb("serve", "start the decision server: an HTTP API on loopback and a Unix socket", judged="serves"),
    OwnVerb(
        "serve token",
        "make, list and take back the tokens of those who may ask the server",
        for_people="list new revoke",
        alone="list",
        old="token",
    ),
    OwnVerb("help", "read the documentation: the list of topics, a page, or the help of a verb", judged="looks"),
    OwnVerb(
        "hook",
        "answer one event of an agent's hook: JSON on standard input, the agent's own answer on standard output",
        judged="tells",
    ),
    OwnVerb("completion", "print completion for your shell (bash, zsh, fish), or the manual page", judged="looks"),
)

VERBS: Mapping[str, OwnVerb] = {row.name: row for row in ROWS}
"""Every verb by its words."""

_BY_PATH = {row.path: row for row in ROWS}

OLD: Mapping[str, tuple[str, ...]] = {"explain": ("check", "--explain")} | {
    row.old: row.path for row in ROWS if row.old
}
"""Old spellings, and what is run instead."""

KEPT = frozenset({"hook", "wrap", "gateway", "serve"})
"""INVARIANT: what settings of agents call, written by an install long ago. These spellings stay, without a hint."""


def spelled_now(words: Sequence[str]) -> list[str]:
    """A command line as it is spelled today."""
    return [*OLD.get(words[0], (words[0],)), *words[1:]] if words else []


def verb_of(words: Sequence[str]) -> OwnVerb | None:
    """The verb of a command line of today. The first word and the second alone say which."""
    return _BY_PATH.get(tuple(words[:2])) or _BY_PATH.get(tuple(words[:1]))


def below(verb: OwnVerb) -> list[OwnVerb]:
    """The verbs below a verb."""
    return [row for row in ROWS if row.path[:-1] == verb.path]
