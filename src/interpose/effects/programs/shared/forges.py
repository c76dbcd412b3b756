"""Places from which people get the code they work on: cloning from them is every day's work."""

from __future__ import annotations

from urllib.parse import urlsplit

from interpose.effects.frozen_values import words

_FORGES = words(
    """
    github.com gist.github.com raw.githubusercontent.com gitlab.com bitbucket.org codeberg.org sr.ht git.sr.ht gitee.com
    dev.azure.com ssh.dev.azure.com git.kernel.org git.savannah.gnu.org gitlab.gnome.org gitlab.freedesktop.org
    invent.kde.org salsa.debian.org opendev.org huggingface.co hf.co notabug.org launchpad.net git.launchpad.net
    chromium.googlesource.com android.googlesource.com go.googlesource.com localhost 127.0.0.1
    """
)
_VENDORS = words(
    """
    download.docker.com packages.microsoft.com download.opensuse.org dl.fedoraproject.org rpm.nodesource.com
    deb.nodesource.com dl.yarnpkg.com apt.kubernetes.io pkgs.k8s.io packages.cloud.google.com apt.releases.hashicorp.com
    rpm.releases.hashicorp.com cli.github.com download.postgresql.org yum.postgresql.org nginx.org repo.mysql.com
    repos.influxdata.com packages.grafana.com rpm.grafana.com artifacts.elastic.co developer.download.nvidia.com
    vagrantcloud.com app.vagrantup.com dl.google.com galaxy.ansible.com
    """
)
"""Whoever makes these programs gives them out there."""


def is_usual_source(address: str) -> bool:
    """Whether an address is one of a forge, or of a vendor's own packages."""
    return is_usual_forge(address) or _host(address) in _VENDORS


def is_usual_forge(address: str) -> bool:
    """Whether an address (a URL, or `user@host:path`) is one of a forge that everybody uses."""
    return _host(address) in _FORGES


def _host(address: str) -> str:
    try:
        host = urlsplit(address).hostname if "://" in address else address.partition(":")[0].rpartition("@")[2]
    except ValueError:
        return ""
    return (host or "").lower()
