"""Constructs that carry commands: the shell's own grammar."""

from __future__ import annotations

from tests.differential.generator import Generator, command, quoted

command("list")(lambda g, d: f"{g.line(d)}; {g.line(d)}")
command("and list")(lambda g, d: f"{g.line(d)} && {g.line(d)}")
command("or list")(lambda g, d: f"{g.line(d)} || {g.line(d)}")
command("pipeline")(lambda g, d: f"{g.line(d)} | {g.simple()}")
command("pipeline with stderr")(lambda g, d: f"{g.simple()} |& {g.simple()}")
command("negation")(lambda g, d: f"! {g.simple()}")
command("time")(lambda g, d: f"time {g.simple()}")
command("time and negation")(lambda g, d: f"time ! {g.simple()}")
command("background")(lambda g, d: f"{{ {g.simple()} & }}")
command("subshell")(lambda g, d: f"( {g.line(d)}; {g.line(d)} )")
command("group")(lambda g, d: f"{{ {g.line(d)}; {g.line(d)}; }}")
command("group redirected")(lambda g, d: f"{{ {g.line(d)}; }} > {g.file()} 2>&1")
command("if")(
    lambda g, d: f"if {g.simple()}; then {g.line(d)}; elif {g.simple()}; then {g.line(d)}; else {g.line(d)}; fi"
)
command("while")(lambda g, d: f"while {g.stub()} w; do {g.line(d)}; break; done")
command("until")(lambda g, d: f"until omega u; do {g.line(d)}; break; done")
command("for without words")(lambda g, d: f'set -- {g.plain()} {g.plain()}\nfor i; do {g.stub()} "$i"; done')
command("arithmetic for")(lambda g, d: f"for ((i=0; i<2; i++)); do {g.stub()} n; {g.line(d)}; done")
command("select")(lambda g, d: f"select s in one two; do {g.stub()} $s; break; done <<< 1")
command("case")(lambda g, d: f"case {g.plain()} in a|b1) {g.line(d)};; (-*) {g.simple()};& *) {g.line(d)};; esac")
command("test")(lambda g, d: f"[[ -n x && $( {g.stub()} t >/dev/null; echo y) == y ]] && {g.line(d)}")
command("test regex")(lambda g, d: f"[[ abc =~ ^(a|b)(c|b)+ ]] && {g.simple()}")
command("arithmetic command")(lambda g, d: f"(( 1 + 1 )) && {g.simple()}")
command("let")(lambda g, d: f"let 'q = arr[$({g.stub()} l >/dev/null; echo 1)]'; {g.simple()}")
command("coproc")(lambda g, d: f"coproc {{ {g.simple()}; }} 2>/dev/null\nwait")
command("comment")(lambda g, d: f"{g.simple()} # {g.stub()} not run; $(nothing)\n{g.simple()}")
command("line continuation")(lambda g, d: f"{g.stub()} \\\n  {g.plain()}")
command("here document")(lambda g, d: f"cat > {g.file()} <<EOF\nv: $({g.simple()})\nEOF")
command("literal here document")(lambda g, d: f"cat > {g.file()} <<'EOF'\n$({g.simple()})\nEOF")
command("indented here document")(lambda g, d: f"bash <<-EOF\n\t{g.portable(d)}\n\tEOF")
command("here document into a shell")(lambda g, d: f"bash <<'EOF'\n{g.line(d)}\nEOF")
command("here string")(lambda g, d: f"bash <<< {quoted(g.line(d))}")
command("here string as data")(lambda g, d: f'{g.stub()} <<< "$({g.simple()})"')
command("output")(lambda g, d: f"{g.simple()} > {g.file()}")
command("append")(lambda g, d: f"{g.simple()} >> {g.file()}")
command("clobber")(lambda g, d: f">| {g.file()} {g.simple()}")
command("error output")(lambda g, d: f"{g.simple()} 2> {g.file()}")
command("both outputs")(lambda g, d: f"{g.simple()} &> {g.file()}")
command("both outputs, old form")(lambda g, d: f"{g.simple()} >& {g.file()}")
command("read and write")(lambda g, d: f"{g.simple()} 3<> {g.file()}")
command("descriptor")(lambda g, d: f"exec 3> {g.file()}; {g.stub()} >&3; exec 3>&-")
command("named descriptor")(lambda g, d: f"exec {{fd}}> {g.file()}; {g.stub()} >&$fd")
command("bare redirection")(lambda g, d: f"> {g.file()}")
command("output process")(lambda g, d: f"{g.stub()} > >({g.stub()} sink; cat > {g.file()})\nwait")
command("input process")(lambda g, d: f"bash <(echo {quoted(g.line(d))})")
command("computed file name")(lambda g, d: f'n={g.file()}; {g.simple()} > "$n.out"')
command("directory change")(lambda g, d: f"mkdir -p sub && cd sub; {g.simple()} > {g.file()}; cd ..")
command("directory change in subshell")(lambda g, d: f"(mkdir -p sub; cd sub && {g.simple()} > {g.file()})")
command("trap")(lambda g, d: f"trap {quoted(g.line(d))} EXIT")
command("alias")(lambda g, d: f"shopt -s expand_aliases\nalias al{d}='{g.stub()} first'\nal{d} {g.plain()}")
command("hashed command")(lambda g, d: f'hash -p ../bin/{g.stub()} hx{d}; "hx{d}" {g.plain()}')
command("table of commands")(lambda g, d: f"BASH_CMDS[cx{d}]=../bin/{g.stub()}; cx{d} {g.plain()}")
command("table of commands by name")(lambda g, d: f"n=nx{d}; BASH_CMDS[$n]=../bin/{g.stub()}; $n {g.plain()}")
command("table of aliases")(
    lambda g, d: f"shopt -s expand_aliases\nBASH_ALIASES[bx{d}]='{g.stub()} first'\nbx{d} {g.plain()}"
)
command("missing command")(lambda g, d: f'command_not_found_handle() {{ {g.stub()} "$@"; }}; none{d} {g.plain()}')
command("exit in subshell")(lambda g, d: f"( x=one; exit; x=two ); {g.simple()}")


@command("for")
def _for(g: Generator, depth: int) -> str:
    name = g.name()
    return f"for {name} in {g.word(0)} {g.plain()} {g.word(0)}; do {g.stub()} ${name}; {g.line(depth)}; done"


@command("assignment")
def _assignment(g: Generator, depth: int) -> str:
    name = g.name()
    value = g.word(0)
    g.variables.append(name)
    return f"{name}={value}"


@command("computed command")
def _computed(g: Generator, depth: int) -> str:
    name = g.name()
    return f"{name}={g.stub()}; ${name} {g.plain()}"


@command("command in pieces")
def _pieces(g: Generator, depth: int) -> str:
    stub = g.stub()
    return f"{stub[:1]}''{stub[1:2]}\"\"\\{stub[2:] or stub} {g.plain()}" if len(stub) > 2 else f"\\{stub} {g.plain()}"


@command("command with an empty variable")
def _empty(g: Generator, depth: int) -> str:
    stub = g.stub()
    return f"{stub[:1]}${{NEVER_SET}}{stub[1:]} {g.plain()}"


@command("command split by IFS")
def _ifs(g: Generator, depth: int) -> str:
    return f"c='{g.stub()} {g.plain()}'; $c {g.plain()}; {g.stub()}$IFS{g.plain()}"


@command("command from branches")
def _branches(g: Generator, depth: int) -> str:
    return f"if {g.stub()}; then c={g.stub()}; else c={g.stub()}; fi; $c {g.plain()}"


@command("function")
def _function(g: Generator, depth: int) -> str:
    name = g.random.choice(("fun", "func", "rm"))
    body = f'local z=$1; {g.stub()} "$1" "$z" "$@"; {g.line(depth)}'
    return f"{name}_{depth}() {{ {body}; }}; {name}_{depth} {g.plain()} {g.plain()}"


@command("function keyword")
def _function_keyword(g: Generator, depth: int) -> str:
    return f"function kw_{depth} {{ {g.line(depth)}; return; {g.simple()}; }}; kw_{depth}"


@command("recursive function")
def _recursive(g: Generator, depth: int) -> str:
    return f'rec() {{ {g.stub()} "$1"; [ "$1" = 3 ] || rec 3; }}; rec 1'


@command("arguments")
def _arguments(g: Generator, depth: int) -> str:
    return f'set -- {g.plain()} {g.plain()} c; shift; {g.stub()} "$1" $# "$@"'


@command("array")
def _array(g: Generator, depth: int) -> str:
    return f'arr=({g.plain()} "b c" [5]={g.plain()}); {g.stub()} "${{arr[@]}}" "${{arr[1]}}" "${{#arr[@]}}"'


@command("array command")
def _array_command(g: Generator, depth: int) -> str:
    return f'cmd=({g.stub()} {g.plain()}); "${{cmd[@]}}" {g.plain()}'


@command("while read")
def _while_read(g: Generator, depth: int) -> str:
    return f"printf 'one\\ntwo\\n' | while read -r line; do {g.stub()} \"$line\"; done"


@command("export to a child")
def _export(g: Generator, depth: int) -> str:
    return f"export EXP={g.stub()}; bash -c '$EXP {g.plain()}'"


@command("not exported")
def _not_exported(g: Generator, depth: int) -> str:
    return f"HID={g.stub()}; bash -c '$HID {g.stub()} {g.plain()}'"


@command("assignment in front")
def _prefix(g: Generator, depth: int) -> str:
    return f"PRE={g.stub()} bash -c '$PRE {g.plain()}'"


@command("split words")
def _words(g: Generator, depth: int) -> str:
    return f"words='{g.plain()} {g.plain()}'; {g.stub()} $words \"$words\""


@command("pointer")
def _pointer(g: Generator, depth: int) -> str:
    return f"real={g.stub()}; pointer=real; ${{!pointer}} {g.plain()}"
