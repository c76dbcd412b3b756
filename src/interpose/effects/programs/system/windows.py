"""Windows programs, and cmdlets and commands of its shells that are met bare on a line taken for bash."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.languages.cmd import run_command
from interpose.effects.languages.powershell import Flow, cmdlet
from interpose.effects.languages.powershell_tables import BARE
from interpose.effects.languages.windows_paths import posix_word
from interpose.effects.programs.shared.inline_code import run_inline
from interpose.effects.programs.shared.options import parse
from interpose.effects.values import EffectKind


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
    "wevtutil": (Harmful(("cl", "clear-log", "sl", "set-log", "um"), "guard.tamper", "log-clear",
                         "The record of what happened on the machine is erased"),),
    "cipher": (Harmful(("/w", "/d"), "data.destroy", "free-space-wipe", "What was deleted can no longer be restored"),),
    "diskpart": (Harmful(("",), "data.destroy", "disk-wipe", "diskpart changes and erases whole disks"),),
    "reg": (
        Harmful(("save", "export"), "secret.read", "registry-save", "Parts of the registry are copied to a file"),
        Harmful(("delete",), "system", "registry-delete", "Keys of the registry are removed"),
        Harmful(("add", "import", "restore", "load"), "persistence", "registry-add", "The registry is changed"),
    ),
    "regedit": (Harmful(("/s",), "persistence", "registry-add", "The registry is changed"),),
    "schtasks": (
        Harmful(("/create", "/change"), "persistence", "scheduled-task",
                "Something will run later without being asked for"),
        Harmful(("/delete",), "system", "scheduled-task-delete", "A scheduled task is removed"),
    ),
    "takeown": (Harmful(("/r", "c:\\windows"), "system", "take-ownership", "The owner of a whole tree is changed"),
                Harmful(("/f",), "fs.permission", "take-ownership", "The owner of files is changed"),),
    "icacls": (Harmful(("everyone:", "*s-1-1-0:", "users:"), "system", "acl-open", "Opens files to everybody"),
               Harmful(("/grant", "/deny", "/reset", "/setowner", "/remove"), "fs.permission", "acl-change",
                       "Who may use files is changed"),),
    "cacls": (Harmful(("/g", "/e", "/p", "/d"), "fs.permission", "acl-change", "Who may use files is changed"),),
    "mountvol": (Harmful(("/d", "/r", "/n"), "system", "volume-unmount", "A volume is taken away from its drive"),),
    "sc": (Harmful(("delete", "create", "config", "stop", "failure", "sdset"), "system", "service-change",
                   "A service of the machine is changed"),),
    "diskshadow": (Harmful(("",), "guard.tamper", "shadow-copies", "Copies of volumes are made, opened or deleted"),),
    "reagentc": (Harmful(("/disable",), "guard.tamper", "restore-off", "The machine could not be restored any more"),),
    "manage-bde": (Harmful(("-off", "-pause", "-disable", "-forcerecovery", "-wipefreespace"), "guard.tamper",
                           "encryption-off", "The encryption of a disk is switched off"),),
    "cmdkey": (Harmful(("/add", "/delete", "/generic"), "system", "credential-change",
    "Stored credentials are changed"),
               Harmful(("/list",), "secret.read", "", ""),),
    "vaultcmd": (Harmful(("/list", "/listcreds"), "secret.read", "", ""),),
    "msiexec": (Harmful(("http",), "code.remote", "", ""),
                Harmful(("/i", "/package", "/x", "/uninstall", "/a", "/f"), "system", "installer",
                        "A package is installed or removed"),),
    "odbcconf": (Harmful(("/a", "-a", "/f", "-f"), "opaque", "proxy-program", "A tool of the system loads a library"),),
    "installutil": (Harmful(("",), "opaque", "proxy-program", "A tool of the system runs code of a library"),),
    "regasm": (Harmful(("",), "opaque", "proxy-program", "A tool of the system runs code of a library"),),
    "regsvcs": (Harmful(("",), "opaque", "proxy-program", "A tool of the system runs code of a library"),),
    "wusa": (Harmful(("/uninstall",), "system", "update-remove", "An update of the system is removed"),),
    "dism": (Harmful(("/remove", "/disable", "/cleanup-mountpoints", "/apply", "/set"), "system", "image-change",
                     "Parts of the system are removed or replaced"),),
    "auditpol": (Harmful(("/clear", "/remove", "/set", "/restore"), "guard.tamper", "audit-off",
                         "What the system records is changed"),),
    "setx": (Harmful(("",), "persistence", "environment-set", "A variable is set for everything that starts later"),),
    "bootrec": (Harmful(("/",), "system", "boot-settings", "How the machine starts is changed"),),
    "bootsect": (Harmful(("/nt",), "system", "boot-settings", "How the machine starts is changed"),),
    "bcdboot": (Harmful(("",), "system", "boot-settings", "How the machine starts is changed"),),
    "sdelete": (Harmful(("-", "/"), "data.destroy", "file-wipe", "Files are erased so that nothing brings them back"),),
    "sdelete64": (Harmful(("-", "/"), "data.destroy", "file-wipe",
    "Files are erased so that nothing brings them back"),),
    "ntdsutil": (Harmful(("",), "secret.read", "", ""),),
    "esentutl": (Harmful(("/y", "/vss", "/d", "/p"), "system", "database-copy",
    "Files in use are copied or repaired"),),
    "procdump": (Harmful(("-ma", "lsass"), "secret.read", "memory-dump",
    "Copies the memory of a process, with its secrets"),),
    "secedit": (Harmful(("/configure", "/import"), "guard.tamper", "policy-change", "The security policy is changed"),),
    "logoff": (Harmful(("",), "system", "power", "Ends somebody's session"),),
    "tsdiscon": (Harmful(("",), "system", "power", "Ends somebody's session"),),
    "powercfg": (Harmful(("/h", "/hibernate", "/delete", "-h", "/change"), "system", "power-settings",
                         "How the machine sleeps is changed"),),
    "chkntfs": (Harmful(("/x", "/c"), "system", "disk-check", "How disks are checked at the start is changed"),),
    "netdom": (Harmful(("remove", "join", "resetpwd"), "system", "domain-leave", "The machine changes its domain"),),
    "wevtutil.exe": (Harmful(("cl",), "guard.tamper", "log-clear", "The record of what happened is erased"),),
    "netsh": (Harmful(("off", "reset", "delete", "portproxy", "add", "set", "export", "disable"), "system",
    "network-settings",
                      "The machine's network or firewall is changed"),),
    "wmic": (
        Harmful(("delete", "uninstall", "terminate"), "system", "wmic-delete", "Something of the machine is removed"),
        Harmful(("create",), "system", "wmic-create", "A program is started through the machine's management"),
    ),
    "sc.exe": (Harmful(("delete", "create", "config", "stop", "failure", "sdset"), "system", "service-change",
                       "A service of the machine is changed"),),
    "fsutil": (Harmful(("setzerodata", "deletejournal", "usn", "file", "behavior", "volume"), "data.destroy",
    "file-system-change",
                       "The file system is changed"),),
    "bitsadmin": (Harmful(("/transfer", "/addfile", "/setnotifycmdline"), "opaque", "downloader",
                          "A tool of the system fetches what nobody has looked at"),),
    "mshta": (Harmful(("http", "vbscript:", "javascript:", "about:"), "code.remote", "", ""),),
    "regsvr32": (Harmful(("http", "/i:"), "code.remote", "", ""),),
    "rundll32": (
        Harmful(("javascript:", "vbscript:", "\\\\", "http", "url.dll,", "zipfldr.dll,",
        "shell32.dll,shellexec_rundll"),
                "code.remote", "", ""),
        Harmful(("comsvcs", "c:\\windows\\system32\\comsvcs"), "secret.read", "memory-dump",
                "Copies the memory of a process, with its secrets"),
    ),
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


@command("forfiles")
def forfiles(inv: Invocation, low: Lowering) -> None:
    """Runs a command for every file that it finds: `@path` is each of them."""
    given = {word.text.lower(): following for word, following in pairwise(inv.args) if word.text.startswith("/")}
    where = given.get("/p", Word(".")).text
    mask = given.get("/m", Word("*")).text
    code = given.get("/c", Word("")).text
    found = f"{where.rstrip(chr(92))}\\{mask}"
    for name in ("@path", "@file", "@relpath", "@fname"):
        code = code.replace(name, found).replace(name.upper(), found)
    if any(word.text.lower() == "/s" for word in inv.args):
        code = code.replace("del ", "del /s ")
    low.code("cmd", code, via="forfiles")


@command("cscript", "wscript")
def script_host(inv: Invocation, low: Lowering) -> None:
    for word in inv.args:
        if word.text.startswith(("http://", "https://", "\\\\")):
            low.emit("code.remote", word.text, at=word)
            return
        if not word.text.startswith("/"):
            low.run_file(word, via=inv.name, language="vbscript")
            return


@command("runas", "pcalua", "conhost")
def run_other(inv: Invocation, low: Lowering) -> None:
    """The last word of runas is a command line; pcalua's follows `-a`, conhost's is all of its words."""
    if inv.name == "runas":
        low.emit("privilege", "another user")
        if inv.args:
            low.code("cmd", inv.args[-1], via="runas")
    elif inv.name == "pcalua":
        words = [word for word in inv.args if word.text not in ("-a", "-c", "-d")]
        low.code("cmd", " ".join(word.text for word in words), via="pcalua")
    else:
        low.run(tuple(word for word in inv.args if not word.text.startswith("--")), via="conhost")


@command("psexec", "psexec64", "paexec", "winrs")
def run_elsewhere(inv: Invocation, low: Lowering) -> None:
    """Runs a command on another machine, or with more rights here."""
    opts = parse(inv.args, values=("-u", "-p", "-w", "-r", "-n", "-a", "-c"), stop=True, bundle=False)
    words = tuple(word for word in opts.operands if not word.text.startswith(("\\", "@", "/accepteula")))
    low.emit("privilege", inv.name, shell=opts.has("-s", "-i", "-h") and len(words) < 2)
    if words and words[0].text.startswith(("-r:", "-u:", "-p:", "/r:")):
        words = words[1:]
    low.run(words, via=inv.name)
