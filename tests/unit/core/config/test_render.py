"""The forms of the configuration that others read: the schema, the file to begin with, the docs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from interpose.core.config.keys import tree
from interpose.core.config.load import load
from interpose.core.config.render import all_values, json_schema, nested, table, template
from interpose.core.config.settings import Config

ROOT = Path(__file__).parents[4]


def loaded(text: str, tmp_path: Path, **environ: str) -> Config:
    file = tmp_path / "interpose.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    return load(file, environ={"HOME": "/h"} | environ, organisation=tmp_path / "none").config


def test_the_template_says_nothing(tmp_path: Path) -> None:
    assert loaded(template(), tmp_path) == load(environ={"HOME": "/h"}, organisation=tmp_path / "none").config


def test_the_template_without_its_marks_says_every_default(tmp_path: Path) -> None:
    text = re.sub(r"^#", "", template().partition("\n\n")[2], flags=re.MULTILINE)
    file = tmp_path / "interpose.yaml"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    found = load(file, environ={"HOME": "/h"}, organisation=tmp_path / "none")
    assert found.config == load(environ={"HOME": "/h"}, organisation=tmp_path / "none").config
    assert set(found.origins) == {key.name for key in tree().all_keys()} - {"lock"}


@pytest.mark.parametrize(
    ("note", "data", "valid"),
    [
        ("nothing", {}, True),
        ("all defaults", {name: value for name, value in nested(Config()).items() if name != "lock"}, True),
        ("a port", {"server": {"port": 1}}, True),
        ("a port from a variable", {"server": {"port": "${PORT}"}}, True),
        ("no port", {"server": {"port": "abc"}}, False),
        ("no port there is", {"server": {"port": 70000}}, False),
        ("an unknown key", {"server": {"prot": 1}}, False),
        ("a level", {"ledger": {"level": "durable", "log": {"path": "/x"}}}, True),
        ("no level", {"ledger": {"level": "sometimes"}}, False),
        ("a guard", {"interceptors": {"builtin:command-safety-guard": {"profile": "strict", "timeout": 1}}}, True),
        ("no setting of a guard", {"interceptors": {"builtin:command-safety-guard": {"profil": "strict"}}}, False),
        ("a database", {"store": {"url": "postgresql://h/db"}}, True),
        ("no database", {"store": {"url": "mysql://h/db"}}, False),
    ],
)
def test_the_schema_takes_what_we_take(note: str, data: dict[str, Any], valid: bool, tmp_path: Path) -> None:
    schema = json_schema()
    jsonschema_rs.meta.validate(schema)
    assert jsonschema_rs.is_valid(schema, data) == valid, note
    text = msgspec.json.encode(data).decode()
    try:
        loaded(text, tmp_path, PORT="1")
        taken = True
    except ValueError:
        taken = False
    assert taken == valid, note


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    config = loaded(
        "store: {url: 'postgresql://u:hunter2@h'}\n"
        "approvals: {webhook: {url: 'https://h/hunter2', headers: {X-Key: hunter2}}}\n"
        "telemetry: {traces: {endpoint: 'https://hunter2@h'}, metrics: {endpoint: 'https://hunter2@h'}}\n",
        tmp_path,
    )
    shown = {key.name: value for key, value in all_values(config)}
    assert shown["store.url"] == "***"
    assert shown["approvals.webhook.headers"] == {"X-Key": "***"}
    assert "hunter2" not in str(shown)
    assert "hunter2" not in str(nested(config))


def test_the_docs_have_every_key() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert table() in page, "docs/configuration.md: put the output of interpose.core.config.render.table() there"


def test_examples_of_the_docs_load(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert examples
    environ = {"HOME": "/h", "DATABASE_PASSWORD": "x", "HOSTNAME": "box"}
    file, none = tmp_path / "example.yaml", tmp_path / "none"
    for text in examples:
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        if text.startswith("# /etc/interpose/interpose.yaml\n"):
            assert load(environ=environ, organisation=file).origins
        else:
            assert load(file, environ=environ, organisation=none).origins
