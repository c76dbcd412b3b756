"""PowerShell's cmdlets as data: what they do, and the short names they go by. Names are in lower case."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.types import EffectKind


class Cmdlet(Struct, frozen=True, kw_only=True):
    """What a cmdlet does."""

    does: Literal["delete", "write", "read", "list", "move", "download", "code", "start", "effect", "none"]
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
    "gps": "get-process", "ps": "get-process",
}  # fmt: skip

VALUE_PARAMETERS = (
    "path", "literalpath", "destination", "filepath", "argumentlist", "uri", "outfile", "infile", "body", "method",
    "headers", "value", "include", "exclude", "filter", "itemtype", "name", "verb", "executionpolicy", "scope",
    "erroraction", "encoding", "computername", "scriptblock", "command", "id", "driveletter", "number", "credential",
    "depth", "workingdirectory", "windowstyle",
)  # fmt: skip

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
