from __future__ import annotations

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Allow, Confirm, Context, Decision, Deny, Effect, ToolCall, freeze
from interpose.effects.shell import analyse
from interpose.reading.calls import call_reading
from interpose.rules.guards.command_safety_guard import LONGEST_PART, CommandSafetyGuard, Judgement

CWD, HOME = "/workspace/project", "/home/dev"


def _call(command: object, cwd: str = CWD, **arguments: object) -> ToolCall:
    return ToolCall("exec", freeze({"command": command, **arguments}), context=Context(cwd=cwd))


def _with(command: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall("exec", freeze({"command": command, **arguments}), context=Context(cwd=CWD))


@pytest.fixture
def guard() -> CommandSafetyGuard:
    return CommandSafetyGuard(home=HOME)


def test_its_id_is_the_one_that_configurations_name(guard: CommandSafetyGuard) -> None:
    assert guard.id == "builtin:command-safety-guard"


def test_the_three_words(guard: CommandSafetyGuard) -> None:
    assert guard.intercept(_call("ls -la")) == Allow()
    assert isinstance(guard.intercept(_call("git reset --hard")), Confirm)
    assert isinstance(guard.intercept(_call("rm -rf /")), Deny)


def test_a_refusal_says_which_rule_how_bad_and_which_part(guard: CommandSafetyGuard) -> None:
    denied = guard.intercept(_call("echo hi && rm -rf ~"))
    assert isinstance(denied, Deny)
    assert denied.rule == "delete-home"
    assert denied.severity == "critical"
    assert denied.reason
    assert "rm" in denied.part or "~" in denied.part


@pytest.mark.parametrize("command", [None, 7, {"a": 1}, True])
def test_a_command_that_is_no_text_is_refused(guard: CommandSafetyGuard, command: object) -> None:
    decision = guard.intercept(_call(command))
    assert isinstance(decision, Deny)
    assert decision.rule == "bad-command"


def test_a_call_without_a_command_is_refused(guard: CommandSafetyGuard) -> None:
    assert isinstance(guard.intercept(ToolCall("exec")), Deny)


def test_a_readable_second_command_does_not_hide_an_unreadable_first(guard: CommandSafetyGuard) -> None:
    assert isinstance(guard.intercept(_call({"x": 1}, cmd="ls")), Deny)


def test_a_list_is_one_command_and_its_words_are_data(guard: CommandSafetyGuard) -> None:
    assert isinstance(guard.intercept(_call(["rm", "-rf", "/"])), Deny)
    assert guard.intercept(_call(["echo", "a; rm -rf /"])) == Allow()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("ls", {"CommandLine": "rm -rf /"}),
        ("rm", {"args": ["-rf", "/"]}),
        ("rm -rf *", {"cwd": ".", "workdir": "/"}),
        ("rm -rf *", {"workingDirectory": "/"}),
        ("rm -rf *", {"cwd": "~"}),
        ("rm -rf *", {"cwd": "$HOME"}),
        ("git log", {"env": {"GIT_PAGER": "rm -rf ~/"}}),
        ("git log", {"env": [{"name": "GIT_PAGER", "value": "rm -rf ~/"}]}),
        ("bash", {"stdin": "rm -rf /"}),
        ("cd src && sh", {"input": "rm -rf /"}),
    ],
)
def test_no_other_argument_hides_what_runs(
    guard: CommandSafetyGuard, command: str, arguments: dict[str, object]
) -> None:
    assert isinstance(guard.intercept(_with(command, arguments)), Deny)


SWITCHES = ("force", "approved", "confirmed", "dry_run", "unsafe", "bypass", "skip_guards", "interpose", "sudo")


@pytest.mark.parametrize("value", [True, "yes", "allow", "off", {"allow": True}], ids=str)
@pytest.mark.parametrize("command", ["rm -rf /", "git reset --hard"])
def test_no_argument_is_a_switch(guard: CommandSafetyGuard, command: str, value: object) -> None:
    plain = guard.intercept(_call(command))
    told = {name: type(guard.intercept(_with(command, {name: value}))) for name in SWITCHES}
    assert told == dict.fromkeys(SWITCHES, type(plain))


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("npm test", {"env": {"NODE_ENV": "test"}, "description": "run the tests", "timeout": 5}),
        ("cat > notes.txt", {"stdin": "never run rm -rf /"}),
        ("rm -rf dist", {"cwd": "packages/app"}),
        ("git", {"args": ["commit", "-m", "docs: rm -rf / is bad"]}),
    ],
)
def test_honest_arguments_beside_a_command_pass(
    guard: CommandSafetyGuard, command: str, arguments: dict[str, object]
) -> None:
    assert guard.intercept(_with(command, arguments)) == Allow()


def test_an_answer_is_kept_for_the_same_arguments_only(guard: CommandSafetyGuard) -> None:
    assert guard.intercept(_with("rm -rf *", {"cwd": "/tmp/x"})) != guard.intercept(_with("rm -rf *", {"cwd": "/"}))
    assert guard.intercept(_call("bash", stdin="ls")) == Allow()
    assert isinstance(guard.intercept(_call("bash", stdin="rm -rf /")), Deny)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_stdin", {"session_id": 1, "chars": "rm -rf /\n"}),
        ("write_bash", {"shellId": "a", "input": "rm -rf ~/"}),
        ("process", {"action": "write", "data": "rm -rf /"}),
        ("mcp__shell__execute_command", {"command": "rm -rf /"}),
        ("functions.bash", {"command": "rm -rf /"}),
        ("my_tool", {"command": "rm -rf /"}),
        ("Bash", {"command": "rm -rf /", "args": "--help"}),
        ("shell", {"command": ["rm", "-rf", "/"], "args": ["--version"]}),
    ],
)
def test_a_shell_by_another_name_is_judged(guard: CommandSafetyGuard, tool: str, arguments: dict[str, object]) -> None:
    assert isinstance(guard.intercept(canonical(ToolCall(tool, freeze(arguments), context=Context(cwd=CWD)))), Deny)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_stdin", {"session_id": 1, "chars": "print('hello"}),
        ("read_bash", {"shellId": "a"}),
        ("mcp__db__execute", {"query": "select 1"}),
        ("my_tool", {"note": "rm -rf /"}),
    ],
)
def test_what_is_no_shell_is_left_alone(guard: CommandSafetyGuard, tool: str, arguments: dict[str, object]) -> None:
    assert guard.intercept(canonical(ToolCall(tool, freeze(arguments), context=Context(cwd=CWD)))) == Allow()


def test_a_nul_character_hides_nothing(guard: CommandSafetyGuard) -> None:
    assert isinstance(guard.intercept(_call("r\0m -rf /")), Deny)
    assert isinstance(guard.intercept(_call("ls\0")), Confirm)


def test_the_worst_effect_decides_wherever_it_stands(guard: CommandSafetyGuard) -> None:
    for command in ("git reset --hard; rm -rf /", "rm -rf /; git reset --hard"):
        denied = guard.intercept(_call(command))
        assert isinstance(denied, Deny)
        assert denied.rule == "delete-system"


def test_of_equals_the_first_in_the_text_is_named(guard: CommandSafetyGuard) -> None:
    judgement = guard.judge("rm -rf /etc; rm -rf /usr", CWD, HOME, CWD)
    assert judgement.span[0] < 10


def test_an_argument_moves_the_start_but_not_the_project(guard: CommandSafetyGuard) -> None:
    assert isinstance(guard.intercept(_call("rm -rf *", cwd=CWD, workdir="/etc")), Deny)
    moved = guard.intercept(ToolCall("exec", freeze({"command": "rm -rf src", "cwd": "/"}), context=Context(cwd=CWD)))
    assert not isinstance(moved, Allow)


def test_strict_asks_where_balanced_lets_pass(guard: CommandSafetyGuard) -> None:
    strict = CommandSafetyGuard(profile="strict", home=HOME)
    for command in (
        "npm install left-pad",
        "curl https://example.com",
        "sudo ls",
        "touch ~/note",
        "npm test",
        "./x.sh",
        "frob",
    ):
        assert guard.intercept(_call(command)) == Allow(), command
        assert isinstance(strict.intercept(_call(command)), Confirm), command
    for command in ("ls -la", "git status", "cat README.md", "echo hi > out.txt"):
        assert strict.intercept(_call(command)) == Allow(), command


def test_profiles_are_a_closed_set() -> None:
    with pytest.raises(ValueError, match="unknown profile 'lax'"):
        CommandSafetyGuard(profile="lax")  # type: ignore[arg-type]


def test_a_command_seen_before_is_not_analysed_again(
    guard: CommandSafetyGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = guard.intercept(_call("rm -rf /"))
    monkeypatch.setattr(call_reading, "analyse", lambda *_a, **_k: pytest.fail("analysed again"))
    assert guard.intercept(_call("rm -rf /")) is first


def test_the_answer_depends_on_where(guard: CommandSafetyGuard) -> None:
    assert guard.intercept(_call("rm -rf build")) == Allow()
    assert isinstance(guard.intercept(_call("rm -rf build", workdir="/usr/lib")), Deny)
    assert guard.intercept(_call("rm -rf build")) == Allow()


def test_advice_is_only_given_when_the_guard_would_allow_it(
    guard: CommandSafetyGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = CommandSafetyGuard._judge

    asked = analyse("x", cwd=CWD, home=HOME).effects

    def with_advice(self: CommandSafetyGuard, effects: tuple[Effect, ...], *where: str) -> Judgement:
        if effects == asked:
            return Judgement("ask", "r", "warning", "Reason.", advice)
        return real(self, effects, *where)

    monkeypatch.setattr(CommandSafetyGuard, "_judge", with_advice)
    advice = "git stash"
    assert guard.judge("x", CWD, HOME, CWD).instead == "git stash"
    advice = "rm -rf /"
    assert guard.judge("x", CWD, HOME, CWD).instead == ""


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf / " + "x" * 1_000_000,
        "a; " * 50_000,
        "$(" * 2_000,
        "echo " + "$(echo " * 300 + ")" * 300,
        "(" * 5_000,
        "${a:-" * 3_000,
        "'" + "x" * 200_000,
    ],
    ids=["1MB", "50k-commands", "unclosed", "nested-300", "parens", "expansions", "open-quote"],
)
def test_what_is_too_much_is_never_allowed(guard: CommandSafetyGuard, command: str) -> None:
    decision: Decision[ToolCall] = guard.intercept(_call(command))
    assert not isinstance(decision, Allow)


def test_a_refusal_does_not_repeat_what_is_endless(guard: CommandSafetyGuard) -> None:
    decision = guard.intercept(ToolCall("exec", {"command": "rm -rf x; " * 100_000}))
    assert isinstance(decision, Confirm | Deny)
    assert decision.part == ("rm -rf x; " * 200)[:LONGEST_PART]


def test_a_program_that_waits_for_typing_is_a_question_where_nobody_sees_what_is_typed(
    guard: CommandSafetyGuard,
) -> None:
    def judged(command: str, unseen: str = "write_stdin") -> Allow | Confirm | Deny:
        context = Context(cwd=CWD, unseen_input=unseen)
        return guard.intercept(ToolCall("exec", freeze({"command": command}), context=context))

    assert judged("cd x && sh", "") == Allow()
    asked = judged("cd x && sh")
    assert isinstance(asked, Confirm)
    assert (asked.rule, asked.part) == ("unseen-input", "sh")
    assert "sh, which does whatever is typed into it later: nobody is asked about write_stdin" in asked.message
    assert judged("cd x && sh", "") == Allow(), "the same command elsewhere is not touched by it"
    assert judged("npm test") == Allow()
    assert isinstance(judged("rm -rf /; sh"), Deny), "a refusal stays one"
