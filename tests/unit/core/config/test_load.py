"""What a configuration says, who has the last word, and how mistakes are told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose import InterceptorRegistry, add_builtin_interceptors, create_interceptor_registry
from interpose.core.config.checked_values import substituted
from interpose.core.config.keys import tree
from interpose.core.config.load import Loaded, load
from interpose.core.config.settings import Config
from interpose.core.config.sources import MAX_BYTES
from interpose.core.errors import ConfigError
from interpose.core.types import HookPoint

Load = Callable[..., Loaded]
NONE = Path(__file__).with_name("there-is-none.yaml")
"""Not a name like /nonexistent: it is the home of users of some machines, and somebody may have made it."""
NOBODY = {"HOME": str(NONE)}
"""Without a home it would be root's, with whatever that has."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "interpose").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def load_with(home: Path) -> Load:
    """Load with a user's file, an organisation's file, variables and flags."""

    def run(
        text: str | None = None,
        environ: dict[str, str] | None = None,
        flags: dict[str, Any] | None = None,
        organisation: str | None = None,
    ) -> Loaded:
        for file, content in ((home / ".config/interpose/interpose.yaml", text), (home / "org.yaml", organisation)):
            if content is not None:
                file.write_text(content, encoding="utf-8")
                file.chmod(0o600)
        return load(environ={"HOME": str(home)} | (environ or {}), flags=flags or {}, organisation=home / "org.yaml")

    return run


def value_of(loaded: Loaded, name: str) -> Any:
    found: Any = loaded.config
    for step in name.split("."):
        found = found[step] if isinstance(found, dict) else getattr(found, step)
    return found


def test_nothing_set_is_the_default_with_absolute_paths(load_with: Load, home: Path) -> None:
    loaded = load_with()
    assert loaded.origins == {}
    assert loaded.config.server.port == 8080
    assert loaded.config.server.socket == f"{home}/.local/state/interpose/run/api.sock"
    assert loaded.config.policy.directory == f"{home}/.config/interpose/policy"
    paths = [path for key in tree().all_keys() if key.is_path and (path := value_of(loaded, key.name))]
    assert all(path.startswith(str(home)) for path in paths)


PORT = "server: {port: 1001}\n"


@pytest.mark.parametrize(
    ("note", "given", "want", "origin"),
    [
        ("the organisation over defaults", {"organisation": "server: {port: 1000}"}, 1000, "org.yaml:1"),
        ("the file over the organisation", {"organisation": "server: {port: 1000}", "text": PORT}, 1001, "yaml:1"),
        (
            "another's variable over the file",
            {"text": PORT, "environ": {"MAYBE_DONT_SERVER_LISTEN_ADDR": "127.0.0.1:1002"}},
            1002, "MAYBE_DONT_SERVER_LISTEN_ADDR",
        ),
        (
            "our variable over another's",
            {"environ": {"INTERPOSE_SERVER_PORT": "1003", "MAYBE_DONT_SERVER_LISTEN_ADDR": "127.0.0.1:1002"}},
            1003, "INTERPOSE_SERVER_PORT",
        ),
        (
            "in whichever order they are set",
            {"environ": {"MAYBE_DONT_SERVER_LISTEN_ADDR": "127.0.0.1:1002", "INTERPOSE_SERVER_PORT": "1003"}},
            1003, "INTERPOSE_SERVER_PORT",
        ),
        (
            "a flag over all",
            {"text": PORT, "environ": {"INTERPOSE_SERVER_PORT": "1003"}, "flags": {"server.port": 1004}},
            1004, "command line",
        ),
    ],
)  # fmt: skip
def test_the_last_word(load_with: Load, note: str, given: dict[str, Any], want: int, origin: str) -> None:
    loaded = load_with(**given)
    assert loaded.config.server.port == want, note
    assert loaded.origins["server.port"].endswith(origin), note


@pytest.mark.parametrize(
    ("variable", "text", "key", "want"),
    [
        ("INTERPOSE_INTERCEPT_ENABLED", "false", "intercept.enabled", False),
        ("INTERPOSE_INTERCEPT_ENABLED", "1", "intercept.enabled", True),
        ("INTERPOSE_INTERCEPT_SHELL_TOOL_NAMES", "Bash, zsh,", "intercept.shell_tool_names", ("Bash", "zsh")),
        ("INTERPOSE_SERVER_ALLOWED_HOSTS", "", "server.allowed_hosts", ()),
        ("INTERPOSE_SERVER_SOCKET", "", "server.socket", ""),
        ("INTERPOSE_LEDGER_DEADLINE", "0.5", "ledger.deadline", 0.5),
        ("INTERPOSE_LEDGER_LOG_ARCHIVES", "3", "ledger.log.archives", 3),
        ("INTERPOSE_LEDGER_MAX_BYTES", "", "ledger.max_bytes", None),
        ("INTERPOSE_APPROVALS_WEBHOOK_HEADERS", '{"X-Key": "a,b"}', "approvals.webhook.headers", {"X-Key": "a,b"}),
        ("INTERPOSE_LOGGING_PATH", "/l/${HOSTNAME}", "logging.path", "/l/box"),
        (
            "INTERPOSE_INTERCEPTORS_BUILTIN_COMMAND_SAFETY_GUARD_PROFILE", "strict",
            "interceptors.builtin:command-safety-guard.profile", "strict",
        ),
        ("MAYBE_DONT_INTERCEPT_ENABLED", "false", "intercept.enabled", False),
        ("MAYBE_DONT_INTERCEPT_SHELL_TOOL_NAMES", "Bash,sh", "intercept.shell_tool_names", ("Bash", "sh")),
        ("MAYBE_DONT_SERVER_TRUSTED_PROXIES", "10.0.0.0/8", "server.trusted_proxies", ("10.0.0.0/8",)),
        ("MAYBE_DONT_SERVER_LISTEN_ADDR", "[::1]:8081", "server.host", "::1"),
        ("MAYBE_DONT_SERVER_LISTEN_ADDR", ":8081", "server.host", "0.0.0.0"),
        ("MAYBE_DONT_AUDIT_INCLUDE_ARGUMENT_VALUES", "false", "ledger.include_argument_values", False),
        ("MAYBE_DONT_CLI_REQUEST_VALIDATION_VALIDATE_COMMANDS", "gh", "cli_validation.validate_commands", ("gh",)),
        ("MAYBE_DONT_LOGGER_LEVEL", "WARN", "logging.level", "warning"),
        ("MAYBE_DONT_LOGGER_PATH", "stderr", "logging.path", ""),
        ("MAYBE_DONT_SERVER_TYPE", "sse", "server.port", 8080),
        ("INTERPOSE_LOUD_WIRE", "1", "server.port", 8080),
        ("INTERPOSE_SERVICE_PORT", "443", "server.port", 8080),
        ("INTERPOSE_PORT_8080_TCP_ADDR", "10.0.0.1", "server.port", 8080),
    ],
)  # fmt: skip
def test_variables(load_with: Load, variable: str, text: str, key: str, want: object) -> None:
    assert value_of(load_with(environ={variable: text, "HOSTNAME": "box"}), key) == want


def test_every_key_has_a_variable_of_its_own_and_says_what_it_is() -> None:
    keys = list(tree().all_keys())
    assert len({key.variable for key in keys}) == len(keys) > 60
    assert [key.name for key in keys if not key.description] == []


@pytest.mark.parametrize(
    ("note", "text", "want"),
    [
        ("a wrong type", "server:\n  port: abc", '2: server.port: expected an integer from 0 to 65535, got "abc"'),
        ("out of range", "\nserver: {port: 70000}", "2: server.port: expected an integer from 0 to 65535, got 70000"),
        ("a misspelt key", "server:\n  prot: 1", "2: server.prot: unknown key 'prot', did you mean 'port'?"),
        ("a misspelt group", "sever: {}", "1: sever: unknown key 'sever', did you mean 'server'?"),
        ("nothing like it", "xyzzy: 1", "1: xyzzy: unknown key 'xyzzy', expected one of server, intercept, "),
        ("a value for a group", "server: 8080", "1: server: expected a map of host, port, "),
        ("no value", "server:\n  port:", "2: server.port: expected an integer from 0 to 65535, got null"),
        ("a word of YAML 1.1", "intercept: {enabled: yes}", 'intercept.enabled: expected true or false, got "yes"'),
        ("a choice", "logging: {level: loud}", 'expected one of debug, info, warning, error, got "loud"'),
        ("an item", "server: {allowed_hosts: [a, 3]}", 'allowed_hosts: expected a list of texts, got ["a",3]'),
        ("a relative path", "server: {socket: run/x}", 'expected a path that starts with / or ~/, got "run/x"'),
        ("NUL in a path", 'server: {socket: "/a\\0"}', "expected a path without NUL"),
        ("a number that the ledger does not take", "ledger:\n  deadline: 0", "2: ledger.deadline: expected a number "),
        ("keys that need each other", "server:\n  tls: {cert_file: /c}", "2: server.tls: cert_file and key_file are "),
        ("a variable that is not set", "store: {url: '${NOPE}'}", "store.url: the variable NOPE is not set"),
        ("half a variable", "logging: {path: '/${A'}", "`${` needs the name of a variable and `}`"),
        ("a secret is not repeated", "store: {url: 'mysql://u:hunter2@h'}", "store.url: expected an address"),
        ("an unknown guard", "interceptors: {builtin:comand-safety-guard: {}}", "did you mean 'builtin:command-safety"),
        ("another's interceptor without its package", "interceptors: {mine: {enabled: true}}", "need `plugins`"),
        ("another guard's setting", "interceptors: {builtin:security-audit: {profile: strict}}", "unknown key"),
        ("a lock of the user's", "lock: [server]", "1: lock: only "),
        ("no list of commands", "cli_validation: {validate_commands: []}", "expected a list of texts that is not"),
        ("two of a key", "server: {}\nserver: {}", "2: the key 'server' is there twice"),
        ("no YAML", "server: [", "2: not YAML"),
        ("a list", "- a", "1: expected a map of server, "),
        ("too large", "#" * (MAX_BYTES + 1), "larger than"),
        ("deep", "server: " + "[" * 100_000, "nested deeper"),
        ("a line break behind an address", 'store: {url: "postgresql://h\\n"}', "store.url: expected an address"),
    ],
)  # fmt: skip
def test_mistakes_of_a_file(load_with: Load, note: str, text: str, want: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_with(text)
    (problem,) = caught.value.problems
    assert want in str(problem), note
    assert problem.where.partition(":")[0].endswith("interpose.yaml"), note
    assert "hunter2" not in str(problem)
    assert len(str(problem)) < 1000


@pytest.mark.parametrize(
    ("variable", "text", "want"),
    [
        ("INTERPOSE_SERVER_PROT", "1", "'INTERPOSE_SERVER_PROT', did you mean 'INTERPOSE_SERVER_PORT'?"),
        ("INTERPOSE_SERVER_PORT", "x", 'SERVER_PORT: server.port: expected an integer from 0 to 65535, got "x"'),
        ("INTERPOSE_HOOKS_FAIL_OPEN", "maybe", "hooks.fail_open: expected true or false"),
        ("INTERPOSE_CONFIG_DIR", "conf", "INTERPOSE_CONFIG_DIR: expected an absolute path"),
        ("INTERPOSE_LOCK", "server", "only "),
        ("INTERPOSE_SERVER_PORT", "\udcff", "expected UTF-8 text"),
        ("INTERPOSE_SERVER_HOST", "\udcff", "expected UTF-8 text"),
        ("INTERPOSE_\udcff", "", "unknown variable"),
        ("INTERPOSE_APPROVALS_WEBHOOK_HEADERS", "X-Key=hunter2", "approvals.webhook.headers: expected a map of texts"),
        ("MAYBE_DONT_SERVER_LISTEN_ADDR", "localhost:http", "MAYBE_DONT_SERVER_LISTEN_ADDR: server.port: expected"),
    ],
)  # fmt: skip
def test_mistakes_of_the_environment(load_with: Load, variable: str, text: str, want: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_with(environ={variable: text})
    assert want in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_all_mistakes_are_told_at_once(load_with: Load) -> None:
    text = "server: {port: a, prot: 1}\nledger: {level: x}\n"
    with pytest.raises(ConfigError) as caught:
        load_with(text, {"INTERPOSE_X": ""}, {"server.host": "", "no.such": 1})
    assert len(caught.value.problems) == 6


@pytest.mark.parametrize(
    ("note", "given", "why"),
    [
        ("the file", {"text": "hooks: {fail_open: true}"}, "hooks.fail_open: locked by"),
        ("a variable", {"environ": {"INTERPOSE_LEDGER_LEVEL": "best_effort"}}, "ledger.level: locked by"),
        ("another's variable", {"environ": {"MAYBE_DONT_AUDIT_INCLUDE_ARGUMENT_VALUES": "true"}}, "locked by"),
        ("a flag", {"flags": {"hooks.fail_open": True}}, "hooks.fail_open: locked by"),
        ("the lock", {"text": "lock: []"}, "lock: only"),
    ],
)
def test_what_the_organisation_locked_stays(load_with: Load, note: str, given: dict[str, Any], why: str) -> None:
    organisation = "ledger: {include_argument_values: false}\nlock: [hooks.fail_open, ledger]"
    with pytest.raises(ConfigError, match=why):
        load_with(organisation=organisation, **given)
    same = load_with(
        "ledger: {include_argument_values: false}\nserver: {port: 1}", organisation=organisation, environ={}
    )
    assert same.config.server.port == 1, "what is not locked, and what changes nothing, is fine"


def test_a_lock_on_nothing_is_a_mistake(load_with: Load) -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'ledger\.level'"):
        load_with(organisation="lock: [ledger.levl]")


@pytest.mark.parametrize(("mode", "fine"), [(0o600, True), (0o644, True), (0o664, False), (0o602, False)])
def test_a_file_that_others_can_write_is_not_read(load_with: Load, home: Path, mode: int, fine: bool) -> None:
    load_with(PORT)
    file = home / ".config/interpose/interpose.yaml"
    file.chmod(mode)
    if fine:
        assert load_with().config.server.port == 1001
    else:
        with pytest.raises(ConfigError, match=r"others can write it.*chmod go-w"):
            load_with()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_read(load_with: Load, home: Path) -> None:
    load_with(PORT)
    os.chown(home / ".config/interpose/interpose.yaml", 12345, 12345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        load_with()


def test_a_pipe_makes_nobody_wait(load_with: Load, home: Path) -> None:
    os.mkfifo(home / ".config/interpose/interpose.yaml", 0o600)
    with pytest.raises(ConfigError, match="expected a regular file"):
        load_with()


def test_a_file_that_was_asked_for_must_be_there(home: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(home / "none.yaml", environ={"HOME": str(home)})


def test_a_project_brings_no_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("interpose.yaml", ".config/interpose/interpose.yaml", ".interpose/interpose.yaml"):
        (home / "project" / file).parent.mkdir(parents=True, exist_ok=True)
        (home / "project" / file).write_text("hooks: {fail_open: true}")
    monkeypatch.chdir(home / "project")
    for environ in ({"HOME": str(home)}, {"HOME": ""}, {"HOME": ".", "XDG_CONFIG_HOME": ".config"}):
        assert not load(environ=environ, organisation=home / "none").config.hooks.fail_open


def test_substitution(load_with: Load) -> None:
    text = "server: {port: '${PORT}', allowed_hosts: ['${NAME}:1']}\nlogging: {path: '/x/$${NAME}'}"
    config = load_with(text, {"PORT": "99", "NAME": "box"}).config
    assert (config.server.port, config.server.allowed_hosts, config.logging.path) == (99, ("box:1",), "/x/${NAME}")


def test_a_variables_value_is_not_looked_into(load_with: Load) -> None:
    assert load_with("logging: {path: '/x/${A}'}", {"A": "${B}", "B": "b"}).config.logging.path == "/x/${B}"


ANY = st.recursive(st.text() | st.integers() | st.floats() | st.booleans() | st.none(), st.lists)


@given(st.dictionaries(st.sampled_from([key.name for key in tree().all_keys()]), ANY, max_size=4))
def test_values_of_any_form_are_taken_or_refused(flags: dict[str, Any]) -> None:
    try:
        config = load(environ=NOBODY, flags=flags, organisation=NONE).config
    except ConfigError:
        return
    assert msgspec.convert(msgspec.to_builtins(config), Config) == config


@given(st.text("$${}aA_\n"))
def test_every_text_can_be_written(text: str) -> None:
    assert substituted(text.replace("${", "$${"), {}) == text


@given(st.dictionaries(st.text(max_size=5), st.integers()))
def test_flags_of_no_key_are_refused(flags: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) if flags else nullcontext() as caught:
        load(environ=NOBODY, flags=flags, organisation=NONE)
    assert caught is None or len(caught.value.problems) == len(flags)


def test_the_defaults_of_guards_are_as_they_are_registered() -> None:
    def shape(registry: InterceptorRegistry) -> list[tuple[object, ...]]:
        listed = [entry for point in HookPoint for entry in registry.snapshot().select(point, "exec", "")]
        return [(entry.id, entry.priority, entry.timeout, entry.on_error, entry.mode) for entry in listed]

    plain = add_builtin_interceptors(create_interceptor_registry())
    assert shape(add_builtin_interceptors(create_interceptor_registry(), Config().interceptors)) == shape(plain)


def test_loading_stays_light() -> None:
    """Hooks load the configuration before every call: no YAML without a file, no ledger, no guards."""
    code = "import sys; from interpose.core.config.load import load; load(environ={}); print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "yaml",
        "asyncio",
        "json",
        "logging",
        "difflib",
        "interpose.record.ledger",
        "interpose.record.store",
        "interpose.effects.shell",
    }
    assert not heavy & set(loaded.stdout.split())
