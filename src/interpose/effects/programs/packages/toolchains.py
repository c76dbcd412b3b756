"""Toolchains of languages: what they publish, install, remove and run. Building and testing is honest work."""

from __future__ import annotations

from itertools import dropwhile

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs.packages.addresses import foreign
from interpose.effects.programs.packages.build import runs_project
from interpose.effects.programs.packages.managers import PackageTool, installs, locate, register, state, tool
from interpose.effects.programs.shared.inline_code import run_inline
from interpose.effects.programs.shared.options import parse

_CARGO = tool(
    values="""
        --config --manifest-path --target --target-dir -p --package --features -F --git --branch --tag --rev --path
        --root --index --registry --token --profile -j --jobs --color -Z --vers --version -C
    """,
    install="install add update fetch",
    remove="uninstall remove rm",
    publish="publish release",
    withdraw="yank",
)


@command("cargo")
def cargo(inv: Invocation, low: Lowering) -> None:
    run_inline(inv, low)
    opts = parse(inv.args, values=_CARGO.values - {"--version"}, plus=True)
    for setting in opts.values("--config"):
        key, _, program = setting.text.partition("=")
        if key.strip().endswith(("runner", "linker", "wrapper", "rustc", "rustdoc", "credential-provider")):
            low.emit("opaque", program, at=setting, rule="cargo-program", reason="Makes cargo run another program.")
    if opts.word(0) == "owner" and opts.has("--add", "-a", "--remove", "-r"):
        low.emit(
            "package.publish", opts.word(1), rule="package-registry", reason="Changes who may publish this package."
        )
        return
    call = locate(inv.args, _CARGO)
    if call is None:
        runs_project(inv, low)
        return
    if call.verb == "release" and not any(word.text in ("-x", "--execute") for word in call.rest):
        return
    state("cargo", call, _CARGO, low)


@command("rustup")
def rustup(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args if not word.text.startswith("-")]
    if texts[:1] == ["run"]:
        start = next(index for index, word in enumerate(inv.args) if word.text == "run")
        words = tuple(dropwhile(lambda word: word.text.startswith("-"), inv.args[start + 1 :]))
        low.run(words[1:], via="rustup run")
    elif texts[:2] == ["self", "uninstall"]:
        low.emit("system", "rustup", rule="package-remove", reason="Removes every Rust toolchain of this machine.")


_GO_PROGRAMS = ("-toolexec", "--toolexec", "-exec", "--exec", "-vettool", "--vettool")
_GO_SETTINGS = ("GOFLAGS", "CC", "CXX", "AR", "PKG_CONFIG", "GOPROXY", "GOINSECURE", "GONOSUMDB", "GOSUMDB")


@command("go")
def go(inv: Invocation, low: Lowering) -> None:
    run_inline(inv, low)
    opts = parse(inv.args, values=("-C", "-o", "-run", "-tags", "-ldflags", "-gcflags", *_GO_PROGRAMS), bundle=False)
    verb = opts.word(0)
    if verb in ("build", "run", "test", "vet", "install", "generate"):
        runs_project(inv, low)
        for code in opts.values(*_GO_PROGRAMS):
            low.shell(code, via="go")
    if verb in ("install", "get"):
        for word in opts.operands[1:]:
            low.emit("package.install", word.text, at=word)
    elif verb == "env" and opts.has("-w"):
        for word in opts.operands[1:]:
            key, _, value = word.text.partition("=")
            if key in _GO_SETTINGS and (key != "GOFLAGS" or "exec" in value):
                low.emit("persistence", word.text, at=word, rule="go-setting",
                         reason="Changes for good which programs or servers go trusts.")  # fmt: skip


TOOLCHAINS: dict[str, PackageTool] = {
    "gem": tool(
        values="-v --version -s --source -i --install-dir -n --bindir -k --key --host -P --otp -p --platform",
        install="install update",
        remove="uninstall",
        publish="push",
        withdraw="yank",
        registry="owner",
    ),
    "bundle": tool(values="--gemfile --path --jobs", install="install update add", remove="remove", run="exec"),
    "composer": tool(
        values="-d --working-dir",
        install="install update require global.require create-project",
        remove="remove global.remove",
        run="exec",
    ),
    "dotnet": tool(
        values="--source -s --api-key -k",
        install="tool.install tool.update workload.install",
        remove="tool.uninstall workload.uninstall",
        publish="nuget.push",
        withdraw="nuget.delete",
        data="ef.database.drop",
    ),
    "nuget": tool(values="-Source -ApiKey", install="install restore", publish="push", withdraw="delete"),
    "mix": tool(
        install="archive.install deps.get escript.install",
        remove="archive.uninstall",
        publish="hex.publish",
        withdraw="hex.retire",
        registry="hex.owner",
        data="ecto.drop ecto.reset ecto.rollback",
    ),
    "rebar3": tool(publish="hex.publish", withdraw="hex.retire", registry="hex.owner"),
    "cabal": tool(install="install update", publish="upload", run="exec"),
    "stack": tool(install="install update", publish="upload", run="exec"),
    "opam": tool(install="install upgrade", remove="remove uninstall switch.remove", publish="publish", run="exec"),
    "pod": tool(
        install="install update",
        publish="trunk.push repo.push",
        withdraw="trunk.delete trunk.deprecate",
        registry="trunk.add-owner trunk.remove-owner",
    ),
    "dart": tool(
        values="-C --directory",
        install="pub.add pub.get pub.upgrade pub.global.activate",
        remove="pub.remove pub.global.deactivate",
        publish="pub.publish pub.lish",
        registry="pub.uploader",
    ),
    "vcpkg": tool(install="install upgrade", remove="remove"),
    "conan": tool(values="-r --remote", install="install", publish="upload", remove="remove"),
    "luarocks": tool(values="--server --tree", install="install", remove="remove purge", publish="upload"),
    "nimble": tool(install="install", remove="uninstall", publish="publish"),
    "goreleaser": tool(publish="release publish"),
    "swift": tool(publish="package-registry.publish", remove="sdk.remove"),
    "pio": tool(
        install="pkg.install",
        remove="pkg.uninstall",
        publish="pkg.publish package.publish",
        withdraw="pkg.unpublish package.unpublish",
    ),
}
TOOLCHAINS |= {"bundler": TOOLCHAINS["bundle"], "flutter": TOOLCHAINS["dart"], "platformio": TOOLCHAINS["pio"]}

for _name, _tool in TOOLCHAINS.items():
    register(_name, known=_tool, family=__name__)

_MAVEN_PUBLISHES = ("deploy", "site-deploy", "release:perform", "release:prepare", "nexus-staging:release")


@command("mvn", "mvnw", "mvnd")
def maven(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args, values=("-f", "-s", "-P", "-pl", "-D", "--define", "-l", "-T", "-t", "-b", "-gs"), bundle=False
    )
    if opts.has("--help", "-h", "--version", "-v", "-DdryRun"):
        return
    runs_project(inv, low)
    for word in opts.operands:
        if word.text in _MAVEN_PUBLISHES or word.text.startswith(("deploy:", "gpg:sign-and-deploy")):
            low.emit("package.publish", word.text, at=word, rule="package-publish",
                     reason="Publishes the build to a repository that others use.")  # fmt: skip
        _migrates(word, low)
    for _, value in ((name, value) for name, value in opts.given if name == "-Dexec.executable"):
        if value is not None:
            low.run((value,), via="mvn exec")


@command("gradle", "gradlew")
def gradle(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-p", "-b", "-c", "-I", "--init-script", "-x", "--exclude-task", "-g", "--tests"),
        bundle=False,
    )
    if opts.has("--dry-run", "-m", "--help", "-h", "--version", "-v"):
        return
    runs_project(inv, low)
    for script in opts.values("-I", "--init-script"):
        low.read(script)
    for word in opts.operands:
        task = word.text.rpartition(":")[2]
        _migrates(word, low)
        if task.startswith("publish") and not task.endswith("MavenLocal"):
            low.emit("package.publish", word.text, at=word, rule="package-publish",
                     reason="Publishes the build to a repository that others use.")  # fmt: skip
        elif task in ("uploadArchives", "closeAndReleaseRepository", "bintrayUpload"):
            low.emit("package.publish", word.text, at=word, rule="package-publish", reason="Publishes a release.")


def _migrates(word: Word, low: Lowering) -> None:
    """A task of a build that throws a database away."""
    if word.text.rpartition(":")[2] in ("flywayClean", "dropAll", "liquibaseDropAll") or word.text in _MIGRATIONS:
        low.emit("data.destroy", word.text, at=word, rule="migration-drop",
                 reason=f"`{word.text}` discards tables or the data in them.")  # fmt: skip


_MIGRATIONS = ("flyway:clean", "liquibase:dropAll", "liquibase:rollback")


_IMPORTED = late(r"\bimport\b[^;\n\"'`]{0,200}[\"'`](https?://(?!deno\.land/|jsr\.io/|esm\.sh/)[^\"'`]{1,1000})")


@command("deno")
def deno(inv: Invocation, low: Lowering) -> None:
    verb = inv.args[0].text if inv.args else ""
    rest = inv.args[1:]
    opts = parse(rest, bundle=False)
    if verb == "eval" and opts.operands:
        printing = opts.has("-p", "--print")
        low.code("javascript", opts.operands[0], via="deno eval -p" if printing else "deno eval")
        for address in _IMPORTED.findall(opts.operands[0].text)[:1]:
            low.emit("code.remote", address, certainty="possible", at=opts.operands[0])
    elif verb in ("repl", "run") and (codes := opts.values("--eval", "--eval-file")):
        for code in codes:
            low.code("javascript", code, via="deno repl")
    elif verb == "run" and opts.word(0) == "-" and inv.stdin is not None:
        low.code("javascript", inv.stdin, via="deno run")
    elif verb == "publish" and not opts.has("--dry-run", "--help"):
        low.emit("package.publish", "", rule="package-publish", reason="Publishes a package to everybody.")
    elif verb in ("install", "add"):
        installs(opts, low)
    elif verb in ("run", "test", "bench", "serve") and opts.operands:
        script = opts.operands[0]
        if script.text.startswith("data:"):
            low.run((Word("node"), Word("--import"), script), via="deno run")
        elif foreign(script.text):
            low.emit("code.remote", script.text, certainty="possible", at=script)
        elif verb == "run":
            low.run_file(script, via="deno run", language="javascript")


@command("bun")
def bun(inv: Invocation, low: Lowering) -> None:
    from interpose.effects.programs.packages.javascript import BUN

    opts = parse(
        inv.args, values=("-e", "--eval", "-p", "--print", "--cwd", "-c", "--config", "-r", "--preload"), stop=True
    )
    for code in opts.values("-e", "--eval"):
        low.code("javascript", code, via="bun -e")
    for code in opts.values("-p", "--print"):
        low.code("javascript", code, via="bun -p")
    if opts.word(0) == "exec" and len(opts.operands) > 1:
        # One text, for the shell that bun brings with it.
        low.shell(opts.operands[1], via="bun exec")
        return
    if opts.word(0) in ("-", "run") and inv.args[-1].text == "-" and inv.stdin is not None:
        low.code("javascript", inv.stdin, via="bun")
        return
    call = locate(inv.args, BUN)
    if call is not None:
        state("bun", call, BUN, low)
    elif opts.word(0).endswith((".js", ".ts", ".mjs", ".tsx", ".jsx")):
        low.run_file(opts.operands[0], via="bun", language="javascript")
