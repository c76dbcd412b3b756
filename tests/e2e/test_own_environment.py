"""The environment that the guard runs in, with real ones: the wheel in a virtual environment, tampered with.

Agents can't change it unasked, and what was changed all the same is what `interpose doctor` says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.package.built import Packages, build, real_environment
from tests.support.case_files import read_cases
from tests.support.noted import noted
from tests.support.timing.patience import PATIENCE

CASES = Path(__file__).parents[1] / "cases" / "environment.yaml"


class Guarded(NamedTuple):
    """An environment with the wheel, and the home that it works for."""

    root: Path
    home: Path

    @property
    def packages(self) -> Path:
        return next((self.root / "lib").glob("python*")) / "site-packages"

    def says(self, *args: str, given: str = "", path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self.home), "PATH": path, "NO_COLOR": "1", "COLUMNS": "400"}
        return subprocess.run(
            [self.root / "bin" / "interpose", *args], input=given, capture_output=True, text=True, check=False,
            timeout=PATIENCE, env=environment, cwd=self.home,
        )  # fmt: skip

    def checks(self, name: str) -> list[tuple[str, str]]:
        """What doctor says under a name: the level and the text of each line."""
        done = self.says("doctor", "--json")
        assert done.returncode in (0, 1), done.stderr
        return [(each["level"], each["text"]) for each in json.loads(done.stdout)["around"] if each["name"] == name]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def own(built: Packages, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    home = tmp_path_factory.mktemp("own") / "home"
    home.mkdir()
    return with_installers(Guarded(real_environment(home / "tool", built.wheel).parent, home))


@pytest.fixture(scope="module")
def projects(built: Packages, tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    home = tmp_path_factory.mktemp("projects") / "home"
    project = home / "work"
    project.mkdir(parents=True)
    (project / "pyproject.toml").write_text("[project]\nname = 'work'\n", encoding="utf-8")
    return with_installers(Guarded(real_environment(project / ".venv", built.wheel).parent, home))


def with_installers(guarded: Guarded) -> Guarded:
    """Programs to find on a search path: in the environment, and in one of the project that the agent works on."""
    for program in (
        guarded.root / "bin" / "pip",
        *(guarded.home / "other/.venv/bin" / name for name in ("pip", "python")),
    ):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    return guarded


def decided(guarded: Guarded, rows: list[dict[str, Any]]) -> list[str]:
    """What is decided about the calls of these rows, by the program that is installed there."""
    calls = [
        {"id": str(number), "tool": row.get("tool", "Bash"), "cwd": _filled(row.get("cwd", "@HOME@/other"), guarded),
         "args": _filled(row["args"] if "args" in row else {"command": row["command"]}, guarded)}
        for number, row in enumerate(rows)
    ]  # fmt: skip
    paths = [_filled(row.get("path", "/usr/bin:/bin"), guarded) for row in rows]
    lines: list[str] = []
    for path in dict.fromkeys(paths):
        given = "".join(f"{json.dumps(call)}\n" for call, found in zip(calls, paths, strict=True) if found == path)
        lines += guarded.says("check", "--jsonl", given=given, path=path).stdout.splitlines()
    said = {each["id"]: each["decision"] for each in map(json.loads, lines)}
    return [said[call["id"]] for call in calls]


def _filled(value: Any, guarded: Guarded) -> Any:
    if isinstance(value, dict):
        return {name: _filled(each, guarded) for name, each in value.items()}
    for name, place in {"@ENV@": guarded.root, "@LIB@": guarded.packages, "@HOME@": guarded.home}.items():
        value = value.replace(name, str(place))
    return value


ROWS: list[dict[str, Any]] = read_cases(CASES)


@pytest.fixture(scope="module")
def decisions(own: Guarded, projects: Guarded) -> dict[str, tuple[str, str]]:
    """By note: what is decided where the environment is the guard's own, and where it is a project's."""
    answers = zip(ROWS, decided(own, ROWS), decided(projects, ROWS), strict=True)
    return {row["note"]: (alone, among) for row, alone, among in answers}


@pytest.mark.parametrize("row", noted((row["note"], (row,)) for row in ROWS))
def test_what_changes_the_environment(row: dict[str, Any], decisions: dict[str, tuple[str, str]]) -> None:
    assert decisions[row["note"]] == (row["own"], row["project"])


def test_doctor_is_content_with_what_was_installed(own: Guarded) -> None:
    ((level, text),) = own.checks("environment")
    assert level == "ok"
    assert "Interpose's own" in text
    ((level, text),) = own.checks("program files")
    assert level == "ok"
    assert "as they were installed" in text
    assert [level for level, _ in own.checks("interpreter")] == ["ok"]
    assert own.checks("start files") == []


def test_doctor_says_what_a_project_leaves_open_and_proposes_another(projects: Guarded) -> None:
    ((level, text),) = projects.checks("environment")
    assert level == "note"
    assert "a project's environment" in text
    said = projects.says("doctor").stdout
    assert "python3 -m venv ~/.local/share/interpose/env" in said
    told = json.loads(projects.says("install", "claude-code", "--dry-run", "--json").stdout)["advice"]
    assert any("~/.local/share/interpose/env/bin/interpose install claude-code" in line for line in told)


def test_installing_from_an_environment_of_its_own_proposes_none(own: Guarded) -> None:
    told = json.loads(own.says("install", "claude-code", "--dry-run", "--json").stdout)["advice"]
    assert not any("environment" in line for line in told)


def rewrite(file: Path, text: str) -> None:
    """Put another file in the place of this one, which has a second name."""
    file.unlink()
    file.write_text(text, encoding="utf-8")


def changed(packages: Path) -> Path:
    file = packages / "msgspec" / "__init__.py"
    rewrite(file, f"{file.read_text(encoding='utf-8')}# another\n")
    return file


def missing(packages: Path) -> Path:
    file = packages / "interpose" / "rules" / "guards" / "metrics.py"
    file.unlink()
    return file


def added(packages: Path) -> Path:
    file = packages / "interpose" / "rules" / "guards" / "yaml.py"
    file.write_text("", encoding="utf-8")
    return file


def compiled(packages: Path) -> Path:
    """As Python would take it: another program under the time and the size of the source."""
    source = packages / "interpose" / "engine" / "chain.py"
    other = packages.parent / "other.py"
    other.write_text("verdict = 'allow'\n", encoding="utf-8")
    file = source.parent / "__pycache__" / f"chain.{sys.implementation.cache_tag}.pyc"
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    compile_ = "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[2])"
    subprocess.run([sys.executable, "-c", compile_, other, file], check=True)
    other.unlink()
    about = source.stat()
    code = bytearray(file.read_bytes())
    code[8:16] = int(about.st_mtime).to_bytes(4, "little") + about.st_size.to_bytes(4, "little")
    file.write_bytes(code)
    return file


@pytest.fixture
def spare(own: Guarded, tmp_path: Path) -> Iterator[Guarded]:
    """A second environment of the same files, to be spoilt. The interpreter of the first looks at it.

    What the first has compiled stays there: to compile all of it anew and to compare takes longer than anything else.
    """
    sources = shutil.ignore_patterns("__pycache__")
    shutil.copytree(own.root, tmp_path / "home" / "tool", symlinks=True, copy_function=os.link, ignore=sources)
    yield Guarded(tmp_path / "home" / "tool", tmp_path / "home")
    shutil.rmtree(tmp_path / "home")


def looked_at(guarded: Guarded, by: Guarded) -> list[list[str]]:
    """What the checks of an untouched program say about an environment: a spoilt one could say anything."""
    code = (
        "import json, sys\n"
        "from interpose.effects.environment.facts import environment_at\n"
        "from interpose.doors.hooks.install.own_environment import environment_checks\n"
        "root, library = sys.argv[1:]\n"
        "python = f'{root}/bin/python'\n"
        "place = environment_at(root, virtual=True, interpreter=python, libraries=(library,), package='')\n"
        "print(json.dumps([[check.name, check.level, check.text, check.todo] for check in environment_checks(place)]))"
    )
    done = subprocess.run(
        [by.root / "bin" / "python", "-I", "-c", code, guarded.root, guarded.packages], capture_output=True, text=True,
        check=True, timeout=PATIENCE, env={"HOME": str(guarded.home), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("spoil", [changed, missing, added, compiled])
def test_doctor_names_a_file_that_is_not_as_it_was_installed(spoil: Any, own: Guarded, spare: Guarded) -> None:
    file = spoil(spare.packages)
    spoken = str(file).replace(str(spare.home), "~")
    found = [each for each in looked_at(spare, own) if each[1] == "open"]
    assert [each[0] for each in found] == ["program files"]
    assert spoken in found[0][2]
    assert found[0][3], "what is open has something to do about it"


def test_doctor_of_the_tampered_environment_itself_is_not_content(spare: Guarded) -> None:
    """The copy runs by itself: its own doctor, its own msgspec."""
    program = spare.root / "bin" / "interpose"
    text = program.read_text(encoding="utf-8")
    rewrite(program, f"#!{spare.root}/bin/python\n{text.partition(chr(10))[2]}")
    program.chmod(0o755)
    file = changed(spare.packages)
    done = spare.says("doctor")
    assert done.returncode == 1
    assert f"msgspec/{file.name} is not as it was installed" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "level"),
    [
        ("evil.pth", "import evil\n", "open"),
        ("sitecustomize.py", "", "open"),
        ("usercustomize.py", "", "open"),
        ("more.pth", "/srv/more\n", "note"),
        ("_virtualenv.pth", "import _virtualenv", "note"),
        ("_virtualenv.pth", "import _virtualenv; import evil", "open"),
    ],
)
def test_doctor_names_what_python_runs_by_itself(
    name: str, text: str, level: str, own: Guarded, spare: Guarded
) -> None:
    (spare.packages / name).write_text(text, encoding="utf-8")
    found = [each for each in looked_at(spare, own) if each[0] == "start files"]
    assert [each[1] for each in found] == [level]
    assert name in found[0][2]


def test_doctor_names_an_interpreter_that_was_exchanged(own: Guarded, spare: Guarded) -> None:
    python = spare.root / "bin" / "python"
    python.unlink()
    other = spare.home / "python"
    other.write_bytes(b"#!/bin/sh\nexec true\n")
    other.chmod(0o755)
    python.symlink_to(other)
    found = [each for each in looked_at(spare, own) if each[0] == "interpreter"]
    assert [each[1] for each in found] == ["open"]
    assert os.path.realpath(other) in found[0][2]


@pytest.mark.parametrize(
    ("name", "imported"), [("uvloop.py", True), ("uvloop/__init__.py", True), ("json.py", True), ("mine.py", False)]
)
def test_doctor_names_a_module_of_no_package(name: str, imported: bool, own: Guarded, spare: Guarded) -> None:
    module = spare.packages / name
    module.parent.mkdir(exist_ok=True)
    module.write_text("", encoding="utf-8")
    found = [each for each in looked_at(spare, own) if each[1] == "open"]
    assert [each[0] for each in found] == ["program files"]
    assert f"{name.partition('/')[0]} belongs to no installed package" in found[0][2]
    assert ("Interpose imports this name" in found[0][2]) == imported
    assert "rm -r" in found[0][3]


def test_in_a_projects_environment_only_names_that_are_imported_count(projects: Guarded) -> None:
    (projects.packages / "mine.py").write_text("", encoding="utf-8")
    (projects.packages / "uvloop.py").write_text("", encoding="utf-8")
    try:
        opened = [text for level, text in projects.checks("program files") if level == "open"]
    finally:
        (projects.packages / "mine.py").unlink()
        (projects.packages / "uvloop.py").unlink()
    assert len(opened) == 1
    assert "uvloop.py belongs to no installed package" in opened[0]


def test_doctor_verifies_the_installation_that_the_hooks_start(own: Guarded, spare: Guarded) -> None:
    """Doctor of one installation, hooks of another: what is spoilt there is named, and so is the place."""
    program = spare.root / "bin" / "interpose"
    rewrite(program, f"#!{spare.root}/bin/python\n{program.read_text(encoding='utf-8').partition(chr(10))[2]}")
    program.chmod(0o755)
    assert spare.says("install", "claude-code").returncode == 0
    file = changed(spare.packages)
    done = Guarded(own.root, spare.home).says("doctor", "--json")
    said = json.loads(done.stdout)
    (host,) = said["hosts"]
    (installed,) = [each for each in host["checks"] if each["name"] == "installed"]
    assert installed["level"] == "open"
    assert "the hooks start another installation, ~/tool" in installed["text"]
    opened = [each["text"] for each in said["around"] if each["name"] == "program files" and each["level"] == "open"]
    assert any(f"~/{file.relative_to(spare.home)} is not as it was installed" in text for text in opened)
    assert [each["name"] for each in said["around"]].count("environment") == 2


def test_the_path_of_a_hook_says_which_pip_it_is(own: Guarded) -> None:
    event = {
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_use_id": "t",
        "cwd": str(own.home / "other"), "tool_input": {"command": "pip install evil"},
    }  # fmt: skip

    def answer(path: str) -> str:
        return own.says("hook", "claude-code", "--in-process", given=json.dumps(event), path=path).stdout

    assert '"deny"' in answer(f"{own.root}/bin:/usr/bin:/bin")
    assert '"deny"' not in answer(f"{own.home}/other/.venv/bin:{own.root}/bin:/usr/bin:/bin")


def test_what_has_no_record_is_said_and_is_no_failure(own: Guarded, spare: Guarded) -> None:
    (next(spare.packages.glob("msgspec-*.dist-info")) / "RECORD").unlink()
    found = [each for each in looked_at(spare, own) if each[0] == "program files"]
    assert [each[1] for each in found] == ["note", "ok"]
    assert "no record of its files" in found[0][2]
