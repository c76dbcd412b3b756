from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.config.places import places_of


@pytest.mark.parametrize(
    ("note", "environ", "config", "state", "runtime"),
    [
        (
            "the usual places", {"HOME": "/h"},
            "/h/.config/interpose", "/h/.local/state/interpose", "/h/.local/state/interpose/run",
        ),
        (
            "XDG directories",
            {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"},
            "/c/interpose", "/s/interpose", "/r/interpose",
        ),
        (
            "a directory of our own is taken as it is",
            {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "INTERPOSE_CONFIG_DIR": "/o"},
            "/o", "/h/.local/state/interpose", "/h/.local/state/interpose/run",
        ),
        (
            "relative values would mean the agent's directory",
            {
                "HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s", "XDG_RUNTIME_DIR": "r",
                "INTERPOSE_CONFIG_DIR": "o",
            },
            "/h/.config/interpose", "/h/.local/state/interpose", "/h/.local/state/interpose/run",
        ),
        (
            "so would a relative or empty home", {"HOME": ""},
            "/root/.config/interpose", "/root/.local/state/interpose", "/root/.local/state/interpose/run",
        ),
    ],
)  # fmt: skip
def test_places(note: str, environ: dict[str, str], config: str, state: str, runtime: str) -> None:
    places = places_of(environ)
    assert (str(places.config), str(places.state), str(places.runtime)) == (config, state, runtime), note


@pytest.mark.parametrize("moved", [{}, {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r"}])
def test_places_of_macos(monkeypatch: pytest.MonkeyPatch, moved: dict[str, str]) -> None:
    """In a home's Library. What XDG variables say is done there, too."""
    monkeypatch.setattr("interpose.core.platforms.system.sys.platform", "darwin")
    places = places_of({"HOME": "/Users/ann"} | moved)
    usual = "/Users/ann/Library/Application Support/interpose"
    want = ("/c/interpose", "/s/interpose", "/r/interpose") if moved else (
        "/Users/ann/Library/Preferences/interpose", usual, f"{usual}/run"
    )  # fmt: skip
    assert (str(places.config), str(places.state), str(places.runtime)) == want
    assert places_of({}).home == Path("/var/root")
