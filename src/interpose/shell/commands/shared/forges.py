"""Places from which people get the code they work on: cloning from them is every day's work."""

from __future__ import annotations

from urllib.parse import urlsplit

from interpose.shell.commands.shared.word_sets import words

_FORGES = words(
    """
    github.com gist.github.com raw.githubusercontent.com gitlab.com bitbucket.org codeberg.org sr.ht git.sr.ht gitee.com
    dev.azure.com ssh.dev.azure.com git.kernel.org git.savannah.gnu.org gitlab.gnome.org gitlab.freedesktop.org
    invent.kde.org salsa.debian.org opendev.org huggingface.co hf.co notabug.org launchpad.net git.launchpad.net
    chromium.googlesource.com android.googlesource.com go.googlesource.com localhost 127.0.0.1
    """
)


def is_usual_forge(address: str) -> bool:
    """Whether an address (a URL, or `user@host:path`) is one of a forge that everybody uses."""
    try:
        host = urlsplit(address).hostname if "://" in address else address.partition(":")[0].rpartition("@")[2]
    except ValueError:
        return False
    return (host or "").lower() in _FORGES
