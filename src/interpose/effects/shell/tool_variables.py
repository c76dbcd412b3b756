"""Programs that a variable names: `$(CC)`, `"$PYTHON" -m pytest`, `$DOCKER build .` of Makefiles and workflows.

Which program it is comes from outside. By convention the variable is called like the program, so the command is judged
as that program's. Who can set variables can also set them to something else: that a path leads out of the project stays
a question.
"""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.shell.state import State
from interpose.effects.syntax.tree import CommandSubstitution, Parameter, Part, RawWord, Simple

_CALLED_LIKE_IT = words(
    """
    CC CXX CPP LD AS AR NM STRIP RANLIB OBJCOPY OBJDUMP FC F77 RUSTC CROSS CTEST NINJA MESON JAVA JAVAC JAR TSC
    PROTOC SPHINXBUILD PANDOC LATEXMK PDFLATEX BLACK RUFF MYPY FLAKE8 ISORT PYLINT PRETTIER ESLINT JEST VITEST PYTEST
    SHELLCHECK SHFMT EMCC NVCC CLANG GCC FLEX BISON YACC LEX AUTOCONF AUTOMAKE LIBTOOL VIRTUALENV COVERAGE RSPEC TOX
    RUBOCOP PHPUNIT PHPSTAN ZIG GLEAM HADOLINT TFLINT TRIVY GOFMT GOLINT GOIMPORTS GINKGO BUF KIND K3D KUSTOMIZE
    PYTHON PYTHON2 PYTHON3 PIP PIP3 PIPX PIPENV POETRY UV UVX PDM HATCH CONDA MAMBA TWINE NODE NPM NPX YARN PNPM BUN
    DENO GO CARGO RUSTUP MAKE GMAKE CMAKE BAZEL MVN GRADLE GRADLEW DOTNET NUGET SWIFT FLUTTER DART RUBY GEM BUNDLE RAKE
    RAILS PERL PHP COMPOSER ARTISAN LUA LUAROCKS JULIA R RSCRIPT ELIXIR MIX STACK CABAL DOCKER PODMAN NERDCTL BUILDAH
    KUBECTL OC HELM MINIKUBE TERRAFORM TOFU TERRAGRUNT PULUMI ANSIBLE AWS GCLOUD GSUTIL AZ GH GLAB GIT HG SVN CURL WGET
    JQ YQ SED GSED AWK GAWK GREP EGREP FIND XARGS SORT TAR GZIP ZIP UNZIP INSTALL MKDIR CP MV LN CAT ECHO PRINTF TOUCH
    CHMOD DIFF PATCH SSH SCP RSYNC PSQL MYSQL SQLITE3 MONGOSH REDIS_CLI ADB SUDO DOAS TIMEOUT NICE PRE_COMMIT
    """
)
_TOOLS: dict[str, str] = {
    "HOSTCC": "cc", "LINKER": "ld", "PY": "python3", "VENV_PYTHON": "python3", "SQLITE": "sqlite3",
    "SYS_PYTHON": "python3", "BOOTSTRAP_PYTHON": "python3", "RSCRIPT": "Rscript", "R": "R",
    "COMPOSE": "docker compose", "DOCKER_COMPOSE": "docker compose", "CONTAINER": "docker",
    "CONTAINER_ENGINE": "docker", "CONTAINER_RUNTIME": "docker", "OCI": "docker", "RM": "rm -f",
    "CONFIG_SHELL": "sh", "EDITOR": "vi", "VISUAL": "vi", "PAGER": "less",
    "TF": "terraform", "BROWSER": "xdg-open", "GOLANGCI_LINT": "golangci-lint",
    "CLANG_FORMAT": "clang-format", "CLANG_TIDY": "clang-tidy", "CONTROLLER_GEN": "controller-gen",
}  # fmt: skip
_PASSING = ("/tmp/", "/dev/null")  # noqa: S108 - a place that is compared with, not used
_SILENCERS = words("Q AT QUIET SILENT ECHO_CMD V_AT")
"""Variables in front of a recipe's program that are `@` or nothing."""
_ENDINGS = ("_BIN", "_CMD", "_COMMAND", "_EXE", "_EXECUTABLE", "_PROGRAM", "_PATH", "_TOOL")


def program_of(raw: RawWord, state: State) -> str:
    """The program that the word in front names by convention; empty if it is no such variable or was set here."""
    if not raw.parts or any(_name_of(part) not in _SILENCERS for part in raw.parts[:-1]):
        return ""
    name = _name_of(raw.parts[-1])
    if not name.isupper() or not name.isascii() or name in state.variables or name in state.functions:
        return ""
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return _TOOLS.get(name) or (name.lower().replace("_", "-") if name in _CALLED_LIKE_IT else "")


def _name_of(part: Part) -> str:
    if isinstance(part, Parameter):
        return "" if part.operator or part.subscript or part.indirect else part.name
    return _make_variable(part) if isinstance(part, CommandSubstitution) else ""


def _make_variable(part: CommandSubstitution) -> str:
    """`$(CC)` in a recipe; in a shell it is what a program of that name prints."""
    only = part.body.items[0] if len(part.body.items) == 1 else None
    if part.kind != "$(" or not isinstance(only, Simple) or len(only.words) != 1:
        return ""
    return (only.words[0].plain or "") if not (only.redirects or only.assignments) else ""


def leads_out(path: str, cwd: str) -> bool:
    """Whether a path of such a command leads out of the project, and not to where things are thrown away anyway."""
    inside = path == cwd or path.startswith((f"{cwd.rstrip('/')}/", *_PASSING))
    return not inside and "://" not in path
