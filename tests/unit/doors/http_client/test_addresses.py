"""Where an address leads, and what may lead there."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from interpose.doors.http_client.addresses import NotReachedError, Reach, addresses_of, may_reach, parse_url, redirected
from interpose.doors.http_client.client import HttpClient

PRIVATE = [
    "10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "127.9.9.9", "100.64.0.1", "0.0.0.0", "169.254.169.254",
    "169.254.1.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::a00:1", "2002:a00:1::", "::7f00:1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.1",
    "240.0.0.1",     "168.63.129.16", "100.100.100.200", "fe80::1%eth0",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "0.0.0.0", "::",
    "224.0.0.1", "64:ff9b::a9fe:a9fe", "100.100.100.200",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_nobody_vouched_for_leads_to_the_internet_alone(address: str) -> None:
    assert not may_reach(address, "public")


@pytest.mark.parametrize("address", NEVER)
def test_no_name_leads_to_where_clouds_keep_credentials(address: str) -> None:
    assert not may_reach(address, "private")


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"])
def test_the_internet_is_reached(address: str) -> None:
    assert may_reach(address, "public")


URLS = [
    ("http://127.0.0.1:8000/mcp", True), ("http://localhost/mcp", True), ("http://[::1]/", True),
    ("http://127.1/", True), ("http://2130706433/", True),
    ("http://0x7f000001/", True), ("https://mcp.example.com/", False),
    ("https://10.0.0.1.example.com/", False),
    ("https://localhost.example.com/", False), ("http://a.localhost/", True),
]  # fmt: skip


@pytest.mark.parametrize(("url", "named"), URLS)
def test_what_says_by_itself_where_it_leads(url: str, named: bool) -> None:
    assert parse_url(url).named is named


WRONG = [
    "ftp://x/", "http://", "http:///x", "file:///etc/passwd", "http://user:secret@host/", "http://user@host/",
    "http://host/\r\nX: y", "http://ho st/", "http://host/ü", "http://host:99999/", "http://host\\@evil/", "gopher://x",
    "http://[fe80::1%25eth0]/", "//host/", "", "http://" + "a" * 9000,
]  # fmt: skip


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_address_of_ours(url: str) -> None:
    with pytest.raises(ValueError, match=r"it |[Pp]ort|IP"):
        parse_url(url)


REDIRECTS = [
    ("/other", "https://mcp.example.com/other"), ("https://mcp.example.com/x?y#z", "https://mcp.example.com/x?y"),
    ("http://mcp.example.com/", None), ("https://evil.example/", None), ("//evil.example/", None),
    ("https://mcp.example.com:8443/", None), ("https://mcp.example.com@evil.example/", None), ("javascript:x", None),
    ("https://MCP.example.com/", "https://mcp.example.com/"), ("http://169.254.169.254/latest/meta-data", None),
]  # fmt: skip


@pytest.mark.parametrize(("location", "leads"), REDIRECTS)
def test_a_redirect_stays_in_its_origin(location: str, leads: str | None) -> None:
    found = redirected(parse_url("https://mcp.example.com/mcp"), location)
    assert (found.text if found else None) == leads


@pytest.mark.parametrize(("reach", "reached"), [("public", ""), ("private", "10.0.0.7"), ("named", "10.0.0.7")])
def test_a_name_is_looked_up_once_and_what_was_checked_is_connected_to(
    reach: Reach, reached: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that says 10.0.0.7 first, and would say something else when asked again."""
    looked, connected = [], []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def lookup(host: str, port: int, **more: Any) -> Any:
            looked.append(host)
            address = "10.0.0.7" if len(looked) == 1 else "127.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        async def connect(_make: Any, host: str, _port: int, **more: Any) -> Any:
            connected.append(host)
            raise ConnectionRefusedError

        monkeypatch.setattr(loop, "getaddrinfo", lookup)
        monkeypatch.setattr(loop, "create_connection", connect)
        client = HttpClient(parse_url("http://mcp.example.com/"), reach)
        with pytest.raises(NotReachedError):
            await client.open()
        if reached:
            with pytest.raises(NotReachedError):
                await client.ask("GET", "/", {}, limit=10, seconds=1)

    asyncio.run(main())
    assert connected == ([reached] * 2 if reached else [])
    assert looked == ["mcp.example.com"]


def test_a_mixed_answer_is_narrowed_to_what_may_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async def lookup(host: str, port: int, **more: Any) -> Any:
            return [(2, 1, 6, "", (one, port)) for one in ("169.254.169.254", "93.184.215.14", "127.0.0.1")]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup)
        assert await addresses_of(parse_url("https://mixed.example/"), "public") == ("93.184.215.14",)

    asyncio.run(main())
