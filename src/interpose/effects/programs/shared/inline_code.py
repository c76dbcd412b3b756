"""Toolchains that also run a line of code or a single source file: where it stands. The rest of them is elsewhere."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from interpose.effects.invocation import Invocation, Lowering


class Inline(Struct, frozen=True):
    """How one toolchain takes code. `verbs`: only behind one of these words; `evals`: the words that code follows."""

    language: str
    options: tuple[str, ...] = ()
    verbs: frozenset[str] = frozenset()
    evals: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()


INLINE: dict[str, Inline] = {
    "mix": Inline("ruby", ("-e", "--eval"), frozenset({"run", "eval", "do"}), frozenset({"eval"}), (".exs",)),
    "iex": Inline("ruby", ("-e", "--eval", "--dot-iex")),
    "rebar3": Inline("erlang", ("--eval",), frozenset({"shell"})),
    "dotnet": Inline("csharp", ("-e", "--eval", "--exec", "--use"), frozenset({"script", "fsi", "run"}),
                     frozenset({"eval"}), (".cs", ".csx", ".fsx")),
    "swift": Inline("swift", ("-e",), files=(".swift",)),
    "cargo": Inline("rust", ("-e", "--expr", "--loop"), frozenset({"script", "eval"}), files=(".rs",)),
    "stack": Inline("haskell", ("-e",), files=(".hs",)),
    "cabal": Inline("haskell", ("-e",), frozenset({"exec", "repl"}), files=(".hs",)),
    "dart": Inline("dart", files=(".dart",)),
    "go": Inline("go", verbs=frozenset({"run"}), files=(".go",)),
    "zig": Inline("zig", verbs=frozenset({"run", "test"}), files=(".zig",)),
    "rake": Inline("ruby", ("-e", "-E", "-p", "--execute", "--execute-continue", "--execute-print"),
                   files=("Rakefile", ".rake", ".rb")),
    "wp": Inline("php", ("--exec", "--require"), evals=frozenset({"eval"})),
    "drush": Inline("php", evals=frozenset({"php:eval", "php-eval", "ev", "eval"})),
}  # fmt: skip
_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def run_inline(inv: Invocation, low: Lowering) -> None:
    """Run the code on the command line of a toolchain, and the files that this text wrote."""
    spec = INLINE.get(inv.name)
    if spec is None:
        return
    if spec.verbs and not any(word.text in spec.verbs for word in inv.args):
        return
    for before, word in pairwise(inv.args):
        if before.text in spec.options or before.text in spec.evals:
            low.code(spec.language, word, via=inv.name)
    for word in inv.args:
        name, equals, value = word.text.partition("=")
        if equals and name in spec.options and name.startswith("--"):
            low.code(spec.language, value, via=inv.name)
        elif word.text == "-" and inv.stdin is not None:
            low.code(spec.language, inv.stdin, via=inv.name)
        elif spec.files and (word.text.endswith(spec.files) or word.text.startswith(_DESCRIPTORS)):
            low.run_file(word, via=inv.name, language=spec.language)
