"""The table of built-in interceptors: what it names is there, and each of them can be switched on by a file."""

from __future__ import annotations

import inspect
import logging
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import interpose.rules.guards
from interpose import Context, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from interpose.composition.build import open_guards
from interpose.core.config.builtins import BUILTINS, Builtin
from interpose.core.config.load import load
from interpose.core.config.settings import Config, InterceptorSettings
from interpose.core.errors import ConfigError

COMMON = {"enabled", "priority", "timeout", "on_error", "mode", "settings"}
"""`settings` is for plugins alone."""


def config_of(text: str, tmp_path: Path) -> Config:
    file = tmp_path / "interpose.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return load(file, environ={"HOME": str(tmp_path)}, organisation=tmp_path / "none").config


def engine_of(text: str, tmp_path: Path) -> Engine:
    return open_guards(config_of(text, tmp_path))


@pytest.mark.parametrize("one", BUILTINS, ids=lambda one: one.id)
def test_what_the_table_names_is_there(one: Builtin) -> None:
    made = getattr(import_module(one.module), one.name)
    assert made.id == one.id
    assert set(one.settings.values()) <= set(inspect.signature(made).parameters)
    assert set(one.settings) <= set(InterceptorSettings.__struct_fields__) - COMMON
    assert set(one.needs) <= set(one.settings)
    needed = [name for name, each in inspect.signature(made).parameters.items() if each.default is each.empty]
    assert set(needed) <= {one.settings[key] for key in one.needs}


def test_every_setting_belongs_to_somebody() -> None:
    owned = {key for one in BUILTINS for key in one.settings}
    assert owned == set(InterceptorSettings.__struct_fields__) - COMMON


def test_every_public_guard_is_in_the_table() -> None:
    public = {
        getattr(interpose.rules.guards, name).__name__ for name in interpose.rules.guards.__all__
    }  # some have two names
    assert public <= {one.name for one in BUILTINS}


@pytest.mark.parametrize(
    ("note", "text", "call", "want"),
    [
        ("a sandbox", "builtin:path-sandbox: {enabled: true, directories: [~/work]}",
         ToolCall("read", {"path": "/srv/other/file"}), "path-sandbox"),
        ("a sandbox for commands",
         "builtin:path-sandbox: {enabled: true, directories: [~/work], include_commands: true}",
         ToolCall("exec", {"command": "cat /srv/other/file"}), "path-sandbox"),
        ("a sandbox leaves commands alone", "builtin:path-sandbox: {enabled: true, directories: [~/work]}",
         ToolCall("exec", {"command": "cat /srv/other/file"}), ""),
        ("a blocked directory", "builtin:file-security: {enabled: true, directories: [/srv/kept]}",
         ToolCall("write", {"path": "/srv/kept/x", "content": ""}), "file-security"),
        ("beside it", "builtin:file-security: {enabled: true, directories: [/srv/kept]}",
         ToolCall("write", {"path": "work/x", "content": ""}), ""),
        ("large arguments", "builtin:input-limits: {enabled: true, max_bytes: 20}",
         ToolCall("other", {"text": "x" * 20}), "input-limits"),
        ("words", "builtin:conditional-permission: {enabled: true, patterns: [drop table]}",
         ToolCall("other", {"query": "DROP TABLE users"}), "conditional-permission"),
        ("words in a field", "builtin:conditional-permission: {enabled: true, patterns: [x], fields: [note]}",
         ToolCall("other", {"note": "x"}), "conditional-permission"),
        ("effects", "builtin:conditional-permission: {enabled: true, effects: [package.install]}",
         ToolCall("exec", {"command": "pip install requests"}), "conditional-permission"),
    ],
)  # fmt: skip
def test_a_file_switches_it_on(note: str, text: str, call: ToolCall, want: str, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    here = Context(cwd=str(tmp_path))
    verdict = engine_of(f"interceptors: {{{text}}}", tmp_path).decide(ToolCall(call.name, call.arguments, "1", here))
    decided = verdict.decided_by
    assert ("" if decided is None else decided.rule) == want, note


def test_observers_see_and_decide_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = "interceptors: {builtin:metrics: {enabled: true}, builtin:audit-log: {enabled: true, level: debug}}"
    engine = engine_of(text, tmp_path)
    with caplog.at_level(logging.DEBUG, "interpose.audit"):
        assert engine.run_tool(ToolCall("read", {"path": "a"}), lambda _arguments: "ok") == "ok"
    assert [record.levelname for record in caplog.records if record.name == "interpose.audit"] == ["DEBUG", "DEBUG"]
    (metrics,) = [each for each in engine.interceptors.snapshot().entries if each.id == "builtin:metrics"]
    assert metrics.handler.snapshot().totals.successes == 1


@pytest.mark.parametrize(
    ("note", "text", "want"),
    [
        ("no directories", "builtin:path-sandbox: {enabled: true}",
         "interpose.yaml:1: interceptors.builtin:path-sandbox: is on and needs `directories`"),
        ("an empty list", "builtin:file-security: {enabled: true, directories: []}", "needs `directories`"),
        ("nothing to ask about", "builtin:conditional-permission: {enabled: true}", "needs `patterns` or `effects`"),
        ("set up, and not switched on", "builtin:input-limits: {max_bytes: 1}",
         "interpose.yaml:1: interceptors.builtin:input-limits: it is off by default: say `enabled: true`"),
        ("no limit", "builtin:input-limits: {enabled: true}", "needs `max_bytes`"),
        ("a limit of nothing", "builtin:input-limits: {max_bytes: 0}", "expected an integer from 1 to 1073741824"),
        ("a setting of another", "builtin:path-sandbox: {max_bytes: 3}",
         "unknown key 'max_bytes' here, it is a setting of builtin:input-limits"),
        ("a setting of two others", "builtin:metrics: {directories: [/a]}",
         "it is a setting of builtin:file-security and builtin:path-sandbox"),
        ("a relative directory", "builtin:path-sandbox: {directories: [work]}", "expected a path that starts with /"),
        ("no list", "builtin:path-sandbox: {directories: /work}", "expected a list of absolute paths"),
        ("no effect there is", "builtin:conditional-permission: {effects: [fs.eat]}", "expected a list of fs.read, "),
        ("a pattern of nothing", "builtin:conditional-permission: {patterns: [' ']}", "expected a list of texts"),
        ("no level", "builtin:audit-log: {level: loud}", "expected one of debug, info, warning or null"),
    ],
)  # fmt: skip
def test_mistakes(note: str, text: str, want: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        config_of(f"interceptors: {{{text}}}", tmp_path)
    assert want in str(caught.value), note


def test_a_configuration_that_is_made_in_a_program_is_held_to_the_same() -> None:
    wanted: dict[str, Any] = {"builtin:path-sandbox": InterceptorSettings()}
    with pytest.raises(ValueError, match="needs `directories`"):
        Config(interceptors=wanted)
    with pytest.raises(ValueError, match="needs `directories`"):
        add_builtin_interceptors(create_interceptor_registry(), wanted)


def test_directories_are_absolute(tmp_path: Path) -> None:
    config = config_of(
        "interceptors: {builtin:path-sandbox: {enabled: true, directories: [~/a, '{state}/b', /c]}}", tmp_path
    )
    state = tmp_path / ".local" / "state" / "interpose"
    assert config.interceptors["builtin:path-sandbox"].directories == (f"{tmp_path}/a", f"{state}/b", "/c")


def test_a_variable_sets_a_list(tmp_path: Path) -> None:
    sandbox = "INTERPOSE_INTERCEPTORS_BUILTIN_PATH_SANDBOX"
    environ = {"HOME": str(tmp_path), f"{sandbox}_DIRECTORIES": "/a,~/b", f"{sandbox}_ENABLED": "true"}
    config = load(environ=environ, organisation=tmp_path / "none").config
    assert config.interceptors["builtin:path-sandbox"].directories == ("/a", f"{tmp_path}/b")


def test_the_docs_switch_them_on(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "guards.md").read_text(encoding="utf-8")
    engine = engine_of(page.partition("```yaml\n")[2].partition("```")[0], tmp_path)
    on = {each.id for each in engine.interceptors.snapshot().entries}
    assert on == {one.id for one in BUILTINS} - {"builtin:metrics"}
