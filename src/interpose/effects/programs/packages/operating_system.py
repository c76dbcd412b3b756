"""Package managers of operating systems: what they install, and what the machine would lose."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.programs.packages.managers import PackageTool, installs, locate, register, removes, state, tool
from interpose.effects.programs.shared.options import Options, parse

_DRY = ("--dry-run", "-s", "--simulate", "--just-print", "--no-act", "--recon", "--help", "--version")

_APT = tool(
    values="-o --option -c --config-file -t --target-release --default-release -q",
    install="install reinstall upgrade dist-upgrade full-upgrade safe-upgrade build-dep",
    remove="remove purge autoremove autopurge",
)


@command("apt", "apt-get", "aptitude", "nala", "apt-fast")
def apt(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=_APT.values)
    for setting in opts.values("-o", "--option"):
        key, _, code = setting.text.partition("=")
        if "invoke" in key.lower():
            low.shell(replace(setting, text=code), via="apt -o")
    call = locate(inv.args, _APT)
    if call is not None and not opts.has(*_DRY):
        state(inv.name, call, _APT, low)


_DNF = tool(
    values="-c --config --repo --repoid --enablerepo --disablerepo --releasever -x --exclude --setopt --installroot",
    install="install reinstall localinstall update upgrade groupinstall group.install downgrade swap distro-sync",
    remove="remove erase autoremove groupremove group.remove module.remove rm",
)
_WINDOWS = tool(
    values="--id --source -s --version --name --scope",
    install="install upgrade update",
    remove="uninstall remove rm",
)
_PKG = tool(install="install add upgrade", remove="delete remove uninstall autoremove deinstall")

MANAGERS: dict[str, PackageTool] = {
    **dict.fromkeys(("dnf", "dnf5", "yum", "microdnf", "tdnf", "zypper", "urpmi"), _DNF),
    **dict.fromkeys(("choco", "chocolatey", "winget", "scoop"), _WINDOWS),
    **dict.fromkeys(("pkg", "pkgin", "opkg", "eopkg", "slackpkg"), _PKG),
    "apk": tool(values="-X --repository -p --root -t --virtual", install="add upgrade fix", remove="del"),
    "brew": tool(install="install reinstall upgrade", remove="uninstall remove rm autoremove bundle.cleanup"),
    "port": tool(install="install upgrade", remove="uninstall reclaim"),
    "snap": tool(values="--channel --revision", install="install refresh", remove="remove"),
    "flatpak": tool(install="install update", remove="uninstall remove"),
    "guix": tool(install="install upgrade", remove="remove"),
    "swupd": tool(install="bundle-add", remove="bundle-remove"),
}

for _name, _tool in MANAGERS.items():
    register(_name, known=_tool, family=__name__)


@command("pkg_delete", "xbps-remove", "removepkg", "urpme", "pkgrm")
def removing_program(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args)
    if opts.operands and not opts.has("-n", "--dry-run", "--help"):
        removes(opts.operands, low)


@command("pkg_add", "xbps-install", "installpkg")
def installing_program(inv: Invocation, low: Lowering) -> None:
    installs(parse(inv.args), low)


@command("pacman", "yay", "paru", "pikaur", "trizen", "pamac")
def pacman(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("-b", "-r", "--dbpath", "--root", "--config", "--cachedir", "--ignore", "--overwrite", "--hookdir"),
        aliases={
            "--remove": "-R",
            "--sync": "-S",
            "--upgrade": "-U",
            "--query": "-Q",
            "--print": "-p",
            "--files": "-F",
        },
    )
    if opts.has("-p", "--help", "-h", "-Q", "-F", "-T", "-D"):
        return
    if opts.has("-R") or opts.word(0) == "remove":
        # Without dependency checks pacman does not notice what it takes away.
        removes(opts.operands, low, forced=sum(name == "-d" for name, _ in opts.given) > 1)
    elif opts.has("-U") or (opts.has("-S") and not opts.has("-s", "-i", "-l", "-g", "-c")):
        installs(opts, low)


@command("rpm", "dpkg")
def low_level(inv: Invocation, low: Lowering) -> None:
    opts = parse(
        inv.args,
        values=("--root", "--admindir", "--instdir", "--dbpath", "--pre-invoke", "--post-invoke"),
        aliases={
            "--erase": "-e",
            "--remove": "-r",
            "--purge": "-P",
            "--install": "-i",
            "--upgrade": "-U",
            "--freshen": "-F",
        },
        bundle=inv.name == "rpm",
    )
    if inv.name == "dpkg" and opts.has("-x", "-X", "--extract", "--vextract"):
        for place in opts.operands[1:2]:
            low.write(place, directory=True)
    if opts.has(
        "--test", "--dry-run", "--simulate", "--no-act", "--help", "--version", "-q", "--query", "-l", "-L", "-s", "-S"
    ):
        return
    for code in opts.values("--pre-invoke", "--post-invoke"):
        low.shell(code, via=f"{inv.name} hook")
    if opts.has("-e") or (inv.name == "dpkg" and opts.has("-r", "-P")):
        removes(opts.operands, low, forced=opts.has("--nodeps", "--force-all", "--force-depends"))
    elif opts.has("-i", "-U", "-F"):
        installs(opts, low)


@command("emerge")
def emerge(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, aliases={"--unmerge": "-C", "--depclean": "-c", "--pretend": "-p", "--search": "-s"})
    if opts.has("-p", "-s", "--help", "--info", "--version"):
        return
    if opts.has("-C", "-c", "--rage-clean", "--prune", "-P"):
        removes(opts.operands, low)
    elif opts.operands:
        installs(opts, low)


_NIX = tool(
    values="--option --store --inputs-from -I --arg --argstr -f --file --profile -p",
    install="profile.install profile.add profile.upgrade build develop",
    remove="profile.remove store.delete",
)


@command("nix")
def nix(inv: Invocation, low: Lowering) -> None:
    texts = [word.text for word in inv.args]
    if texts[:1] == ["run"] and "--" in texts:
        border = texts.index("--")
        program = next((text.rpartition("#")[2] for text in texts[1:border] if "#" in text), "")
        if program:  # `nix run nixpkgs#python3 -- -c ...`
            low.run((Word(program), *inv.args[border + 1 :]), via="nix")
            return
    for index, word in enumerate(inv.args):
        if word.text in ("-c", "--command"):  # the first of them: `--command bash -c '...'` has the shell's own
            low.run(inv.args[index + 1 :], via="nix")
            return
    call = locate(inv.args, _NIX)
    if call is not None:
        rest = tuple(word for word in call.rest if not word.text.startswith("github:"))
        state("nix", replace(call, rest=rest), _NIX, low)


@command("nix-env")
def nix_env(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("-f", "-p", "--file", "--profile"), aliases={"--uninstall": "-e", "--install": "-i"})
    if opts.has("--dry-run", "--help", "-q"):
        return
    if opts.has("-e"):
        removes(opts.operands, low)
    elif opts.has("--delete-generations"):
        _loses_generations(opts, low)
    elif opts.has("-i", "-u", "-A"):
        installs(opts, low)


@command("nix-collect-garbage")
def nix_collect_garbage(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("--delete-older-than",), aliases={"--delete-old": "-d"})
    if opts.has("-d", "--delete-older-than") and not opts.has("--dry-run"):
        _loses_generations(opts, low)


def _loses_generations(opts: Options, low: Lowering) -> None:
    low.emit("system", " ".join(word.text for word in opts.operands) or "generations", rule="nix-generations",
             reason="Deletes earlier generations: there is no rolling back to them.")  # fmt: skip


@command("nix-shell")
def nix_shell(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args, values=("--run", "--command", "-p", "-I", "-A", "--arg"), bundle=False)
    for code in opts.values("--run", "--command"):
        low.shell(code, via="nix-shell")


@command("add-apt-repository", "apt-add-repository", "apt-key", "yum-config-manager")
def trusts_repository(inv: Invocation, low: Lowering) -> None:
    opts = parse(inv.args)
    if opts.operands and not opts.has("--help", "-l", "--list"):
        what = opts.operands[-1]
        low.emit("package.install", what.text, at=what, repository=True)
