"""PowerShell's cmdlets as data: what they do, and the short names they go by. Names are in lower case."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.effects.values import EffectKind


class Cmdlet(Struct, frozen=True, kw_only=True):
    """What a cmdlet does."""

    does: Literal[
        "delete", "write", "read", "list", "move", "download", "code", "start", "effect", "none", "send", "source"
    ]
    kind: EffectKind = "system"
    rule: str = ""
    reason: str = ""
    wide: bool = False


def _effect(kind: EffectKind, rule: str, reason: str, *, wide: bool = False) -> Cmdlet:
    return Cmdlet(does="effect", kind=kind, rule=rule, reason=reason, wide=wide)


_DELETE, _WRITE, _READ = Cmdlet(does="delete"), Cmdlet(does="write"), Cmdlet(does="read")
_LIST, _MOVE = Cmdlet(does="list"), Cmdlet(does="move")
_DOWNLOAD, _CODE, _NONE = Cmdlet(does="download"), Cmdlet(does="code"), Cmdlet(does="none")
_DISK = _effect("data.destroy", "disk-wipe", "A whole disk or volume is erased", wide=True)
_POWER = _effect("system", "power", "This stops the whole machine")
_FIREWALL = _effect("system", "firewall", "What the firewall lets through is changed")
_NETWORK = _effect("system", "network", "How the machine is connected is changed")
_REMOTE = _effect("system", "remote-access", "The machine can be controlled from afar")
_ACCOUNT = _effect("system", "account", "Who has an account on the machine, and what it may do, is changed")
_SERVICE = _effect("system", "service-change", "A service of the machine is changed")
_TASK = _effect("persistence", "scheduled-task", "Something will run later without being asked for")
_REMOTE_RUN = _effect("system", "wmic-create", "A program is started through the machine's management")
_PROTECTION = _effect("guard.tamper", "protection-off", "A protection of the machine is switched off")
_SECRET = _effect("secret.read", "", "")
_CLOUD = _effect("infra.destroy", "cloud-remove", "Something is removed or stopped that others may rely on")

CMDLETS: dict[str, Cmdlet] = {
    "remove-item": _DELETE,
    "clear-content": _WRITE, "set-content": _WRITE, "add-content": _WRITE, "out-file": _WRITE, "tee-object": _WRITE,
    "new-item": _WRITE,
    "export-csv": _WRITE,
    "get-content": _READ,
    "get-childitem": _LIST, "get-item": _LIST, "resolve-path": _LIST, "join-path": _LIST,
    "move-item": _MOVE, "copy-item": _MOVE, "rename-item": _MOVE,
    "invoke-webrequest": _DOWNLOAD, "invoke-restmethod": _DOWNLOAD, "start-bitstransfer": _DOWNLOAD,
    "invoke-expression": _CODE, "invoke-command": _CODE,
    "start-process": Cmdlet(does="start"),
    "format-volume": _DISK, "clear-disk": _DISK, "initialize-disk": _DISK, "remove-partition": _DISK,
    "clear-recyclebin": _effect("data.destroy", "empty-trash", "What lies in the recycle bin cannot be had back"),
    "stop-computer": _POWER, "restart-computer": _POWER,
    "stop-process": _effect("process.kill", "", ""),
    "stop-service": _effect("system", "service-stop", "A service of the machine is stopped"),
    "remove-service": _effect("system", "service-remove", "A service of the machine is removed"),
    "set-executionpolicy": _effect("system", "execution-policy", "The rule which scripts may run is loosened"),
    "set-mppreference": _effect("guard.tamper", "defender-off", "The machine's protection against malware is changed"),
    "add-mppreference": _effect("guard.tamper", "defender-off", "The machine's protection against malware is changed"),
    "remove-localuser": _effect("system", "user-remove", "An account of the machine is removed"),
    "new-localuser": _effect("persistence", "user-add", "An account is added that stays after this work"),
    "add-localgroupmember": _effect("privilege", "group-add", "An account gets the rights of a group"),
    "register-scheduledtask": _effect("persistence", "scheduled-task",
                                      "Something will run later without being asked for"),
    "new-service": _effect("persistence", "service-add", "Something will run at every start of the machine"),
    "remove-itemproperty": _effect("system", "registry-delete", "A value of the registry is removed"),
    "set-itemproperty": _effect("system", "registry-set", "A value of the registry is changed"),
    "clear-eventlog": _effect("guard.tamper", "log-clear", "The record of what happened on the machine is erased"),
    "remove-eventlog": _effect("guard.tamper", "log-clear", "The record of what happened on the machine is erased"),
    "new-itemproperty": _effect("persistence", "registry-add", "A value is added to the registry"),
    "rename-itemproperty": _effect("system", "registry-set", "A value of the registry is changed"),
    "clear-itemproperty": _effect("system", "registry-delete", "A value of the registry is removed"),
    "send-mailmessage": Cmdlet(does="send"), "add-type": Cmdlet(does="source"),
    "import-csv": _READ, "import-clixml": _READ, "select-string": _READ, "get-filehash": _READ, "export-clixml": _WRITE,
    "out-printer": _NONE, "set-netfirewallprofile": _FIREWALL, "new-netfirewallrule": _FIREWALL,
    "remove-netfirewallrule": _FIREWALL, "disable-netfirewallrule": _FIREWALL, "set-netfirewallrule": _FIREWALL,
    "enable-netfirewallrule": _FIREWALL,
    "disable-netadapter": _NETWORK, "set-dnsclientserveraddress": _NETWORK, "remove-netipaddress": _NETWORK,
    "set-netipaddress": _NETWORK, "remove-netroute": _NETWORK, "new-netroute": _NETWORK,
    "enable-psremoting": _REMOTE, "set-wsmanquickconfig": _REMOTE, "enable-wsmancredssp": _REMOTE,
    "disable-localuser": _ACCOUNT, "set-localuser": _ACCOUNT, "remove-localgroup": _ACCOUNT, "new-localgroup": _ACCOUNT,
    "remove-localgroupmember": _ACCOUNT, "enable-localuser": _ACCOUNT, "set-adaccountpassword": _ACCOUNT,
    "new-aduser": _ACCOUNT, "add-adgroupmember": _ACCOUNT, "disable-adaccount": _ACCOUNT,
    "set-service": _SERVICE, "suspend-service": _SERVICE, "restart-service": _SERVICE,
    "set-scheduledtask": _TASK, "disable-scheduledtask": _TASK, "start-scheduledtask": _NONE,
    "register-scheduledjob": _TASK, "register-wmievent": _TASK, "register-cimindicationevent": _TASK,
    "set-wmiinstance": _TASK, "new-ciminstance": _TASK, "set-ciminstance": _TASK,
    "invoke-wmimethod": _REMOTE_RUN, "invoke-cimmethod": _REMOTE_RUN,
    "disable-bitlocker": _PROTECTION, "suspend-bitlocker": _PROTECTION, "clear-bitlockerautounlock": _PROTECTION,
    "disable-windowsoptionalfeature": _PROTECTION, "remove-mppreference": _PROTECTION, "remove-mpthreat": _PROTECTION,
    "set-psreadlineoption": _NONE, "clear-history": _effect("guard.tamper", "history-off",
    "The record of what was run is erased"),
    "set-acl": _effect("fs.permission", "acl-change", "Who may use files is changed"),
    "resize-partition": _DISK, "set-disk": _DISK, "set-partition": _DISK, "remove-virtualdisk": _DISK,
    "remove-storagepool": _DISK, "new-partition": _DISK, "remove-physicaldisk": _DISK, "reset-physicaldisk": _DISK,
    "rename-computer": _effect("system", "host-settings", "The name of the machine is changed"),
    "add-computer": _effect("system", "domain-join", "The machine joins a domain"),
    "restore-computer": _effect("system", "restore", "The machine goes back to an older state"),
    "set-date": _effect("system", "host-settings", "The clock of the machine is changed"),
    "get-clipboard": _SECRET, "get-secret": _SECRET, "get-azkeyvaultsecret": _SECRET, "get-storedcredential": _SECRET,
    "export-pfxcertificate": _SECRET, "get-vaultcredential": _SECRET, "unprotect-cmsmessage": _SECRET,
    "import-certificate": _effect("system", "certificate-trust", "A certificate is trusted from now on"),
    "import-pfxcertificate": _effect("system", "certificate-trust", "A certificate is trusted from now on"),
    "remove-azresource": _CLOUD, "remove-azvm": _CLOUD, "remove-azstorageaccount": _CLOUD, "remove-s3bucket": _CLOUD,
    "remove-ec2instance": _CLOUD, "remove-azkeyvault": _CLOUD, "remove-azsqldatabase": _CLOUD, "stop-azvm": _CLOUD,
    "stop-vm": _CLOUD, "remove-clusterresource": _CLOUD,
    "push-location": _NONE, "pop-location": _NONE, "set-variable": _NONE, "new-variable": _NONE, "test-path": _NONE,
    "start-sleep": _NONE, "write-error": _NONE, "write-warning": _NONE, "out-null": _NONE, "tee": _NONE,
    "start-job": Cmdlet(does="none"), "start-threadjob": Cmdlet(does="none"),
    "invoke-item": Cmdlet(does="start"),
    "remove-vm": _effect("infra.destroy", "vm-remove", "A virtual machine is removed"),
    "remove-azresourcegroup": _effect("infra.destroy", "azure-group-delete",
                                      "A group with everything in it is deleted", wide=True),
    "remove-computer": _effect("system", "domain-leave", "The machine leaves its domain"),
    "disable-computerrestore": _effect("guard.tamper", "restore-off", "The machine could not be restored any more"),
    "write-output": _NONE, "write-host": _NONE, "foreach-object": _NONE, "where-object": _NONE, "sort-object": _NONE,
    "select-object": _NONE,
    "set-location": _NONE,
}  # fmt: skip

ALIASES: dict[str, str] = {
    **dict.fromkeys(("ri", "rm", "del", "erase", "rd", "rmdir"), "remove-item"),
    "sc": "set-content", "ac": "add-content", "clc": "clear-content", "tee": "tee-object", "ni": "new-item",
    "md": "new-item", "mkdir": "new-item",
    "gc": "get-content", "cat": "get-content", "type": "get-content", "gci": "get-childitem", "ls": "get-childitem",
    "dir": "get-childitem",
    "gi": "get-item", "mi": "move-item", "mv": "move-item", "move": "move-item", "ci": "copy-item", "cp": "copy-item",
    "copy": "copy-item", "cpi": "copy-item", "rni": "rename-item", "ren": "rename-item",
    "iwr": "invoke-webrequest", "wget": "invoke-webrequest", "curl": "invoke-webrequest", "irm": "invoke-restmethod",
    "iex": "invoke-expression",
    "icm": "invoke-command", "start": "start-process", "saps": "start-process", "kill": "stop-process",
    "spps": "stop-process",
    "echo": "write-output", "write": "write-output", "%": "foreach-object", "foreach": "foreach-object",
    "?": "where-object",
    "where": "where-object", "sort": "sort-object", "select": "select-object", "cd": "set-location",
    "chdir": "set-location", "sl": "set-location",
    "spsv": "stop-service", "rp": "remove-itemproperty", "sp": "set-itemproperty", "rmo": "remove-module",
    "gps": "get-process", "ps": "get-process", "sal": "set-alias", "nal": "new-alias", "ii": "invoke-item",
    "sajb": "start-job", "ipcsv": "import-csv", "sls": "select-string", "iwmi": "invoke-wmimethod",
    "pushd": "push-location",
    "popd": "pop-location", "sv": "set-variable", "sasv": "start-service", "clhy": "clear-history",
    "gcb": "get-clipboard",
    "ndr": "new-psdrive", "rdr": "remove-psdrive", "cli": "clear-item", "clp": "clear-itemproperty",
    "epcsv": "export-csv",
    "sleep": "start-sleep", "swmi": "set-wmiinstance", "rwmi": "remove-wmiobject", "h": "get-history",
}  # fmt: skip

VALUE_PARAMETERS = (
    "path", "literalpath", "destination", "filepath", "argumentlist", "uri", "outfile", "infile", "body", "method",
    "headers", "value", "include", "exclude", "filter", "itemtype", "name", "verb", "executionpolicy", "scope",
    "erroraction", "encoding", "computername", "scriptblock", "command", "id", "driveletter", "number", "credential",
    "depth", "workingdirectory", "windowstyle", "attachments", "smtpserver", "subject", "to", "from", "form",
    "typedefinition", "memberdefinition", "propertytype", "language", "root", "psprovider", "property", "pattern",
    "initializationscript", "contenttype", "useragent", "sourcevm", "source", "action", "trigger",
)  # fmt: skip

HARMLESS = frozenset(
    {
        "remove-variable",
        "clear-variable",
        "clear-host",
        "remove-job",
        "remove-event",
        "remove-module",
        "remove-pssession",
        "remove-typedata",
        "remove-psbreakpoint",
        "remove-alias",
        "remove-psdrive",
        "stop-transcript",
        "stop-job",
        "disable-psbreakpoint",
        "stop-dtc",
        "reset-pester",
        "remove-pesterfolder",
        "disable-uev",
        "stop-threadjob",
    }
)
"""Cmdlets that take away what the session itself made."""

CONTAINERS = frozenset(
    {"foreach-object", "where-object", "sort-object", "select-object", "format-list", "format-table"}
)
"""Cmdlets that pass on what flows through them."""

BARE = (
    "Remove-Item", "Clear-Content", "Set-Content", "Add-Content", "Out-File", "New-Item", "Move-Item", "Copy-Item",
    "Rename-Item", "Invoke-WebRequest", "Invoke-RestMethod", "Invoke-Expression", "Invoke-Command", "Start-Process",
    "Format-Volume", "Clear-Disk", "Initialize-Disk", "Remove-Partition", "Clear-RecycleBin", "Stop-Computer",
    "Restart-Computer", "Stop-Process", "Stop-Service", "Remove-Service", "Set-ExecutionPolicy", "Set-MpPreference",
    "Add-MpPreference", "Remove-LocalUser", "New-LocalUser", "Add-LocalGroupMember", "Register-ScheduledTask",
    "New-Service", "Remove-ItemProperty", "Set-ItemProperty", "Clear-EventLog", "Remove-EventLog", "Remove-VM",
    "Remove-AzResourceGroup", "Remove-Computer", "Disable-ComputerRestore", "Start-BitsTransfer", "Get-Content",
    "Get-ChildItem", "Out-String", "iwr", "irm", "gci", "ri",
)  # fmt: skip
"""Cmdlets that are also met bare on a line that was taken for bash."""
