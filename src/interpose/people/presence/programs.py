"""Programs that people work in, by the file that the kernel says a process runs."""

from __future__ import annotations

SHELLS = frozenset({
    "bash", "zsh", "fish", "sh", "dash", "ksh", "ksh93", "mksh", "tcsh", "csh", "nu", "xonsh", "elvish", "pwsh",
    "busybox",
})  # fmt: skip
LOGINS = frozenset({"sshd", "sshd-session", "login"})
EDITORS = frozenset(
    {"code", "code-insiders", "codium", "cursor", "windsurf", "kiro", "idea", "pycharm", "zed", "electron"}
)
WINDOWS = frozenset({
    "gnome-terminal-server", "kgx", "ptyxis-agent", "konsole", "kitty", "alacritty", "foot", "footclient",
    "wezterm-gui", "xterm", "urxvt", "rxvt", "st", "xfce4-terminal", "tilix", "terminator", "ghostty", "lxterminal",
    "mate-terminal", "qterminal", "deepin-terminal", "terminology",
})  # fmt: skip
"""Programs with a window of their own in which people type."""
MULTIPLEXERS = frozenset({"tmux", "screen", "zellij", "abduco", "dtach", "wezterm-mux-server", "byobu", "mprocs"})
"""Programs that keep terminals for a person who comes and goes."""
TYPEABLE = MULTIPLEXERS | {
    "nvim", "vim", "emacs", "wezterm-gui", "konsole", "yakuake", "guake", "herbstclient", "expect", "ttyd", "gotty",
}  # fmt: skip
"""Programs whose terminals every process of the same user can read and type into, by one command or call."""
AUTOMATION = frozenset({
    "xdotool", "ydotool", "ydotoold", "dotool", "dotoold", "wtype", "kdotool", "xte", "xmacroplay", "autokey-gtk",
    "autokey-qt", "x11vnc", "wayvnc", "krfb",
})  # fmt: skip
"""Programs that press keys on a desktop."""
DESKTOPS = frozenset({
    "gnome-shell", "plasmashell", "kwin_wayland", "sway", "i3", "hyprland", "Hyprland", "niri", "river", "labwc",
    "openbox", "xfce4-panel", "xfdesktop", "cinnamon", "mate-panel", "lxqt-panel", "xmonad", "awesome", "bspwm", "dwm",
})  # fmt: skip
"""What a person starts windows from."""
TERMINAL_OPENERS = LOGINS | WINDOWS | EDITORS | MULTIPLEXERS | {"mosh-server"}
"""Programs that open terminals for a person."""
NEVER_ADOPT = SHELLS | TERMINAL_OPENERS | DESKTOPS
"""Programs to which the kernel never hands a process whose parent ended: what is below them they started themselves."""
LAUNCHERS = frozenset({"uv", "uvx", "xargs", "time", "timeout", "nice", "stdbuf", "chrt", "ionice"})
"""What a person writes before a command. A program of another name is not believed to be asked by keys."""
ROOT_LAUNCHERS = frozenset({"sudo", "su", "doas", "runuser"})
