"""Who is let in as what: tokens, certificates, proxies. Host and Origin have their own cases in tests/cases/http."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.errors import ServerError
from interpose.doors.http_server.messages import (
    UNKNOWN_USER,
    Access,
    Peer,
    Refusal,
    Request,
    Response,
    Route,
    json_response,
)
from interpose.doors.http_server.tokens import Tokens, read_tokens
from interpose.doors.http_server.trust import (
    Door,
    Loopback,
    Trust,
    make_trust,
    parse_authority,
    parse_origin,
    user_name,
    user_principal,
)
from tests.support.servers.servers import Running, running

ROLES = ("agent", "auditor", "approver", "operator")
ACCESSES: tuple[Access, ...] = ("open", "agent", "auditor", "approver", "operator")
LOCAL = Peer(kind="tcp", loopback=True, address="127.0.0.1", port=5)
REMOTE = Peer(kind="tcp", loopback=False, address="10.0.0.9", port=5)
UNIX = Peer(kind="unix", loopback=True)
OWNER = Peer(kind="unix", loopback=True, pid=5, uid=os.geteuid(), gid=os.getegid())
ROOT = Peer(kind="unix", loopback=True, pid=5, uid=0, gid=0)
CERTIFIED = Peer(kind="tcp", loopback=False, address="10.0.0.9", port=5, subject="build-7")


def secret(role: str) -> str:
    return f"{role}-token-of-the-tests-that-is-long-enough"


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    path = tmp_path_factory.mktemp("trust") / "tokens"
    path.write_text("".join(f"my-{role} {role} {secret(role)}\n" for role in ROLES), encoding="ascii")
    path.chmod(0o600)
    return read_tokens(path)


def answer(door: Door, access: Access, peer: Peer, authorization: str | None) -> str:
    """Who is let in, or the status of the refusal."""
    headers = {} if authorization is None else {"authorization": authorization}
    try:
        caller = door.caller(access, headers, peer)
    except Refusal as refusal:
        return str(refusal.status)
    return f"{caller.role} {caller.name}"


@pytest.mark.parametrize("access", ACCESSES)
def test_on_this_machine_agents_need_no_token_and_all_others_do(tokens: Tokens, access: Access) -> None:
    door = Door(make_trust(tokens=tokens), "http", 8080, loopback=True)
    known = {"open": "agent ", "agent": "agent anonymous"}
    assert answer(door, access, LOCAL, None) == known.get(access, "401")
    for peer in (UNIX, OWNER, ROOT):
        agent = f"agent {user_principal(peer.uid)}"
        known = {"open": agent, "agent": agent}
        if peer.uid != UNKNOWN_USER:  # whoever is known may look at questions; to say yes takes a proof
            known["approver"] = f"approver {user_name(peer.uid)}"
        assert answer(door, access, peer, None) == known.get(access, "401")


@pytest.mark.parametrize(
    ("loopback", "want"), [("open", "agent "), ("closed", "401"), ("anonymous", "agent anonymous")]
)
def test_the_operator_says_what_strangers_get(tokens: Tokens, loopback: Loopback, want: str) -> None:
    door = Door(make_trust(tokens=tokens, loopback=loopback), "http", 8080, loopback=True)
    assert answer(door, "agent", LOCAL, None) == want
    assert answer(door, "agent", OWNER, None) == f"agent {user_principal(OWNER.uid)}"


@pytest.mark.parametrize("access", ACCESSES)
def test_another_user_is_refused_on_a_unix_socket_with_or_without_a_token(tokens: Tokens, access: Access) -> None:
    for trust in (make_trust(tokens=tokens), make_trust(tokens=tokens, loopback="open")):
        door = Door(trust, "http", 0, loopback=True)
        for uid in (64_123, -2):
            peer = Peer(kind="unix", loopback=True, pid=5, uid=uid, gid=uid)
            assert answer(door, access, peer, None) == "403"
            assert answer(door, access, peer, f"Bearer {secret('operator')}") == "403"


@pytest.mark.parametrize("access", ACCESSES)
def test_from_elsewhere_everybody_needs_a_token_or_a_certificate(tokens: Tokens, access: Access) -> None:
    door = Door(make_trust(tokens=tokens), "http", 8080, loopback=False)
    for peer in (LOCAL, REMOTE):
        assert answer(door, access, peer, None) == "401"
    assert answer(door, access, CERTIFIED, None) == ("agent build-7" if access in {"open", "agent"} else "401")


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("loopback", [True, False])
@pytest.mark.parametrize("role", ROLES)
def test_a_token_has_its_role_everywhere(tokens: Tokens, access: Access, loopback: bool, role: str) -> None:
    door = Door(make_trust(tokens=tokens), "http", 8080, loopback=loopback)
    enough = access in {"open", "agent", role} or role == "operator"
    for peer in (LOCAL, REMOTE, UNIX, CERTIFIED):
        assert answer(door, access, peer, f"Bearer {secret(role)}") == (f"{role} my-{role}" if enough else "403")
        assert answer(door, access, peer, f"bearer {secret(role)}") == (f"{role} my-{role}" if enough else "403")


WRONG = ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {secret('operator')}", secret("operator"),
         f"Bearer  {secret('operator')}", f"Bearer {secret('operator')} x", f"Bearer {secret('operator')}, Bearer x",
         f"Token {secret('operator')}"]  # fmt: skip


@pytest.mark.parametrize("authorization", WRONG)
@pytest.mark.parametrize("access", ACCESSES)
def test_a_wrong_token_is_never_overlooked(tokens: Tokens, access: Access, authorization: str) -> None:
    for trust in (make_trust(tokens=tokens), make_trust()):
        for peer in (LOCAL, UNIX, CERTIFIED):
            assert answer(Door(trust, "http", 8080, loopback=True), access, peer, authorization) == "401"


def test_a_listener_can_ask_agents_for_a_token_too(tokens: Tokens) -> None:
    door = Door(make_trust(tokens=tokens, loopback="closed"), "http", 8080, loopback=True)
    assert answer(door, "agent", LOCAL, None) == "401"
    assert answer(door, "open", LOCAL, None) == "agent "
    assert answer(door, "agent", LOCAL, f"Bearer {secret('agent')}") == "agent my-agent"


def test_who_comes_through_a_proxy_is_not_local(tokens: Tokens) -> None:
    door = Door(make_trust(tokens=tokens, trusted_proxies=["127.0.0.0/8"]), "http", 8080, loopback=True)
    for access in ACCESSES:
        assert answer(door, access, LOCAL, None) == "401"
    assert answer(door, "agent", UNIX, None) == f"agent {user_principal(os.geteuid())}"


PROXIES = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"]
FORWARDED: list[tuple[str, str, str | None, str]] = [
    ("no proxy in between", "192.0.2.1", "198.51.100.1", "192.0.2.1"),
    ("the proxy says who", "127.0.0.1", "198.51.100.1", "198.51.100.1"),
    ("the client lies in front", "127.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
    ("a chain of proxies", "127.0.0.1", "1.1.1.1, 198.51.100.1, 10.1.2.3", "198.51.100.1"),
    ("only proxies", "127.0.0.1", "10.1.2.3, 10.1.2.4", "10.1.2.3"),
    ("the client claims to be us", "127.0.0.1", "127.0.0.1, 198.51.100.1", "198.51.100.1"),
    ("an IPv6 client", "127.0.0.1", "2001:DB8::1", "2001:db8::1"),
    ("an IPv6 proxy", "fd00::7", "198.51.100.1", "198.51.100.1"),
    ("nothing said", "127.0.0.1", None, "127.0.0.1"),
    ("nothing in it", "127.0.0.1", "", "127.0.0.1"),
    ("a name instead of an address", "127.0.0.1", "evil.example", "127.0.0.1"),
    ("a broken end", "127.0.0.1", "198.51.100.1, ???", "127.0.0.1"),
    ("something broken behind a proxy", "127.0.0.1", "???, 10.1.2.3", "10.1.2.3"),
]


@pytest.mark.parametrize(("peer", "header", "want"), [pytest.param(*case[1:], id=case[0]) for case in FORWARDED])
def test_the_client_behind_proxies(peer: str, header: str | None, want: str) -> None:
    door = Door(make_trust(trusted_proxies=PROXIES), "http", 8080, loopback=False)
    headers = {} if header is None else {"x-forwarded-for": header}
    assert door.client_of(Peer(kind="tcp", loopback=False, address=peer), headers) == want


def test_without_proxies_nobody_says_who_he_is() -> None:
    door = Door(make_trust(), "http", 8080, loopback=True)
    assert door.client_of(LOCAL, {"x-forwarded-for": "198.51.100.1"}) == "127.0.0.1"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"allowed_hosts": ["ok.example", "http://x"]}, "server.allowed_hosts: 'http://x' can't be used"),
        ({"allowed_hosts": ["*"]}, "server.allowed_hosts"),
        ({"allowed_origins": ["*"]}, "server.allowed_origins: '\\*' can't be used: it does not begin with http"),
        ({"allowed_origins": ["null"]}, "server.allowed_origins"),
        ({"allowed_origins": ["https://x.example/"]}, "server.allowed_origins"),
        ({"trusted_proxies": ["proxy.example"]}, "server.trusted_proxies"),
        ({"trusted_proxies": ["10.0.0.1/8"]}, "server.trusted_proxies"),
    ],
)
def test_settings_that_can_not_be_used_are_named(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ServerError, match=why):
        make_trust(**settings)


@given(st.text(max_size=30) | st.text(alphabet="localhost127.:[]@%x-_ 0", max_size=30))
def test_an_authority_is_read_in_one_way_or_not_at_all(text: str) -> None:
    try:
        found = parse_authority(text)
    except ValueError:
        return
    host = f"[{found.host}]" if ":" in found.host else found.host
    again = host if found.port is None else f"{host}:{found.port}"
    assert parse_authority(again) == found
    assert found.host.isascii()
    assert not set(found.host) & set("@/\\ %[]?#")
    assert parse_origin(f"https://{again}")[1].host == found.host


async def _who(request: Request) -> Response:
    return json_response({"role": request.caller.role, "name": request.caller.name})


@pytest.fixture(scope="module")
def server(tokens: Tokens) -> Iterator[Running]:
    trust: Trust = make_trust(tokens=tokens, allowed_origins=["https://board.example"])
    with running([Route("GET", f"/{access}", _who, access, "") for access in ACCESSES], trust=trust) as found:
        yield found


@pytest.mark.parametrize("access", ACCESSES)
def test_roles_over_a_socket(server: Running, access: Access) -> None:
    assert server.ask("GET", f"/{access}").status == (200 if access in {"open", "agent"} else 401)
    refused = server.ask("GET", f"/{access}", headers={"Authorization": "Bearer wrong"})
    assert (refused.status, refused.json["error"], refused.headers["www-authenticate"]) == (
        401,
        "unauthorized",
        "Bearer",
    )
    token = {"Authorization": f"Bearer {secret('operator')}"}
    assert server.ask("GET", f"/{access}", headers=token).json == {"role": "operator", "name": "my-operator"}


def test_a_role_that_is_too_small_is_told_which_it_needs(server: Running) -> None:
    refused = server.ask("GET", "/operator", headers={"Authorization": f"Bearer {secret('auditor')}"})
    assert (refused.status, refused.json["error"]) == (403, "forbidden")
    assert "operator" in refused.json["message"]
    assert "auditor" in refused.json["message"]


def test_a_page_of_an_allowed_origin_may_ask_and_read(server: Running) -> None:
    origin = {"Origin": "https://board.example", "Sec-Fetch-Site": "cross-site"}
    asked = server.ask("OPTIONS", "/operator", headers=origin | {"Access-Control-Request-Method": "GET"})
    assert asked.status == 204
    assert asked.headers["access-control-allow-origin"] == "https://board.example"
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    answer = server.ask("GET", "/operator", headers=origin | {"Authorization": f"Bearer {secret('operator')}"})
    assert answer.headers["access-control-allow-origin"] == "https://board.example"
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in server.ask("GET", "/open").headers
