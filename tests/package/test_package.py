"""The wheel and the sdist: what is in them, and that every verb works from them, outside the repository."""

from __future__ import annotations

import email
import hashlib
import os
import re
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest
from msgspec import Struct

from interpose import __version__
from interpose.effects.ourselves.command_line import VERBS, spelled_now, verb_of
from tests.package.built import ROOT, Packages, build, environment, unpacked
from tests.package.contents import problems
from tests.package.trial import USES, Trial, Use, documented, is_documented
from tests.support.timing.patience import PATIENCE

EXTRAS = {
    "judge": "interpose.rules.policy.judge.http_transport",
    "postgres": "interpose.record.store.postgres",
    "otel": "interpose.composition.observability.telemetry",
}
"""What each extra is for: a module that needs it."""


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def programs(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with what `pip install interpose` brings, and nothing else."""
    return environment(tmp_path_factory.mktemp("env") / "base", packages.wheel)


def test_contents(packages: Packages) -> None:
    assert problems(packages, __version__) == []


def test_what_is_told_of_it(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as archive:
        told = email.message_from_bytes(archive.read(f"interpose-{__version__}.dist-info/METADATA"))
    assert (told["Name"], told["Version"], told["License-Expression"]) == ("interpose", __version__, "Apache-2.0")
    assert told["Requires-Python"] == ">=3.11"
    assert str(told.get_payload()).startswith("# Interpose")
    assert {"judge", "otel", "postgres", "server"} <= set(told.get_all("Provides-Extra", []))
    addresses = dict(each.split(", ") for each in told.get_all("Project-URL", []))
    assert set(addresses) == {"Repository", "Documentation", "Issues", "Changelog"}
    assert all(address.startswith(addresses["Repository"]) for address in addresses.values())
    assert _relative(str(told.get_payload())) == [], "a package page is not in the repository"
    assert _files(str(told.get_payload()), addresses["Repository"]) == _relative((ROOT / "README.md").read_text())


_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _relative(readme: str) -> list[str]:
    return [target for target in _LINK.findall(readme) if not target.startswith(("http", "#"))]


def _files(readme: str, repository: str) -> list[str]:
    """The files of the repository, as of this version, that a page leads to; pictures as they are, without a page."""
    found = (re.fullmatch(rf"{repository}/(raw|blob)/v{__version__}/(.*)", target) for target in _LINK.findall(readme))
    files = [(one[1], one[2]) for one in found if one is not None]
    assert {name for kind, name in files if kind == "raw"} == {
        name for _, name in files if name.endswith((".svg", ".png"))
    }
    return [name for _, name in files]


def test_the_same_source_makes_the_same_bytes(packages: Packages, tmp_path: Path) -> None:
    again = build(tmp_path / "again")
    from_sdist = build(tmp_path / "from-sdist", unpacked(packages.sdist, tmp_path / "source"))
    digests = [hashlib.sha256(each.wheel.read_bytes()).hexdigest() for each in (packages, again, from_sdist)]
    assert len(set(digests)) == 1
    assert packages.sdist.read_bytes() == again.sdist.read_bytes()


def test_every_verb_is_tried() -> None:
    assert set(VERBS) <= {_verb(use) for use in USES}


def _verb(use: Use) -> str:
    verb = verb_of(spelled_now(use.words))
    return "" if verb is None else verb.name


def test_every_verb_says_what_it_does(programs: Path, tmp_path: Path) -> None:
    trial = Trial(programs, tmp_path)  # help starts no server
    for words in ([], *(verb.split() for verb in VERBS)):
        done = trial.run(*words, "--help")
        assert done.returncode == 0, f"{words}: {done.stderr}"
        assert "Traceback" not in done.stdout + done.stderr
        assert len(done.stdout.splitlines()) > 3
    assert trial.run("--version").stdout == f"interpose {__version__}\n"


def test_every_verb_works_and_nothing_is_left(programs: Path, tmp_path: Path) -> None:
    """A whole trial as a new user would have it. What it leaves is in the docs, and goes."""
    with Trial(programs, tmp_path) as trial:
        before = trial.files()
        for use in USES:
            if _verb(use):
                _tried(trial, use)
        left = trial.files() - before
        assert len(left) > 20
        listed = documented()
        assert sorted(name for name in left if not is_documented(name, listed)) == []
        kept = [name for name in left if "/interpose/" in name and (trial.home / name).is_file()]
        assert sorted(name for name in kept if not trial.is_private(name)) == []
        gone = trial.run("uninstall", "--all", "--purge", "--yes")
        assert gone.returncode == 0, gone.stdout + gone.stderr
        assert trial.files() == before
        assert trial.processes() == []


def _tried(trial: Trial, use: Use) -> None:
    done = trial.run(*use.words, stdin=use.stdin)
    shown = f"interpose {' '.join(use.words)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == use.code, shown
    assert "Traceback" not in done.stdout + done.stderr, shown
    assert use.part in done.stdout + done.stderr, shown


class Missing(Struct, frozen=True):
    """Settings that need an extra, and the extra."""

    extra: str
    settings: str
    rules: str = ""


def test_a_missing_extra_is_one_line(programs: Path, tmp_path: Path) -> None:
    for missing in (
        Missing("postgres", "store:\n  url: postgresql://nobody@127.0.0.1:9/none\n"),
        Missing("otel", "telemetry:\n  traces:\n    endpoint: http://127.0.0.1:9\n"),
    ):
        trial = Trial(programs, tmp_path / missing.extra)
        trial.write(".config/interpose/interpose.yaml", missing.settings)
        done = trial.run("serve", "--port", "0")
        said = done.stdout + done.stderr
        assert done.returncode != 0, said
        assert "Traceback" not in said
        assert f"interpose[{missing.extra}]" in said
        assert len(done.stderr.splitlines()) < 4, said


def test_each_extra_brings_what_it_is_for(packages: Packages, tmp_path: Path) -> None:
    programs = environment(tmp_path / "full", packages.wheel, tuple(EXTRAS))
    code = "".join(f"import {module}\n" for module in EXTRAS.values())
    code += "import httpx2, opentelemetry.sdk.trace, opentelemetry.exporter.otlp.proto.http\n"
    subprocess.run([programs / "python", "-I", "-c", code], check=True, cwd=tmp_path, timeout=PATIENCE)


def test_a_server_from_the_wheel(programs: Path, tmp_path: Path) -> None:
    trial = Trial(programs, tmp_path)
    with trial.start("serve", "--port", "0") as server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if "http://127.0.0.1:" in line)
        assert "listens" in line
        os.kill(server.pid, signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
