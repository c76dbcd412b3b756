"""Power, services, timers, kernel, firewall, network and accounts: what administrators do to a machine."""

from __future__ import annotations

from interpose.shell.commands.shared.tool_acts import Act, ToolActs, each, register
from interpose.shell.commands.shared.word_sets import words

_POWER = Act("system", "power", "Stops or restarts the machine.")
_STOP = Act("system", "service-stop", "Stops a service that others may rely on.")
_START = Act("system", "service-start", "Starts or reloads a service.", recoverable=True)
_RESTART = Act("system", "service-restart", "Interrupts a service that others may rely on.")
_ENABLE = Act("persistence", "service-enable", "Makes a service start by itself from now on.")
_CRASH = Act("system", "power", "Stops or restarts the machine at once, without closing anything.")
_KERNEL = Act("system", "kernel", "Changes the running kernel.")
_DIVERT = Act("system", "file-divert", "Moves a file of the system aside.")
_BOOT = Act("system", "boot", "Changes how the machine starts.")
_FIREWALL = Act("system", "firewall", "Changes what the firewall lets through.")
_FIREWALL_OFF = Act("system", "firewall-off", "Takes the firewall's rules away.")
_NETWORK = Act("system", "network", "Changes how the machine is connected; a mistake cuts it off.")
_ACCOUNT = Act("system", "account", "Changes who has an account on this machine, and what it may do.")
_CLOCK = Act("system", "host-settings", "Changes the name, clock or locale of the machine.")
_LOGS = Act("data.destroy", "logs-erase", "Erases logs, and with them the record of what happened.")
_AUDIT = Act("guard.tamper", "audit-off", "Switches off or changes what the system records or enforces.")
_JOB_LOST = Act("data.destroy", "jobs-remove", "Removes scheduled jobs for good.")
_MAC_SAFETY = Act("guard.tamper", "macos-protection", "Weakens a protection of macOS.")
_SETTINGS_LOST = Act("data.destroy", "settings-delete", "Deletes settings of an application for good.")
_SETTINGS = Act("system", "settings-change", "Changes a setting of an application.", recoverable=True)

_SYSTEMCTL = ToolActs(
    verbs={
        **each(
            _POWER, "poweroff reboot halt kexec suspend hibernate hybrid-sleep suspend-then-hibernate soft-reboot exit"
        ),
        **each(_POWER, "rescue emergency isolate default switch-root"),
        **each(_STOP, "stop disable mask kill clean revert"),
        **each(_ENABLE, "enable reenable link add-wants add-requires edit set-default unmask preset-all"),
        **each(_RESTART, "restart try-restart reload-or-restart try-reload-or-restart"),
        **each(_START, "start reload preset daemon-reload"),
        **each(_START, "daemon-reexec reset-failed freeze thaw set-property set-environment unset-environment"),
    },
    values=words("-t --type -p --property -H --host -M --machine -s --signal -n --lines -o --output --state --root"),
)
_SHOW_SERVICE = words("status list show info --status-all --list --help")

register(
    __name__,
    {
        "systemctl": _SYSTEMCTL,
        **dict.fromkeys(
            ("shutdown", "reboot", "halt", "poweroff", "init", "telinit", "pm-suspend", "pm-hibernate"),
            ToolActs(default=_POWER, bare=_POWER, shows=words("-c --show -k"), help=words("--help --version")),
        ),
        "ipmitool": ToolActs(verbs=each(_POWER, "off cycle reset soft diag"), shows=words("status"), reach=8),
        "dpkg-divert": ToolActs(
            options=each(_DIVERT, "--add --rename --remove"),
            default=_DIVERT,
            shows=words("--list --listpackage --truename --help"),
        ),
        "flashrom": ToolActs(options=each(_BOOT, "-w --write -E --erase")),
        "service": ToolActs(
            verbs={
                **each(_STOP, "stop force-stop"),
                **each(_RESTART, "restart"),
                **each(_START, "start reload force-reload"),
            },
            shows=_SHOW_SERVICE,
            reach=2,
        ),
        "rc-service": ToolActs(
            verbs={**each(_STOP, "stop"), **each(_START, "start restart")}, shows=_SHOW_SERVICE, reach=2
        ),
        "sv": ToolActs(verbs=each(_STOP, "down stop force-stop kill exit"), shows=_SHOW_SERVICE),
        "initctl": ToolActs(verbs=each(_STOP, "stop"), shows=_SHOW_SERVICE),
        "supervisorctl": ToolActs(verbs=each(_STOP, "stop shutdown remove"), shows=_SHOW_SERVICE),
        "rc-update": ToolActs(verbs={**each(_ENABLE, "add"), **each(_STOP, "del delete")}),
        "update-rc.d": ToolActs(verbs={**each(_ENABLE, "defaults enable"), **each(_STOP, "remove disable")}, reach=2),
        "chkconfig": ToolActs(
            verbs={**each(_ENABLE, "on reset"), **each(_STOP, "off")},
            options={**each(_ENABLE, "--add"), **each(_STOP, "--del")},
            values=words("--level"),
            reach=2,
        ),
        "loginctl": ToolActs(
            verbs={
                **each(_POWER, "poweroff reboot halt suspend hibernate"),
                **each(_STOP, "terminate-session terminate-user terminate-seat kill-session kill-user"),
                **each(_ENABLE, "enable-linger"),
            }
        ),
        **dict.fromkeys(
            ("modprobe", "insmod", "rmmod", "kmod"),
            ToolActs(
                default=_KERNEL, shows=words("-n --dry-run --show --show-depends -c --showconfig --show-config -D list")
            ),
        ),
        "sysctl": ToolActs(
            options={**each(_KERNEL, "-w --write"), **each(_START, "-p --load --system -f")},
            values=words("-r --pattern"),
            assigns=_KERNEL,
        ),
        "kexec": ToolActs(options=each(_CRASH, "-e --exec -f --force"), default=_BOOT),
        **dict.fromkeys(
            ("grub-install", "grub2-install", "update-grub", "grub-mkconfig", "grub2-mkconfig", "grub-set-default"),
            ToolActs(default=_BOOT, bare=_BOOT),
        ),
        **dict.fromkeys(
            ("dracut", "mkinitcpio", "update-initramfs", "mkinitrd"),
            ToolActs(
                default=_BOOT,
                bare=_BOOT,
                shows=words("-H --hookhelp -L --listhooks -P --list-modules -M --listpresets"),
            ),
        ),
        "efibootmgr": ToolActs(options=each(_BOOT, "-b -B -c -o -n -a -A -N -O --create --delete-bootnum --bootorder")),
        "bootctl": ToolActs(verbs=each(_BOOT, "install remove update set-default")),
        "nvram": ToolActs(options=each(_BOOT, "-c -d -f"), shows=words("-p"), reach=1, assigns=_BOOT),
        "bless": ToolActs(default=_BOOT, shows=words("--info --getboot")),
        "bpftool": ToolActs(
            verbs=each(_KERNEL, "load attach detach pin update delete"), reach=3, shows=words("list show dump")
        ),
        **dict.fromkeys(
            ("iptables", "ip6tables", "ebtables", "arptables"),
            ToolActs(
                options={
                    **each(_FIREWALL_OFF, "-F --flush -X --delete-chain -D --delete"),
                    **each(_FIREWALL, "-A --append -I --insert -P --policy -R --replace -N --new-chain -Z --zero -E"),
                },
                shows=words("-L --list -S --list-rules -C --check"),
                values=words(
                    "-t --table -p --protocol -s --source -d --destination -j --jump -i -o --dport --sport -m"
                ),
            ),
        ),
        **dict.fromkeys(
            ("iptables-restore", "ip6tables-restore"),
            ToolActs(default=_FIREWALL, bare=_FIREWALL, shows=words("-t --test")),
        ),
        "nft": ToolActs(
            verbs={**each(_FIREWALL_OFF, "flush delete destroy reset"), **each(_FIREWALL, "add insert create replace")},
            options=each(_FIREWALL, "-f --file"),
            shows=words("list -c --check"),
        ),
        "ufw": ToolActs(
            verbs={
                **each(_FIREWALL_OFF, "disable reset delete"),
                **each(_FIREWALL, "enable allow deny reject limit default insert prepend route reload logging"),
            },
            shows=words("status show app version --dry-run"),
            reach=2,
        ),
        "firewall-cmd": ToolActs(
            options={
                **each(_FIREWALL_OFF, "--panic-on --panic-off --remove-service --remove-port --remove-rich-rule"),
                **each(
                    _FIREWALL,
                    "--add-service --add-port --add-rich-rule --set-default-zone --add-source --add-masquerade",
                ),
                **each(_FIREWALL, "--reload --complete-reload --runtime-to-permanent --change-interface --new-zone"),
                **each(_FIREWALL_OFF, "--delete-zone --remove-source --remove-masquerade"),
            }
        ),
        "pfctl": ToolActs(options={**each(_FIREWALL_OFF, "-F -d"), **each(_FIREWALL, "-f -e")}, shows=words("-s -n")),
        "fail2ban-client": ToolActs(verbs=each(_FIREWALL_OFF, "stop unban"), reach=4),
        "ip": ToolActs(
            verbs=each(_NETWORK, "add append change replace del delete flush set restore up down"),
            shows=words("show list get monitor help lst ls sh exec identify pids"),
            values=words("-n -netns -family -f -c"),
            reach=3,
            bundle=False,
            help=words("-V -Version help"),
        ),
        "ifconfig": ToolActs(verbs=each(_NETWORK, "down up netmask add del"), reach=4),
        "route": ToolActs(verbs=each(_NETWORK, "add del delete flush change"), shows=words("get show print")),
        "ifdown": ToolActs(default=_NETWORK, shows=words("-n --no-act")),
        "nmcli": ToolActs(
            verbs=each(_NETWORK, "delete down disconnect off"),
            shows=words("show list status monitor permissions"),
            values=words("-t --terse -f --fields -m --mode -c --colors -g --get-values -w --wait"),
            reach=2,
        ),
        "networksetup": ToolActs(
            options=each(
                _NETWORK,
                "-setdnsservers -setwebproxy -setsecurewebproxy -setsocksfirewallproxy -setautoproxyurl -setmanual",
                "-setdhcp -setairportpower -setnetworkserviceenabled -removenetworkservice -setv4off",
                "-removepreferredwirelessnetwork -removeallpreferredwirelessnetworks -setwebproxystate -deletelocation",
                "-setsecurewebproxystate -setsocksfirewallproxystate -setautoproxystate -setsearchdomains -setv6off",
                "-switchtolocation -ordernetworkservices -setadditionalroutes -createnetworkservice",
            ),
            bundle=False,
        ),
        "scutil": ToolActs(options=each(_CLOCK, "--set"), help=words("--help")),
        "netplan": ToolActs(verbs=each(_NETWORK, "apply set try")),
        "tc": ToolActs(verbs=each(_NETWORK, "add del delete change replace"), shows=words("show"), reach=2),
        "hostnamectl": ToolActs(
            verbs=each(_CLOCK, "set-hostname hostname chassis set-chassis location"), shows=words("status")
        ),
        "timedatectl": ToolActs(
            verbs=each(_CLOCK, "set-time set-timezone set-ntp set-local-rtc"), shows=words("status show")
        ),
        "localectl": ToolActs(verbs=each(_CLOCK, "set-locale set-keymap set-x11-keymap"), shows=words("status")),
        "systemsetup": ToolActs(
            options=each(
                _CLOCK,
                "-settimezone -setremotelogin -setcomputername -setremoteappleevents -setnetworktimeserver",
                "-setusingnetworktime -setdate -settime -setlocalsubnetname -setstartupdisk",
            ),
            bundle=False,
        ),
        **dict.fromkeys(
            (
                "useradd",
                "adduser",
                "userdel",
                "deluser",
                "usermod",
                "groupadd",
                "addgroup",
                "groupdel",
                "delgroup",
                "groupmod",
                "gpasswd",
                "newusers",
                "chgpasswd",
                "groupmems",
                "pwconv",
                "pwunconv",
                "sysadminctl",
                "vipw",
                "vigr",
                "visudo",
            ),
            ToolActs(
                default=_ACCOUNT,
                bare=_ACCOUNT,
                shows=words("-D --defaults -c --check"),
                help=words("--help -h --version"),
            ),
        ),
        **dict.fromkeys(
            ("passwd", "chpasswd", "chage"),
            ToolActs(default=_ACCOUNT, bare=_ACCOUNT, shows=words("-S --status -l --list"), help=words("--help")),
        ),
        "chsh": ToolActs(default=_ACCOUNT, shows=words("-l --list-shells")),
        "dscl": ToolActs(
            options=each(
                _ACCOUNT, "-create -delete -append -merge -change -passwd -createpl -deletepl -changei -mergepl"
            ),
            verbs=each(_ACCOUNT, "create delete append merge change passwd"),
            bundle=False,
            reach=2,
        ),
        "setcap": ToolActs(
            default=Act("persistence", "capabilities", "Lets a program do what only root may."), shows=words("-v -r")
        ),
        **dict.fromkeys(
            ("stress", "stress-ng"),
            ToolActs(
                default=Act("system", "load", "Takes all that the machine has, without an end."),
                shows=words("-t --timeout -n --dry-run --class"),
                bundle=False,
            ),
        ),
        "setenforce": ToolActs(default=_AUDIT),
        "setsebool": ToolActs(default=_AUDIT),
        "auditctl": ToolActs(options=each(_AUDIT, "-e -D -d -W -A -a -w -b -f -r -R"), shows=words("-l -s -v")),
        **dict.fromkeys(("aa-disable", "aa-complain", "aa-teardown"), ToolActs(default=_AUDIT, bare=_AUDIT)),
        "apparmor_parser": ToolActs(options=each(_AUDIT, "-R --remove"), shows=words("-p --preprocess -Q")),
        "journalctl": ToolActs(
            options=each(_LOGS, "--vacuum-time --vacuum-size --vacuum-files --rotate"), values=words("-u -n")
        ),
        "dmesg": ToolActs(options=each(_LOGS, "-C --clear -c --read-clear -D --console-off")),
        "logrotate": ToolActs(options=each(_LOGS, "-f --force"), shows=words("-d --debug")),
        "atrm": ToolActs(default=_JOB_LOST),
        "update-alternatives": ToolActs(
            options={
                **each(
                    Act("system", "alternatives", "Changes which program a name stands for."),
                    "--set --install --remove",
                ),
                **each(
                    Act("system", "alternatives", "Changes which program a name stands for."), "--remove-all --config"
                ),
            }
        ),
        "csrutil": ToolActs(verbs=each(_MAC_SAFETY, "disable authenticated-root"), shows=words("status")),
        "spctl": ToolActs(
            options=each(
                _MAC_SAFETY,
                "--master-disable --global-disable --disable --add --remove --kext-consent --reset-default --enable",
            ),
            shows=words("--status -a --assess --disable-status"),
        ),
        "tccutil": ToolActs(default=_MAC_SAFETY),
        "fdesetup": ToolActs(
            verbs=each(_MAC_SAFETY, "disable removerecovery remove add enable changerecovery authrestart sync"),
            shows=words("status list isactive supportsauthrestart haspersonalrecoverykey"),
        ),
        "systemextensionsctl": ToolActs(verbs=each(_MAC_SAFETY, "reset uninstall developer")),
        "kextload": ToolActs(default=_KERNEL),
        "kextunload": ToolActs(default=_KERNEL),
        "pmset": ToolActs(
            verbs={**each(_POWER, "sleepnow halt reboot displaysleepnow"), **each(_CLOCK, "schedule repeat")},
            options=each(_CLOCK, "-a -b -c -u"),
            shows=words("-g"),
        ),
        "softwareupdate": ToolActs(options=each(_BOOT, "-i --install -R --restart -ia"), shows=words("-l --list")),
        **dict.fromkeys(
            ("gsettings", "dconf"),
            ToolActs(verbs={**each(_SETTINGS, "set write reset"), **each(_SETTINGS_LOST, "reset-recursively")}),
        ),
        "xattr": ToolActs(options=each(_MAC_SAFETY, "-d -c"), shows=words("-l -p")),
    },
)
