"""Rule files that are put among the user's, or taken out: whole or not at all, and only what loads."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE, main

Run = Callable[..., tuple[int, str, str]]

RULE = """version: 1
rules:
  - id: use-pnpm
    action: deny
    when: command.exists(c, c.name == "npm")
    examples: {match: [npm ci], no_match: [pnpm install]}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def run(*argv: str) -> tuple[int, str, str]:
        code = main(list(argv))
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".config" / "interpose" / "policy"


def test_rules_hold_from_when_they_are_added_until_they_are_removed(run: Run, own: Path) -> None:
    Path("pnpm.yaml").write_text(RULE)
    assert run("check", "npm ci")[0] == 0
    assert run("policy", "add", "pnpm.yaml")[:2] == (
        0,
        "added  ~/.config/interpose/policy/pnpm.yaml  1 rule, 2 examples passed\n",
    )
    assert stat.S_IMODE((own / "pnpm.yaml").stat().st_mode) == 0o600
    assert run("check", "npm ci")[0] == 2
    assert run("policy", "add", "pnpm.yaml")[1].startswith("unchanged")
    Path("pnpm.yaml").write_text(RULE.replace("deny", "ask"))
    assert run("policy", "add", "pnpm.yaml")[1].startswith("replaced")
    assert run("check", "npm ci")[0] == 1
    assert run("policy", "remove", "pnpm")[1].startswith("removed")
    assert run("check", "npm ci")[0] == 0
    assert list(own.iterdir()) == []


@pytest.mark.parametrize(
    ("note", "name", "text", "said"),
    [
        ("an example that is not as it says", "a.yaml", RULE.replace("[pnpm install]", "[npm i]"), "use-pnpm"),
        ("a condition that is none", "a.yaml", RULE.replace("c.name ==", "c.nam =="), "use-pnpm"),
        ("an id that another file has", "a.yaml", RULE.replace("use-pnpm", "first"), "taken by"),
        ("no rules at all", "a.yaml", "cases: []\n", "a.yaml"),
        ("a name that is not looked for", "a.txt", RULE, "must end with .yaml or .yml"),
        ("the name of our own file", "packs.yaml", RULE, "give yours another one"),
    ],
)
def test_what_would_not_hold_changes_nothing(
    run: Run, own: Path, note: str, name: str, text: str, said: str
) -> None:  # fmt: skip
    Path("first.yaml").write_text(RULE.replace("use-pnpm", "first"))
    assert run("policy", "add", "first.yaml")[0] == 0
    Path(name).write_text(text)
    code, out, err = run("policy", "add", name)
    assert (code, out) == (EXIT_CONFIG, ""), note
    assert said in err
    assert [file.name for file in own.iterdir()] == ["first.yaml"]
    assert run("check", "ls")[0] == 0


def test_a_signature_goes_with_its_rules(run: Run, own: Path) -> None:
    Path("pnpm.yaml").write_text(RULE)
    key = json.loads(run("policy", "keygen", "key", "--json")[1])["public"]
    own.parent.mkdir(parents=True)
    (own.parent / "interpose.yaml").write_text(f"policy: {{public_keys: ['{key}'], require_signature: true}}\n")
    assert run("policy", "add", "pnpm.yaml")[0] == EXIT_CONFIG
    assert not own.exists()
    assert run("policy", "sign", "pnpm.yaml", "--key", "key")[0] == 0
    assert run("policy", "add", "pnpm.yaml")[0] == 0
    assert run("check", "npm ci")[0] == 2
    # One that need not be signed takes the place of both: the old signature would make it be refused.
    (own.parent / "interpose.yaml").write_text(f"policy: {{public_keys: ['{key}']}}\n")
    Path("pnpm.yaml.sig").unlink()
    Path("pnpm.yaml").write_text(RULE.replace("deny", "ask"))
    assert run("policy", "add", "pnpm.yaml")[1].startswith("replaced")
    assert run("check", "npm ci")[0] == 1
    assert run("policy", "remove", "pnpm.yaml")[0] == 0
    assert list(own.iterdir()) == []


def test_what_does_not_load_can_be_removed(run: Run, own: Path) -> None:
    own.mkdir(parents=True)
    (own / "broken.yaml").write_text("rules: [")
    assert run("policy", "remove", "broken")[:2] == (0, "removed  ~/.config/interpose/policy/broken.yaml  0 rules\n")


def test_what_is_not_there_is_said(run: Run) -> None:
    Path("pnpm.yaml").write_text(RULE)
    assert run("policy", "add", "npm.yaml")[::2] == (
        EXIT_USAGE,
        "interpose policy add: there is no file npm.yaml\n",
    )
    assert run("policy", "remove", "npm")[2] == (
        "interpose policy remove: there is no rule file 'npm' of yours. You have none.\n"
    )
    run("policy", "add", "pnpm.yaml")
    assert run("policy", "remove", "packs")[2].endswith("Yours is pnpm.yaml.\n")


def test_an_agent_adds_and_removes_nothing(run: Run) -> None:
    for act in ("add pnpm.yaml", "remove pnpm", "test add pnpm.yaml", "list remove pnpm"):
        assert run("check", f"interpose policy {act}")[0] == 2


def test_several_files_are_added_all_or_none(run: Run, own: Path) -> None:
    Path("pnpm.yaml").write_text(RULE)
    for name, text, said in (
        ("-h", "", "must end with .yaml or .yml"),
        ("broken.yaml", "version: [", "not YAML"),
        ("again.yaml", RULE, "use-pnpm"),
        ("other/pnpm.yaml", RULE, "has the name of pnpm.yaml"),
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
        code, _, wrong = run("policy", "add", "pnpm.yaml", "--", name)
        assert (code, said in wrong, own.exists()) == (EXIT_CONFIG, True, False), (name, wrong)
    Path("yarn.yaml").write_text(RULE.replace("use-pnpm", "no-yarn").replace("npm", "yarn"))
    assert run("policy", "add", "pnpm.yaml", "yarn.yaml")[1].count("added") == 2
    assert "Did you mean yarn? Yours are pnpm.yaml, yarn.yaml." in run("policy", "remove", "yan")[2]
