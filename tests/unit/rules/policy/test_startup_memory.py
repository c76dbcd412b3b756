"""A memory changes how long a policy takes to load, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.core.errors import PolicyError
from interpose.rules.policy.load import RuleText, load_texts, pack_names
from interpose.rules.policy.rules import Level
from interpose.rules.policy.startup_memory import Memory

RULES = """version: 1
rules:
  - id: no-tea
    when: command.exists(one, one.name == "tea")
    action: deny
    message: No tea here.
    examples:
      match: [tea --hot]
      no_match: [coffee]
  - id: to-tmp
    on: {tools: [write]}
    when: args.path.startsWith("/data/")
    action: transform
    rewrite: {path: '"/tmp" + args.path'}
"""


def _texts(rules: str = RULES) -> list[RuleText]:
    return [RuleText("/home/dev/rules.yaml", rules, Level.USER)]


def _remembering(file: Path, rules: str = RULES, version: str = "1") -> Memory:
    memory = Memory(file, version=version)
    load_texts(_texts(rules), packs=pack_names(), memory=memory)
    memory.save()
    return memory


def test_what_is_remembered_is_what_was_read(tmp_path: Path) -> None:
    fresh = load_texts(_texts(), packs=pack_names())
    for _ in range(2):
        memory = Memory(tmp_path / "rules", version="1")
        policy = load_texts(_texts(), packs=pack_names(), memory=memory)
        assert policy.revision == fresh.revision
        assert [each.rule for each in policy.rules] == [each.rule for each in fresh.rules]
        assert [each.needs for each in policy.rules] == [each.needs for each in fresh.rules]
        memory.save()
    assert oct((tmp_path / "rules").stat().st_mode) == "0o100600"


LOADED = """
import sys
from pathlib import Path
from interpose.rules.policy.load import load_texts
from interpose.rules.policy.startup_memory import Memory
load_texts([], packs=["baseline"], memory=Memory(Path(sys.argv[1]), version="1"))
print([name for name in ("yaml", "cel_expr_python", "sqlglot", "asyncio") if name in sys.modules])
"""


def test_nothing_that_takes_long_is_loaded_for_what_is_known(tmp_path: Path) -> None:
    _remembering(tmp_path / "rules")
    done = subprocess.run(
        [sys.executable, "-I", "-c", LOADED, str(tmp_path / "rules")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_rule_that_fails_its_examples_is_never_known_to_hold(tmp_path: Path) -> None:
    wrong = RULES.replace("[tea --hot]", "[coffee]").replace("no_match: [coffee]", "no_match: [tea]")
    for _ in range(2):
        memory = Memory(tmp_path / "rules")
        with pytest.raises(PolicyError):
            load_texts(_texts(wrong), memory=memory)
        memory.save()


def test_a_changed_rule_is_another_rule(tmp_path: Path) -> None:
    _remembering(tmp_path / "rules")
    memory = Memory(tmp_path / "rules", version="1")
    with pytest.raises(PolicyError, match="unknown variable"):
        load_texts(_texts(RULES.replace("args.path.starts", "argz.path.starts")), memory=memory)


def _open_to_others(file: Path) -> None:
    file.chmod(0o644)


def _of_another_user(file: Path) -> None:
    os.chown(file, 65534, 65534)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def _garbage(file: Path) -> None:
    file.write_bytes(b"\x93\x01\x02\x03")


def _linked(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    "spoil",
    [
        _open_to_others,
        pytest.param(_of_another_user, marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can")),
        _cut,
        _garbage,
        _linked,
        _pipe,
    ],
)
def test_a_file_that_can_not_be_believed_is_forgotten(spoil: object, tmp_path: Path) -> None:
    assert callable(spoil)
    file = tmp_path / "rules"
    known = _remembering(file)
    rule = load_texts(_texts()).rules[0].rule
    assert known.holds(rule)
    assert Memory(file, version="1").holds(rule)
    assert not Memory(file, version="2").holds(rule)
    spoil(file)
    assert not Memory(file, version="1").holds(rule)
