"""Windows programs, and cmdlets and commands of its shells that are met bare on a line taken for bash."""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.commands.shared.handler_table import Handler, command
from interpose.shell.commands.shared.inline_code import run_inline
from interpose.shell.invocation import Invocation, Lowering, Stream, Word
from interpose.shell.languages.cmd import run_command
from interpose.shell.languages.powershell import Flow, cmdlet
from interpose.shell.languages.powershell_tables import BARE
from interpose.shell.languages.windows_paths import posix_word
from interpose.types import EffectKind


class Harmful(Struct, frozen=True):
    """A program that does harm when its arguments hold one of these words."""

    when: tuple[str, ...]
    kind: EffectKind
    rule: str
    reason: str
    wide: bool = False


PROGRAMS: dict[str, tuple[Harmful, ...]] = {
    "vssadmin": (Harmful(("delete", "resize"), "guard.tamper", "shadow-copies",
                         "The copies from which files are restored are deleted", wide=True),),
    "wbadmin": (Harmful(("delete",), "data.destroy", "backup-delete", "Backups of the machine are deleted",
                        wide=True),),
    "bcdedit": (Harmful(("/set", "/delete", "/deletevalue"), "system", "boot-settings",
                        "How the machine starts is changed"),),
    "wevtutil": (Harmful(("cl", "clear-log"), "guard.tamper", "log-clear",
                         "The record of what happened on the machine is erased"),),
    "cipher": (Harmful(("/w",), "data.destroy", "free-space-wipe", "What was deleted can no longer be restored"),),
    "diskpart": (Harmful(("",), "data.destroy", "disk-wipe", "diskpart changes and erases whole disks"),),
    "reg": (
        Harmful(("delete",), "system", "registry-delete", "Keys of the registry are removed"),
        Harmful(("add", "import", "restore", "load"), "persistence", "registry-add", "The registry is changed"),
    ),
    "regedit": (Harmful(("/s",), "persistence", "registry-add", "The registry is changed"),),
    "schtasks": (
        Harmful(("/create", "/change"), "persistence", "scheduled-task",
                "Something will run later without being asked for"),
        Harmful(("/delete",), "system", "scheduled-task-delete", "A scheduled task is removed"),
    ),
    "takeown": (Harmful(("/f",), "fs.permission", "take-ownership", "The owner of files is changed"),),
    "icacls": (Harmful(("/grant", "/deny", "/reset", "/setowner", "/remove"), "fs.permission", "acl-change",
                       "Who may use files is changed"),),
    "cacls": (Harmful(("/g", "/e", "/p", "/d"), "fs.permission", "acl-change", "Who may use files is changed"),),
    "netsh": (Harmful(("off", "reset", "delete", "portproxy"), "system", "network-settings",
                      "The machine's network or firewall is changed"),),
    "wmic": (
        Harmful(("delete", "uninstall", "terminate"), "system", "wmic-delete", "Something of the machine is removed"),
        Harmful(("create",), "system", "wmic-create", "A program is started through the machine's management"),
    ),
    "sc.exe": (Harmful(("delete", "create", "config", "stop"), "system", "service-change",
                       "A service of the machine is changed"),),
    "fsutil": (Harmful(("setzerodata", "deletejournal", "usn"), "data.destroy", "file-system-change",
                       "The file system is changed"),),
    "bitsadmin": (Harmful(("/transfer", "/addfile"), "opaque", "downloader",
                          "A tool of the system fetches what nobody has looked at"),),
    "mshta": (Harmful(("http",), "code.remote", "", ""),),
    "regsvr32": (Harmful(("http", "/i:"), "code.remote", "", ""),),
    "rundll32": (Harmful(("javascript:",), "code.remote", "", ""),),
    "tskill": (Harmful(("",), "process.kill", "", ""),),
    "taskkill": (Harmful(("/im", "/pid", "/f"), "process.kill", "", ""),),
}  # fmt: skip


def _program(rules: tuple[Harmful, ...]) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        texts = [word.text.lower() for word in inv.args]
        for rule in rules:
            if any(text.startswith(known) for known in rule.when for text in texts or [""]):
                resource = next((word.text for word in inv.args if not word.text.startswith(("/", "-"))), inv.name)
                low.emit(rule.kind, resource, rule=rule.rule, reason=rule.reason, wide=rule.wide)
                return

    return run


for _name, _rules in PROGRAMS.items():
    command(_name)(_program(_rules))


@command(*BARE, *(name.lower() for name in BARE if not name.islower()))
def bare_cmdlet(inv: Invocation, low: Lowering) -> None:
    incoming = Flow(inv.stdin.text, inv.stdin.taints) if inv.stdin is not None else None
    flow = cmdlet(inv.name, inv.args, incoming, low, incoming.taints if incoming else frozenset())
    if inv.name.lower() == "out-string" and inv.stdin is not None:
        low.output(inv.stdin)
    elif flow.taints:
        low.output(Stream(None, flow.taints))


@command("iex", "IEX")
def iex(inv: Invocation, low: Lowering) -> None:
    """PowerShell's Invoke-Expression, or Elixir's shell when it is given options."""
    if inv.args and inv.args[0].text.startswith("-"):
        run_inline(inv, low)
        return
    if inv.args or inv.stdin is not None:
        bare_cmdlet(Invocation("Invoke-Expression", inv.args, inv.span, inv.argv0, inv.stdin), low)


@command("del", "erase", "rd", "Del", "DEL", "RD", "RMDIR")
def bare_command(inv: Invocation, low: Lowering) -> None:
    run_command([inv.name, *(word.text for word in inv.args)], low)


@command("format", "format.com", "FORMAT")
def format_drive(inv: Invocation, low: Lowering) -> None:
    for word in inv.args:
        if len(word.text) == 2 and word.text[1] == ":" and word.text[0].isalpha():
            low.emit("data.destroy", word.text, at=word, rule="disk-wipe", wide=True, reason="A whole volume is erased")


@command("robocopy")
def robocopy(inv: Invocation, low: Lowering) -> None:
    flags = {word.text.lower() for word in inv.args}
    places = [posix_word(word, low.home) for word in inv.args if not word.text.startswith("/")]
    if len(places) > 1:
        low.write(places[1])
        if flags & {"/mir", "/purge"}:
            low.delete(Word(f"{places[1].text.rstrip('/')}/*", glob=True), recursive=True, forced=True)
    if "/move" in flags and places:
        low.delete(places[0], recursive=True)


@command("net", "net1")
def net(inv: Invocation, low: Lowering) -> None:
    texts = [word.text.lower() for word in inv.args]
    if texts[:1] in (["user"], ["localgroup"]) and {"/add", "/delete"} & set(texts):
        kind: EffectKind = "persistence" if "/add" in texts else "system"
        low.emit(kind, " ".join(texts[1:2]), rule="user-change", reason="Accounts of the machine are changed")
    elif texts[:1] == ["stop"]:
        low.emit("system", " ".join(texts[1:2]), rule="service-stop", reason="A service of the machine is stopped")
