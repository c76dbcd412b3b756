"""Package managers of JavaScript: npm, pnpm, yarn, bun, deno and their runners."""

from __future__ import annotations

import json
from itertools import dropwhile

from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.packages.addresses import foreign
from interpose.effects.programs.packages.build import runs_project
from interpose.effects.programs.packages.managers import (
    PackageCall,
    PackageTool,
    locate,
    program_of,
    register,
    state,
    tool,
)
from interpose.effects.programs.shared.options import parse

_VALUES = """
    -C --prefix --dir --cwd --registry --tag --otp --access --workspace -w --userconfig --globalconfig --cache
    --loglevel --script-shell --filter -F --scope --omit --include --package -p --call -c --message -m --depth --config
"""
_INSTALL = "install i in add ci clean-install update up upgrade install-test it link dedupe rebuild"
_REMOVE = "uninstall un remove rm r unlink"
_REGISTRY = """
    deprecate undeprecate dist-tag.add dist-tag.set dist-tag.rm owner.add owner.rm access.grant access.revoke access.set
    team.create team.destroy team.rm org.set org.rm
"""

NPM = tool(
    values=_VALUES,
    install=f"{_INSTALL} global.add",
    remove=f"{_REMOVE} global.remove",
    publish="publish stage",
    withdraw="unpublish unpub",
    registry=_REGISTRY,
    login="token.create token.list token.revoke",
    run="explore",
    fetch="exec x",
)
PNPM = tool(
    values=_VALUES,
    install=_INSTALL,
    remove=_REMOVE,
    publish="publish",
    withdraw="unpublish",
    registry=_REGISTRY,
    run="exec node",
    fetch="dlx",
)
YARN = tool(
    values=_VALUES,
    install="add install upgrade up global.add dedupe",
    remove="remove global.remove",
    publish="publish npm.publish",
    registry="npm.tag.add npm.tag.remove tag.add tag.remove owner.add owner.remove",
    run="exec node",
    fetch="dlx",
)
BUN = tool(values=_VALUES, install="add a install i update link", remove="remove rm", publish="publish", fetch="x")

_LIFECYCLE = words("preinstall install postinstall prepare prepublish prepublishOnly prepack postpack preuninstall")
_PROGRAM_SETTINGS = words(
    "script-shell shell editor git node-options init-module viewer browser scriptShell globalconfig"
)
_TEXT_OPTIONS = ("--help", "-h", "--version", "-v")


@command("npm", "pnpm", "yarn", "yarnpkg", "cnpm")
def npm(inv: Invocation, low: Lowering) -> None:
    known = {"pnpm": PNPM, "yarn": YARN, "yarnpkg": YARN}.get(inv.name, NPM)
    _script_shell(inv, low)
    operands = parse(inv.args, values=known.values).operands
    head = tuple(word.text for word in operands[:2])
    if head in (("config", "set"), ("c", "set")):
        _configures(operands[2:], low)
        return
    if head[:1] == ("set",):
        _configures(operands[1:], low)
        return
    if head in (("config", "get"), ("c", "get")):
        _shows_setting(operands[2:], low)
        return
    if head == ("pkg", "set"):
        _edits_manifest(operands[2:], low)
        return
    if inv.name.startswith("yarn") and head[:1] in (("workspace",), ("workspaces",)):
        _yarn_workspace(inv, low)
        return
    if head[:1] in (("create",), ("init",)) and len(head) > 1:
        low.emit("package.install", head[1], foreign=foreign(head[1]))
        return
    call = locate(inv.args, known)
    if call is not None:
        _npm_call(inv.name, call, known, low)
    else:
        runs_project(inv, low)


def _npm_call(name: str, call: PackageCall, known: PackageTool, low: Lowering) -> None:
    if call.meaning == "fetch":
        _npx(name, call, low)
        return
    if call.meaning == "run" and call.verb == "node":
        low.run((Word("node"), *call.rest), via=name)
        return
    if call.meaning == "run" and call.verb == "exec" and _in_shell(name, call, low):
        return
    if call.meaning == "install":
        for word in parse(call.rest, values=known.values).operands:
            if _is_repository(word.text):
                low.emit("package.install", word.text, at=word, foreign=True)
                return
    state(name, call, known, low)


def _in_shell(name: str, call: PackageCall, low: Lowering) -> bool:
    """`pnpm -r exec -c TEXT`, `yarn exec TEXT`: one text for a shell."""
    opts = parse(call.rest, long=("--shell-mode", "--parallel"), stop=True)
    if not opts.has("-c", "--shell-mode") or not opts.operands:
        return False
    low.shell(Word(" ".join(word.text for word in opts.operands), opts.operands[0].span), via=name)
    return True


def _is_repository(text: str) -> bool:
    """`npm install user/name` takes the default branch of a repository."""
    owner, slash, rest = text.partition("/")
    return bool(slash and owner and rest) and owner[0] not in ".@~/" and "/" not in rest and ":" not in owner


def _yarn_workspace(inv: Invocation, low: Lowering) -> None:
    """`yarn workspace NAME verb ...` and `yarn workspaces foreach verb ...` are the verb, in other directories."""
    texts = [word.text for word in inv.args]
    start = texts.index("workspace") + 2 if "workspace" in texts else texts.index("workspaces") + 2
    rest = tuple(dropwhile(lambda word: word.text.startswith("-"), inv.args[start:]))
    if rest and rest[0].text == "run":
        rest = rest[1:]
    call = locate(rest, YARN)
    if call is not None:
        state(inv.name, call, YARN, low)


def _script_shell(inv: Invocation, low: Lowering) -> None:
    shells = parse(inv.args, values=("--script-shell",), bundle=False).values("--script-shell")
    shells += tuple(
        value for name, value in inv.env if name.lower() in ("npm_config_script_shell", "npm_config_node_options")
    )
    for shell in shells:
        low.emit("opaque", shell.text, at=shell, rule="npm-script-shell",
                 reason="Every script of the package would be given to this program.")  # fmt: skip
        low.shell(shell, via="npm --script-shell")


def _configures(operands: tuple[Word, ...], low: Lowering) -> None:
    if not operands:
        return
    key, equals, value = operands[0].text.partition("=")
    if not equals:
        value = operands[1].text if len(operands) > 1 else ""
    if key in _PROGRAM_SETTINGS:
        low.emit("persistence", key, at=operands[0], rule="npm-program-setting",
                 reason="From now on the package manager runs this program by itself.")  # fmt: skip
    elif key.rpartition(":")[2] in ("registry", "npmRegistryServer") and foreign(value):
        low.emit("persistence", key, at=operands[0], rule="npm-registry",
                 reason="From now on every package comes from this address.")  # fmt: skip
    elif key in ("ignore-scripts", "strict-ssl") and value == "false":
        low.emit("persistence", key, at=operands[0], rule="npm-weaker", reason="Switches a protection off for good.")


def _shows_setting(operands: tuple[Word, ...], low: Lowering) -> None:
    for word in operands:
        if any(part in word.text.lower() for part in ("_auth", "password", "token")):
            low.emit("secret.read", word.text, at=word, rule="registry-token", reason="Shows a token of the registry.")


def _edits_manifest(operands: tuple[Word, ...], low: Lowering) -> None:
    """`npm pkg set scripts.postinstall=...` plants what the next install runs."""
    for word in operands:
        key, _, code = word.text.partition("=")
        name = key.removeprefix("scripts.").removeprefix("scripts[").rstrip("]")
        if key != name and name in _LIFECYCLE:
            low.emit("persistence", key, at=word, rule="package-script", reason="The next install runs this by itself.")
            low.shell(replace(word, text=code), via="npm lifecycle script")
        elif key != name:
            low.write("package.json", Stream(json.dumps({"scripts": {name: code}})))


def _npx(name: str, call: PackageCall, low: Lowering) -> None:
    """Runs a program of a package, which is fetched first if it is not there."""
    opts = parse(
        call.rest, values=("-p", "--package", "-c", "--call", "-w", "--workspace", "--registry", "--cache"), stop=True
    )
    if opts.has(*_TEXT_OPTIONS):
        return
    for code in opts.values("-c", "--call"):
        low.shell(code, via=name)
    packages = opts.values("-p", "--package")
    for word in packages or opts.operands[:1]:
        low.emit("package.install", word.text, at=word, foreign=foreign(word.text) or _is_repository(word.text))
    if opts.operands:
        first = opts.operands[0]
        low.run((replace(first, text=program_of(first.text)), *opts.operands[1:]), via=name)


@command("npx", "bunx", "pnpx", "pnpm-dlx")
def npx(inv: Invocation, low: Lowering) -> None:
    _npx(inv.name, PackageCall("", "fetch", inv.args), low)


@command("corepack")
def corepack(inv: Invocation, low: Lowering) -> None:
    if inv.args and inv.args[0].text in ("npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"):
        low.run(inv.args, via="corepack")


_LERNA_VALUES = ("--scope", "--concurrency", "--since", "--ignore", "--loglevel")


@command("lerna")
def lerna(inv: Invocation, low: Lowering) -> None:
    """`lerna exec` runs a command in every package; one word is a text for a shell."""
    operands = parse(
        inv.args, values=("--scope", "--concurrency", "--since", "--ignore", "--loglevel"), stop=True
    ).operands
    if operands and operands[0].text == "exec":
        rest = parse(operands[1:], values=("--scope", "--concurrency", "--since", "--ignore"), stop=True).operands
        low.shell(Word(" ".join(word.text for word in rest), inv.span), via="lerna exec")
    elif (call := locate(inv.args, _PUBLISHERS)) is not None:
        state("lerna", call, _PUBLISHERS, low)
    else:
        runs_project(inv, low)


_PUBLISHERS = tool(publish="publish release upload.bom", withdraw="unpublish")
register("vsce", "ovsx", "changeset", "jsr", "elm", known=_PUBLISHERS, family=__name__)
register("eas", known=tool(publish="submit update"), family=__name__)
register(
    "fastlane",
    known=tool(publish="deliver release supply upload_to_app_store upload_to_play_store pilot"),
    family=__name__,
)
register("snapcraft", known=tool(publish="upload push release"), family=__name__)
register("lein", known=tool(publish="deploy release", run="run"), family=__name__)
register("sbt", "mill", known=tool(publish="publish publishSigned release ci-release"), family=__name__)
register("ansible-galaxy", known=tool(publish="publish collection.publish role.import"), family=__name__)


@command("semantic-release", "np", "release-it")
def release(inv: Invocation, low: Lowering) -> None:
    if not parse(inv.args).has("--dry-run", "-d", "--help", "--version", "--preview"):
        low.emit("package.publish", inv.name, rule="package-publish", reason="Tags, pushes and publishes a release.")


@command("rimraf", "del-cli", "shx")
def deleting_program(inv: Invocation, low: Lowering) -> None:
    """The deleters of package scripts: `npx rimraf dist`."""
    if inv.name == "shx":
        low.run(inv.args, via="shx")
        return
    for path in parse(inv.args).operands:
        low.delete(path, recursive=True, forced=True)
