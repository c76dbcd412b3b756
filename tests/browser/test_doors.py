"""Who gets in, and what a page on another site, another port or another name can make a browser do."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sqlite3
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.browsing import address, ask, configured, own_terminal, pair, person, sign_in
from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import interpose
from tests.e2e.trying_agents import agent_in, database
from tests.support.timing.patience import PATIENCE

FORM = "application/x-www-form-urlencoded"


GONE = """\
import socket, sys
how, port, id, csrf, cookie = sys.argv[1:]
body = f"csrf={csrf}&scope=once"
head = [
    f"POST /inbox/{id}/approve HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}",
    f"Cookie: {cookie}", "Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}", "", body,
]
with socket.create_connection(("127.0.0.1", int(port))) as own:
    own.sendall("\\r\\n".join(head).encode())
    if how == "half":
        own.shutdown(socket.SHUT_WR)
        while own.recv(4096):
            pass
"""


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.text = response.status, response.headers, response.read().decode()


def send(
    server: ServerProcess, method: str, path: str, fields: Mapping[str, str] | None = None, **headers: str
) -> Answer:
    """One request, with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = None if fields is None else urlencode(fields)
    if fields is not None:
        named = {"Content-Type": FORM, "Origin": address(server, "")} | named
    try:
        connection.request(method, path, body, {name: value for name, value in named.items() if value})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def signed_in(server: ServerProcess) -> tuple[str, str]:
    """A cookie, and the token of its forms."""
    entered = send(server, "POST", "/enter", {"token": server.token})
    cookie = entered.headers["Set-Cookie"].partition(";")[0]
    csrf = re.search(r'name="csrf" value="([^"]+)"', send(server, "GET", "/", Cookie=cookie).text)
    assert csrf is not None
    return cookie, csrf[1]


def offered(server: ServerProcess) -> tuple[str, str, str]:
    """What a program gets that asks for a code: the code, its number, and the cookie with its secret."""
    came = send(server, "GET", "/enter")
    code, number = re.search(r'id="code"[^>]*>([^<]+)<', came.text), re.search(r"pair=([^&]+)&", came.text)
    assert code is not None
    assert number is not None
    return code[1], number[1], came.headers["Set-Cookie"].partition(";")[0]


def typed_code(server: ServerProcess, code: str, token: str) -> int:
    """Somebody with a token lets a browser in, from wherever they are."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/api/v1/page/pairings", json.dumps({"pairing": code}), headers)
        return connection.getresponse().status
    finally:
        connection.close()


PAGES = ["/", "/inbox", "/inbox/batch", "/inbox/kj4m2qxr", "/calls/x", "/live"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "cookie", ["", "interpose-PORT=x", "interpose-PORT=x.y", "interpose-PORT=.", "interpose-PORT=" + "A" * 9000]
)
def test_nothing_is_shown_without_a_session(server: ServerProcess, path: str, cookie: str) -> None:
    got = send(server, "GET", path, Cookie=cookie.replace("PORT", str(server.port)))
    assert got.status in (303, 401, 405), got.text
    assert "csrf" not in got.text


@pytest.mark.parametrize("path", ["/", "/enter", "/static/page.js", "/inbox"])
def test_every_page_is_guarded_by_its_headers(server: ServerProcess, path: str) -> None:
    cookie, _ = signed_in(server)
    for got in (send(server, "GET", path), send(server, "GET", path, Cookie=cookie)):
        policy = got.headers["Content-Security-Policy"]
        assert ("default-src 'none'" in policy, "frame-ancestors 'none'" in policy, "unsafe" in policy) == (1, 1, 0)
        assert (got.headers["X-Frame-Options"], got.headers["X-Content-Type-Options"]) == ("DENY", "nosniff")
        assert (got.headers["Cache-Control"], got.headers["Cross-Origin-Opener-Policy"]) == ("no-store", "same-origin")
        assert not re.search(r"<script(?! src)|<style|\son\w+=|style=", got.text)


def test_a_cookie_is_for_this_site_and_no_script(server: ServerProcess) -> None:
    entered = send(server, "POST", "/enter", {"token": server.token})
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(entered.headers["Set-Cookie"].split("; "))


@pytest.mark.parametrize(
    "name", ["evil.example", "interpose.evil.example:8080", "127.0.0.1.evil.example", "[::1]:1", ""]
)
def test_another_name_for_this_machine_gets_nothing(server: ServerProcess, name: str) -> None:
    """DNS rebinding: the page of another site makes its own name point here."""
    cookie, _ = signed_in(server)
    got = send(server, "GET", "/inbox", Host=name or f"localhost:{server.port + 1}", Cookie=cookie)
    assert (got.status, "forbidden_host" in got.text) == (403, True)


@pytest.mark.parametrize(
    ("note", "change", "status"),
    [
        ("as our own form is sent", {}, 303),
        ("without the token of the session", {"csrf": ""}, 403),
        ("with another token", {"csrf": "x" * 32}, 403),
        ("from a page of another site", {"Origin": "https://evil.example"}, 403),
        ("from a page of another port", {"Origin": "http://127.0.0.1:1"}, 403),
        ("from a page without an origin", {"Origin": "null"}, 403),
        ("by a browser that does not say from where", {"Origin": ""}, 403),
        ("by a browser that says it is another site", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("by a browser that says it is another port", {"Sec-Fetch-Site": "same-site"}, 403),
        ("as text", {"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_form_of_somebody_else_answers_nothing(
    server: ServerProcess, note: str, change: dict[str, str], status: int
) -> None:
    id = ask(server, f"git push --force origin csrf-{abs(hash(note))}")
    cookie, csrf = signed_in(server)
    fields = {"csrf": change.get("csrf", csrf), "scope": "once"}
    headers = {name: value for name, value in change.items() if name != "csrf"}
    got = send(server, "POST", f"/inbox/{id}/approve", fields, Cookie=cookie, **headers)
    assert got.status == status, got.text
    state = server.ask("GET", f"/api/v1/approvals/{id}").body["state"]
    assert state == ("approved" if status == 303 else "waiting")


def test_the_token_of_one_session_is_worth_nothing_in_another(server: ServerProcess) -> None:
    id = ask(server, "git push --force origin other-session")
    (cookie, _), (_, csrf) = signed_in(server), signed_in(server)
    assert send(server, "POST", f"/inbox/{id}/approve", {"csrf": csrf}, Cookie=cookie).status == 403


def test_a_get_answers_nothing(server: ServerProcess) -> None:
    """A link preview, an image, a prefetch."""
    id = ask(server, "git push --force origin preview")
    cookie, csrf = signed_in(server)
    for act in ("approve", "edit", "deny", "defer"):
        assert send(server, "GET", f"/inbox/{id}/{act}?csrf={csrf}&scope=once", Cookie=cookie).status == 405
    assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"


def test_who_signed_out_is_out(server: ServerProcess) -> None:
    cookie, csrf = signed_in(server)
    assert send(server, "POST", "/leave", {"csrf": csrf}, Cookie=cookie).status == 303
    assert send(server, "GET", "/inbox", Cookie=cookie).status == 303


def test_a_row_that_an_agent_wrote_signs_nobody_in(server: ServerProcess) -> None:
    """A row of another session under a name of one's own, and an old row in its place."""
    cookie, _ = signed_in(server)
    id = cookie.partition("=")[2].partition(".")[0]
    with sqlite3.connect(database(server)) as store:
        store.execute(
            "INSERT INTO sessions SELECT 'page:forged', version, updated_ns, body FROM sessions WHERE session = ?",
            (f"page:{id}",),
        )
    store.close()
    forged = cookie.replace(id, "forged")
    assert send(server, "GET", "/inbox", Cookie=cookie).status == 200
    assert send(server, "GET", "/inbox", Cookie=forged).status == 303


def test_a_cookie_counts_for_nothing_at_the_socket(server: ServerProcess) -> None:
    """There the kernel's word on who answers with it would be another one."""
    cookie, _ = signed_in(server)
    runtime = clean_environment(server.home)["XDG_RUNTIME_DIR"]
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.connect(f"{runtime}/interpose/api.sock")
        port = {"Host": f"127.0.0.1:{server.port}"}
        connection.request("GET", "/inbox", headers=port | {"Cookie": cookie})
        assert connection.getresponse().status == 303
    finally:
        connection.close()


def test_there_is_time_to_type_a_token(browser: Browser, server: ServerProcess) -> None:
    """The page with the code is loaded again and again: what is typed must not go with it."""
    with person(browser) as page:
        page.goto(address(server, "/sessions"))
        expect(page.locator("meta[http-equiv=refresh]")).to_have_count(1)
        page.get_by_text("Sign in with a token instead").click()
        page.get_by_label("Token").fill("wrong")
        expect(page.locator("meta[http-equiv=refresh]")).to_have_count(0)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("not known")
        page.get_by_label("Token").fill(server.token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()


def test_a_cookie_of_another_port_locks_nobody_out(server: ServerProcess) -> None:
    """It has our name and a longer path, so browsers send it first."""
    cookie, _ = signed_in(server)
    name = cookie.partition("=")[0]
    assert send(server, "GET", "/inbox", Cookie=f"{name}=x; {name}=a.b; {cookie}").status == 200


def test_who_signs_in_gets_where_they_wanted_to_go(server: ServerProcess) -> None:
    """Also after the page with the code was loaded again and again, and whatever the address has in it."""
    sent = send(server, "GET", "/sessions/a%2Fb%20%C3%A9%252e").headers["Location"]
    for _ in range(3):
        again = re.search(r"url=([^\"]+)", send(server, "GET", sent).text)
        assert again is not None
        sent = unescape(again[1])
    after = parse_qs(urlsplit(sent).query)["next"][0]
    entered = send(server, "POST", "/enter", {"token": server.token, "next": after})
    assert entered.headers["Location"] == "/sessions/a%2Fb%20%C3%A9%252e"


def test_tokens_are_not_guessed_for_long(tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path)) as server:
        said = [send(server, "POST", "/enter", {"token": f"{number:040}"}).status for number in range(12)]
        assert (said[0], said[-1]) == (401, 429)


def test_a_token_that_ends_ends_its_sessions(tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path)) as server:
        tokens = tmp_path / ".config" / "interpose" / "tokens"
        before = tokens.read_text()
        tokens.write_text(f"{before}eve approver {'e' * 40}\n")
        server.ask("POST", "/api/v1/reload")
        entered = send(server, "POST", "/enter", {"token": "e" * 40})
        cookie = entered.headers["Set-Cookie"].partition(";")[0]
        assert send(server, "GET", "/inbox", Cookie=cookie).status == 200
        assert send(server, "GET", "/", Cookie=cookie).headers["Location"] == "/inbox"
        assert send(server, "GET", "/rules", Cookie=cookie).status == 403, "an approver does not read the ledger"
        tokens.write_text(before)
        server.ask("POST", "/api/v1/reload")
        assert send(server, "GET", "/inbox", Cookie=cookie).status == 303


def test_a_browser_that_a_token_let_in_is_out_when_the_token_ends(tmp_path: Path) -> None:
    with ServerProcess(configured(tmp_path)) as server:
        tokens = tmp_path / ".config" / "interpose" / "tokens"
        before = tokens.read_text()
        tokens.write_text(f"{before}eve approver {'e' * 40}\n")
        server.ask("POST", "/api/v1/reload")
        code, number, secret = offered(server)
        with ThreadPoolExecutor(1) as own:
            typed = own.submit(typed_code, server, code, "e" * 40)
            while "Location" not in (came := send(server, "GET", f"/enter?pair={number}", Cookie=secret)).headers:
                assert not typed.done(), typed.result()
        cookie = came.headers.get_all("Set-Cookie", [])[0].partition(";")[0]
        assert send(server, "GET", "/inbox", Cookie=cookie).status == 200
        tokens.write_text(before)
        server.ask("POST", "/api/v1/reload")
        assert send(server, "GET", "/inbox", Cookie=cookie).status == 303


def test_a_code_that_somebody_else_was_offered_is_not_shown(browser: Browser, server: ServerProcess) -> None:
    """Cookies have no ports: a page of an agent at another port puts its secret there, and leads here with its number.
    Whoever types what is shown then would let the agent in."""
    code, number, secret = offered(server)
    name, _, value = secret.partition("=")
    with person(browser) as page:
        page.context.add_cookies([{"name": name, "value": value, "domain": "127.0.0.1", "path": "/enter"}])
        page.goto(address(server, f"/enter?pair={number}"))
        first = page.locator("#code").inner_text()
        with page.expect_navigation():  # it asks again by itself
            pass
        assert code not in (first, page.locator("#code").inner_text())


def test_no_other_page_puts_ours_in_a_frame(browser: Browser, server: ServerProcess) -> None:
    with person(browser) as page:
        sign_in(page, server)
    with browser.new_context() as context:
        other = context.new_page()
        other.route(
            "http://evil.example/", lambda route: route.fulfill(
                content_type="text/html", body=f'<iframe src="{address(server, "/enter")}"></iframe>'
            ),
        )  # fmt: skip
        other.goto("http://evil.example/")
        frame = other.frames[-1]
        assert "Sign in to Interpose" not in frame.content()


class TestThisMachine:
    """The default proof: a token looks, a person's terminal lets a browser answer, an agent gets nothing."""

    def test_a_token_looks_and_does_not_answer(self, browser: Browser, tmp_path: Path) -> None:
        with ServerProcess(configured(tmp_path, proof="terminal")) as server, person(browser) as page:
            id = ask(server)
            sign_in(page, server, path=f"/inbox/{id}")
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("an agent could read it")
            assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"

    def test_an_agent_lets_no_browser_in_and_a_stolen_cookie_answers_nothing(
        self, browser: Browser, tmp_path: Path
    ) -> None:
        with ServerProcess(configured(tmp_path, proof="terminal")) as server:  # noqa: SIM117 - the others need it
            with own_terminal(server) as own, own_terminal(server) as other, person(browser) as page:
                agent_in(other, server)
                page.goto(address(server))
                code = page.locator("#code").inner_text()
                other.type(f"{' '.join(interpose('open', code))}\n")
                assert "was started by" in other.until("code:")
                pair(page, server, own)
                # The agent finds the cookie in the browser's profile, and everything that belongs to it.
                id = ask(server)
                cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
                page.goto(address(server, f"/inbox/{id}"))
                csrf = page.locator("form.approve input[name=csrf]").get_attribute("value")
                words = f"-H 'Cookie: {cookie}' -H 'Origin: {address(server, '')}' -d csrf={csrf} -d scope=once"
                other.type(
                    f"curl -s -o out.html -w '%{{http_code}}' {words} {address(server, f'/inbox/{id}/approve')}\n"
                )
                assert "403" in other.until("code:")
                assert "was started by" in (server.home / "out.html").read_text()
                # It does not wait for what is said, so that nobody finds its process.
                (server.home / "gone.py").write_text(GONE, encoding="utf-8")
                for how in ("half", "closed"):
                    cookies, own_name = f"'{cookie}'", f"{sys.executable} gone.py {how} {server.port} {id} {csrf}"
                    other.type(f"{own_name} {cookies} && echo se''nt\n")
                    other.until("sent")
                    other.until("code:")
                    answered = f"/api/v1/approvals/{id}"
                    assert server.ask("GET", answered).body["state"] == "waiting", how
                assert server.ask("GET", f"/api/v1/approvals/{id}").body["state"] == "waiting"
                page.get_by_role("button", name="Approve", exact=True).click()
                expect(page.get_by_text("You let it run.")).to_be_visible()

    def test_the_passphrase_is_asked_for_on_the_page_too(self, browser: Browser, tmp_path: Path) -> None:
        home = configured(tmp_path, proof="terminal")
        with ServerProcess(home) as server, own_terminal(server) as own:
            own.type(" ".join(interpose("operator", "init", "--passphrase")) + "; echo do''ne\n")
            for prompt in ("New passphrase: ", "The same again: "):
                own.until(prompt)
                own.type("correct horse\n")
            own.until("done")
        configured(home, proof="passphrase")
        with ServerProcess(home) as server, person(browser) as page:
            id = ask(server)
            sign_in(page, server, path=f"/inbox/{id}")
            for word, shown in (("wrong horse", "alert"), ("correct horse", "status")):
                page.locator("form.approve").get_by_label("Passphrase").fill(word)
                page.get_by_role("button", name="Approve", exact=True).click()
                expect(page.get_by_role(shown).first).to_be_visible()  # type: ignore[arg-type]
            expect(page.get_by_text("You let it run.")).to_be_visible()
            assert "horse" not in page.content()
