"""What package managers share: finding the verb, and what installing, removing, publishing and running mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import Handler, command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.packages.addresses import foreign
from interpose.effects.programs.shared.inline_code import run_inline
from interpose.effects.programs.shared.options import Options, parse

Meaning = Literal["install", "remove", "publish", "withdraw", "registry", "login", "run", "fetch", "data"]
"""`withdraw`: unpublish or yank; `registry`: owners, tags, access; `login`: tokens; `fetch`: install and run (`npx`);
`data`: a database is thrown away."""


class PackageTool(Struct, frozen=True):
    """One package manager: its verbs (words of a path joined by dots) and the options that take a value."""

    verbs: Mapping[str, Meaning]
    values: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    """Verbs that only lead to a longer one."""


class PackageCall(Struct, frozen=True):
    """What was found on the command line: the verb, what it means, and everything after it."""

    verb: str
    meaning: Meaning
    rest: tuple[Word, ...]


_DRY = words("--dry-run --dryrun --help -h --version --simulate --just-print --no-act --recon --print-only --snapshot")
_INDEXES = words(
    "-i --index-url --extra-index-url --index --default-index -f --find-links --registry --source -s -c --channel"
)
_SOURCES = words("--git --url")
_ONLY_FETCHING = words("download wheel")
"""Verbs of pip that leave the environment as it is."""
_UNCHECKED = words(
    """
    --allow-unauthenticated --force-yes --allow-insecure-repositories --nogpgcheck --no-gpg-checks --allow-untrusted
    --trusted-host --allow-unsigned-rpm --no-check-signature --skip-integrity-check
    """
)
"""Options with which nobody checks whose package it is."""


def tool(*, values: str = "", **verbs: str) -> PackageTool:
    """Describe a package manager: each keyword is a meaning with its verbs (`run="exec tool.run"`)."""
    table: dict[str, Meaning] = {}
    for meaning, names in verbs.items():
        for name in names.split():
            table[name] = _meaning(meaning)
    prefixes = {name[:index] for name in table for index, sign in enumerate(name) if sign == "."}
    return PackageTool(table, words(values), frozenset(prefixes))


def _meaning(text: str) -> Meaning:
    match text:
        case "install" | "remove" | "publish" | "withdraw" | "registry" | "login" | "run" | "fetch" | "data":
            return text
        case _:
            raise ValueError(f"no such meaning: {text!r}")


def register(*names: str, known: PackageTool, family: str) -> Handler:
    """A package manager that its table describes completely. `family` is the module that holds the table."""

    def handler(inv: Invocation, low: Lowering) -> None:
        run_inline(inv, low)
        call = locate(inv.args, known)
        if call is not None:
            state(inv.name, call, known, low)

    handler.__module__ = family
    return command(*names)(handler)


def locate(args: tuple[Word, ...], known: PackageTool) -> PackageCall | None:
    """Find the longest verb among the leading operands."""
    path = ""
    best: PackageCall | None = None
    index = 0
    while index < len(args):
        text = args[index].text
        index += 1
        if text == "--":
            break
        if len(text) > 1 and text[0] in "-+":
            index += text in known.values
            continue
        path = f"{path}.{text}" if path else text
        if path in known.verbs:
            best = PackageCall(path, known.verbs[path], args[index:])
        if path not in known.prefixes:
            break
    return best


def state(name: str, call: PackageCall, known: PackageTool, low: Lowering) -> None:
    """State the effects of a package manager's verb."""
    if call.meaning == "run" or call.meaning == "fetch":
        runs(name, call, known.values, low)
        return
    opts = parse(call.rest, values=known.values, long=("--upgrade",))  # no short form of --upgrade-strategy
    if opts.has(*(_DRY - known.values)):
        return
    what = " ".join(word.text for word in opts.operands)
    shown = f"{name} {call.verb.replace('.', ' ')}"
    match call.meaning:
        case "install":
            installs(opts, low, fetched=call.verb in _ONLY_FETCHING)
        case "remove":
            removes(opts.operands, low)
        case "publish":
            low.emit("package.publish", what, rule="package-publish",
                     reason="Publishes a package to everybody; a version can hardly be taken back.")  # fmt: skip
        case "withdraw":
            low.emit("package.publish", what, rule="package-withdraw",
                     reason="Takes a published package away from everybody who relies on it.")  # fmt: skip
        case "registry":
            low.emit("package.publish", what, rule="package-registry",
                     reason=f"`{shown}` changes what others get, or who may publish.")  # fmt: skip
        case "login":
            low.emit(
                "secret.read", what or name, rule="registry-token", reason="Shows or makes a token of the registry."
            )
        case "data":
            low.emit("data.destroy", what or shown, rule="drop-database", reason=f"`{shown}` throws the database away.")


def installs(opts: Options, low: Lowering, *, fetched: bool = False) -> None:
    """Packages are installed: from the usual place, or from an address that somebody gave.

    `fetched`: their files are put somewhere, and no environment changes.
    """
    elsewhere = opts.has(*_UNCHECKED) or any(foreign(word.text) for word in opts.values(*_INDEXES, *_SOURCES))
    for word in opts.operands or (Word(""),):
        at = word if word.text else None
        low.emit("package.install", word.text, at=at, fetched=fetched,
                 foreign=elsewhere or foreign(word.text) or _fetched(word, low))  # fmt: skip


def _fetched(word: Word, low: Lowering) -> bool:
    """Whether a package is a file that this text fetched before."""
    content = low.known(word) if word.text else None
    return content is not None and not content.taints.isdisjoint(("remote", "cloned"))


_ESSENTIAL = words(
    """
    * apk-tools apt base base-files bash busybox coreutils dash dnf dpkg filesystem glibc init kernel kernel-core libc6
    libc-bin libstdc++6 linux linux-base login musl openssl pacman passwd python3 python3-minimal rpm sudo systemd
    systemd-sysv sysvinit util-linux yum zypper
    """
)
_ESSENTIAL_STARTS = ("linux-image", "kernel-", "grub")


def removes(packages: Collection[Word], low: Lowering, *, forced: bool = False) -> None:
    """Installed packages are removed. Without some of them the machine no longer runs."""
    for word in packages or (Word(""),):
        if word.text[:1] == "." and word.text[1:2].isalpha():
            continue  # apk's name for what was only needed to build
        essential = word.text in _ESSENTIAL or word.text.startswith(_ESSENTIAL_STARTS) or word.glob
        low.emit("system", word.text, at=word if word.text else None, rule="package-remove", wide=essential,
                 forced=forced,
                 reason="Removes something that the machine cannot run without." if essential
                 else "Removes an installed package; what relies on it breaks.")  # fmt: skip


def runs(name: str, call: PackageCall, values: Collection[str], low: Lowering) -> None:
    """`uv run cmd`, `npx pkg args`: what stands behind the tool's own options is a command."""
    inner = command_words(call.rest, values)
    if not inner:
        return
    via = f"{name} {call.verb.replace('.', ' ')}"
    if call.meaning == "fetch":
        package = inner[0]
        low.emit("package.install", package.text, at=package, foreign=foreign(package.text))
        inner = (replace(package, text=program_of(package.text)), *inner[1:])
    low.run(inner, via=via)


def command_words(rest: tuple[Word, ...], values: Collection[str]) -> tuple[Word, ...]:
    """The words of the inner command, after the options of the tool that runs it."""
    index = 0
    while index < len(rest):
        text = rest[index].text
        if text == "--":
            return rest[index + 1 :]
        if len(text) < 2 or text[0] != "-":
            return rest[index:]
        index += 2 if text in values else 1
    return ()


def program_of(package: str) -> str:
    """The program a package is named after: `@scope/tool@1.2` runs `tool`."""
    name = package.rpartition("/")[2] if not package.startswith(("git+", "http")) else package
    return name.split("@", 1)[0].split("==", 1)[0].split("[", 1)[0] or package
