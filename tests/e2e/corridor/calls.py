"""The calls that every door is given, and the configuration that they are judged by: one that is not the default."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

SETTINGS = """
interceptors:
  builtin:command-safety-guard: {profile: strict}
plugins: [corridor]
intercept: {shell_tool_names: [my-shell]}
"""
USER_RULES = """
version: 1
rules:
  - {id: own-deny, action: deny, when: 'command.exists(c, c.name == "frobnicate")', message: Not with us.}
  - {id: own-ask, action: ask, when: 'command.exists(c, c.name == "ls" && "/srv" in c.args)', message: Really there?}
  - {id: own-question, action: ask, when: 'command.exists(c, c.name == "ls" && "/opt" in c.args)', message: And there?}
  - {id: own-answer, action: allow, when: "true", answers: {rules: [own-question], scope: everywhere}}
  - {id: own-words, on: {tools: [exec]}, action: deny, when: 'args.command.contains("--quux")', message: No such words.}
  - {id: own-watch, action: deny, mode: watch, when: 'command.exists(c, c.name == "pwd")', message: Only noted.}
  - id: own-rewrite
    action: transform
    on: {tools: [exec]}
    when: 'command.exists(c, c.name == "date")'
    rewrite: {command: '"date -u"'}
  - id: own-rewrite-asked
    action: transform
    on: {tools: [exec]}
    when: 'command.exists(c, c.name == "printf")'
    rewrite: {command: '"ls /srv"'}
  - {id: own-file, on: {tools: [write]}, action: deny, when: 'paths.exists(p, p.endsWith(".lock"))', message: Made.}
"""
PROJECT_RULES = """
version: 1
rules:
  - {id: of-the-project, action: deny, when: 'command.exists(c, c.name == "wc")', message: Nobody counts here.}
"""
PLUGIN = """
from interpose import Allow, Deny, Transform, command_of

class Corridor:
    def intercept(self, call):
        command = command_of(call) or ""
        if "uname -a" in command:
            return Deny("The plugin says no.", rule="of-the-plugin")
        if command == "echo plugin":
            changed = {name: "echo other" if value == command else value for name, value in call.arguments.items()}
            return Transform(call.with_arguments(changed), "another word", "plugin-rewrite")
        return Allow()

def register(registry):
    registry.add(id="corridor", name="tool.before", interceptor=Corridor(), priority=5)
"""

GOVERNANCE = """
version: 1
mode: enforce
unknown_role: deny
agents:
  - {role: reader, agent: scout}
  - {role: builder}
scopes:
  RULES: {paths: [AGENTS.md]}
  PROJECT: {paths: ["**"], others: [RULES]}
roles:
  builder:
    tools: {deny: [cron], ask: [web_fetch]}
    write: [PROJECT]
    commands: [inspection, validation, git, filesystem, general]
    instead: Change the files of the project.
  reader:
    tools: {allow: [read, exec, mcp__box__read_file, mcp__box__run_command]}
    write: []
    commands: [inspection]
    instead: Report what you found.
budgets:
  - {per: session, match: "*spent*", calls: 3}
"""
SERVER_TOOLS = {"Bash": "run_command", "Read": "read_file", "Write": "write_file"}
"""What an MCP server calls its tools that do the same. It may not call them as an agent calls its own."""
SCOUT = "scout"
"""The agent that is a reader there."""


class Case(Struct, frozen=True, kw_only=True):
    """One call. `outcome` and `rule` are what is expected to decide in the library, `runs` what would run."""

    note: str
    outcome: str
    rule: str = ""
    tool: str = "Bash"
    arguments: dict[str, Any]
    runs: str = ""
    agent: str = ""
    session: str = ""
    """Calls of the same name are one session, in their order. Empty: it is the only call of its session."""

    @property
    def command(self) -> str:
        """Empty if it is no command."""
        return str(self.arguments.get("command", ""))


def _command(note: str, command: str, outcome: str, rule: str = "", runs: str = "", agent: str = "") -> Case:
    return Case(note=note, outcome=outcome, rule=rule, arguments={"command": command}, runs=runs, agent=agent)


def _file(note: str, tool: str, path: str, outcome: str, rule: str = "", agent: str = "") -> Case:
    arguments = {"file_path": path} | ({"content": "x\n"} if tool == "Write" else {})
    return Case(note=note, outcome=outcome, rule=rule, tool=tool, arguments=arguments, agent=agent)


CASES = (
    _command("no rule objects", "echo hello", "allow"),
    _command("a guard denies", "rm -rf /", "deny", "delete-system"),
    _command("a guard asks", "git reset --hard", "ask", "git-reset-hard"),
    _command("only the strict profile asks", "sudo ls", "ask", "privilege"),
    _command(
        "the baseline denies what a guard asks", "git push --force origin main", "deny", "baseline/force-push-main"
    ),
    _command("one of two commands is denied", "git reset --hard; rm -rf /", "deny", "delete-system"),
    _command("a rule of the user denies", "frobnicate --all", "deny", "own-deny"),
    _command("a rule of the user denies by the command's text", "true --quux", "deny", "own-words"),
    _command("a rule of the user asks", "ls /srv", "ask", "own-ask"),
    _command("a rule of the user answers another's question", "ls /opt", "allow"),
    _command("a rule of the user watches", "pwd", "allow", "own-watch"),
    _command("a rule of the user rewrites", "date", "rewrite", "own-rewrite", "date -u"),
    _command("what a rule rewrites is asked about", "printf x", "ask", "own-ask", "ls /srv"),
    _command("a rule of the project denies", "wc -l README.md", "deny", "of-the-project"),
    _command("a plugin denies", "uname -a", "deny", "of-the-plugin"),
    _command("a plugin rewrites", "echo plugin", "rewrite", "plugin-rewrite", "echo other"),
    _file("a file that anybody may read", "Read", "README.md", "allow"),
    _file("a key that is read", "Read", "~/.ssh/id_ed25519", "ask", "secret"),
    _file("a file that may be written", "Write", "src/new.py", "allow"),
    _file("a rule of the user denies writing", "Write", "uv.lock", "deny", "own-file"),
)
GOVERNED_CASES = (
    _command("the builder looks", "cat README.md", "allow"),
    _command("the builder writes in the project", "echo x > src/x.py", "allow"),
    _command("the builder writes what is outside of its scope", "echo x > AGENTS.md", "deny", "governance/scope"),
    _command("the builder runs a command of another kind", "make all", "deny", "governance/command"),
    _command("a plugin denies the builder", "uname -a", "deny", "of-the-plugin"),
    _command("a guard asks about the builder", "git reset --hard", "ask", "git-reset-hard"),
    _command("a rule rewrites what the builder runs", "date", "rewrite", "own-rewrite", "date -u"),
    _file("the builder writes a file", "Write", "src/new.py", "allow"),
    _file("the builder writes a file outside of its scope", "Write", "AGENTS.md", "deny", "governance/scope"),
    _command("the reader looks", "cat README.md", "allow", agent=SCOUT),
    _command("the reader writes", "echo x > src/x.py", "deny", "governance/scope", agent=SCOUT),
    _command("the reader runs what the builder may", "git commit -m x", "deny", "governance/command", agent=SCOUT),
    _file("the reader reads a file", "Read", "README.md", "allow", agent=SCOUT),
    _file("the reader writes a file", "Write", "src/new.py", "deny", "governance/role", agent=SCOUT),
)
BUDGET_CASES = tuple(
    Case(
        note=f"call {number} of a session that has three, by {agent or 'the builder'}",
        outcome="allow" if number <= 3 else "deny", rule="" if number <= 3 else "governance/budget",
        arguments={"command": f"echo {number}"}, agent=agent, session=f"spent by {agent or 'the builder'}",
    )
    for agent in ("", SCOUT)
    for number in (1, 2, 3, 4)
)  # fmt: skip
