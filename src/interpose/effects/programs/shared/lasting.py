"""What some programs do that no handler of theirs tells: plant what runs later, switch backups off, change the machine.

Rows as in shared/word_rows.py, each table with the effect that its rows have.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.word_rows import WordTable, fitting, table
from interpose.effects.values import EffectKind


class LastingTable(Struct, frozen=True):
    """Programs whose words have one effect."""

    kind: EffectKind
    rule: str
    reason: str
    rows: WordTable


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
                "systemctl": "import-environment .; import-environment %ld_|dyld_|bash_env|node_options",
                "dbus-update-activation-environment": "",
                "gsettings": "set %keybinding|command|exec|startup",
                "dconf": "write %keybinding|command|exec|startup; load",
                "kwriteconfig kwriteconfig5 kwriteconfig6": "%shortcut|exec|command|autostart",
                "xfconf-query": "%/commands/|-keyboard-shortcuts",
                "xdg-mime": "default",
                "xdg-settings": "set",
                "wmic": "process call create; startup",
                "bcdedit": "%/set",
            }
        ),
    ),
    LastingTable(
        "persistence",
        "lets-in",
        "Lets somebody in from now on",
        table(
            {
                "aws": "iam create-user; rds modify-db-instance +--master-user-password; "
                "rds modify-db-cluster +--master-user-password; iam create-role %administratoraccess",
                "gcloud": "storage buckets update %public-access-prevention; iam service-accounts keys upload; "
                "compute os-login ssh-keys add; sql users create",
                "heroku": "access:add; keys:add; members:add; apps:transfer; drains:add; webhooks:add",
                "fly flyctl": "orgs invite; ssh issue",
                "vercel": "teams invite; team invite",
                "doctl": "compute ssh-key create; compute ssh-key import; projects resources assign",
                "hcloud": "ssh-key create; server reset-password; server enable-rescue",
                "linode-cli": "sshkeys create; users create",
                "scw": "iam ssh-key create; iam user create",
                "consul nomad": "acl policy create; acl role create",
                "okta auth0": "users create; roles assign; users roles assign",
            }
        ),
    ),
    LastingTable(
        "infra.destroy",
        "service-change",
        "Changes something that others rely on",
        table(
            {
                "aws": "ecs stop-task; cloudfront update-distribution; route53domains disable-domain-auto-renew",
                "gcloud": "sql instances patch +--no-backup; pubsub subscriptions seek; pubsub snapshots create",
                "heroku": "maintenance:on; pg:promote; pg:upgrade; ps:stop; stack:set",
                "dnscontrol": "push",
                "octodns-sync": "+--doit",
                "hasura": "metadata clear; metadata reset; migrate delete",
                "mlflow": "gc",
                "travis": "disable; cancel",
                "grafana-cli": "admin reset-admin-password",
            }
        ),
    ),
    LastingTable(
        "infra.destroy",
        "money-or-message",
        "Moves money, or sends what cannot be taken back",
        table(
            {
                "stripe": "refunds create; payouts create; transfers create; charges create; payment_intents confirm; "
                "payment_intents capture; invoices pay; invoices finalize_invoice; invoices send_invoice",
                "twilio": "api:core:messages:create; api:core:calls:create; phone-numbers:buy:local",
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
        "nested-agent",
        "Starts another agent, or a model that runs commands, whose calls nobody here sees",
        table(
            {
                "gh": "copilot suggest; agent-task create",
                "warp oz": "agent run",
                "acli": "rovodev run",
                "llm": "+-T|--tool|--functions",
                "sgpt": "+--shell|-s|--execute",
                "crewai": "run; kickoff",
                "autogen autogenstudio": "",
                "docker": "agent run",
                "cagent": "run; exec",
                "ollama": "launch",
                "aichat": "+-e|--execute",
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
        "guard.tamper",
        "terminal-control",
        "Takes over a terminal, keyboard or process that may be a person's or the guard's",
        table(
            {
                "showkey ttysnoop logkeys evtest uinput-cat neercs xmacroplay xsendkeycode xnee cnee ttyrpld": "",
                "conspy evsieve": "",
                "evemu-play input-remapper-control kanata kmonad swhkd sxhkd uinput-tool xbindkeys": "",
                "cgdelete cgset cpulimit": "%interpose",
                "mesg": "y",
                "setterm": "+--dump|-dump|--file",
                "openvt chvt": "",
                "abduco dtach": "+-p",
                "cliclick": "%t:|kp:|kd:",
                "wlrctl": "keyboard; pointer",
                "libinput": "record; debug-events; replay",
                "xinput": "test; test-xi2",
                "ghostty": "%+new-window|+x|+crash-report|+edit-config|+ssh",
                "zellij": "run; edit; action; ac; pipe",
                "prlimit": "+--pid|-p %--nofile|--as|--cpu|--nproc|--data|--rss|--stack|--fsize|--memlock|-n|-v|-t",
                "tcpkill killcx": "",
                "pyrasite pyrasite-shell hypno pyinjector inject linux-inject": "",
                "criu": "dump; pre-dump",
                "frida frida-trace": "+-p|--attach-pid",
                "ss": "+-K|--kill",
            }
        ),
    ),
    LastingTable(
        "guard.tamper",
        "desktop-start",
        "Lets the desktop start a program, outside of what watches over the agent",
        table(
            {
                "swaymsg i3-msg": "exec %_|/; exec * *; %exec_ %_-c_|_-e_",
                "hyprctl": "dispatch exec %_|/; dispatch exec * *; dispatch execr; keyword bind; keyword exec",
                "niri": "msg action spawn; msg action spawn-sh",
                "riverctl": "spawn; map",
                "awesome-client": "",
                "qtile": "cmd-obj %spawn; run-cmd",
                "gtk-launch kstart kstart5 kstart6 flatpak-spawn host-spawn distrobox-host-exec": "",
                "machinectl": "shell %.host",
                "dex": "!--dry-run|-d|--create|-c|-t|--test",
                "xdg-open exo-open kde-open kde-open5 gnome-open gvfs-open": "%.desktop|.appimage|.terminal",
                "kioclient kioclient5 kioclient6": "exec; openproperties %.desktop",
                "open": "+-a %terminal|iterm; %.command|.terminal|.workflow|.scpt",
            }
        ),
    ),
    LastingTable(
        "guard.tamper",
        "guarded-place",
        "Puts files of names that nobody knows into a home, where agents keep their settings and hooks",
        table(
            {
                "chezmoi": "apply; update; init +--apply|--one-shot; edit +--apply",
                "yadm": "pull; checkout; reset; restore; merge; rebase; stash; bootstrap; decrypt; alt",
                "dotbot": "",
                "dotter": "deploy",
                "dotdrop": "install",
                "rcup mkrc": "",
                "toml-bombadil bombadil": "link",
                "home-manager": "switch",
                "mackup": "restore; link",
                "vcsh": "clone; * pull; * checkout; * reset; pull",
                "homeshick homesick": "link; pull; clone; refresh; symlink",
                "dotfiles dots": "sync; install; link; pull",
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
                "rtcwake": "",
                "loginctl": "disable-linger",
                "ipcrm": "+-a|--all",
                "nvram": "%boot-args=|csr-active-config",
                "debugfs": "+-w",
                "fsfreeze": "+-f|--freeze",
                "systemctl": "freeze %.slice|user@",
                "rfkill": "block",
                "usbguard": "block-device; reject-device; remove-rule",
            }
        ),
    ),
)


NAMES = frozenset[str]().union(*(lasting.rows for lasting in _TABLES))


def state_lasting(inv: Invocation, low: Lowering) -> None:
    """State what the words of this command do, whatever else its handler said."""
    for lasting in _TABLES:
        rows = lasting.rows.get(inv.name)
        if rows is not None and (row := fitting(rows, inv)) is not None:
            what = " ".join((inv.name, *row.path))
            low.emit(lasting.kind, what, rule=lasting.rule, reason=lasting.reason)
