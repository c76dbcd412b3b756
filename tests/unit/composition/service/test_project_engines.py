"""Which rules hold where: project rules tighten in their directories, and for the sessions that were seen there."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose import Context, Engine, create_interceptor_registry
from interpose.composition.service.project_engines import PROJECTS, ProjectEngines
from interpose.composition.service.session_rules import Files
from interpose.core.errors import PolicyError
from interpose.rules.policy.rule_places import project_files


class Ruled:
    def __init__(self, files: Files) -> None:
        self.files, self.stopped = files, False
        self.engine = Engine(create_interceptor_registry())

    def stop(self) -> None:
        self.stopped = True


class World:
    """Engines that are opened for files, some of which are broken."""

    def __init__(self) -> None:
        self.opened: list[Ruled] = []
        self.broken: set[str] = set()
        self.refusing = Engine(create_interceptor_registry())
        self.shared = Ruled(())
        self.policies = ProjectEngines(self.shared, self._open, lambda _error: self.refusing, project_files)

    def _open(self, files: Files) -> Ruled:
        if self.broken & set(files):
            raise PolicyError(("broken",))
        self.opened.append(Ruled(files))
        return self.opened[-1]

    def files(self, cwd: Path, session: str = "") -> Files:
        engine = self.policies.engine(Context(cwd=str(cwd), session_id=session))
        return next(ruled.files for ruled in (self.shared, *self.opened) if ruled.engine is engine)


@pytest.fixture
def world() -> World:
    return World()


def ruled(directory: Path) -> str:
    file = directory / ".interpose" / "policy.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("version: 1\n")
    return str(file)


def test_rules_of_every_directory_above_hold(world: World, tmp_path: Path) -> None:
    outer, inner = ruled(tmp_path), ruled(tmp_path / "a" / "b")
    assert set(world.files(tmp_path / "a" / "b" / "c")) == {outer, inner}
    assert world.files(tmp_path / "a") == (outer,)
    assert world.files(tmp_path.parent) == ()


def test_no_depth_leads_out_of_a_project(world: World, tmp_path: Path) -> None:
    file = ruled(tmp_path)
    assert world.files(tmp_path / "/".join("d" * 300)) == (file,)
    assert world.files(tmp_path / ("x" * 5000)) == (file,)


def test_no_link_leads_out_of_a_project(world: World, tmp_path: Path) -> None:
    file = ruled(tmp_path / "project")
    (tmp_path / "project" / "inside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "inside")
    assert world.files(tmp_path / "link" / "deeper") == (file,)


def test_a_project_under_two_names_has_its_rules_once(world: World, tmp_path: Path) -> None:
    ruled(tmp_path / "project")
    (tmp_path / "link").symlink_to(tmp_path / "project")
    assert len(world.files(tmp_path / "link")) == 1


def test_one_engine_for_all_directories_with_the_same_rules(world: World, tmp_path: Path) -> None:
    ruled(tmp_path)
    world.files(tmp_path / "x")
    world.files(tmp_path / "y")
    assert len(world.opened) == 1


def test_a_session_keeps_the_rules_of_a_project_that_it_leaves(world: World, tmp_path: Path) -> None:
    file = ruled(tmp_path / "project")
    assert world.files(tmp_path / "project", "s1") == (file,)
    assert world.files(Path("/"), "s1") == (file,)
    assert world.files(Path("/"), "s2") == ()
    assert world.files(Path("/")) == ()


def test_a_session_is_not_let_out_by_a_new_configuration(world: World, tmp_path: Path) -> None:
    file = ruled(tmp_path / "project")
    world.files(tmp_path / "project", "s1")
    later = World()
    later.policies.remember(world.policies)
    assert later.files(Path("/"), "s1") == (file,)


def test_rules_that_cannot_be_read_hold_everything(world: World, tmp_path: Path) -> None:
    file = ruled(tmp_path)
    world.broken.add(file)
    assert world.policies.engine(Context(cwd=str(tmp_path))) is world.refusing
    assert world.policies.engine(Context(cwd="/")) is world.shared.engine


def test_broken_rules_that_take_long_to_read_are_read_seldom(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, tried = [100.0], []

    def slowly(files: Files) -> Ruled:
        tried.append(now[0])
        now[0] += 3.0
        raise PolicyError(("broken",))

    monkeypatch.setattr("interpose.composition.service.project_engines.monotonic", lambda: now[0])
    policies = ProjectEngines(world.shared, slowly, lambda _error: world.refusing, project_files)
    ruled(tmp_path)
    for _ in range(70):
        assert policies.engine(Context(cwd=str(tmp_path))) is world.refusing
        now[0] += 1.0
    assert tried == [100.0, 163.0]


def test_a_file_that_is_a_dangling_link_still_counts(world: World, tmp_path: Path) -> None:
    (tmp_path / ".interpose").mkdir()
    (tmp_path / ".interpose" / "policy.yaml").symlink_to(tmp_path / "nowhere")
    assert len(world.files(tmp_path)) == 1


def test_the_longest_unused_project_makes_room(world: World, tmp_path: Path) -> None:
    for number in range(PROJECTS + 1):
        ruled(tmp_path / str(number))
        world.files(tmp_path / str(number))
        world.files(tmp_path / "0")  # always in use
    assert [one.stopped for one in world.opened] == [False, True] + [False] * (PROJECTS - 1)
    assert len(world.policies.all()) == PROJECTS + 1


def test_a_relative_directory_names_no_project(world: World) -> None:
    assert world.policies.engine(Context(cwd="../..")) is world.shared.engine
