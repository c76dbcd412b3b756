"""From a real agent's hook to a person's phone and back: real processes, a real server that plays ntfy, real mail."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import interpose
from tests.support.peers.receivers import Receiver, receiving, taking_mail
from tests.support.timing.patience import PATIENCE

ASKED = "git push --force origin feature"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def settings_in(home: Path, proof: str, **channels: dict[str, Any]) -> None:
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True, mode=0o700)
    told = {
        "approvals": {"ask": "queue", "proof": proof},
        "notifications": {"group": 0, "per_minute": 60, "channels": channels},
    }
    file.write_text(json.dumps(told), encoding="utf-8")
    file.chmod(0o600)


def ntfy(receiver: Receiver, **more: Any) -> dict[str, Any]:
    return {"kind": "ntfy", "url": f"{receiver.url}/agents", "person": "bob", **more}


def fetched(method: str, address: str, **fields: str) -> tuple[int, str]:
    """As a browser does it, at the address that the notification has."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
    try:
        connection.request(method, parts.path, urlencode(fields) if fields else None, FORM if fields else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def pressed(address: str, button: str) -> tuple[int, str]:
    """Look, then press a button of the page."""
    status, page = fetched("GET", address)
    assert status == 200, page
    form = re.search(r'name="form" value="([^"]+)"', page)
    assert form
    return fetched("POST", address, form=unescape(form[1]), answer=button)


def hook(home: Path) -> dict[str, Any]:
    """What a real hook of Claude Code is told about the call."""
    event = {
        "session_id": "s", "cwd": str(home), "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t1",
        "tool_input": {"command": ASKED, "description": "a harmless look"}, "permission_mode": "dontAsk",
    }  # fmt: skip
    done = subprocess.run(
        interpose("hook", "claude-code"), input=json.dumps(event), capture_output=True, text=True, check=True,
        env=clean_environment(home), cwd=home,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout.strip() else {}
    return told


def test_from_a_hook_to_the_phone_and_back(tmp_path: Path) -> None:
    with receiving() as phone:
        settings_in(tmp_path, "token", phone=ntfy(phone))
        with ServerProcess(tmp_path) as server:
            assert hook(tmp_path)["permissionDecision"] == "deny"
            told = phone.next().json
            assert (told["topic"], ASKED in told["message"], "harmless" in told["message"]) == ("agents", True, False)
            address = told["click"]
            assert address.startswith(f"http://127.0.0.1:{server.port}/a/")
            status, page = fetched("GET", address)
            assert (status, ASKED in page, "a harmless look" in page) == (200, True, True)
            assert fetched("HEAD", address)[0] == 200
            assert hook(tmp_path)["permissionDecision"] == "deny", "looking answers nothing"
            status, page = pressed(address, "approve")
            assert (status, "Approved" in page) == (200, True)
            assert hook(tmp_path).get("permissionDecision") != "deny", "the call goes through"
            assert hook(tmp_path)["permissionDecision"] == "deny", "once"
            assert fetched("GET", address)[0] == 410
            path = urlsplit(address).path
        with ServerProcess(tmp_path) as server:
            for method in ("GET", "POST"):
                fields = {"answer": "approve"} if method == "POST" else {}
                status, page = fetched(method, f"http://127.0.0.1:{server.port}{path}", **fields)
                assert (status, "This link was used" in page) == (410, True), "after a restart"


def test_a_call_that_waits_goes_on_when_the_link_is_answered(tmp_path: Path) -> None:
    with receiving() as phone:
        settings_in(tmp_path, "token", phone=ntfy(phone))
        with ServerProcess(tmp_path) as server, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.intercept, ASKED, Prefer="wait=60")
            address = phone.next().json["click"]
            assert not waiting.done()
            assert pressed(address, "approve")[0] == 200
            assert waiting.result(PATIENCE)["valid"] is True
            records = server.ask("GET", "/api/v1/audit?decision=allow&limit=5").body
    assert "bob" in json.dumps(records)


def test_the_button_of_a_notification_denies(tmp_path: Path) -> None:
    with receiving() as phone:
        settings_in(tmp_path, "token", phone=ntfy(phone))
        with ServerProcess(tmp_path) as server, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.intercept, ASKED, Prefer="wait=60")
            button = phone.next().json["actions"][1]
            assert (button["action"], button["method"]) == ("http", "POST")
            assert fetched("POST", button["url"], answer="approve")[0] == 409
            assert fetched("POST", button["url"], answer="deny")[0] == 200
            said = waiting.result(PATIENCE)
    assert (said["valid"], "bob" in json.dumps(said)) == (False, True)


def test_an_agent_that_reads_the_notification_does_not_approve_itself(tmp_path: Path) -> None:
    """The default proof: it has the link, the page and the form, on the machine that it runs on."""
    with receiving() as phone:
        settings_in(tmp_path, "terminal", phone=ntfy(phone))
        with ServerProcess(tmp_path) as server:
            assert not server.intercept(ASKED)["valid"]
            address = phone.next().json["click"]
            status, page = pressed(address, "approve")
            assert (status, "interpose approvals approve" in page) == (403, True)
            assert not server.intercept(ASKED)["valid"]
            assert pressed(address, "deny")[0] == 200


def test_a_second_channel_mute_and_what_status_says(tmp_path: Path) -> None:
    with receiving(500) as broken, taking_mail() as box:
        settings_in(
            tmp_path, "token", phone=ntfy(broken),
            mail={"kind": "mail", "url": box.url, "sender": "i@example.org", "to": ["ann@example.org"]},
        )  # fmt: skip
        with ServerProcess(tmp_path) as server:
            code, out = said(tmp_path, "notify", "test", "--json")
            tried = {one["channel"]: one["sent"] for one in json.loads(out)["tried"]}
            assert (code, tried) == (1, {"phone": False, "mail": True})
            assert box.next()["Subject"] == "Interpose: a try-out"
            for verb in ("status", "doctor"):
                shown = " ".join(said(tmp_path, verb)[1].split())
                assert "channel phone fails" in shown, shown
                assert "it answered 500" in shown
            code, out = said(tmp_path, "notify", "mute", "1h")
            assert (code, "muted until" in out, "FAILS (1 in a row)" in out) == (0, True, True)
            assert "interpose approvals notify unmute" in said(tmp_path, "status")[1]
            assert not server.intercept(ASKED)["valid"]
            assert said(tmp_path, "notify", "unmute")[0] == 0
            mail = box.next()
            assert "Notifications were muted; these are still open." in mail.get_content()
            assert box.came.empty()
            for words, why in (
                (("mute",), "say for how long"),
                (("mute", "99h"), "1 minute to 24 hours"),
                (("list", "x"), "takes no"),
            ):
                code, out = said(tmp_path, "notify", *words)
                assert (code, why in out) == (64, True), out
            assert said(tmp_path, "notify", "test", "nobody")[0] == 1


def said(home: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "interpose", *words], capture_output=True, text=True, env=clean_environment(home),
        cwd=home, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("words", [("mute", "1h"), ("unmute",), ("test",)])
def test_without_a_server_it_says_so(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, out = said(tmp_path, "notify", *words)
    assert (code, "no server runs" in out) == (1, True), out
