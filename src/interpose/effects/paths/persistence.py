"""Files that make something run later: on login, on a timer, on the next commit or build."""

from __future__ import annotations

from interpose.effects.paths.catalogue import Catalogue, Mark, is_wild
from interpose.effects.paths.resolve import is_home

_GIT = Mark("runs on later git commands")
_SHELL = Mark("runs whenever a shell starts")
_COPY = Mark("is a shell profile once it is put into a home", "soft")
_TIMER = Mark("runs by itself at set times")
_SERVICE = Mark("runs by itself when the machine or the desktop starts")
_ACCESS = Mark("decides who may log in, and how")
_LOADER = Mark("is loaded into every program or every Python process")
_PROGRAMS = Mark("lies where the shell looks for commands")
_OWN_PROGRAM = Mark("adds a command of its own name", "soft")
_PERSONS = Mark("runs in the terminal or desktop that a person works in")
_TOOL = Mark("runs or redirects whenever a developer tool starts", "soft")
_INDEX = Mark("decides where packages come from", "soft")
_BUILD = Mark("runs on the build servers", "soft")

_COMMON = """
    apt awk aws az bash brew bun cargo cat cc cd chmod claude clang code codex cp curl deno docker doas echo env fd
    find gcc gcloud gem gh git go gpg grep head helm id java jq kill kubectl less ls make man mkdir mv nano nc node npm
    npx nvim openssl pacman passwd pbcopy perl php pip pip3 pnpm ps psql python python3 rg rm rsync ruby scp screen sed
    sh ssh sshpass su sudo systemctl tail tar terraform tmux top uv vi vim wget which yarn zip zsh
"""
_COMMON_COMMANDS = frozenset(_COMMON.split())
"""What people type without a thought: whoever puts a program of such a name in front gets everything typed there."""

_PERSISTENCE = Catalogue(
    {
        _GIT: """
            .git/hooks/ .git/config .git/modules/*/hooks/ .gitconfig .config/git/config /etc/gitconfig
            .git/info/attributes .config/git/hooks/ .git-templates/ .git_template/ .githooks/ .config/git/attributes
        """,
        _SHELL: """
            .profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zprofile .zshenv .zlogin
            .zlogout .kshrc .cshrc .tcshrc .login .config/fish/config.fish .config/fish/conf.d/
            .config/fish/functions/ .inputrc /etc/profile /etc/profile.d/ /etc/bash.bashrc /etc/bashrc /etc/zsh/
            /etc/zshrc /etc/zshenv /etc/zprofile /etc/environment .pam_environment .config/alacritty/
            .config/kitty/ .config/wezterm/ .wezterm.lua .config/ghostty/ .config/foot/ .config/zellij/
            .oh-my-zsh/custom/ .xprofile .xinitrc .xsession .xsessionrc .config/environment.d/ /etc/environment.d/
            .config/powershell/ .config/nushell/ microsoft.powershell_profile.ps1 profile.ps1 /etc/skel/
        """,
        _TIMER: """
            /etc/crontab /etc/cron.d/ /etc/cron.daily/ /etc/cron.hourly/ /etc/cron.weekly/ /etc/cron.monthly/
            /var/spool/cron/ /var/spool/at/ /etc/anacrontab /etc/cron.allow /etc/at.allow /usr/lib/cron/
        """,
        _SERVICE: """
            /etc/systemd/ /usr/lib/systemd/ /lib/systemd/ /run/systemd/ .config/systemd/ .local/share/systemd/
            /etc/init.d/ /etc/rc.local /etc/rc.d/ /etc/init/ /etc/inittab library/launchagents/
            library/launchdaemons/ .config/autostart/ /etc/xdg/autostart/ .config/plasma-workspace/ /etc/udev/
            /etc/xinetd.d/ /etc/inetd.conf /etc/network/if-up.d/ /etc/networkmanager/dispatcher.d/
            /etc/update-motd.d/ /etc/apt/apt.conf.d/ /etc/dpkg/dpkg.cfg.d/ /etc/acpi/ /etc/rc.common
            /etc/modules-load.d/ /etc/modprobe.d/ /etc/logrotate.d/ .config/upstart/ .config/openbox/autostart
            start%20menu/programs/startup/
        """,
        _ACCESS: """
            .ssh/authorized_keys .ssh/authorized_keys2 .ssh/config .ssh/rc .ssh/environment .ssh/config.d/ /etc/ssh/
            /etc/pam.d/ /etc/pam.conf /etc/sudoers /etc/sudoers.d/ /etc/doas.conf /etc/polkit-1/ /etc/security/
            .rhosts .shosts /etc/hosts.equiv /etc/nsswitch.conf .k5login /etc/passwd /etc/shadow /etc/group
            /etc/gshadow
        """,
        _LOADER: """
            /etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/ sitecustomize.py usercustomize.py *.pth
            /etc/binfmt.d/ .config/environment.d/
        """,
        _PROGRAMS: """
            .local/bin/ /usr/local/bin/ /usr/local/sbin/
        """,
        _TOOL: """
            .vscode/tasks.json .vscode/settings.json .idea/workspace.xml .envrc .direnvrc .config/direnv/ .vimrc
            .vim/vimrc .config/nvim/init.vim .config/nvim/init.lua .emacs .emacs.d/init.el .tmux.conf
            .config/tmux/tmux.conf .screenrc .gdbinit .lldbinit .pythonrc .pythonstartup .irbrc .pryrc .rprofile
            .psqlrc .sqliterc .nanorc .exrc .mailcap .config/mimeapps.list .local/share/applications/ .curlrc
            .wgetrc .lessfilter .ackrc .cargo/config.toml .cargo/config .cargo/env .gradle/init.gradle
            .gradle/init.d/ .mavenrc .ansible.cfg .husky/ .pre-commit-hooks/ .docker/cli-plugins/
            .hgrc .devcontainer/devcontainer.json
        """,
        _INDEX: """
            pip.conf .pip/pip.conf .config/pip/pip.conf /etc/pip.conf .npmrc .yarnrc .yarnrc.yml .pypirc
            .config/uv/uv.toml /etc/apt/sources.list /etc/apt/sources.list.d/ /etc/apt/trusted.gpg.d/
            /etc/yum.repos.d/ .gemrc .condarc .m2/settings.xml .bunfig.toml .docker/daemon.json
            /etc/docker/daemon.json /etc/hosts /etc/resolv.conf
        """,
        _BUILD: """
            .github/workflows/ .github/actions/ .gitlab-ci.yml .circleci/ .travis.yml azure-pipelines.yml
            jenkinsfile .drone.yml .woodpecker/ .woodpecker.yml bitbucket-pipelines.yml .buildkite/
            .gitea/workflows/ .forgejo/workflows/ appveyor.yml .cirrus.yml .teamcity/ cloudbuild.yaml buildspec.yml
        """,
    }
)

_PLACES = """
    .byobu/ .config/sway/ .config/i3/ .config/hypr/ .config/river/ .config/niri/ .config/bspwm/ .config/awesome/
    .config/qtile/ .config/openbox/ .config/sxhkd/ .config/kglobalshortcutsrc .config/khotkeysrc .xbindkeysrc
    .xresources .xdefaults .xmodmap .i3/ .xmonad/ .config/xmonad/ .local/share/applications/ .local/share/dbus-1/
    .local/share/konsole/ .config/konsolerc .config/autokey/ .config/espanso/ .hammerspoon/ .skhdrc .config/skhd/
    .yabairc .config/karabiner/ library/keybindings/ .config/terminator/ .config/xfce4/ .config/tilix/
    .config/terminology/ .config/rio/ .config/warp-terminal/ .config/starship.toml .config/oh-my-posh/ .p10k.zsh
    .config/powerline/ .config/atuin/ .bash_completion .config/bash_completion
    .config/fish/fish_variables .config/zsh/ .config/direnv/ .direnvrc
    .config/carapace/ .ipython/profile_default/startup/
"""
_IN_HOMES = tuple(place.replace("%20", " ") for place in _PLACES.split())
"""What terminals, hot keys and desktops load, below a home. What editors load is judged by its text."""


def persistence_of(path: str, home: str) -> Mark | None:
    """Why writing a resolved path makes something run later, or None. `soft` where honest work does it often."""
    if not path or (path[0] != "/" and "://" in path):
        return None
    parts = path.lower().rstrip("/").split("/")
    mark = _PERSISTENCE.find_wild(parts) if is_wild(path) else _PERSISTENCE.find(parts)
    if mark is _GIT and parts[-1].endswith(".sample"):
        return None
    if mark is _PROGRAMS and not is_wild(path) and "bin" not in (parts[-1], "") and parts[-1] not in _COMMON_COMMANDS:
        return _OWN_PROGRAM
    if mark is None and parts[-1] in _COMMON_COMMANDS and path == f"{home}/bin/{parts[-1]}":
        return _PROGRAMS
    if mark is _SHELL and _is_copy(path, home):
        return _COPY
    return _PERSONS if (mark is None or mark is _TOOL) and _is_persons(path, home) else mark


def _is_persons(path: str, home: str) -> bool:
    """Whether it is loaded by a program that a person works in. In a collection of dot files it is not, yet."""
    parts = path.split("/")
    return any(
        "/".join(parts[length:]).lower().startswith(_IN_HOMES)
        for length in {2, 3, home.rstrip("/").count("/") + 1}
        if length < len(parts) and is_home("/".join(parts[:length]), home)
    )


def _is_copy(path: str, home: str) -> bool:
    """Whether a profile lies where no shell reads it, as in a collection of dot files."""
    parent, _, name = path.rpartition("/")
    return name[:1] == "." and not is_wild(parent) and not is_home(parent, home)
