"""Install and uninstall in real homes: what a user had is as it was, to the byte, the mode and the directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.hooks_file import HooksFile
from interpose.doors.hooks.install.jsonc import parse
from interpose.doors.hooks.install.plan import is_ours, plan_install
from interpose.doors.hooks.install.records import Records
from tests.unit.doors.hooks.install.homes import installed, loose, new_home, target, tree, uninstalled

CASES = Path(__file__).parents[4] / "cases" / "install"
FILES = sorted(CASES.glob("*/*.json"))
MANNERS = {
    "as it is": lambda data: data,
    "Windows lines": lambda data: data.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no line break at the end": lambda data: data.rstrip(b"\n"),
    "tabs": lambda data: data.replace(b"    ", b"\t").replace(b"  ", b"\t"),
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path / "home", monkeypatch)


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def count_of(name: str, text: str) -> int:
    ours = is_ours(name)
    return sum(ours(command) for _, command, _ in HooksFile(text, HOSTS[name].facts.setup).commands())


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("case", FILES, ids=name_of)
def test_a_users_file_is_as_it_was(case: Path, manner: str, home: Path) -> None:
    name = case.parent.name
    where = loose(target(name))
    where.path.parent.mkdir(parents=True)
    where.path.write_bytes(MANNERS[manner](case.read_bytes()))
    where.path.chmod(0o640)
    before = tree(home)
    installed(where)
    first = where.path.read_bytes()
    assert count_of(name, first.decode()) == len(HOSTS[name].facts.setup.events)
    assert not installed(where).changed, "the second time there is nothing to do"
    assert where.path.read_bytes() == first
    assert where.path.stat().st_mode & 0o777 == 0o640
    uninstalled(where)
    assert tree(home) == before
    assert Records(load().places).all() == []


@pytest.mark.parametrize("case", FILES, ids=name_of)
def test_what_the_user_changed_in_between_stays(case: Path, home: Path) -> None:
    name = case.parent.name
    where = loose(target(name))
    where.path.parent.mkdir(parents=True)
    where.path.write_bytes(case.read_bytes())
    installed(where)
    text = where.path.read_text(encoding="utf-8")
    at = text.index("{") + 1
    mine = ' /* new */ "mine": [1, 2],'
    where.path.write_text(text[:at] + mine + text[at:], encoding="utf-8")
    assert not installed(where).changed
    uninstalled(where)
    was = case.read_text(encoding="utf-8")
    left = where.path.read_text(encoding="utf-8")
    data = {"mine": [1, 2], **(parse(was).data if was else {})}
    assert parse(left).data == data
    rest = left.replace(mine, "").replace(mine.removesuffix(","), "")
    assert "".join(rest.split()) == "".join((was or "{}").split())


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("name", HOSTS)
def test_where_nothing_was_nothing_is_left(name: str, scope: str, home: Path) -> None:
    project = home / "work" / "project"
    project.mkdir(parents=True)
    before = tree(home)
    where = target(name, "user" if scope == "user" else "project", project)
    plan = installed(where)
    assert where.path.exists()
    assert all(change.path.is_relative_to(home) for change in plan.changes)
    for change in plan.changes:
        mode = change.path.stat().st_mode & 0o777
        assert not mode & 0o022, change.path
    uninstalled(where)
    assert tree(home) == before


def test_a_new_wish_replaces_the_old_hooks(home: Path) -> None:
    """Another deadline, another interpreter, the choice to fail open: the old hooks go, the new ones come."""
    where = target("claude-code")
    where.path.parent.mkdir()
    where.path.write_text('{"hooks": {"PreToolUse": []}, "model": "x"}\n', encoding="utf-8")
    before = where.path.read_bytes()
    installed(where)
    assert b'"onFailure": "block"' in where.path.read_bytes()
    installed(where, load(flags={"hooks.deadline": 7.0}), fail_open=True)
    after = where.path.read_text(encoding="utf-8")
    assert count_of("claude-code", after) == len(HOSTS["claude-code"].facts.setup.events)
    assert "onFailure" not in after
    assert '"timeout": 252' in after  # 7 for its decision, 240 for a person, 5 to spare
    assert [record.fail_open for record in Records(load().places).all()] == [True]
    uninstalled(where)
    assert where.path.read_bytes() == before


@pytest.mark.parametrize("order", [("copilot", "vscode"), ("vscode", "copilot")])
@pytest.mark.parametrize("first_out", ["copilot", "vscode"])
def test_two_hosts_in_one_file(order: tuple[str, str], first_out: str, home: Path) -> None:
    before = tree(home)
    for name in order:
        installed(target(name))
    text = target("copilot").path.read_text(encoding="utf-8")
    assert all(count_of(name, text) for name in order)
    last_out = next(name for name in order if name != first_out)
    uninstalled(target(first_out))
    text = target("copilot").path.read_text(encoding="utf-8")
    assert (count_of(first_out, text), count_of(last_out, text) > 0) == (0, True)
    uninstalled(target(last_out))
    assert tree(home) == before


def test_a_client_that_another_place_needs_stays(home: Path) -> None:
    project = home / "project"
    project.mkdir()
    installed(target("claude-code"))
    installed(target("claude-code", "project", project))
    client = load().places.state / "hooks" / "claude-code"
    uninstalled(target("claude-code"))
    assert client.exists()
    uninstalled(target("claude-code", "project", project))
    assert not client.exists()


@pytest.mark.parametrize("name", ["claude-code", "cline", "opencode"])
def test_without_a_record_the_hooks_still_go(name: str, home: Path) -> None:
    where = target(name)
    installed(where)
    for record in (load().places.state / "installs").glob("*.json"):
        record.unlink()
    uninstalled(where)
    if name == "claude-code":
        assert json.loads(where.path.read_text(encoding="utf-8")) == {}
    else:
        assert not [path for path in where.path.parent.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("variable", "name", "path"),
    [
        ("CLAUDE_CONFIG_DIR", "claude-code", "settings.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("COPILOT_HOME", "copilot", "hooks/interpose.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/plugins/interpose.js"),
    ],
)
def test_hosts_that_live_elsewhere(
    variable: str, name: str, path: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    where = target(name)
    installed(where)
    assert (tmp_path / "elsewhere" / path).is_file()
    uninstalled(where)
    assert not (tmp_path / "elsewhere").exists() or not any((tmp_path / "elsewhere").rglob("*.js*"))


def test_the_command_line_survives_a_home_with_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_home(tmp_path / "my 'home' $HOME", monkeypatch)
    where = target("claude-code")
    installed(where)
    assert count_of("claude-code", where.path.read_text(encoding="utf-8")) > 0
    assert not plan_install(where, load()).changed
    uninstalled(where)
    assert not where.path.exists()


OWN_LINE = {"type": "command", "command": "~/bin/my-line"}


def line_in(home: Path) -> object:
    return json.loads((home / ".claude" / "settings.json").read_text()).get("statusLine")


def written(home: Path, settings: object) -> Path:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(settings))
    return file


def test_questions_are_shown_in_the_status_line_where_there_is_none(home: Path) -> None:
    file = written(home, {"model": "opus"})
    before = file.read_bytes()
    installed(target("claude-code"))
    line = line_in(home)
    assert isinstance(line, dict)
    assert line["command"].endswith("/interpose/hooks/claude-code-line")
    assert line["refreshInterval"] == 1
    assert Path(line["command"]).stat().st_mode & 0o777 == 0o700
    assert not installed(target("claude-code")).changed
    assert "statusMessage" not in file.read_text(), "nothing is said about calls without a question"
    uninstalled(target("claude-code"))
    assert file.read_bytes() == before


def test_a_status_line_of_the_users_own_stays(home: Path) -> None:
    file = written(home, {"statusLine": OWN_LINE})
    before = file.read_bytes()
    installed(target("claude-code"))
    assert line_in(home) == OWN_LINE
    assert not installed(target("claude-code")).changed
    uninstalled(target("claude-code"))
    assert file.read_bytes() == before


def test_a_status_line_that_the_user_put_in_the_place_of_ours_stays(home: Path) -> None:
    written(home, {"model": "opus"})
    installed(target("claude-code"))
    file = home / ".claude" / "settings.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"statusLine": OWN_LINE}))
    installed(target("claude-code"))
    assert line_in(home) == OWN_LINE
    uninstalled(target("claude-code"))
    assert json.loads(file.read_text()) == {"model": "opus", "statusLine": OWN_LINE}


def test_an_older_line_of_ours_is_replaced(home: Path) -> None:
    written(home, {})
    installed(target("claude-code"))
    file = home / ".claude" / "settings.json"
    wanted = line_in(home)
    file.write_text(file.read_text().replace('"refreshInterval": 1', '"refreshInterval": 9'))
    assert installed(target("claude-code")).changed
    assert line_in(home) == wanted


def test_a_project_gets_no_status_line(home: Path, tmp_path: Path) -> None:
    """It would take the place of its users' own ones."""
    where = target("claude-code", "project", tmp_path)
    installed(where)
    assert "statusLine" not in json.loads(where.path.read_text())


def test_where_nobody_waits_there_is_no_status_line(home: Path) -> None:
    settings = home / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("hooks: {wait: {claude-code: 0}}\n")
    installed(target("claude-code"))
    assert line_in(home) is None
