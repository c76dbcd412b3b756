"""Commands that run other commands or code."""

from __future__ import annotations

import base64

from tests.differential.generator import Generator, command, quoted

command("sh -c")(lambda g, d: f"sh -c {quoted(g.portable(d))}")
command("bash -c")(lambda g, d: f"bash -c {quoted(g.line(d))}")
command("bash -c with arguments")(lambda g, d: f'bash -c \'{g.stub()} "$0" "$2"\' zero one {g.plain()}')
command("nested shells")(lambda g, d: f"bash -c {quoted('sh -c ' + quoted(g.portable(d)))}")
command("eval")(lambda g, d: f"eval {quoted(g.line(d))}")
command("eval of words")(lambda g, d: f"eval {g.stub()} '\"a b\"' {g.plain()}")
command("eval that assigns")(lambda g, d: f"eval 'ev={g.stub()}'; $ev {g.plain()}")
command("source")(lambda g, d: f"echo {quoted(g.line(d))} > src.sh; source ./src.sh")
command("script written and run")(lambda g, d: f"cat > run.sh <<'EOF'\n{g.line(d)}\nEOF\nbash run.sh")
command("script in parts")(lambda g, d: f"echo {g.stub()} p1 > parts.sh; echo {g.stub()} p2 >> parts.sh; . ./parts.sh")
command("pipe into a shell")(lambda g, d: f"echo {quoted(g.line(d))} | bash")
command("printf into a shell")(lambda g, d: f"printf '%s\\n' {quoted(g.portable(d))} | sh")
command("tee and run")(lambda g, d: f"echo {quoted(g.portable(d))} | tee teed.sh >/dev/null; sh teed.sh")
command("exec in subshell")(lambda g, d: f"( exec {g.stub()} {g.plain()} )")
command("exec of a shell")(lambda g, d: f"( exec bash -c {quoted(g.line(d))} )")
command("command")(lambda g, d: f"command {g.simple()}")
command("builtin")(lambda g, d: f"builtin eval {quoted(g.line(d))}")
command("env")(lambda g, d: f"env X=1 {g.simple()}")
command("env -S")(lambda g, d: f"env -S '{g.stub()} {g.plain()}'")
command("nohup")(lambda g, d: f"nohup {g.simple()} 2>/dev/null >/dev/null")
command("timeout")(lambda g, d: f"timeout -k 1 5 {g.simple()}")
command("nice")(lambda g, d: f"nice -n 1 {g.simple()}")
command("sudo")(lambda g, d: f"sudo {g.simple()}")
command("doas")(lambda g, d: f"doas sh -c {quoted(g.portable(d))}")
command("su -c")(lambda g, d: f"su -c {quoted(g.portable(d))}")
command("ssh")(lambda g, d: f"ssh host {quoted(g.portable(d))}")
command("busybox")(lambda g, d: f"busybox sh -c {quoted(g.portable(d))}")
command("xargs")(lambda g, d: f"echo {g.plain()} {g.plain()} | xargs {g.stub()} first")
command("xargs per line")(lambda g, d: f"printf '%s\\n' {g.plain()} | xargs -I{{}} {g.stub()} _{{}}_")
command("xargs sh -c")(lambda g, d: f"echo z | xargs sh -c {quoted(g.portable(d))}")
command("find -exec")(lambda g, d: f"> found; find . -name found -exec {g.stub()} {{}} \\;")
command("find -exec sh")(lambda g, d: f"> found; find . -name found -exec sh -c {quoted(g.portable(d))} \\;")
command("test -v")(lambda g, d: f"test -v 'arr[$({g.stub()} tv >/dev/null)]'")
command("[[ -v ]]")(lambda g, d: f"[[ -v 'arr[$({g.stub()} tv >/dev/null)]' ]]")
command("printf -v")(lambda g, d: f"printf -v 'pv[$({g.stub()} pv >/dev/null; echo 0)]' x")
command("read subscript")(lambda g, d: f"read 'rd[$({g.stub()} rd >/dev/null; echo 0)]' <<< 1")
command("declare subscript")(lambda g, d: f"declare 'dc[$({g.stub()} dc >/dev/null; echo 0)]=1'")
command("unset subscript")(lambda g, d: f"us=(1 2); unset 'us[$({g.stub()} us >/dev/null; echo 0)]'")
command("arithmetic of a value")(lambda g, d: f"av='arr[$({g.stub()} av >/dev/null; echo 0)]'; (( av )); : $(( av ))")
command("prompt expansion")(lambda g, d: f"pr='$({g.stub()} pr)'; : \"${{pr@P}}\"")
command("read a command")(lambda g, d: f"read -r rc ra <<< '{g.stub()} {g.plain()}'; $rc $ra")
command("mapfile")(lambda g, d: f"mapfile -t mf <<< $'{g.stub()}\\n{g.plain()}'; ${{mf[0]}} \"${{mf[1]}}\"")
command("exported function")(lambda g, d: f"ef() {{ {g.simple()}; }}; export -f ef; bash -c ef")
command("process in a default")(lambda g, d: f"cat ${{pd_unset:-<({g.simple()})}} >/dev/null")
command("process in a replacement")(lambda g, d: f"px=b; cat ${{px/b/<({g.simple()})}} >/dev/null")
command("regex with a group")(lambda g, d: f"[[ a =~ ^(a|b c)$ ]] && {g.simple()}")
command("regex with a substitution")(lambda g, d: f"[[ x =~ ($({g.stub()} rx >/dev/null)|y) ]]; :")
command("array that was empty")(lambda g, d: f'ea=(); ea+=({g.stub()}); "${{ea[@]}}" {g.plain()}')
command("script edited in place")(lambda g, d: f"echo XX ed > ed.sh; sed -i s/XX/{g.stub()}/ ed.sh; sh ed.sh")
command("printf -v command")(lambda g, d: f"printf -v pc '%s' {g.stub()}; $pc {g.plain()}")


@command("base64 into a shell")
def _base64(g: Generator, depth: int) -> str:
    code = base64.b64encode((g.portable(depth) + "\n").encode()).decode()
    return f"echo {code} | base64 -d | sh"


@command("hex into a shell")
def _hex(g: Generator, depth: int) -> str:
    code = "".join(f"\\x{byte:02x}" for byte in f"{g.stub()} {g.plain()}\n".encode())
    return g.random.choice((f"printf '{code}' | sh", f"echo -e '{code}' | bash", f"bash -c $'{code}'"))


@command("reversed text into a shell")
def _reversed(g: Generator, depth: int) -> str:
    return f"echo '{g.stub()} {g.plain()}' | rev | rev | sh"


@command("awk system")
def _awk(g: Generator, depth: int) -> str:
    return f"awk 'BEGIN {{ system(\"{g.stub()} {g.plain()}\") }}'"


@command("perl system")
def _perl(g: Generator, depth: int) -> str:
    return f"perl -e 'system(\"{g.stub()} {g.plain()}\")'"


@command("sed execute")
def _sed(g: Generator, depth: int) -> str:
    return f"echo x | sed '1e {g.stub()} {g.plain()}'"
