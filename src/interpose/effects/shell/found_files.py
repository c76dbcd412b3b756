"""Files that this text wrote and that a program which nobody knows may find and run by itself.

Build tools, test runners and task runners read a file of a certain name and run what it says. There are more of them
than any table holds. So where a text writes a program or settings that would be a catastrophe if they ran, and then
starts such a program, the catastrophe counts as possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Invocation
from interpose.effects.late_patterns import late
from interpose.effects.shell.second_looks import is_grave

if TYPE_CHECKING:
    from interpose.effects.shell.lowering import CommandLowering

_LANGUAGES = {
    **dict.fromkeys(words("py pyi"), "python"), **dict.fromkeys(words("rb ru rake gemspec podspec"), "ruby"),
    **dict.fromkeys(words("js cjs mjs jsx ts cts mts tsx"), "javascript"), "lua": "lua", "rockspec": "lua",
    **dict.fromkeys(words("sh bash zsh"), "sh"), "php": "php", "pl": "perl", "pm": "perl", "r": "r",
    **dict.fromkeys(words("yml yaml toml json jsonc json5 hcl ini cfg conf nix gradle kts groovy cmake mk mak ninja "
                          "pro pri bzl star cake fsx csx cs go rs zig swift kt scala sbt clj cljs edn ex exs erl hrl "
                          "nims nimble d v dart cabal hs ml opam install xml properties tcl el lisp janet fnl rc"),
                    "commands"),
}  # fmt: skip
"""Endings of files that a program may find and run. What runs on other machines, and what people read, is not here."""
_ELSEWHERE = ("/.github/", "/.gitlab/", "/.circleci/", "/docs/", "/node_modules/")
_DATA = ("test", "spec", "fixture", "cases", "example", "sample", "mock", "rules", "polic")
_PROSE = words("dockerfile containerfile readme license changelog authors notice version codeowners")
_CHECKERS = words(
    """
    yamllint jsonlint actionlint hadolint shellcheck shfmt markdownlint tflint taplo kubeconform kubeval typos cspell
    editorconfig-checker codespell pyright tsc dos2unix cloc tokei scc
    """
)
"""Programs that only look at files."""
FINDERS = words(
    """
    npm pnpm yarn bun make gmake just task nodemon luarocks cdk pulumi goreleaser terragrunt knex rails
    bundle composer artisan ipython jupyter Rscript sam serverless sls prisma drizzle-kit sequelize typeorm flyway
    liquibase dbt tmuxp tmuxinator qmake conan snapcraft conda mamba cargo nimble cabal stack moon flutter dart zig dub
    opam vcpkg spack pio platformio melos
    """
)
"""Programs with a handler or a row of their own that run more files than their rows name."""
_HINT = late(
    r"\b(?:rm|shred|mkfs|wipefs|dd|chmod|chown|rmtree|rmSync|rm_rf|rmdir|remove_\w+|removeSync|RemoveAll|rimraf|unlink|"
    r"truncate|kill|killall|pkill|nc|ncat|socat|id_\w+|shadow|b64decode|base64|fromCharCode)\b|"
    r"/dev/|\.(?:ssh|aws|env|netrc|gnupg|kube)\b"
)
"""Without one of these a text is not read: most of what people write has none."""
_LONGEST = 64 * 1024


def run_found(inv: Invocation, low: CommandLowering) -> None:
    """State what would be a catastrophe in the files that the program may find."""
    files = low.walker.state.files
    if not files or inv.name in _CHECKERS or inv.name in low.via:
        return
    # A file that is named is what the program works on; the last look at arguments is for it.
    named = {low.path(word) for word in inv.args if word.text[:1] != "-"}
    low.spend(len(files))
    for path, content in list(files.items()):
        text = content.text
        if not text or path in named or (path, text) in low.walker.found:
            continue
        low.walker.found.add((path, text))  # once is enough, and it may start the same program again
        language = _language(path) if len(text) <= _LONGEST and _HINT.search(text) else ""
        effects = low.walker.effects
        first = len(effects)
        for each in language.split():
            low.suspect(text, via=inv.name, language=each)
        # Programs that fetch and run something are too common in what people write to build their machines.
        effects[first:] = [
            effect for effect in effects[first:] if effect.kind != "code.remote" and is_grave(effect, low.cwd)
        ]


def _language(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    if name.partition(".")[0] in _PROSE or any(place in path for place in _ELSEWHERE):
        return ""
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:  # `Dangerfile`, `.lintstagedrc`
        ruby = name.endswith("file") or path.rpartition("/")[2][:1].isupper()
        return "ruby commands" if ruby else "commands" if name.endswith("rc") or name == "dune" else ""
    language = _LANGUAGES.get(ending, "")
    # Whoever writes tests of a guard writes down what it is to refuse.
    return "" if language == "commands" and any(part in path.lower() for part in _DATA) else language
