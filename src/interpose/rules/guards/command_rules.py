"""What each effect of a command means: a table from effects to words, reasons and rule ids.

An effect is described by traits (guards/effect_traits.py): the names of its details that hold (`recursive`, `wide`,
...), where its path lies (`at:home`, `at:in-temp`, ...), and what follows from its mode. The first rule of its kind
that fits is the answer. A handler may refine id, reason and advice; it never chooses the word.

`balanced` denies what is proven and cannot be undone, asks about what is likely to harm, and lets the rest pass.
`strict` asks wherever harmlessness is not proven.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.core.types import EffectKind, Severity

Word = Literal["allow", "ask", "deny"]
Profile = Literal["balanced", "strict"]

_NONE: frozenset[str] = frozenset()


class CommandRule(Struct, frozen=True):
    """One line of the table. `needs`: all of these traits; `one_of`: at least one of them; `lacks`: none."""

    id: str
    balanced: Word
    strict: Word
    severity: Severity
    reason: str
    needs: frozenset[str] = _NONE
    one_of: frozenset[str] = _NONE
    lacks: frozenset[str] = _NONE
    instead: str = ""

    def fits(self, traits: set[str]) -> bool:
        """Whether this rule speaks about an effect with these traits."""
        return (
            self.needs <= traits
            and self.lacks.isdisjoint(traits)
            and (not self.one_of or not self.one_of.isdisjoint(traits))
        )


def _rule(
    words: str,
    rule_id: str,
    severity: Severity,
    reason: str,
    *,
    needs: str = "",
    one_of: str = "",
    lacks: str = "",
    instead: str = "",
) -> CommandRule:
    """`words` is what balanced and strict say: `allow/ask`, or one word for both."""
    balanced, _, strict = words.partition("/")
    return CommandRule(
        rule_id,
        _word(balanced),
        _word(strict or balanced),
        severity,
        reason,
        frozenset(needs.split()),
        frozenset(one_of.split()),
        frozenset(lacks.split()),
        instead,
    )


def _word(text: str) -> Word:
    match text:
        case "allow" | "ask" | "deny":
            return text
        case _:
            raise ValueError(f"no such word: {text!r}")


_WHOLE_TREES = "at:root at:system-top"
_SYSTEM = "at:root at:system-top at:system"
_HOMES = "at:home at:home-top at:in-home"
_HARMLESS = "at:in-workspace at:in-temp at:temp at:device-safe"

RULES: dict[EffectKind, tuple[CommandRule, ...]] = {
    "fs.read": (
        _rule("allow/ask", "read-device", "warning", "Reads a disk as raw bytes, every file on it included.",
              needs="at:device"),
        _rule("ask", "secret", "warning", "Reads what may hold a secret.", needs="keeps-secrets"),
        _rule("allow", "read", "info", "Reads a file."),
    ),
    "fs.write": (
        _rule("deny", "write-device", "critical", "Writes straight onto a disk, which destroys what is on it.",
              needs="at:device"),
        _rule("deny", "write-vital", "critical", "Overwrites what the system needs to start, run or log in.",
              needs="vital", lacks="append in_place directory touched"),
        _rule("ask", "write-system", "error", "Changes a part of the operating system.", one_of=_SYSTEM),
        _rule("ask", "write-repository", "error", "Changes what git keeps for itself.", needs="at:repository"),
        _rule("ask", "empty-file", "warning", "Discards all that is in this file.",
              needs="emptied", lacks="artefact leftover at:in-temp at:temp at:device-safe new"),
        _rule("ask", "history-off", "warning", "Writes over the record of what was run.",
              needs="history", lacks="append"),
        _rule("ask", "write-secret", "error", "Replaces or changes a file of secrets.", needs="keeps-secrets"),
        _rule("allow", "write", "info", "Writes in the project.", one_of=_HARMLESS),
        _rule("allow/ask", "write-outside", "warning", "Writes outside the project, or where nobody can say."),
    ),
    "fs.delete": (
        _rule("deny", "delete-system", "critical", "Deletes the system or a whole part of it.",
              needs="recursive", one_of=f"{_WHOLE_TREES} vital os", lacks="recoverable narrow partial renamed"),
        _rule("deny", "delete-system", "critical", "Overwrites files of the system, so that nothing brings them back.",
              needs="shredded", one_of=_SYSTEM),
        _rule("deny", "delete-home", "critical", "Deletes a home directory with everything in it.",
              needs="recursive at:home", lacks="recoverable narrow partial"),
        _rule("deny", "delete-home", "critical", "Deletes a directory of the home that holds much.",
              needs="recursive at:home-top", lacks="cache recoverable narrow partial moved"),
        _rule("deny", "delete-above", "critical", "Deletes the project and all that lies beside it.",
              needs="recursive above", lacks="narrow partial"),
        _rule("ask", "delete-system", "error", "Deletes a part of the operating system.",
              one_of=f"{_SYSTEM} at:device", lacks="recoverable"),
        _rule("ask", "delete-project", "error", "Deletes the whole project, work that was never committed included.",
              needs="at:workspace", one_of="recursive glob", lacks="narrow"),
        _rule("ask", "delete-secret", "error", "Deletes a file of secrets, which may exist nowhere else.",
              needs="keeps-secrets", lacks="recoverable"),
        _rule("ask", "delete-repository", "error", "Deletes the repository: branches, stashes and history are gone.",
              needs="at:repository"),
        _rule("allow/ask", "delete-temporary", "info", "Deletes temporary files.", needs="at:in-temp"),
        _rule("ask", "delete-temporary", "warning", "Deletes the temporary files of everything that runs here.",
              needs="at:temp recursive", lacks="narrow glob"),
        _rule("ask", "delete-found", "warning", "Deletes whole directories, wherever in the project they lie.",
              needs="leftover swept recursive forced"),
        _rule("allow", "delete-recoverable", "info", "Deletes what can be had again.",
              one_of="recoverable artefact leftover"),
        _rule("ask", "delete-tree", "warning", "Deletes a directory of the project without a question.",
              needs="at:in-workspace recursive forced"),
        _rule("ask", "delete-found", "warning", "Deletes every file of a kind, wherever in the project it lies.",
              one_of="narrow swept", lacks="at:temp moved"),
        _rule("allow/ask", "delete", "info", "Deletes files of the project.",
              one_of="at:in-workspace at:workspace at:device-safe at:temp"),
        _rule("allow/ask", "move", "info", "Moves files to another place.",
              needs="moved", one_of="at:in-home at:elsewhere at:unknown"),
        _rule("ask", "delete-unknown", "error", "Deletes a whole tree that only shows when it runs.",
              needs="at:unknown recursive"),
        _rule("allow/ask", "delete-unknown", "warning", "Deletes a file that only shows when it runs.",
              needs="at:unknown"),
        _rule("ask", "delete-outside", "warning", "Deletes something outside the project."),
    ),
    "fs.permission": (
        _rule("deny", "permission-system", "critical", "Changes who may use the whole system, which breaks it.",
              needs="recursive", one_of=f"{_WHOLE_TREES} at:home vital os", lacks="own_home"),
        _rule("deny", "permission-system", "critical", "Locks everybody out of a part of the system.",
              needs="locked", one_of=_SYSTEM),
        _rule("ask", "permission-setuid", "error", "Lets everyone run this program with its owner's rights.",
              needs="setuid"),
        _rule("ask", "permission-system", "error", "Changes who may use a part of the system.",
              one_of=f"{_SYSTEM} at:device at:home"),
        _rule("ask", "permission-locked", "warning", "Locks everybody out of all that lies here.",
              needs="locked", one_of="recursive at:home-top at:repository", lacks="at:in-temp"),
        _rule("ask", "permission-hooks", "warning", "Switches a check of the repository on or off.", needs="hooks"),
        _rule("ask", "permission-open", "warning", "Lets everyone on the machine change this.",
              needs="open", lacks="at:in-temp"),
        _rule("allow", "permission", "info", "Changes permissions in the project.", one_of=_HARMLESS),
        _rule("allow/ask", "permission", "info", "Changes permissions outside the project."),
    ),
    "process.exec": (
        _rule("deny", "backdoor", "critical", "Hands a shell on this machine to somebody else.", needs="wide"),
        _rule("allow/ask", "unknown-command", "info", "Runs a command that nobody here knows.", needs="unknown"),
        _rule("allow/ask", "project-code", "info", "Runs code that lies in files.", one_of="script project"),
        _rule("allow", "run", "info", "Runs a command."),
    ),
    "process.kill": (
        _rule("deny", "kill-all", "critical", "Ends every process it can reach.", needs="wide"),
        _rule("allow/ask", "kill", "info", "Ends a process that is easily started again.", needs="recoverable"),
        _rule("ask", "kill", "warning", "Ends a running process."),
    ),
    "code.remote": (
        _rule("deny", "remote-code", "critical", "Runs code that comes from elsewhere and that nobody has read."),
    ),
    "net.upload": (
        _rule("deny", "exfiltration", "critical", "Sends a secret to another machine.", needs="secret"),
        _rule("allow/ask", "upload", "warning", "Sends data to this machine itself.", needs="local"),
        _rule("ask", "upload", "warning", "Sends data to another machine.", one_of="file env input changes raw"),
        _rule("allow/ask", "upload", "warning", "Sends data to another machine."),
    ),
    "net.download": (_rule("allow/ask", "download", "info", "Fetches something from another machine."),),
    "net.listen": (
        _rule("deny", "backdoor", "critical", "Lets anybody who connects run commands here.", needs="shell"),
        _rule("ask", "listen-public", "warning", "Makes this machine reachable from the internet.", needs="public"),
        _rule("allow/ask", "listen", "info", "Waits for connections from outside."),
    ),
    "privilege": (
        _rule("ask", "root-shell", "error", "Opens a session of another user in which anything can run.",
              needs="shell"),
        _rule("ask", "grant", "error", "Gives rights that reach further than this command.", needs="grants"),
        _rule("allow/ask", "privilege", "warning", "Runs with the rights of another user."),
    ),
    "vcs.discard": (
        _rule("allow/ask", "discard", "info", "Removes what git can bring back.", needs="recoverable"),
        _rule("ask", "discard", "error", "Work or history is lost for good.", needs="wide"),
        _rule("ask", "discard", "warning", "Work that was not committed, or history, may be lost."),
    ),
    "vcs.publish": (
        _rule("ask", "rewrite-remote", "error", "Rewrites or removes history that others work on.",
              one_of="forced wide delete deleted mirror"),
        _rule("ask", "skip-hooks", "warning", "Skips the checks that the project wants to run.", needs="skips_hooks"),
        _rule("allow/ask", "publish", "info", "Publishes commits."),
    ),
    "data.destroy": (
        _rule("allow/ask", "destroy-data", "info", "Removes data that can be had again.", needs="recoverable"),
        _rule("deny", "destroy-data", "critical", "Destroys all data of its kind.", needs="wide"),
        _rule("ask", "destroy-data", "error", "Destroys data."),
    ),
    "infra.destroy": (
        _rule("allow/ask", "destroy-resource", "info", "Removes what is easily made again.", needs="recoverable"),
        _rule("deny", "destroy-resource", "critical", "Destroys everything of its kind.", needs="wide"),
        _rule("ask", "destroy-resource", "error", "Destroys or stops something that others may rely on."),
    ),
    "package.install": (
        _rule("ask", "install-foreign", "warning", "Installs code from a place that is not the usual one.",
              one_of="remote foreign"),
        _rule("allow/ask", "install", "info", "Installs packages, whose scripts may run."),
    ),
    "package.publish": (
        _rule("allow/ask", "publish-package", "info", "Publishes what can be taken back.", needs="recoverable"),
        _rule("ask", "publish-package", "error", "Publishes to the world, which can hardly be taken back."),
    ),
    "world.change": (
        _rule("ask", "world-change", "warning", "Does something that other people see and that can hardly be undone."),
    ),
    "persistence": (
        _rule("allow/ask", "persistence", "info", "Changes what a tool of the project runs later.",
              one_of="soft recoverable"),
        _rule("ask", "persistence", "error", "Plants something that runs later without anybody asking."),
    ),
    "system": (
        _rule("allow/ask", "system", "info", "Changes the state of the machine in a way that is easily undone.",
              needs="recoverable"),
        _rule("deny", "system", "critical", "Takes down or breaks the whole machine.", needs="wide"),
        _rule("ask", "system", "error", "Changes the state of the machine."),
    ),
    "secret.read": (
        _rule("deny", "secret-sweep", "critical", "Reads keys and tokens that nobody asked for by name.",
              needs="credential swept"),
        _rule("allow/ask", "secret", "info", "Reads what says a little about who works here.", needs="faint"),
        _rule("ask", "secret", "warning", "Reads what may hold a secret.", needs="soft"),
        _rule("ask", "secret", "error", "Reads a secret, which would then be in the agent's memory and logs."),
    ),
    "guard.tamper": (
        _rule("deny", "guard-tamper", "critical", "Touches the guard that watches this.", one_of="wide ours"),
        _rule("ask", "guard-tamper", "error", "Changes what watches over the agent."),
    ),
    "opaque": (
        _rule("deny", "too-deep", "error", "Nested deeper than honest commands are, so nobody can say what would run.",
              needs="beyond:too-deep"),
        _rule("deny", "too-large", "error", "More than is looked at, so nobody can say what would run.",
              needs="beyond:too-large"),
        _rule("deny", "too-complex", "error", "Takes more steps to understand than are taken for one call.",
              needs="beyond:too-complex"),
        _rule("allow/ask", "unclear", "info", "Runs something that is only known when it runs.", needs="recoverable"),
        _rule("ask", "unclear", "warning", "Nobody can say from this text what would run."),
    ),
}  # fmt: skip


TOGETHER: tuple[tuple[frozenset[EffectKind], CommandRule], ...] = (
    (
        frozenset({"privilege", "process.kill"}),
        _rule("ask", "privileged-change", "warning", "Ends processes that belong to somebody else."),
    ),
    (
        frozenset({"privilege", "persistence"}),
        _rule("ask", "privileged-change", "warning", "Changes what runs later with the rights of another user."),
    ),
)
"""What two effects mean together, when each by itself may pass. The second kind is the one that is named."""


def rule_for(kind: EffectKind, traits: set[str]) -> CommandRule:
    """The first rule of its kind that fits. Every kind ends with a rule that fits always."""
    for rule in RULES[kind]:
        if rule.fits(traits):
            return rule
    raise AssertionError(f"the rules for {kind} have no last word")
