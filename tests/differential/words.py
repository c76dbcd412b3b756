"""Constructs inside words: quoting and expansions."""

from __future__ import annotations

from tests.differential.generator import Generator, word

word("single quotes")(lambda g, _: f"'{g.plain()} x'")
word("double quotes")(lambda g, _: f'"{g.plain()} y"')
word("backslash")(lambda g, _: f"a\\ {g.plain()}")
word("ansi-c quotes")(lambda g, _: r"$'\x61\142\tc'")
word("locale quotes")(lambda g, _: f'$"{g.plain()}"')
word("variable")(lambda g, _: f"${g.variable()}")
word("quoted variable")(lambda g, _: f'"${g.variable()}"')
word("default value")(lambda g, _: f"${{{g.variable()}:-{g.plain()}}}")
word("assigned default")(lambda g, _: f"${{{g.variable()}:=dflt}}")
word("alternate value")(lambda g, _: f'"${{{g.variable()}:+{g.plain()}}}"')
word("prefix removal")(lambda g, _: f'"${{{g.variable()}#?}}"')
word("suffix removal")(lambda g, _: f'"${{{g.variable()}%%e*}}"')
word("pattern substitution")(lambda g, _: f'"${{{g.variable()}/a/_}}"')
word("substring")(lambda g, _: f'"${{{g.variable()}:1:2}}"')
word("case change")(lambda g, _: f'"${{{g.variable()}^^}}"')
word("length")(lambda g, _: f"${{#{g.variable()}}}")
word("transformation")(lambda g, _: f'"${{{g.variable()}@U}}"')
word("brace list")(lambda g, _: f"p{{{g.plain()},q}}s")
word("brace range")(lambda g, _: f"r{{{g.random.randint(0, 3)}..{g.random.randint(0, 5)}}}")
word("arithmetic expansion")(lambda g, _: f"$(( {g.random.randint(0, 9)} * 2 + 1 ))")
word("old arithmetic")(lambda g, _: f"$[ {g.random.randint(0, 9)} - 3 ]")
word("tilde")(lambda g, _: "~/t")
word("all arguments")(lambda g, _: '"$@"')
word("glob")(lambda g, _: "f*")
word("array elements")(lambda g, _: '"${arr[@]}"')
word("split on IFS")(lambda g, _: "$words")


@word("command substitution")
def _substitution(g: Generator, depth: int) -> str:
    return f'"$({g.line(depth)})"'


@word("backquotes")
def _backquotes(g: Generator, depth: int) -> str:
    return f"`{g.stub()} {g.plain()}`"


@word("nested backquotes")
def _nested_backquotes(g: Generator, depth: int) -> str:
    return f"`{g.stub()} \\`{g.stub()} {g.plain()}\\``"


@word("default that runs")
def _default_that_runs(g: Generator, depth: int) -> str:
    return f'${{NEVER_SET:-"${{ALSO_NOT:-`{g.stub()} {g.plain()}`}}"}}'


@word("known output")
def _known_output(g: Generator, depth: int) -> str:
    return f"$(echo {g.plain()} {g.plain()})"


@word("process substitution as argument")
def _process(g: Generator, depth: int) -> str:
    return f"<({g.line(depth)})"


@word("subscript that runs")
def _subscript(g: Generator, depth: int) -> str:
    return f"$(( arr[$({g.stub()} {g.plain()} >/dev/null; echo 0)] ))"


@word("indirect expansion")
def _indirect(g: Generator, depth: int) -> str:
    return '"${!pointer}"'


@word("unknown word")
def _unknown(g: Generator, depth: int) -> str:
    return f'"$(cat {g.file()} 2>/dev/null)"'
