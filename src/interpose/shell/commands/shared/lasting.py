"""What some programs do that no handler of theirs tells: plant what runs later, switch backups off, change the machine.

Rows as in shared/word_rows.py, each table with the effect that its rows have.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.commands.shared.word_rows import WordRow, fitting, table
from interpose.shell.invocation import Invocation, Lowering
from interpose.types import EffectKind


class LastingTable(Struct, frozen=True):
    """Programs whose words have one effect."""

    kind: EffectKind
    rule: str
    reason: str
    rows: dict[str, tuple[WordRow, ...]]


_TABLES = (
    LastingTable(
        "persistence",
        "runs-later",
        "Makes something run later, when nobody looks",
        table(
            {
                "systemd-run": "+--on-calendar|--on-boot|--on-active|--on-startup|--on-unit-active|--on-unit-inactive",
                "pm2": "startup",
                "forever-service": "install",
                "osascript": "%login_item",
                "PlistBuddy": "%launchagents|launchdaemons %add_:|set_:|import_:|copy_:|merge_",
                "plutil": "+-replace|-insert|-create %launchagents|launchdaemons",
                "defaults": "write %loginhook|logouthook|autolaunchedapplicationdictionary|loginwindow",
                "profiles": "install; renew; +-I|-i",
                "launchctl": "submit; setenv; config",
                "svcadm": "enable",
                "sc": "create; config; failure",
                "nssm": "install; set",
                "loginctl": "enable-linger",
                "wmic": "process call create; startup",
                "bcdedit": "%/set",
            }
        ),
    ),
    LastingTable(
        "data.destroy",
        "backup-delete",
        "Deletes backups",
        table(
            {
                "tmutil": "delete; deletelocalsnapshots; deleteinprogress; thinlocalsnapshots",
                "wbadmin": "delete",
                "vssadmin": "delete shadows; resize shadowstorage",
                "sdelete sdelete64": "",
            }
        ),
    ),
    LastingTable(
        "guard.tamper",
        "safety-off",
        "Switches off what keeps this machine safe",
        table(
            {
                "tmutil": "disable; addexclusion; removedestination",
                "profiles": "remove; +-R|-D",
                "defaults": "write %lsquarantine|gatekeeper|firewall|com.apple.alf",
                "pwpolicy": "clearaccountpolicies; +-clearaccountpolicies",
            }
        ),
    ),
    LastingTable(
        "system",
        "machine-state",
        "Changes the state of the machine",
        table(
            {
                "hwclock": "+--set",
                "ipcrm": "+-a|--all",
                "nvram": "%boot-args=|csr-active-config",
                "debugfs": "+-w",
                "fsfreeze": "+-f|--freeze",
                "rfkill": "block",
                "usbguard": "block-device; reject-device; remove-rule",
            }
        ),
    ),
)


def state_lasting(inv: Invocation, low: Lowering) -> None:
    """State what the words of this command do, whatever else its handler said."""
    for lasting in _TABLES:
        rows = lasting.rows.get(inv.name)
        if rows is not None and (row := fitting(rows, inv)) is not None:
            what = " ".join((inv.name, *row.path))
            low.emit(lasting.kind, what, rule=lasting.rule, reason=lasting.reason)
