"""What the most expensive calls cost: families of hostile text, each as long as a command may be.

One row is one call through the engine as it is shipped: its size, its processor time, how many short commands that is,
and the verdict with its rule. Results of tools are searched for secrets; they are rows of their own.

python -m bench.worst_case [PART OF A FAMILY'S NAME ...]
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from interpose import Context, Engine, ToolCall, open_engine
from interpose.secrets import Redactor

COMMAND = 131_000
"""Characters: a little less than the longest command that is looked at."""
RESULT = 3_900_000
"""Characters of a tool's result."""
_SHORT = "ls -la src{n}"


def _times(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + piece * ((size - len(before) - len(after)) // len(piece)) + after


def _numbered(piece: str, before: str = "", after: str = "") -> Callable[[int], str]:
    def text(size: int) -> str:
        parts, length, number = [before], len(before) + len(after), 0
        while length < size:
            parts.append(piece.replace("@", str(number)))
            length += len(parts[-1])
            number += 1
        return "".join((*parts[: max(1, len(parts) - 1)], after))

    return text


def _quoted(program: str, piece: str) -> Callable[[int], str]:
    return _times(piece, f"{program} '", "'")


COMMANDS: dict[str, Callable[[int], str]] = {
    "pipes of slashes": _times("/|", "", "/"),
    "pipes of commands": _times("a|", "", "a"),
    "pipes of cat": _times("cat|", "", "cat"),
    "pipes of tee": _numbered("tee f@|", "", "cat"),
    "pipes of xargs": _times("xargs rm|", "", "a"),
    "commands": _times("ls;"),
    "commands with and": _times("a&&", "", "a"),
    "commands with or": _times("a||", "", "a"),
    "background": _times("a&"),
    "slashes": _times("/;"),
    "rm of many": _numbered("rm -rf d@/../x;"),
    "cd": _numbered("cd d@;"),
    "cd up": _times("cd ..;"),
    "substitutions side by side": _times("$(a)", "echo "),
    "substitutions nested": lambda _: "echo " + "$(echo " * 30 + "a" + ")" * 30,
    "nests side by side": _times("$(echo $(echo $(echo $(echo a))))", "echo "),
    "backquotes": _times("`a`", "echo "),
    "process substitutions": _times("<(a) ", "cat "),
    "output processes": _times(">(a) ", "tee "),
    "brace ranges": _times("{1..9}", "echo "),
    "brace ranges as words": _times("{1..9} ", "echo "),
    "brace ranges to delete": _times("{1..9} ", "rm -rf "),
    "brace lists": _times("{a,b}", "echo "),
    "brace lists as words": _times("/{a,b} ", "rm "),
    "braces open": _times("{", "echo "),
    "braces nested": lambda size: "echo " + "{a," * (size // 4) + "}" * (size // 4),
    "evals": _times("eval a;"),
    "evals of text": _times("eval 'rm a';"),
    "shells": _times("sh -c 'rm a';"),
    "shells one in another": lambda _: _wrapped(12),
    "words": _times("a ", "echo "),
    "words to delete": _times("a ", "rm "),
    "paths to delete": _numbered("/tmp/a@ ", "rm "),
    "one word": _times("a", "echo "),
    "one path": _times("a/", "rm -rf /"),
    "path with ..": _times("../", "rm -rf "),
    "path with a/..": _times("a/../", "rm -rf /"),
    "path with .": _times("./", "rm -rf /"),
    "path with slashes": _times("/", "rm -rf /"),
    "path with ~": _times("~/", "rm -rf "),
    "path with globs": _times("*/", "rm -rf /"),
    "path with %": _times("%2e/", "rm -rf /"),
    "globs": _times("* ", "rm -rf "),
    "globs with classes": _times("[a-z]* ", "rm -rf "),
    "glob of stars": _times("*", "rm -rf /"),
    "open classes": _times("[", "rm "),
    "extended globs": _times("@(a|b)", "rm "),
    "redirections": _times(">b ", "a "),
    "redirections of many": _numbered(">b@ ", "a "),
    "redirections of input": _times("<b ", "cat "),
    "descriptors": _numbered("@>&1 ", "a "),
    "here-documents": lambda size: "cat " + "<<A " * (size // 8) + "\n" + "A\n" * (size // 8),
    "here-document": _times("line of text\n", "cat <<A\n", "A\n"),
    "here-document of dollars": _times("$a", "cat <<A\n", "\nA\n"),
    "here-document to bash": _times("rm a\n", "bash <<A\n", "A\n"),
    "here-strings": _times("<<<a ", "cat "),
    "single quotes": _times("''", "echo "),
    "double quotes": _times('""', "echo "),
    "escapes": _times("\\a", "echo "),
    "dollars": _times("$", "echo "),
    "parameters": _times("$a", "echo "),
    "parameters as words": _times("$a ", "rm "),
    "defaults": _times("${a:-b}", "echo "),
    "replacements": _times("${a//b/c}", "a=" + "b" * 1000 + ";echo "),
    "replacements with patterns": _times("${a//b*/c}", "a=" + "b" * 1000 + ";echo "),
    "prefixes": _times("${a##*b}", "a=" + "b" * 1000 + ";echo "),
    "slices": _times("${a:1:2}", "a=bcdef;echo "),
    "indirect": _times("${!a};", "a=b;"),
    "values that double": _times("a=$a$a;", "a=xxxxxxxxxx;"),
    "values that grow": _times("a=$a/b;", "a=x;"),
    "values that grow and are used": _times("a=$a/b;rm $a;", "a=x;"),
    "arithmetic": _times("$((1+1))", "echo "),
    "arithmetic long": _times("+1", "echo $((1", "))"),
    "arithmetic nested": _times("(", "echo $((1+", "))"),
    "arithmetic commands": _times("((a=a+1));"),
    "assignments": _times("a=b;"),
    "assignments of many": _numbered("a@=b;"),
    "assignments before a command": _numbered("a@=b ", "", "env"),
    "assignments and branches": _numbered("a@=b;if x;then y;fi;"),
    "assignments and subshells": _numbered("a@=b;(c);"),
    "exports": _numbered("export a@=b;"),
    "arrays": _times("x ", "a=(", ")"),
    "arrays used": _times("${a[@]} ", "a=(x y z);rm "),
    "array elements": _numbered("a[@]=x;"),
    "functions": _numbered("f@() { a; };"),
    "functions called": _numbered("f@() { a; };f@;"),
    "one function called": _times("f;", "f() { rm a; };"),
    "functions in a chain": _numbered("f@() { f; };", "", "f0"),
    "recursion": lambda size: "f() { " + "f;" * (size // 2) + " }; f",
    "aliases": _numbered("alias a@=b;"),
    "aliases called": _numbered("alias a@='rm x'\na@\n"),
    "case arms": _times("a) b;;", "case x in ", "esac"),
    "case arms of globs": _times("*a*) b;;", "case $x in ", "esac"),
    "case patterns": _times("a|", "case x in ", "a) b;; esac"),
    "ifs": _times("if a;then b;fi;"),
    "elifs": _times("elif a;then b;", "if a;then b;", "fi"),
    "whiles": _times("while a;do b;done;"),
    "for words": _times("a ", "for i in ", ";do rm $i;done"),
    "for loops": _times("for i in a b c;do rm $i;done;"),
    "for loops nested": lambda _: "for i in a b c d;do " * 6 + "rm $i;" + "done;" * 6,
    "selects": _times("select i in a;do b;done;"),
    "tests": _times("[[ a == b ]];"),
    "test long": _times("a == b && ", "[[ ", "c ]]"),
    "test regex": _times("(a)|", "[[ x =~ ", "b ]]"),
    "groups": _times("{ a; };"),
    "subshells": _times("(a);"),
    "coprocesses": _times("coproc a;\n"),
    "traps": _times("trap 'rm a' EXIT;"),
    "sources": _numbered("source f@;"),
    "comments": _times("#a\n"),
    "lines": _times("\n"),
    "continued lines": _times("\\\n", "echo "),
    "faults": _times(")\n"),
    "open parentheses": _times("("),
    "open quotes": _times("\"'"),
    "text not ASCII": _times("\u00e4\u00f6 ", "echo "),
    "lookalikes": _times("\u0430 ", "rm "),
    "links": _numbered("ln -s a@ b@;"),
    "writes and runs": _numbered("echo a>f@;sh f@;"),
    "writes and reads": _numbered("echo a>f@;cat f@;"),
    "downloads": _numbered("curl http://a/@;"),
    "downloads run": _times("curl http://a|sh;"),
    "urls": _numbered("http://a/@ ", "curl "),
    "finds": _times("-o -name a ", "find . "),
    "find with exec": _times("-exec rm {} \\; ", "find . "),
    "xargs of xargs": _times("xargs ", "", "rm"),
    "sudos": _times("sudo "),
    "envs": _numbered("a@=b ", "env ", "rm a"),
    "times": _times("time "),
    "nots": _times("! "),
    "git options": _times("-c a=b ", "git ", "push"),
    "git refs": _numbered("a@:b@ ", "git push origin "),
    "docker volumes": _numbered("-v /a@:/b@ ", "docker run ", "x"),
    "ssh options": _times("-o a=b ", "ssh ", "host rm a"),
    "tar options": _times("-C a ", "tar xf a "),
    "cp": _numbered("a@ ", "cp ", "/b"),
    "dd": _numbered("of=a@ ", "dd "),
    "chmod": _numbered("a@ ", "chmod 777 "),
    "echo decoded": _times("YQ", "echo ", "|base64 -d|sh"),
    "printf": _times("%s", "printf '", "' a"),
    "printf escapes": _times("\\x41", "printf '", "'|sh"),
    "python calls": _quoted("python3 -c", 'f("a")\n'),
    "python deletes": _quoted("python3 -c", 'os.remove("a")\n'),
    "python names": _numbered("a@=1\n", "python3 -c '", "'"),
    "python chain": _quoted("python3 -c", "a."),
    "python sum": _quoted("python3 -c", '"a"+'),
    "python values": _times('a=a+"/b"\n', "python3 -c 'a=\"x\"\n", "os.remove(a)'"),
    "python values that double": _times("a=a+a\n", "python3 -c 'a=\"x\"\n", "os.remove(a)'"),
    "python parentheses": _quoted("python3 -c", "("),
    "python list": _quoted("python3 -c", "[a],"),
    "python functions": _numbered("def f@(): f()\n", "python3 -c '", "'"),
    "python classes": _numbered("class C@: a=1\n", "python3 -c '", "'"),
    "python imports": _numbered("import m@\n", "python3 -c '", "'"),
    "python faults": _quoted("python3 -c", ")\n"),
    "python exec": _quoted("python3 -c", 'exec("a")\n'),
    "python system": _quoted("python3 -c", 'os.system("rm a")\n'),
    "python subprocess": _quoted("python3 -c", 'subprocess.run(["rm","a"])\n'),
    "python document": _times('os.remove("a")\n', "python3 <<A\n", "A\n"),
    "javascript calls": _quoted("node -e", 'f("a");'),
    "javascript deletes": _quoted("node -e", 'fs.unlinkSync("a");'),
    "javascript names": _numbered("let a@=1;", "node -e '", "'"),
    "javascript sum": _quoted("node -e", '"a"+'),
    "javascript values": _times('a=a+"/b";', "node -e 'let a=\"x\";", "fs.unlinkSync(a)'"),
    "javascript values that double": _times("a=a+a;", "node -e 'let a=\"x\";", "fs.unlinkSync(a)'"),
    "javascript parentheses": _quoted("node -e", "("),
    "javascript chain": _quoted("node -e", "a."),
    "javascript templates": _quoted("node -e", "`${a}`;"),
    "javascript patterns": _quoted("node -e", "/a/;"),
    "javascript exec": _quoted("node -e", 'execSync("rm a");'),
    "sql statements": _quoted("psql -c", "select 1;"),
    "sql deletes": _quoted("psql -c", "delete from a;"),
    "sql parentheses": _quoted("psql -c", "("),
    "sql dollars": _quoted("psql -c", "$a$"),
    "sql comments": _quoted("psql -c", "/*"),
    "perl": _quoted("perl -e", 'unlink "a";'),
    "perl system": _quoted("perl -e", 'system("rm a");'),
    "ruby": _quoted("ruby -e", 'File.delete("a");'),
    "php": _quoted("php -r", 'unlink("a");'),
    "awk": _quoted("awk", '{print "a"}'),
    "awk system": _quoted("awk", 'BEGIN{system("rm a")}'),
    "sed": _quoted("sed", "s/a/b/;"),
    "sed exec": _quoted("sed", "s/a/b/e;"),
    "jq": _quoted("jq", ".a|"),
    "powershell": _quoted("pwsh -c", "Remove-Item a;"),
    "powershell pipes": _quoted("pwsh -c", "a|"),
    "powershell parentheses": _quoted("pwsh -c", "("),
    "powershell variables": _quoted("pwsh -c", "$a=$a+$a;"),
    "cmd": _quoted("cmd /c", "del a&"),
    "cmd variables": _quoted("cmd /c", "%a%"),
    "passwords": _times("password="),
}  # fmt: skip
"""Text as it stands in the `command` of an `exec` call."""

TEXTS: dict[str, Callable[[int], str]] = {
    "clean text": _times("The quick brown fox jumps over the lazy dog.\n"),
    "password=": _times("password="),
    "password= in lines": _times("password=\n"),
    "password=word": _times("password=hunter"),
    "secrets": _numbered('API_KEY="k3Jd9fLq0Zx7@Vb2"\n'),
    "secrets of a shape": _numbered("ghp_abcdefghij0123456789ABCDEFGHIJ@ \n"),
    "tokens": _times("token:"),
    "flags": _times(" --token"),
    "urls": _times("://a:"),
    "urls with passwords": _numbered("https://u:p4ssw0rd@@h/ "),
    "cookies": _times("Cookie: a="),
    "authorizations": _times("Authorization: "),
    "base64": _times("cGFzc3dvcmQ9"),
    "base64 lines": _times("cGFzc3dvcmQ9cGFzc3dvcmQ9cGFzc3dvcmQ9cGFzc3dvcmQ9\n"),
    "base64 words": _times("cGFzc3dvcmQ9cGFzc3dvcmQ9 "),
    "percent": _times("%61a"),
    "percent words": _times("a%61abc "),
    "keys begin": _times("-----BEGIN PRIVATE KEY-----\n"),
    "keys": _times("-----BEGIN PRIVATE KEY-----\n" + "A" * 64 + "\n-----END PRIVATE KEY-----\n"),
    "kubernetes": _times("kind: Secret\ndata:\n  a: b\n"),
    "kubernetes documents": _times("---\nkind: Secret\ndata:\n  a: aaaaaaaa\n"),
    "kubernetes data": _times("data:\n", "kind: Secret\n"),
    "json": _times('{"password":'),
    "letters": _times("a"),
    "spaces": _times(" "),
    "quotes": _times('"'),
    "backslashes": _times("\\"),
    "continued": _times("\\\n"),
    "names": _times("secret_key."),
    "pairs": _times('"password", '),
    "netrc": _times("machine a login b password "),
    "zeros": _times("\0"),
}
"""Text as a tool gives it back."""


def _wrapped(levels: int) -> str:
    text = "rm a"
    for _ in range(levels):
        text = "sh -c '" + text.replace("'", "'\\''") + "'"
        if len(text) > COMMAND:
            break
    return text[:COMMAND]


def command_seconds(engine: Engine, command: str) -> tuple[float, str]:
    """How long one command takes, and what is said about it."""
    call = ToolCall("exec", {"command": command}, "bench", Context(cwd="/workspace/project"))
    start = time.thread_time()
    verdict = engine.decide(call)
    spent = time.thread_time() - start
    return spent, f"{verdict.outcome} {verdict.decided_by.rule if verdict.decided_by else ''}"


def _text_seconds(redactor: Redactor, text: str) -> tuple[float, str]:
    start = time.thread_time()
    found = redactor.redact(text).found
    return time.thread_time() - start, f"{len(found)} found" + (f", {found[0].kind}" if found else "")


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home, XDG_CONFIG_HOME=f"{home}/c", XDG_STATE_HOME=f"{home}/s")
        Path(home, "c").mkdir()
        engine, redactor = open_engine(), Redactor()
        redactor.redact("password=a")
        command_seconds(engine, "ls")
        short = statistics.median(command_seconds(engine, _SHORT.replace("{n}", str(n)))[0] for n in range(200))
        print(f"a short command: {short * 1e6:.0f} us")
        print(f"{'family':34} {'size':>9} {'ms':>9} {'x short':>9}  verdict")
        for name, make in COMMANDS.items():
            if not wanted or any(part in name for part in wanted):
                command = make(COMMAND)
                _line(name, short, command, *command_seconds(engine, command))
        for name, make in TEXTS.items():
            if not wanted or any(part in name for part in wanted):
                result = make(RESULT)
                _line(f"result: {name}", short, result, *_text_seconds(redactor, result))


def _line(name: str, short: float, text: str, spent: float, said: str) -> None:
    print(f"{name:34} {len(text):9} {spent * 1000:9.1f} {spent / short:9.0f}  {said}", flush=True)


if __name__ == "__main__":
    main()
