"""Agents that start agents: what another agent does is out of our sight, the more so when its own guards are off."""

from __future__ import annotations

from interpose.agents.known_agents import AGENT_OF
from interpose.agents.off_flags import is_off_command, off_flags_in
from interpose.shell.commands.shared.handler_table import command
from interpose.shell.invocation import UNKNOWN, Invocation, Lowering

_AGENTS = (
    "claude", "codex", "gemini", "qwen", "aider", "cursor-agent", "opencode", "amp", "copilot", "crush", "kimi",
    "droid", "auggie", "openhands", "cline", "claude-code", "gemini-cli", "qwen-code",
)  # fmt: skip
_UNGUARDED = frozenset(
    {
        "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--enable-auto-mode", "--yolo",
        "--dangerously-bypass-approvals-and-sandbox", "--full-auto", "--yes-always", "--allow-all-tools",
        "--allow-all", "--dangerously-allow-all", "--skip-permissions-unsafe", "--auto-approve", "--force", "-f",
        "--always-approve",
    }
)  # fmt: skip
_UNGUARDED_VALUES = frozenset({"bypassPermissions", "yolo", "danger-full-access", "never", "acceptEdits", "dontAsk"})
_VALUES = frozenset(
    {"--permission-mode", "--approval-mode", "--sandbox", "-s", "-a", "--ask-for-approval", "--sandbox_mode"}
)


_TASKS = frozenset(
    {"-p", "--print", "--prompt", "exec", "e", "run", "--resume", "-r", "resume", "--continue", "-c", "--message", "-m"}
)
"""What makes an agent start to work, rather than show or set something up."""
_INFORM = frozenset({"--help", "-h", "--version", "help"})


def _hooks_off(inv: Invocation, low: Lowering, texts: list[str]) -> bool:
    """Whether an agent's hooks are switched off, for good or for this start."""
    host = AGENT_OF.get(inv.name, "")
    if is_off_command(host, texts):
        low.emit("guard.tamper", inv.name, wide=True, rule="guard-off",
                 reason="Switches the hooks of an agent off, which watch over what it does")  # fmt: skip
        return True
    for flag, _ in off_flags_in(host, texts):
        low.emit("guard.tamper", inv.name, rule="unguarded-agent",
                 reason=f"With {flag.shown} this agent does not run the hooks that watch over it")  # fmt: skip
        return True
    return False


@command("openclaw", "kiro-cli")
def messenger(inv: Invocation, low: Lowering) -> None:
    """Agents with many commands that start no work: their hooks are what matters."""
    if not _hooks_off(inv, low, [word.text for word in inv.args]):
        low.emit("process.exec", inv.name)


@command(*_AGENTS)
def agent(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    if _hooks_off(inv, low, texts):
        return
    for word, after in zip(inv.args, [*texts[1:], ""], strict=False):
        name, _, value = word.text.partition("=")
        if word.text == "--":
            break
        if name in _UNGUARDED or (name in _VALUES and (value or after) in _UNGUARDED_VALUES):
            low.emit("guard.tamper", inv.name, at=word, rule="unguarded-agent",
                     reason="Starts another agent that acts without asking anybody")  # fmt: skip
            return
    if inv.name == "gemini" and "-y" in texts:
        low.emit("guard.tamper", inv.name, rule="unguarded-agent",
                 reason="Starts another agent that acts without asking anybody")  # fmt: skip
        return
    if _adds_server(texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="agent-settings",
                 reason="Gives an agent another tool server, past whoever watches the others")  # fmt: skip
        return
    if any(text in _TASKS for text in texts) and not any(text in _INFORM for text in texts):
        low.emit("guard.tamper", inv.name, certainty="possible", rule="nested-agent",
                 reason="Starts another agent, whose calls nobody here sees")  # fmt: skip
        return
    low.emit("process.exec", inv.name)


_ADDING = frozenset({"add", "add-json", "add-from-claude-desktop", "import", "enable", "install"})


def _adds_server(texts: list[str]) -> bool:
    """`mcp add` and its like; options of the agent may stand before and between."""
    words = [text for text in texts if not text.startswith("-")]
    if "mcp" not in words:
        return False
    behind = words[words.index("mcp") + 1 :]
    return not any(text in _INFORM for text in texts) and any(word in _ADDING or UNKNOWN in word for word in behind[:2])


_SWITCHES = frozenset(
    {
        "disable",
        "off",
        "stop",
        "uninstall",
        "remove",
        "allow",
        "allow-path",
        "trust",
        "approve",
        "grant",
        "forget",
        "reset",
        "watch",
        "token",
        "sign",
    }
)
_GROUPS = frozenset({"policy", "approvals", "grants"})
"""Verbs whose next word says what is done. An agent must not answer the questions that are asked about it."""


@command("nah")
def guarded(inv: Invocation, low: Lowering) -> None:
    """A guard that starts an agent: the agent is what matters."""
    verbs = [word for word in inv.args if not word.text.startswith("-")]
    if verbs and verbs[0].text == "run":
        low.run(inv.args[1:], via=f"{inv.name} run")
        return
    if not any(word.text in _GROUPS for word in verbs):
        verbs = verbs[:1]  # further words may be anything; those of a group may come after an option's value
    switch = next((word for word in verbs if word.text in _SWITCHES or UNKNOWN in word.text), None)
    if switch is not None:
        low.emit("guard.tamper", inv.name, at=switch, wide=True, rule="guard-off",
                 reason="Changes or switches off the guard that watches this")  # fmt: skip
