"""`interpose proxy`: mistakes that are told, and the variables that lead to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.config.proxy import ProxySettings, wrong_upstreams
from interpose.core.errors import ConfigError
from interpose.doors.cli import main
from interpose.doors.cli.gateways.proxy_variables import addresses_from, environment_for, exports
from interpose.doors.proxy.upstreams import DEFAULTS, open_upstreams

HERE = "http://127.0.0.1:5"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--"], 64, "give the agent behind `--`"),
        (["ls"], 64, "give the agent behind `--`"),
        (["--upstream", "openai"], 64, "--upstream needs NAME=URL"),
        (["--upstream", "openai=ftp://x"], 78, "an address starts with http"),
        (["--upstream", "openai=https://user:pw@x/v1"], 78, "an address starts with http"),
        (["--upstream", "openai=https://x/v1?key=y"], 78, "an address starts with http"),
        (["--upstream", "Open AI=https://x"], 78, "a name has small letters"),
        (["--upstream", "a/b=https://x"], 78, "a name has small letters"),
        (["--port", "99999"], 78, "proxy.port"),
        (["--wait", "-1"], 78, "proxy.wait"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["proxy", *words]) == code
    told = capsys.readouterr().err
    assert said in told
    assert "pw@x" not in told
    assert "key=y" not in told


@pytest.mark.parametrize("variable", ["CLAUDE_CODE_USE_BEDROCK", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"])
def test_an_agent_that_would_go_past_it_is_not_started(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, "1")
    assert main(["proxy", "--", "false"]) == 78
    assert "goes past the proxy" in capsys.readouterr().err


def test_who_says_where_a_model_is() -> None:
    environ = {
        "OPENAI_API_BASE": "https://variable",
        "ANTHROPIC_BASE_URL": "https://variable",
        "COPILOT_PROVIDER_BASE_URL": "",
    }
    found = addresses_from({"mine": "https://flag"}, {"anthropic": "https://file", "other": "https://file"}, environ)
    assert found == {
        "anthropic": "https://file", "openai": "https://variable", "gemini": DEFAULTS["gemini"],
        "other": "https://file", "mine": "https://flag",
    }  # fmt: skip
    assert (
        addresses_from({"anthropic": "https://flag"}, {"anthropic": "https://file"}, environ)["anthropic"]
        == "https://flag"
    )


def test_variables_lead_to_the_proxy_and_past_other_proxies() -> None:
    upstreams = open_upstreams({**DEFAULTS, "mine": "https://x/api/", "copilot": "http://localhost:1/v1"})
    assert exports(HERE, upstreams) == {
        "ANTHROPIC_BASE_URL": f"{HERE}/anthropic", "OPENAI_BASE_URL": f"{HERE}/openai/v1",
        "OPENAI_API_BASE": f"{HERE}/openai/v1", "GOOGLE_GEMINI_BASE_URL": f"{HERE}/gemini",
        "COPILOT_PROVIDER_BASE_URL": f"{HERE}/copilot/v1",
    }  # fmt: skip
    given = environment_for({"NO_PROXY": "a,b", "PATH": "/bin"}, HERE, upstreams)
    assert (given["NO_PROXY"], given["no_proxy"], given["PATH"]) == ("a,b,127.0.0.1", "127.0.0.1", "/bin")


@pytest.mark.parametrize(
    ("name", "address", "fine"),
    [
        ("openai", "https://api.openai.com/v1", True),
        ("my-own-2", "http://192.168.0.7:8000", True),
        ("x", "https://[::1]:5/v1", True),
        ("", "https://x", False),
        ("-x", "https://x", False),
        ("x" * 33, "https://x", False),
        ("x", "", False),
        ("x", "https://", False),
        ("x", "https:///v1", False),
        ("x", "https://a b", False),
        ("x", "https://a#b", False),
    ],
)
def test_addresses(name: str, address: str, fine: bool) -> None:
    assert (wrong_upstreams({name: address}) == "") is fine
    if fine:
        ProxySettings(upstreams={name: address})
    else:
        with pytest.raises(ValueError, match=r"proxy\.upstreams"):
            ProxySettings(upstreams={name: address})


def test_an_address_that_leads_nowhere() -> None:
    with pytest.raises(ConfigError, match="upstream x"):
        open_upstreams({"x": "https://a%b"})


def test_a_name_never_leads_to_where_clouds_keep_credentials() -> None:
    found = open_upstreams({"name": "https://metadata.internal", "number": "http://10.0.0.1"})
    assert (found["name"].client._reach, found["number"].client._reach) == ("private", "named")
