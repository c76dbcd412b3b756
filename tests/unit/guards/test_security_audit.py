from __future__ import annotations

import pytest

from interpose.guards.security_audit import SecurityAudit
from interpose.types import Allow, Confirm, Context, Deny, ToolCall, freeze

CWD, HOME = "/home/dev/project", "/home/dev"


def _ask(tool: str, **arguments: object) -> Allow | Confirm | Deny:
    return SecurityAudit(home=HOME).intercept(ToolCall(tool, freeze(arguments), context=Context(cwd=CWD)))


@pytest.mark.parametrize(
    "path",
    ["~/.ssh/id_rsa", "/home/dev/.SSH/id_rsa", "../.aws/credentials", ".env", "/etc/shadow", "/proc/self/environ"],
)
def test_secrets_are_a_question(path: str) -> None:
    assert isinstance(_ask("read", path=path), Confirm)


@pytest.mark.parametrize(
    "path", ["README.md", ".env.example", "/etc/hosts", "/tmp/out.log", "tests/fixtures/id_rsa.pub"]
)
def test_ordinary_files_are_read(path: str) -> None:
    assert _ask("read", path=path) == Allow()


@pytest.mark.parametrize(
    "path", ["../.bashrc", ".git/hooks/pre-commit", "/etc/sudoers.d/x", "~/.claude/settings.json", "/usr/bin/ls"]
)
@pytest.mark.parametrize("tool", ["write", "edit"])
def test_planting_and_tampering_are_questions(tool: str, path: str) -> None:
    assert isinstance(_ask(tool, path=path), Confirm | Deny)


def test_disks_are_not_written() -> None:
    assert isinstance(_ask("write", path="/dev/sda"), Deny)


def test_every_file_of_a_patch_is_judged() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n+x\n*** Add File: .git/hooks/post-checkout\n+x\n*** End Patch"
    assert isinstance(_ask("apply_patch", input=patch), Confirm)


def test_a_call_without_a_path_is_refused() -> None:
    assert isinstance(_ask("read"), Deny)


def test_other_tools_are_none_of_its_business() -> None:
    assert _ask("web_search", query="x") == Allow()
