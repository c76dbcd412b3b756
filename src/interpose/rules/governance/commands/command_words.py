"""Which programs do what, for the categories of commands. What stands in no table is `general`.

Programs that are described as data say their category there (shell/commands/**/*.toml), and are not named here.

Only `inspection` is a promise that nothing is changed. `validation`, `build` and `runtime` run code of the project, and
such code can do anything.
"""

from __future__ import annotations

from typing import Literal, get_args

Category = Literal["validation", "build", "git", "inspection", "runtime", "filesystem", "network", "general"]
CATEGORIES: tuple[str, ...] = get_args(Category)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEUTRAL = _words("""
    cd pushd popd export set unset shopt true false : test [ [[ exit return break continue local declare typeset
    readonly read wait sleep shift trap umask ulimit getopts let alias unalias echo printf command builtin exec eval
    source . bash sh zsh dash ksh ash fish env timeout gtimeout nice ionice nohup stdbuf time xargs sudo doas su
    setsid watch parallel caffeinate chronic unbuffer script tee mktemp yes pwsh powershell if then else fi do done
""")
"""Words of a shell, and programs that start others: what they start and write is looked at by itself."""

INSPECTION = _words("""
    cat bat batcat head tail less more most ls ll dir exa eza lsd tree pwd wc file stat du df dust ncdu grep egrep
    fgrep zgrep rg ag ack find fd fdfind locate which whereis type sort uniq cut tr awk gawk mawk nawk sed gsed jq
    yq xq gron diff colordiff delta cmp comm column nl tac rev fold fmt paste join basename dirname
    realpath readlink date cal whoami id groups uname hostname arch printenv ps pgrep pstree top htop
    uptime free vmstat iostat lsof md5sum sha1sum sha256sum sha512sum shasum cksum b2sum md5 xxd hexdump od strings
    base64 base32 seq expr bc man info help apropos history cloc tokei scc nproc lscpu lsblk getconf locale tty
    numfmt tsort expand unexpand csvcut csvlook xmllint xpath pdftotext identify ffprobe nm objdump otool
    readelf size zcat bzcat xzcat w who last groups getent lsusb lspci sw_vers zipinfo pr look wordcount fzf
""")

LOOKS_UNLESS: dict[str, frozenset[str]] = {
    "bat": _words("cache"), "batcat": _words("cache"),
    "cloc": _words("--extract-with --out --report-file --write-lang-def --sql --count-and-diff --diff-list-file"),
    "ffprobe": _words("-o"), "file": _words("-C --compile"),
    "fzf": _words("--bind --listen --listen-unsafe --preview --history --become"),
    "hostname": _words("-F --file -b --boot"), "identify": _words("-write"),
    "info": _words("-o --output --dribble --restore"), "ncdu": _words("-o"), "nm": _words("--plugin"),
    "objdump": _words("--plugin"), "pip": _words("--log --python"), "scc": _words("-o --output"),
    "size": _words("--plugin"), "yq": _words("-s --split-exp"),
}  # fmt: skip
"""Programs that look, and with one of these words write files or run others of which the analysis knows nothing."""
MAY_FETCH = _words("ffprobe gron xmllint xpath")
"""Programs that look, also at what they are given an address of."""

FILESYSTEM = _words("""
    mkdir rm rmdir cp mv touch ln chmod chown chgrp install truncate dd rsync tar unzip zip gzip gunzip bzip2
    bunzip2 xz unxz zstd 7z patch split csplit shred unlink trash trash-put rename mmv setfacl chattr mkfifo
    mknod sponge ex ed vi vim nvim nano emacs cpio ar pax dos2unix unix2dos apply_patch ditto
""")

VALIDATION = _words("""
    pytest py.test tox nox mypy pyright basedpyright pyre flake8 pylint pydocstyle pycodestyle bandit vulture jest
    vitest mocha ava karma jasmine cypress golangci-lint staticcheck rspec rubocop minitest phpunit phpstan psalm
    shellcheck hadolint yamllint markdownlint markdownlint-cli2 actionlint ctest bats ktlint detekt checkstyle
    swiftlint commitlint stylelint htmlhint jsonlint tflint ansible-lint sqlfluff codespell cspell semgrep coverage
    luacheck ameba credo dialyzer slither xcresulttool
""")

BUILD = _words("""
    make gmake cmake ninja meson scons bazel bazelisk buck buck2 pants webpack rollup esbuild parcel swc turbo nx
    lerna rush gulp grunt tsup tsc rustc gcc g++ cc c++ clang clang++ ld as ranlib javac kotlinc scalac ghc ocamlc
    ocamlfind dune cabal stack mvn mvnw gradle gradlew ant sbt msbuild xcodebuild pip pip3 pipx npm npx pnpm yarn
    bun bunx poetry pdm hatch uv uvx rye pipenv conda mamba bundle gem composer cargo go dotnet swift mix rebar3 zig
    pod carthage flutter dart melos elm purs spago protoc buf mkdocs hugo jekyll sphinx-build typedoc doxygen rake
    autoconf automake autoreconf configure pre-commit
""")

RUNTIME = _words("""
    node nodejs deno python python2 python3 ipython ruby irb perl php lua luajit java jshell scala kotlin groovy
    Rscript R julia elixir iex erl ghci ts-node tsx nodemon pm2 uvicorn gunicorn hypercorn flask django-admin rails
    rackup puma celery streamlit jupyter next nuxt vite astro serve http-server live-server docker docker-compose
    podman podman-compose psql mysql mariadb sqlite3 redis-cli mongosh mongo duckdb kill pkill killall fg bg jobs
    disown tmux screen electron foreman overmind honcho playwright storybook cscript osascript fx mlr ldd
""")

NETWORK = _words("""
    curl wget http https xh httpie aria2c axel ssh scp sftp ftp lftp telnet nc ncat netcat socat ping ping6 dig
    nslookup host whois traceroute tracepath mtr nmap gh glab hub rclone websocat grpcurl tldr
""")

READ_ONLY_GIT = _words("""
    status log diff show blame annotate rev-parse ls-files ls-tree describe shortlog cat-file grep rev-list
    merge-base show-ref for-each-ref name-rev count-objects check-ignore check-attr whatchanged version help var
    diff-tree diff-index diff-files cherry range-diff verify-commit verify-tag show-branch
""")
GIT_WITH_VALUE = _words("-C -c --git-dir --work-tree --namespace --exec-path --config-env --super-prefix")

CHECKING_SCRIPTS = _words("""
    test tests check checks lint typecheck type-check types verify validate spec specs unit e2e coverage tsc ci vet
    audit format:check fmt:check format-check prettier:check eslint jest vitest
""")
"""Names of scripts and targets that look whether something is right. `test:unit` is one, too."""
BUILDING_SCRIPTS = _words("""
    build compile bundle dist package prepare generate codegen gen release assemble all clean docs doc
""")
RUNNING_SCRIPTS = _words("start dev serve run watch preview develop up launch server debug")

SUBCOMMANDS: dict[str, dict[Category, frozenset[str]]] = {
    "cargo": {
        "validation": _words("test check clippy nextest audit deny t c"),
        "build": _words("build b doc fetch vendor update add remove generate-lockfile clean metadata tree install fmt"),
        "runtime": _words("run r bench"),
    },
    "go": {
        "validation": _words("test vet"),
        "build": _words("build install mod get generate work fmt clean list env version"),
        "runtime": _words("run tool"),
    },
    "dotnet": {
        "validation": _words("test"),
        "build": _words("build restore pack publish clean add"),
        "runtime": _words("run"),
    },
    "swift": {"validation": _words("test"), "build": _words("build package"), "runtime": _words("run")},
    "mix": {
        "validation": _words("test dialyzer credo"),
        "build": _words("compile deps.get deps.compile"),
        "runtime": _words("run phx.server"),
    },
    "deno": {
        "validation": _words("test check lint"),
        "build": _words("compile bundle cache install"),
        "runtime": _words("run task serve eval repl"),
    },
    "zig": {"validation": _words("test"), "build": _words("build build-exe fmt"), "runtime": _words("run")},
    "flutter": {"validation": _words("test analyze"), "build": _words("build pub clean"), "runtime": _words("run")},
    "dart": {"validation": _words("test analyze"), "build": _words("compile pub"), "runtime": _words("run")},
    "terraform": {"validation": _words("validate")},
    "docker": {
        "build": _words("build buildx"),
        "inspection": _words("ps images logs inspect version info stats top port"),
    },
    "podman": {"build": _words("build"), "inspection": _words("ps images logs inspect version info stats top port")},
    "next": {"build": _words("build export"), "validation": _words("lint")},
    "nuxt": {"build": _words("build generate"), "validation": _words("typecheck")},
    "vite": {"build": _words("build")},
    "astro": {"build": _words("build"), "validation": _words("check")},
    "playwright": {"validation": _words("test")},
    "uv": {"runtime": _words("run")},
    "poetry": {"runtime": _words("run"), "validation": _words("check")},
    "hatch": {"runtime": _words("run"), "validation": _words("test")},
    "gradle": {"validation": _words("test check lint"), "runtime": _words("run bootRun")},
    "gradlew": {"validation": _words("test check lint"), "runtime": _words("run bootRun")},
    "mvn": {"validation": _words("test verify validate"), "runtime": _words("exec:java spring-boot:run")},
    "mvnw": {"validation": _words("test verify validate"), "runtime": _words("exec:java spring-boot:run")},
    "rails": {"validation": _words("test")},
    "bazel": {"validation": _words("test query"), "runtime": _words("run")},
}  # fmt: skip
"""What a program does is said by its first word that is no option; else the table that has its name counts."""

CHECKERS: dict[str, frozenset[str]] = {
    "ruff": _words("check --check --diff"),
    "black": _words("--check --diff"),
    "isort": _words("--check --check-only --diff -c"),
    "prettier": _words("--check -c --list-different -l"),
    "biome": _words("check lint ci"),
    "eslint": frozenset(),
    "tsc": _words("--noEmit --noemit"),
    "gofmt": _words("-l -d"),
    "goimports": _words("-l -d"),
    "rustfmt": _words("--check"),
    "oxlint": frozenset(),
    "standard": frozenset(),
    "dprint": _words("check"),
    "taplo": _words("check lint"),
    "terraform": _words("-check"),
    "clang-format": _words("--dry-run -n"),
    "clang-tidy": frozenset(),
    "cargo": _words("--check"),
}
"""Programs that look with one of these words, and change files without; an empty set is: look unless told to fix."""
FIXING = _words("--fix --write -w -i --apply --unsafe --fix-dry-run --in-place fix")
FORMATTERS = _words("""
    ruff black isort prettier biome eslint gofmt goimports rustfmt oxlint standard dprint taplo clang-format
    clang-tidy
""")

PYTHON_MODULES: dict[str, Category] = {
    "pytest": "validation", "unittest": "validation", "mypy": "validation", "doctest": "validation",
    "compileall": "validation", "py_compile": "validation", "flake8": "validation", "pylint": "validation",
    "pip": "build", "build": "build", "venv": "build", "ensurepip": "build", "setuptools": "build", "tox": "validation",
    "nox": "validation", "coverage": "validation", "pyright": "validation",
}  # fmt: skip
"""What `python -m` runs; other modules are `runtime`."""
PACKAGE_RUNNERS = _words("npm pnpm yarn bun")
ADDING = _words("""
    install i ci add remove uninstall rm update upgrade up link unlink dedupe prune rebuild pack init create import
""")
LOOKING_HERE = _words("ls list ll la root prefix bin help version why explain")
LOOKING_ELSEWHERE = _words("view info show outdated config get search doctor fund ping whoami audit")
PIP_LOOKS = _words("list freeze show check inspect debug help")
ARCHIVERS = _words("tar unzip gzip gunzip")
"""Programs that only look if they write nothing: the analysis knows all that they write."""
SHARING = _words("""
    publish unpublish login logout token owner access deprecate dist-tag adduser star team hook org profile
""")
SYSTEM_DIRECTORIES = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/")
TOOL_DIRECTORIES = ("node_modules/.bin/", ".venv/bin/", "venv/bin/", "vendor/bin/")
"""Where projects keep the programs that build and test them."""
OWN_SCRIPTS = _words("gradlew mvnw configure")
"""Programs that lie in a project by custom, and build it."""
