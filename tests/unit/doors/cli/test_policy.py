from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.rules.policy_trials import trials

Run = Callable[..., tuple[int, str, str]]

RULES = """
version: 1
rules:
  - id: no-deploy
    action: deny
    when: command.exists(c, c.name == "deploy")
    tags: [ops]
    examples: {match: [deploy now], no_match: [ls]}
"""
WRONG = RULES.replace("no_match: [ls]", "no_match: [deploy]")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the verb for a user and a project of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def run(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(["policy", *argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def written(tmp_path: Path, text: str, name: str = "rules.yaml") -> str:
    file = tmp_path / name
    file.write_text(text)
    return str(file)


def on(run: Run) -> set[str]:
    return {pack["name"] for pack in json.loads(run("list", "--json")[1]) if pack["on"]}


def test_packs_are_switched_for_the_user_and_never_in_the_project(run: Run, tmp_path: Path) -> None:
    assert on(run) == {"baseline"}
    assert run("enable", "git")[:2] == (0, "git is on\n")
    assert run("enable", "git")[:2] == (0, "git was on already\n")
    assert run("disable", "baseline")[0] == 0
    assert on(run) == {"git"}
    assert [file.name for file in (tmp_path / "config" / "interpose" / "policy").iterdir()] == ["packs.yaml"]
    assert list((tmp_path / "project").iterdir()) == []


def test_a_pack_that_somebody_else_switched_on_stays_on(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / ".interpose").mkdir()
    (tmp_path / "project" / ".interpose" / "policy.yaml").write_text("version: 1\npacks: [git]\n")
    code, _, err = run("disable", "git")
    assert code == 1
    assert "still holds here" in err
    assert on(run) == {"baseline", "git"}


def test_list_is_a_table(run: Run) -> None:
    code, out, _ = run("list")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == 10
    assert lines[0].startswith("on   baseline")
    assert lines[0].endswith("(by default)")
    assert len({line.index(" rules  ") for line in lines}) == 1, "aligned"
    assert "\x1b" not in out


def test_show(run: Run) -> None:
    assert "git/force-push-protected" in run("show", "git")[1]
    assert run("show", "git", "--yaml")[1].startswith("#")
    rules = json.loads(run("show", "git", "--json")[1])["rules"]
    assert {"id", "action", "when", "message"} <= rules[0].keys()


def test_test_passes(run: Run, tmp_path: Path) -> None:
    assert run("test", written(tmp_path, RULES))[:2] == (0, "2 passed\n")
    assert run("test")[0] == 0, "the rules that hold here"
    assert run("test", "--pack", "git")[0] == 0


def test_test_fails(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("test", written(tmp_path, WRONG))
    assert code == 1
    assert "rules.yaml:8: no-deploy does not match 'deploy'" in out
    assert "it does" in out
    assert out.endswith("1 passed, 1 failed\n")


def test_test_as_json(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("test", written(tmp_path, WRONG), "--json")
    told = json.loads(out)
    assert code == 1
    assert (told["tests"], told["passed"], told["failed"], told["skipped"]) == (2, 1, 1, 0)
    assert [trial["status"] for trial in told["trials"]] == ["passed", "failed"]


def test_test_as_junit(run: Run, tmp_path: Path) -> None:
    case = 'version: 1\ncases: [{note: "\\e[2J\\0 <b> & \\u202e", call: ls, want: allow}]'
    report = tmp_path / "report.xml"
    rules, cases = written(tmp_path, WRONG), written(tmp_path, case, "cases.yaml")
    code, _, _ = run("test", rules, "--junit", str(report))
    root = ET.parse(report).getroot()
    assert code == 1
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    found = list(root.iter("testcase"))
    assert [len(each.findall("failure")) for each in found] == [0, 1]
    assert found[1].attrib["line"] == "8"
    run("test", cases, "--junit", str(report))
    assert [each.attrib["name"] for each in ET.parse(report).iter("testcase")] == ["\\x1b[2J\\x00 <b> & \\u202e"]
    assert {file.name for file in tmp_path.iterdir()} == {"project", "rules.yaml", "cases.yaml", "report.xml"}


def test_test_by_tag(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, WRONG)
    assert run("test", file, "--tag", "ops")[0] == 1
    code, _, err = run("test", file, "--tag", "none")
    assert (code, "no test has the tag none" in err) == (64, True)


def test_case_files(run: Run, tmp_path: Path) -> None:
    cases = written(tmp_path, "version: 1\ncases: [{note: n, call: deploy, want: ask}]", "cases.yaml")
    code, out, _ = run("test", written(tmp_path, RULES), cases)
    assert code == 1
    assert "expected ask, got deny by no-deploy" in out


def test_lint(run: Run, tmp_path: Path) -> None:
    assert run("lint", "--pack", "git")[:2] == (0, "nothing to remark\n")
    assert run("lint")[0] == 0
    code, out, _ = run("lint", written(tmp_path, RULES.replace("[ls]", "[]")))
    assert code == 1
    assert "rules.yaml:8: no-deploy: no example shows what it leaves alone" in out
    code, out, _ = run("lint", written(tmp_path, "version: 1\nrules: [{id: a, action: deny, when: 'false'}]"), "--json")
    assert [remark["kind"] for remark in json.loads(out)] == ["dead", "uncovered"]


def test_lint_leaves_case_files_to_test(run: Run, tmp_path: Path) -> None:
    written(tmp_path, RULES)
    written(tmp_path, "version: 1\ncases: [{note: a, call: deploy, want: deny}]", "cases.yaml")
    assert run("lint", str(tmp_path)) == (0, "nothing to remark\n", "")


def test_schema(run: Run) -> None:
    schema = json.loads(run("schema")[1])
    assert schema["$schema"].endswith("2020-12/schema")
    assert "RuleForm" in schema["$defs"]


@pytest.mark.parametrize(
    "argv",
    [
        ["nope"], ["show"], ["show", "nope"], ["enable", "nope"], ["test", "/no/such/file"], ["lint", "/no/such"],
        ["test", "--pack", "nope"], ["schema", "x"],
    ],
)  # fmt: skip
def test_wrong_usage(run: Run, argv: list[str]) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (64, "")
    assert err


def test_rules_that_can_not_be_loaded(run: Run, tmp_path: Path) -> None:
    (tmp_path / "project" / ".interpose").mkdir()
    (tmp_path / "project" / ".interpose" / "policy.yaml").write_text("version: 2\n")
    code, _, err = run("list")
    assert code == 78
    assert ".interpose/policy.yaml:1" in err


def test_a_failure_of_ours_has_its_own_exit_code(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(trials, "failure", broken)
    code, _, err = run("test", written(tmp_path, RULES))
    assert code == 70
    assert "broken" in err


def test_a_report_that_can_not_be_written(run: Run, tmp_path: Path) -> None:
    code, _, err = run("test", written(tmp_path, RULES), "--junit", "/no/such/directory/x.xml")
    assert code == 70
    assert "No such file" in err


def test_keys_are_made_and_files_signed(run: Run, tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "mine.yaml"
    file.write_text(RULES)
    code, out, err = run("keygen", str(key))
    assert (code, key.stat().st_mode & 0o777) == (0, 0o600)
    assert "require_signature: true" in out
    assert "no agent" in err
    assert run("keygen", str(key))[0] == 64
    public = json.loads(run("keygen", str(tmp_path / "other"), "--json")[1])["public"]
    code, out, _ = run("sign", str(file), "--key", str(key))
    assert (code, out.strip()) == (0, f"{file}.sig")
    config = tmp_path / "config" / "interpose" / "interpose.yaml"
    rules = config.parent / "policy" / "mine.yaml"
    rules.parent.mkdir(parents=True)
    rules.write_text(RULES)
    mine = run("keygen", str(tmp_path / "third"), "--json")[1]
    own = json.loads(mine)["public"]
    run("sign", str(rules), "--key", str(tmp_path / "third"))
    for keys, want in (([own], 0), ([public], 78), ([public, own], 0)):
        config.write_text(json.dumps({"policy": {"public_keys": keys, "require_signature": True}}))
        config.chmod(0o600)
        assert run("test")[0] == want
    config.write_text("{}")
    code, _, err = run("test")
    assert code == 78
    assert "no key to check it with" in err


def test_a_key_that_others_can_read_signs_nothing(run: Run, tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "mine.yaml"
    file.write_text(RULES)
    run("keygen", str(key))
    key.chmod(0o644)
    code, _, err = run("sign", str(file), "--key", str(key))
    assert code == 64
    assert "chmod go-rwx" in err
    key.write_text("no key")
    key.chmod(0o600)
    assert run("sign", str(file), "--key", str(key))[0] == 64
    assert not file.with_name("mine.yaml.sig").exists()
