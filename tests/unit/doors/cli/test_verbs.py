"""The table of verbs says what each verb says of itself, and help and version import none of them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interpose.doors.cli
from interpose.doors.cli import EXIT_USAGE, VERBS, main
from interpose.doors.cli.helping.command_tree import VerbCommand, command_tree
from interpose.doors.cli.parser import Parser
from interpose.doors.cli.verbs import FIRST, GROUPS, HELPS, UNLISTED, module_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.effects.ourselves.command_line import KEPT, OLD, ROWS, OwnVerb, below, spelled_now
from interpose.effects.ourselves.command_line import VERBS as BY_NAME

HEAVY = {
    "argparse", "asyncio", "dataclasses", "difflib", "inspect", "json", "logging", "msgspec", "re2", "socket",
    "sqlite3", "ssl", "subprocess", "typing", "yaml", "httptools", "cryptography", "interpose.composition.build",
    "interpose.core.types", "interpose.core.errors", "interpose.core.config", "interpose.effects.shell",
}  # fmt: skip


BELOW_OTHERS = {"operator_hand_over"}
"""Modules of a subcommand, whose verb is another module."""


def test_every_module_that_is_a_verb_is_in_the_table() -> None:
    place = Path(interpose.doors.cli.__file__).parent
    made = {
        path.stem
        for path in place.glob("*.py")
        if {"\ndef add_arguments(", "\ndef run("}
        <= {line for line in PIECES if line in path.read_text(encoding="utf-8")}
    }
    assert made - BELOW_OTHERS == {module_of(row).rpartition(".")[2] for row in ROWS}


PIECES = ("\ndef add_arguments(", "\ndef run(")


@pytest.fixture(scope="module")
def tree() -> dict[str, VerbCommand]:
    return {command.name: command for command in command_tree().walk()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_table_knows_every_subcommand(row: OwnVerb, tree: dict[str, VerbCommand]) -> None:
    """INVARIANT: a subcommand that is new is for people until somebody writes down that it changes nothing."""
    command = tree[row.name]
    words = {act.path[-1] for act in command.acts} - {each.path[-1] for each in below(row)}
    if row.name == "approvals notify":
        words = set(command.arguments[0].value.words)
    if row.name == "approvals pause":
        words = set(command.arguments[0].value.name.split("|")) - {"TIME"}
    if row.judged in ("acts", "value"):
        named = row.for_agents | row.for_people
        assert named - {"edit"} == words, "`edit` is an old word for an answer, and stays known"
    assert row.for_agents.isdisjoint(row.for_people)
    assert not row.alone or row.alone in words


def test_the_old_spelling_of_a_verb_is_none_of_today() -> None:
    assert set(OLD).isdisjoint(BY_NAME)
    assert {"hook", "serve", "wrap", "gateway"} == KEPT, "settings of agents call these"
    for spelling in KEPT:
        now = spelled_now([spelling])
        assert " ".join(now) in BY_NAME


def test_a_verb_stands_in_one_group_and_each_group_has_an_example_of_it() -> None:
    listed = [verb for _, verbs in GROUPS.values() for verb in verbs]
    assert sorted([*listed, *UNLISTED]) == sorted(HELPS)
    assert set(FIRST) < set(listed)
    assert len(FIRST) == 6
    for title, (example, verbs) in GROUPS.items():
        assert example.split()[:2][1] in verbs, title


@pytest.mark.parametrize("given", [[], ["--help"], ["-h"], ["--version"], ["help"], ["instal"]], ids=" ".join)
def test_nothing_heavy_is_imported_for_help_and_version(given: list[str]) -> None:
    """What takes time is imported modules: these can be counted where milliseconds can't."""
    code = f"import sys; from interpose.doors.cli import main; main({given!r}); print(); print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "interpose.doors.cli" in loaded
    assert [
        name for name in loaded if name.startswith("interpose.doors.") and not name.startswith("interpose.doors.cli")
    ] == []
    assert loaded & (HEAVY - {"difflib"} if given == ["instal"] else HEAVY) == set()


@pytest.mark.parametrize("verb", ["check", "install", "uninstall", "completion"])
def test_the_help_of_what_newcomers_type_first_loads_no_engine(verb: str) -> None:
    code = f"""
import sys
from interpose.doors.cli import main
try:
    main([{verb!r}, "--help"])
except SystemExit:
    print()
    print(" ".join(sys.modules))
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert module_of(BY_NAME[verb]) in loaded
    assert (
        loaded
        & {
            "interpose.composition.build",
            "interpose.effects.shell",
            "interpose.record.ledger",
            "interpose.reading.calls",
            "asyncio",
        }
        == set()
    )


def test_the_page_names_every_verb_and_every_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb in (verb for _, verbs in GROUPS.values() for verb in verbs):
        assert f"  {verb} " in shown
        assert HELPS[verb] in shown, "what is piped is not wrapped"
        if rows := below(BY_NAME[verb]):
            assert f"below it: {', '.join(row.path[-1] for row in rows)}\n" in shown
    for title, (example, _) in GROUPS.items():
        assert title in shown
        assert f"$ {example}\n" in shown


def test_alone_it_shows_what_a_new_user_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert rows == list(FIRST)
    assert "`interpose --help`" in shown


@pytest.mark.parametrize(("columns", "want"), [("60", 60), ("100", 100), ("4000", 100), ("1", 40)])
def test_the_page_fits_the_width_that_is_said(
    columns: str, want: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    wrapped = [line for line in lines if " $ " not in line and not line.startswith(("interpose ", "man "))]
    assert max(map(len, wrapped)) <= want
    assert len(lines) > 40 or want == 100


@pytest.mark.parametrize(
    ("note", "given", "said"),
    [
        ("a verb", ["instal"], "there is no verb 'instal'. Did you mean install?"),
        ("nothing near", ["xyzzy"], "there is no verb 'xyzzy'.\n"),
        ("an option without its dashes", ["version"], "Did you mean --version?"),
        ("a verb of one verb", ["lift"], "Did you mean interpose governance session lift?"),
        ("a verb of many verbs", ["list"], "there is no verb 'list'.\n"),
        ("what may be left out", ["command", "check"], "the following arguments are required: COMMAND\n"),
        ("a directory that is not there", ["status", "--cwd", "/no/such"], "there is no directory '/no/such'"),
        (
            "a project that is not there",
            ["install", "cline", "--project", "--cwd", "/no/such"],
            "there is no directory",
        ),
        ("no path at all", ["doctor", "--cwd", "x" * 9000], "there is no directory 'xxx"),
        ("an option before the verb", ["--verison"], "there is no option '--verison'. Did you mean --version?"),
        ("an option of a verb", ["--json", "check", "ls"], "Options stand behind the verb: interpose check --json"),
        ("a verb of a verb", ["audit", "tial"], "there is no verb 'tial'. Did you mean tail?"),
        ("a verb below a verb", ["audit", "redcat"], "there is no verb 'redcat'. Did you mean redact?"),
        ("an old spelling", ["grnts"], "there is no verb 'grnts'. Did you mean grants?"),
        ("what needs an explanation", ["check", "--pack", "git", "ls"], "--pack needs --explain"),
        ("what has none", ["check", "--explain", "--jsonl"], "--jsonl does not go with --explain"),
        ("an option", ["check", "--josn", "ls"], "there is no option '--josn'. Did you mean --json?"),
        ("an option of an inner verb", ["audit", "tail", "--folow"], "Did you mean --follow?"),
        ("with its value", ["audit", "tail", "--lmit=3"], "there is no option '--lmit'. Did you mean --limit?"),
        ("a word of few", ["check", "--profile", "strct", "ls"], "there is no profile 'strct'. Did you mean strict?"),
        ("a choice", ["completion", "bahs"], "there is no shell 'bahs'. Did you mean bash?"),
        ("an agent", ["install", "claud"], "there is no agent 'claud'. Did you mean claude-code?"),
        ("an agent to doctor", ["doctor", "gemni-cli"], "there is no agent 'gemni-cli'. Did you mean gemini-cli?"),
        ("a command without quotes", ["check", "rm", "-rf", "build"], "Put a command into quotes"),
        ("a word too many", ["status", "now"], "unexpected argument 'now'."),
        ("two agents", ["install", "codex", "cursor"], "unexpected argument 'cursor'. One agent at a time."),
        ("no agent to take out of", ["uninstall"], f"{[*HOSTS][-1]}. Or --all."),
        ("no whole number", ["serve", "--port", "x"], "argument --port: 'x' is no number"),
        ("no number at all", ["run", "--timeout", "x", "--", "ls"], "argument --timeout: 'x' is no number"),
        ("no count", ["audit", "tail", "-n", "\x1b"], "argument -n/--limit: '\\x1b' is no number"),
        ("a key that is not there", ["redact", "--key-file", "/no/key"], "redact: /no/key: No such file or directory"),
        ("a terminal's commands", ["\x1b[2J"], "there is no verb '\\x1b[2J'."),
        ("such a file", ["policy", "add", "\x1b[2J"], "there is no file \\x1b[2J"),
        ("such rules", ["policy", "test", "\x1b[2J"], "there is no \\x1b[2J"),
    ],
)
def test_wrong_usage_says_what_was_meant(
    note: str, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main(given)
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert (code, shown.out) == (EXIT_USAGE, ""), note
    assert said in shown.err
    assert "\x1b" not in shown.err


def test_help_is_a_word_that_people_type(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["help", "audit"], ["audit", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(given)
        assert ended.value.code == 0
        assert "usage: interpose audit" in capsys.readouterr().out


ACTS = [act for act in command_tree().walk() if len(act.path) > 1]


@pytest.mark.parametrize("act", ACTS, ids=[act.name for act in ACTS])
def test_the_page_of_an_inner_verb_says_what_it_does(act: VerbCommand, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*act.path, "--help"])
    assert ended.value.code == 0
    assert act.help
    _usage, *said = (" ".join(each.split()) for each in capsys.readouterr().out.split("\n\n"))
    told = act.help.split("\n\n")
    assert said[: len(told)] == told


@pytest.mark.parametrize("verb", [verb for verb in command_tree().acts if verb.acts], ids=lambda verb: verb.name)
def test_a_verb_names_no_inner_verb_that_it_does_not_have(verb: VerbCommand) -> None:
    named = re.findall(r"(?<=[:,] )([a-z]+)(?=, )", verb.help)
    acts = {act.path[-1] for act in verb.acts}
    assert named[:1] == [] or named[0] not in acts or set(named) <= acts


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_fits_a_narrow_terminal(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    with pytest.raises(SystemExit):
        main([*verb.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    too_long = [line for line in lines if len(line) > 72 and not line.startswith(("  ", "usage: interpose "))]
    assert too_long == []


@pytest.mark.parametrize("verb", VERBS)
def test_tables_in_the_help_of_a_verb_keep_their_columns(verb: str) -> None:
    """Paragraphs are wrapped unless they are indented, on the manual page too."""
    parser = Parser()
    importlib.import_module(module_of(BY_NAME[verb])).add_arguments(parser)
    paragraphs = [each for one in (parser, *parser.acts().values()) for each in (one.epilog or "").split("\n\n")]
    assert [each for each in paragraphs if "   " in each.strip() and not each.startswith("  ")] == []


@pytest.mark.parametrize("verb", ["approvals notify", "approvals pause"])
def test_a_table_is_shown_line_by_line(
    verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    with pytest.raises(SystemExit):
        main([*verb.split(), "--help"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"  interpose {verb} ")]
    assert len(rows) >= 3
    assert len({len(row) - len(row.split("   ")[-1].lstrip()) for row in rows}) == 1, "one column begins at one place"


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"interpose {interpose.__version__}\n"


GROUPS_ALONE = [
    row for row in ROWS if row.alone or row.name in ("approvals pause", "approvals notify", "mcp", "mcp pins")
]


@pytest.mark.parametrize("row", GROUPS_ALONE, ids=lambda row: row.name)
def test_a_group_alone_lists_or_shows(
    row: OwnVerb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It answers, waits for and changes nothing: not a file more than what its subcommand leaves, and no question."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "INTERPOSE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    alone = main(row.name.split()), capfd.readouterr()
    assert list(tmp_path.rglob("*")) == []
    if row.alone:
        assert (main([*row.name.split(), row.alone]), capfd.readouterr()) == alone
    assert alone[0] != EXIT_USAGE


@pytest.mark.parametrize(("old", "now"), OLD.items())
def test_an_old_spelling_is_the_same_parser(old: str, now: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for words in ([old], [*now]):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        shown.append(capsys.readouterr())
    assert shown[0] == shown[1]


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_new_spelling_is_said_at_a_terminal_alone(
    old: str, is_terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with pytest.raises(SystemExit):
        main([old, "--help"])
    said = f"`interpose {old}` is now `interpose {' '.join(OLD[old])}`.\n"
    assert capsys.readouterr().err == (said if is_terminal and old not in KEPT else "")


def test_an_explanation_has_the_exit_code_of_its_old_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    for command, code in (("ls", 0), ("rm -rf /", 2), ("git push --force origin topic", 1)):
        assert main(["explain", command, "--json"]) == code
        shown = capsys.readouterr().out
        assert main(["check", "--explain", command, "--json"]) == code
        assert capsys.readouterr().out == shown
