"""What must not matter does not matter.

Wrapping, quoting, nesting and reordering a dangerous command never turns it into an allow. A dangerous text that is
only data never becomes a deny.
"""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.rules.guards.command_safety_guard import CommandSafetyGuard, Judgement

CWD, HOME = "/workspace/project", "/home/dev"
GUARD = CommandSafetyGuard(home=HOME)
SETTINGS = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))

DANGEROUS = [
    "rm -rf /",
    "rm -r -f ~",
    "rm -rf /etc /usr",
    "git reset --hard HEAD~3",
    "git push --force origin main",
    "git clean -fdx",
    "dd if=/dev/zero of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    "chmod -R 777 /",
    "find / -delete",
    "cat /home/dev/.ssh/id_rsa",
    "docker system prune -a --volumes",
    "kubectl delete namespace prod",
    "terraform destroy -auto-approve",
    "npm publish",
    "shutdown -h now",
    "psql -c 'DROP DATABASE shop'",
    "aws s3 rb s3://bucket --force",
]

Wrapper = Callable[[str], str]


def _q(text: str) -> str:
    return shlex.quote(text)


WRAPPERS: dict[str, Wrapper] = {
    "sequence": lambda c: f"echo a; {c}; echo b",
    "and": lambda c: f"true && {c}",
    "or": lambda c: f"false || {c}",
    "background": lambda c: f"{c} &",
    "newline": lambda c: f"echo a\n{c}\n",
    "subshell": lambda c: f"( {c} )",
    "group": lambda c: f"{{ {c}; }}",
    "negated": lambda c: f"! {c}",
    "if": lambda c: f"if true; then {c}; fi",
    "else": lambda c: f"if false; then :; else {c}; fi",
    "condition": lambda c: f"if {c}; then :; fi",
    "while": lambda c: f"while :; do {c}; break; done",
    "until": lambda c: f"until false; do {c}; break; done",
    "for": lambda c: f"for i in 1 2; do {c}; done",
    "arithmetic for": lambda c: f"for ((i=0;i<2;i++)); do {c}; done",
    "case": lambda c: f"case x in x) {c};; esac",
    "function": lambda c: f"f() {{ {c}; }}; f",
    "function keyword": lambda c: f"function f {{ {c}; }}; f",
    "substitution": lambda c: f"echo $( {c} )",
    "quoted substitution": lambda c: f'echo "x $( {c} ) y"',
    "backticks": lambda c: f"echo `{c}`" if "`" not in c and "\\" not in c else f"echo $({c})",
    "assignment": lambda c: f"x=$({c})",
    "process substitution": lambda c: f"cat <({c})",
    "output substitution": lambda c: f"echo a > >({c})",
    "default value": lambda c: f"echo ${{x:-$({c})}}",
    "array": lambda c: f"a=( $({c}) )",
    "arithmetic": lambda c: f"echo $(( $({c}) + 1 ))",
    "test": lambda c: f"[[ -n $({c}) ]]",
    "here-document": lambda c: f"cat <<EOF\n$({c})\nEOF",
    "bash -c": lambda c: f"bash -c {_q(c)}",
    "sh -lc": lambda c: f"sh -lc {_q(c)}",
    "zsh -c": lambda c: f"/usr/bin/zsh -c {_q(c)}",
    "eval": lambda c: f"eval {_q(c)}",
    "stdin": lambda c: f"echo {_q(c)} | bash",
    "here-string": lambda c: f"bash <<< {_q(c)}",
    "code here-document": lambda c: f"bash <<'EOF'\n{c}\nEOF",
    "script": lambda c: f"echo {_q(c)} > x.sh; bash x.sh",
    "decoded": lambda c: f"echo {base64.b64encode(c.encode()).decode()} | base64 -d | sh",
    "env": lambda c: f"env A=1 {c}",
    "sudo": lambda c: f"sudo {c}",
    "sudo user": lambda c: f"sudo -u root -- {c}",
    "nohup": lambda c: f"nohup {c}",
    "timeout": lambda c: f"timeout -s KILL 10 {c}",
    "nice": lambda c: f"nice -n 5 {c}",
    "command": lambda c: f"command {c}",
    "exec": lambda c: f"exec {c}",
    "time": lambda c: f"time {c}",
    "xargs": lambda c: f"echo x | xargs -I% {c}",
    "find": lambda c: f"find . -maxdepth 0 -exec {c} \\;",
    "trap": lambda c: f"trap {_q(c)} EXIT",
    "variable": lambda c: f"X={_q(c)}; eval $X",
    "python": lambda c: f"python3 -c {_q(f'import os; os.system({c!r})')}",
    "redirected": lambda c: f"{c} > out.txt 2>&1",
    "prefix assignment": lambda c: f"FOO=bar {c}",
    "comment after": lambda c: f"{c} # harmless",
    "ssh": lambda c: f"ssh host {_q(c)}",
    "watch": lambda c: f"watch -n 5 {_q(c)}",
    "piped": lambda c: f"{c} | cat",
}


def judge(command: str) -> Judgement:
    return GUARD.judge(command, CWD, HOME, CWD)


@pytest.mark.parametrize("command", DANGEROUS)
def test_each_is_caught_by_itself(command: str) -> None:
    assert judge(command).decision != "allow"


@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
@pytest.mark.parametrize("command", DANGEROUS)
def test_a_wrapper_never_allows(command: str, wrapper: str) -> None:
    wrapped = WRAPPERS[wrapper](command)
    assert judge(wrapped).decision != "allow", wrapped


_PREFIX = ("env", "sudo", "nohup", "timeout", "nice")
_ANY_CODE = ("bash -c", "sh -lc", "eval", "here-string", "stdin", "code here-document", "decoded", "subshell", "group",
             "function", "substitution", "if", "for", "case", "sequence", "newline", "script", "trap")  # fmt: skip


@SETTINGS
@given(
    command=st.sampled_from(DANGEROUS),
    prefixes=st.lists(st.sampled_from(_PREFIX), max_size=3),
    builtin=st.sampled_from([(), ("command",), ("exec",)]),
    outer=st.lists(st.sampled_from(_ANY_CODE), max_size=4),
)
def test_nested_wrappers_never_allow(
    command: str, prefixes: list[str], builtin: tuple[str, ...], outer: list[str]
) -> None:
    for name in (*prefixes, *builtin, *outer):
        command = WRAPPERS[name](command)
    assert judge(command).decision != "allow", command


def _respell(word: str, how: int) -> str:
    """The same word for a shell, spelled otherwise."""
    if " " in word:
        return _q(word)
    if set(word) & set("~$*?[]{}"):
        return word
    match how:
        case 0:
            return f"'{word}'"
        case 1:
            return f'"{word}"'
        case 2:
            return "\\".join(["", *word])
        case 3:
            return f"{word[:1]}''{word[1:]}"
        case 4:
            return "$'" + "".join(f"\\x{ord(char):02x}" for char in word) + "'"
        case 5:
            return "$'" + "".join(f"\\{ord(char):03o}" for char in word) + "'"
        case 6:
            return f'{word[:1]}"{word[1:]}"'
        case 7:
            return f"{word[:1]}\\\n{word[1:]}"
        case _:
            return word


@SETTINGS
@given(command=st.sampled_from(DANGEROUS), data=st.data())
def test_quoting_never_allows(command: str, data: st.DataObject) -> None:
    words = [_respell(word, data.draw(st.integers(0, 8))) for word in shlex.split(command)]
    gaps = [data.draw(st.sampled_from([" ", "  ", "\t", " \\\n"])) for _ in words]
    respelled = "".join(word + gap for word, gap in zip(words, gaps, strict=True)).rstrip()
    assert judge(respelled).decision != "allow", respelled


HARMLESS = ["ls -la", "git status", "echo hi", "cat README.md", "npm test", "cd src", "mkdir -p out", "X=1", "true"]


@SETTINGS
@given(
    command=st.sampled_from(DANGEROUS),
    before=st.lists(st.sampled_from(HARMLESS), max_size=4),
    after=st.lists(st.sampled_from(HARMLESS), max_size=4),
    joint=st.sampled_from(["; ", " && ", "\n", " & "]),
)
def test_company_never_allows(command: str, before: list[str], after: list[str], joint: str) -> None:
    text = joint.join([*before, command, *after])
    assert judge(text).decision != "allow", text


@SETTINGS
@given(first=st.sampled_from(DANGEROUS), second=st.sampled_from(DANGEROUS), joint=st.sampled_from(["; ", " && ", "\n"]))
def test_order_does_not_matter(first: str, second: str, joint: str) -> None:
    weight = {"allow": 0, "ask": 1, "deny": 2}
    worst = max(weight[judge(first).decision], weight[judge(second).decision])
    for text in (first + joint + second, second + joint + first):
        assert weight[judge(text).decision] >= min(worst, 1), text


DATA: dict[str, Wrapper] = {
    "echo": lambda c: f"echo {_q(c)}",
    "printf": lambda c: f"printf '%s\\n' {_q(c)}",
    "commit message": lambda c: f"git commit -m {_q(c)}",
    "commit here-document": lambda c: f"git commit -F - <<'EOF'\nfix: {c}\nEOF",
    "grep": lambda c: f"grep -rn {_q(c)} src",
    "rg": lambda c: f"rg -F {_q(c)}",
    "file": lambda c: f"cat > notes.md <<'EOF'\n{c}\nEOF",
    "tee": lambda c: f"tee docs/x.md <<'EOF'\n{c}\nEOF",
    "written": lambda c: f"echo {_q(c)} > docs/danger.txt",
    "comment": lambda c: f"ls # {c}",
    "assigned": lambda c: f"X={_q(c)}",
    "python text": lambda c: f"python3 -c {_q(f'print({c!r})')}",
    "pull request": lambda c: f"gh pr create --title x --body {_q(c)}",
    "test filter": lambda c: f"pytest -k {_q(c)}",
    "jq": lambda c: f"jq -n --arg c {_q(c)} '{{c:$c}}'",
    "piped": lambda c: f"echo {_q(c)} | wc -c",
    "compared": lambda c: f'[ "$x" = {_q(c)} ]',
    "case pattern": lambda c: f"case $x in {_q(c)}) echo yes;; esac",
    "here-string": lambda c: f"cat <<< {_q(c)}",
}


@pytest.mark.parametrize("carrier", sorted(DATA))
@pytest.mark.parametrize("command", DANGEROUS)
def test_data_is_never_denied(command: str, carrier: str) -> None:
    text = DATA[carrier](command)
    assert judge(text).decision != "deny", text


@SETTINGS
@given(
    words=st.lists(
        st.sampled_from([*DANGEROUS, "sudo", "eval", "$(x)", "`x`", ";", "| sh", "'", '"']), min_size=1, max_size=5
    ),
    carrier=st.sampled_from(["echo", "printf", "grep", "commit message", "written", "here-string"]),
)
def test_any_quoted_text_is_data(words: list[str], carrier: str) -> None:
    text = DATA[carrier](" ".join(words))
    assert judge(text).decision != "deny", text
