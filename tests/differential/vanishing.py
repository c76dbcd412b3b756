"""Constructs that turn out to be nothing, are cut or are merged: what they carry must still be predicted."""

from __future__ import annotations

from tests.differential.generator import Generator, command, word

NOTHING = (
    "$NEVER_SET", "${NEVER_SET}", "$9", "$!", "$REPLY", "$FUNCNAME", "${BASH_REMATCH[1]}", "${NEVER_SET%y}",
    "${NEVER_SET:-}", "${NEVER_SET:+z}", "$(true)", "$(cat none.txt 2>/dev/null)", "``", '"${NEVER_ARRAY[@]}"',
    "${NEVER_ARRAY[@]}", "${NEVER_ARRAY[2]}",
)  # fmt: skip


def nothing(g: Generator) -> str:
    return g.random.choice(NOTHING)


word("word that is nothing")(lambda g, _: nothing(g))
word("part that is nothing")(lambda g, _: f"{g.plain()}${{NEVER_SET}}{g.plain()}")
word("quoted part that is nothing")(lambda g, _: f'"{g.plain()}${{NEVER_SET}} {g.plain()}"')

command("nothing before a word")(lambda g, d: f"{g.stub()} {nothing(g)} {g.plain()}")
command("nothing before a command")(lambda g, d: f"{nothing(g)} {g.stub()} {g.plain()}")
command("nothing before code")(lambda g, d: f"bash {nothing(g)} -c '{g.portable(d)}'")
command("nothing before input")(lambda g, d: f"bash {nothing(g)} <<'EOF'\n{g.portable(d)}\nEOF")
command("nothing in a name")(lambda g, d: f"{g.stub()[:2]}$NEVER_SET{g.plain()} 2>/dev/null; {g.simple()}")
command("nothing in code")(lambda g, d: f'bash -c "{g.stub()} $NEVER_SET{g.plain()}"')
command("nothing in a here document")(lambda g, d: f"bash <<EOF\n{g.stub()} $NEVER_SET {g.plain()}\nEOF")
command("nothing in a file name")(lambda g, d: f"{g.simple()} > {g.file()}${{NEVER_SET}}")
command("pattern that matches nothing")(
    lambda g, d: f"shopt -s nullglob; {g.stub()} nosuch* {g.plain()}; shopt -u nullglob"
)
command("arguments from a branch")(lambda g, d: f'{g.stub()} && set -- {g.plain()} {g.plain()}; {g.stub()} "$@"')
command("arguments of a code from a branch")(
    lambda g, d: (
        f"{g.random.choice((*('true', 'false'), g.stub()))} && set -- -c '{g.portable(d)}'; bash \"$@\" </dev/null"
    )
)
command("shift by an unknown number")(
    lambda g, d: f'set -- {g.plain()} {g.plain()}; shift $(cat none.txt 2>/dev/null || echo 1); {g.stub()} "$@"'
)
command("break outside a loop")(lambda g, d: f"{{ break; ob{d}() {{ {g.simple()}; }}; }} 2>/dev/null; ob{d}")
command("return outside a function")(lambda g, d: f"{{ return; or{d}() {{ {g.simple()}; }}; }} 2>/dev/null; or{d}")
command("break in a function in a loop")(
    lambda g, d: f"bf() {{ break; v=2; {g.stub()} $v; }}; for i in 1 2; do bf; {g.simple()}; done 2>/dev/null"
)
command("exit in a child")(lambda g, d: f"{{ bash -c exit; ec{d}() {{ {g.simple()}; }}; }}; ec{d}")
command("return from a file")(lambda g, d: f". <(echo return); rf{d}() {{ {g.simple()}; }}; rf{d}")
command("integer variable")(lambda g, d: f"declare -i n{d}; n{d}='arr[$({g.stub()} i >/dev/null; echo 1)]'")
command("read some characters")(lambda g, d: f'read -n 3 r{d} <<< abcdef; {g.stub()} "$r{d}"')
command("read an element")(lambda g, d: f"read 'el[1]' <<< {g.plain()}; {g.stub()} \"${{el[1]}}\"")
command("print into an element")(lambda g, d: f"printf -v 'pe[2]' %s {g.plain()}; {g.stub()} \"${{pe[2]}}\"")
command("element by an unknown index")(
    lambda g, d: f'ui=({g.plain()} {g.plain()} c); k=$(cat none.txt 2>/dev/null || echo 1); {g.stub()} "${{ui[$k]}}"'
)
command("array that goes on")(
    lambda g, d: f'go=([3]={g.plain()} {g.plain()}); go+=(z); {g.stub()} "${{go[4]}}" "${{go[5]}}"'
)


command("last word")(lambda g, d: f": {g.stub()}; $_ {g.plain()}")
command("list with another mark")(
    lambda g, d: f'readarray -d, -t ma < <(printf %s,%s {g.plain()} {g.plain()}); {g.stub()} "${{ma[@]}}"'
)


@command("alias from a branch")
def _alias(g: Generator, depth: int) -> str:
    one, other = (f"alias ab{depth}='{g.stub()} {which}'" for which in ("one", "two"))
    return f"shopt -s expand_aliases\n{one}\n{g.stub()} && {other}\nab{depth} {g.plain()}"


@command("many bodies")
def _bodies(g: Generator, depth: int) -> str:
    others = "; ".join(f"[ -e none{place} ] && mb() {{ {g.stub()} {place}; }}" for place in range(6))
    return f"mb() {{ {g.stub()} kept; }}; {others}; mb"


@command("many values")
def _values(g: Generator, depth: int) -> str:
    others = "; ".join(f"[ -e none{place} ] && mv={place}" for place in range(6))
    return f"mv={g.plain()}; {others}; {g.stub()} $mv"


@command("long loop")
def _loop(g: Generator, depth: int) -> str:
    return f"for i in 1 2 3 4 5 6 7 8 9 10 {g.plain()} 12; do {g.stub()} $i; done"
