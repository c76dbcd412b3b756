"""Each call gets so many steps and no more. Padding makes a refusal no question, and the same call gets one answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.hostile_families import COMMAND, COMMANDS

from interpose import Context, Engine, ToolCall, open_engine
from interpose.effects.shell import analyse
from interpose.effects.syntax.budget import STEPS, Budget, ExhaustedError
from tests.support.timing.growth import grows_linearly
from tests.support.timing.timing import cpu_seconds

FATAL = "rm -rf /"

PADDED: list[tuple[str, str]] = [
    ("spaces", FATAL + " " * 140_000),
    ("a comment", FATAL + " # " + "a" * 140_000),
    ("spaces before", " " * 140_000 + FATAL),
    ("commands before", "ls;" * 6_000 + FATAL),
    ("commands behind", FATAL + ";ls" * 6_000),
    ("fewer commands before", "ls a b;" * 1_800 + FATAL),
    ("words before", "echo " + "a " * 30_000 + ";" + FATAL),
    ("words behind the path", FATAL + " a" * 30_000),
    ("words before the path", "rm -rf " + "a " * 30_000 + "/"),
    ("pipes of slashes", "/|" * 2_000 + FATAL),
    ("brace list", "rm -rf {" + ",".join(f"a{n}" for n in range(300)) + ",/}"),
    ("brace product", "rm -rf {/,x}" + "{,a}" * 7),
    ("brace product without an end", "rm -rf {/,x}" + "{,a}" * 40),
    ("braces in braces", "rm -rf " + "{a," * 20 + "/" + "}" * 20),
    ("links", "".join(f"ln -s /tmp a{n};" for n in range(100)) + "ln -s / l; rm -rf l/"),
    ("a long path", "rm -rf /" + "a/../" * 20_000),
    ("a long path of dots", "rm -rf /" + "./" * 60_000),
    ("evals", "eval a;" * 10_000 + FATAL),
    ("nested shells", "sh -c 'sh -c \"" + "ls;" * 5_000 + "\"';" + FATAL),
    ("loops", "for i in 1 2 3 4 5 6 7 8; do " * 6 + "ls;" + "done;" * 6 + FATAL),
    ("python calls", "python3 -c 'import os\n" + "f(1)\n" * 20_000 + 'os.system("rm -rf /")\''),
    ("python that is too deep", "python3 -c 'import os\na=" + "-" * 3_000 + '1\nos.system("rm -rf /")\''),
    ("javascript calls", "node -e '" + "f(1);" * 20_000 + 'require("child_process").execSync("rm -rf /")\''),
    ("javascript that is too deep",
     "node -e 'a=" + "-(" * 300 + "1" + ")" * 300 + ';require("child_process").execSync("rm -rf /")\''),
    ("awk", "awk '" + "{print 1}" * 3_000 + 'BEGIN{system("rm -rf /")}\''),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The engine as it is shipped, in a home of nobody."""
    with pytest.MonkeyPatch.context() as patched:
        home = tmp_path_factory.mktemp("home")
        patched.setenv("HOME", str(home))
        patched.setenv("XDG_CONFIG_HOME", str(Path(home, "config")))
        return open_engine()


def _outcome(engine: Engine, call: ToolCall) -> str:
    return engine.decide(call).outcome


@pytest.mark.parametrize(("note", "command"), PADDED, ids=[row[0] for row in PADDED])
def test_padding_makes_a_refusal_no_question(engine: Engine, note: str, command: str) -> None:
    call = ToolCall("exec", {"command": command}, "1", Context(cwd="/workspace/project"))
    assert _outcome(engine, call) == "deny", note


def test_what_is_typed_into_a_program_is_refused_too_when_it_is_too_much(engine: Engine) -> None:
    call = ToolCall("process", {"action": "write", "data": "ls;" * 6_000 + FATAL}, "1", Context(cwd="/workspace"))
    assert _outcome(engine, call) == "deny"


def test_the_directories_in_which_a_call_may_start_share_one_budget() -> None:
    budget = Budget()
    analyse("rm a;" * 300, cwd="/a", budget=budget)
    spent = STEPS - budget.left
    analyse("rm a;" * 300, cwd="/b", budget=budget)
    assert STEPS - budget.left == 2 * spent


def test_a_spent_budget_stays_spent() -> None:
    budget = Budget(1)
    budget.spend()
    for _ in range(2):
        with pytest.raises(ExhaustedError):
            budget.spend()


def test_the_reason_says_what_to_do() -> None:
    (beyond,) = (one for one in analyse("rm a;" * 4_000).effects if one.details.get("rule") == "too-complex")
    assert "Run it in parts" in beyond.details["reason"]


@pytest.mark.parametrize("family", COMMANDS)
def test_the_same_text_takes_the_same_steps(family: str) -> None:
    left = set()
    for _ in range(2):
        budget = Budget()
        analyse(COMMANDS[family](5_000), budget=budget)
        left.add(budget.left)
    assert len(left) == 1


@pytest.fixture(scope="module")
def honest_seconds(engine: Engine) -> float:
    """What six hundred honest commands take."""
    honest = "; ".join(f"rm -f build/a{n}.o" for n in range(600))
    return min(_seconds(engine, f"{honest}; ls {run}") for run in range(5))


def _seconds(engine: Engine, text: str) -> float:
    call = ToolCall("exec", {"command": text}, "1", Context(cwd="/workspace/project"))
    return cpu_seconds(lambda: _outcome(engine, call))


@pytest.mark.parametrize("family", COMMANDS)
def test_the_longest_hostile_text_costs_no_more_than_some_thousand_honest_commands(
    engine: Engine, honest_seconds: float, family: str
) -> None:
    """Measured against honest work in the same run. Without the budget the worst are a hundred times as much.

    What is refused at once for its size takes longest a little below.
    """
    for size in (COMMAND, COMMAND // 4):
        text = COMMANDS[family](size)
        assert any(_seconds(engine, text) < 10 * honest_seconds for _ in range(2))


GROWING: list[tuple[str, int]] = [
    ("pipes of slashes", 1_000), ("brace ranges", 2_000), ("array elements", 4_000), ("words to delete", 2_000),
    ("globs", 2_000), ("replacements", 5_000), ("path with globs", 20_000), ("redirections of many", 2_000),
]  # fmt: skip


@pytest.mark.parametrize(("family", "size"), GROWING, ids=[row[0] for row in GROWING])
def test_time_grows_with_the_text(family: str, size: int) -> None:
    make: Callable[[int], str] = COMMANDS[family]
    assert grows_linearly(lambda n: analyse(make(n)), size)


def test_many_stars_over_a_long_value_are_not_tried() -> None:
    """Backtracking would take the fourth power of the length."""
    value = "a" * 3_900
    assert grows_linearly(lambda n: analyse(f"x={value[:n]}; echo ${{x//a*a*a*b/c}} ${{x%%a*a*a*b}}"), 900)
