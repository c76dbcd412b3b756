"""Channels in interpose.yaml: what is taken, what is refused and in which words, and that no secret is shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.load import Loaded, load
from interpose.core.config.render import nested
from interpose.core.errors import ConfigError


def loaded(directory: Path, channels: Any, **more: Any) -> Loaded:
    file = directory / "interpose.yaml"
    file.write_text(json.dumps({"notifications": {"channels": channels}, **more}), encoding="utf-8")
    file.chmod(0o600)
    return load(file, environ={"HOME": str(directory)}, organisation=directory / "none")


MAIL = {"kind": "mail", "url": "smtp://mail.example", "sender": "i@example.org", "to": ["ann@example.org"]}

WRONG = [
    ("no kind", {"a": {}}, "kind"),
    ("another kind", {"a": {"kind": "pigeon"}}, "a.kind: invalid enum value"),
    ("an unknown key", {"a": {"kind": "desktop", "colour": 1}}, "colour"),
    ("no url", {"a": {"kind": "ntfy"}}, "ntfy needs a url or a url_file"),
    ("both", {"a": {"kind": "ntfy", "url": "https://x/t", "url_file": "/x"}}, "and not both"),
    ("a url for the desktop", {"a": {"kind": "desktop", "url": "https://x"}}, "desktop has no url"),
    ("another scheme", {"a": {"kind": "slack", "url": "smtp://x"}}, "begins with http:// or https://"),
    ("no address at all", {"a": {"kind": "slack", "url": "x.example"}}, "a.url"),
    ("mail over http", {"a": MAIL | {"url": "https://x"}}, "begins with smtp:// or smtps://"),
    ("mail to nobody", {"a": MAIL | {"to": []}}, "needs a sender and to"),
    ("no mail address", {"a": MAIL | {"to": ["ann"]}}, "is no mail address"),
    ("a header in an address", {"a": MAIL | {"to": ["ann@b.c\nBcc: eve@b.c"]}}, "is no mail address"),
    ("a user without a secret", {"a": MAIL | {"user": "i"}}, "user and secret are needed together"),
    ("mail's keys elsewhere", {"a": {"kind": "desktop", "to": ["a@b.c"]}}, "are for mail"),
    ("a secret of a webhook", {"a": {"kind": "slack", "url": "https://x", "secret": "${X}"}}, "use url_file"),
    ("a secret in the file", {"a": {"kind": "ntfy", "url": "https://x/t", "secret": "tk_1"}}, "does not stand in this"),
    ("a file without a place", {"a": {"kind": "slack", "url_file": "hook.url"}}, "a.url_file"),
    ("a time before now", {"a": {"kind": "desktop", "after": -1}}, "a.after"),
    ("another severity", {"a": {"kind": "desktop", "min_severity": "high"}}, "a.min_severity"),
    ("a person with a space", {"a": {"kind": "desktop", "person": "ann b"}}, "a.person"),
    ("another role", {"a": {"kind": "desktop", "role": "agent"}}, "a.role"),
    ("a name with a space", {"a b": {"kind": "desktop"}}, "a name has letters"),
    ("a name that is too long", {"a" * 25: {"kind": "desktop"}}, "24 of them at most"),
    ("too many", {f"c{number}": {"kind": "desktop"} for number in range(21)}, "20 at most"),
    ("a list", [{"kind": "desktop"}], "a map of channels by name"),
]


@pytest.mark.parametrize(("value", "why"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_what_is_wrong_says_where(tmp_path: Path, value: Any, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        loaded(tmp_path, value)
    assert why in str(raised.value)
    assert "notifications.channels" in str(raised.value)
    assert "tk_1" not in str(raised.value)


def test_a_variable_need_not_be_there_for_who_only_reads(tmp_path: Path) -> None:
    """A hook has the configuration, and not the secrets of the server."""
    config = loaded(tmp_path, {"a": {"kind": "ntfy", "url": "${TOPIC}", "secret": "${TOKEN}"}}).config
    assert config.notifications.channels["a"].secret == "${TOKEN}"


def test_nothing_of_a_channel_is_shown(tmp_path: Path) -> None:
    shown = nested(loaded(tmp_path, {"a": {"kind": "slack", "url": "https://x.example/s3cret"}}).config)
    assert shown["notifications"]["channels"] == {"a": "***"}


@pytest.mark.parametrize("url", ["interpose.example", "ftp://x", "https://x/path", "https://u@x", "https://x\n", "x"])
def test_a_public_url_is_an_origin(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match="without a path"):
        loaded(tmp_path, {}, server={"public_url": url})


def test_the_host_of_the_public_url_is_let_in(tmp_path: Path) -> None:
    from interpose.doors.http_server.listener import trust_of
    from interpose.doors.http_server.trust import Authority

    settings = loaded(tmp_path, {}, server={"public_url": "https://i.example:8443"}).config.server
    trust = trust_of(settings)
    assert trust.allowed_hosts == (Authority("i.example", 8443),)
    assert trust.allowed_origins == {("https", Authority("i.example", 8443))}


def test_the_examples_of_the_page_load(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "notifications.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for text in examples:
        (tmp_path / "example.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "example.yaml").chmod(0o600)
        assert load(tmp_path / "example.yaml", environ={"HOME": "/h"}, organisation=tmp_path / "none").origins
