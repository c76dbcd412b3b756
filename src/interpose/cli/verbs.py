"""Every verb by what people do with it, and what each does in a line: known without importing any of them."""

from __future__ import annotations

from collections.abc import Mapping

# INVARIANT: the line of a verb is the HELP of its module; tests/unit/cli/test_verbs.py holds this.
GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Guard an agent": (
        "interpose install claude-code",
        {
            "install": "put Interpose into an agent's hooks: without HOST, offers the agents found here; shows what "
            "changes, keeps a copy, can be undone byte for byte",
            "uninstall": "take Interpose out of an agent's hooks; nothing else in the file changes",
            "doctor": "run every installed hook with a harmless canary and say whether it holds, how fast, and what "
            "would open it",
            "status": "show in one screen what holds here: rules, server, ledger, questions, agents, and what "
            "stands in their way",
            "proxy": "stand between an agent without hooks and its model: judge calls in answers, hide secrets in "
            "results",
        },
    ),
    "Guard MCP servers": (
        "interpose wrap -- npx some-server",
        {
            "wrap": "put one MCP server behind the rules: start it, and stand between it and its client",
            "gateway": "put all MCP servers of the configuration behind the rules, as one server",
            "pins": "what MCP servers behind the gateway may show: list, show, approve, reject, forget",
            "interceptor-server": "offer the rules to MCP clients that speak the interceptor protocol (SEP-2624), over "
            "stdio or HTTP",
        },
    ),
    "Ask what is decided": (
        "interpose check 'rm -rf build'",
        {
            "check": "say what is decided about a command or tool call here and now, and what it would do",
            "explain": "show what every guard and rule says to a call, who decides, and what would be allowed instead",
            "command": "say whether a command of an agent's host may run now; let one pass its chain rules for a while",
            "run": "run a command if the rules let it",
            "demo": "watch your guards and rules decide calls, then type your own",
        },
    ),
    "Answer questions": (
        "interpose approvals watch",
        {
            "approvals": "answer what agents ask: list, show, approve (also with changes), deny, defer, or watch and "
            "answer as it comes",
            "open": "show the page in your browser, and let the browser in by the code that it shows",
            "session": "agents' sessions and how they stand: list, show, halt one, or let a halted one go on",
            "grants": "what was approved and still counts: list it, or revoke it",
            "pause": "answer questions with yes for a while (10m, 8h at most); denies stand, it is recorded, and it "
            "ends by itself",
            "notify": "how people are told of questions: list channels, try them out, or mute them for a while",
            "operator": "set up who answers: a passphrase, or a second system user",
        },
    ),
    "Write rules": (
        "interpose policy test",
        {
            "policy": "switch packs of rules on and off; test rule files, and read them for mistakes",
            "config": "show what is set and where, check interpose.yaml, or begin one",
        },
    ),
    "Govern agents": (
        "interpose governance init",
        {
            "governance": "begin a governance.yaml, read it for mistakes, and show what each role may do",
            "role": "say what a role may do with a tool, a file or a command, and why",
        },
    ),
    "Read the record": (
        "interpose audit tail -f",
        {
            "audit": "what was decided and what came of it: search it, count it, verify it, export it",
            "redact": "hide secrets in text that passes through",
        },
    ),
    "Run the server": (
        "interpose serve",
        {
            "serve": "start the decision server: an HTTP API on loopback and a Unix socket",
            "token": "make, list and take back the tokens of those who may ask the server",
        },
    ),
    "Read the documentation": (
        "interpose help approvals",
        {"help": "read the documentation: the list of topics, a page, or the help of a verb"},
    ),
    "For hooks and shells": (
        "interpose completion bash",
        {
            "hook": "answer one event of an agent's hook: JSON on standard input, the agent's own answer on standard "
            "output",
            "completion": "print completion for your shell (bash, zsh, fish), or the manual page",
        },
    ),
}
"""What people do, an example of it, and the verbs for it."""

HELPS: Mapping[str, str] = {verb: line for _, verbs in GROUPS.values() for verb, line in verbs.items()}


def module_of(verb: str) -> str:
    """Where a verb is."""
    return f"interpose.cli.{verb.replace('-', '_')}"
