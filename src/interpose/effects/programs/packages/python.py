"""Package managers of Python: pip, uv, poetry, conda and their kin."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Word
from interpose.effects.late_patterns import late
from interpose.effects.programs.packages.addresses import foreign
from interpose.effects.programs.packages.managers import (
    PackageCall,
    PackageTool,
    command_words,
    locate,
    register,
    runs,
    state,
    tool,
)
from interpose.effects.programs.shared.options import Options, parse

_PIP_VALUES = """
    -r --requirement -c --constraint -e --editable -t --target -i --index-url --extra-index-url -f --find-links --prefix
    --root --src --python --platform --python-version --implementation --abi --proxy --timeout --retries --cache-dir
    --log --cert --client-cert --trusted-host --progress-bar --report --upgrade-strategy --no-binary --only-binary
    --config-settings -C --global-option --exists-action
"""
PIP = tool(values=_PIP_VALUES, install="install download wheel", remove="uninstall")
_PIPS = ("pip", "pip2", "pip3", *(f"pip3.{minor}" for minor in range(6, 16)))


@command(*_PIPS, "pipenv")
def pip(inv: Invocation, low: Lowering) -> None:
    call = locate(inv.args, PIP)
    operands = parse(inv.args, values=PIP.values).operands
    if call is not None:
        _pip_call(inv.name, call, low)
    elif [word.text for word in operands[:2]] == ["config", "set"] and len(operands) > 3:
        _configures(operands[2], operands[3], low)
    elif inv.name == "pipenv" and inv.args and inv.args[0].text == "run":
        low.run(inv.args[1:], via="pipenv run")


_REPLACING = words(
    "-U --upgrade --force --force-reinstall -I --ignore-installed --reinstall --reinstall-package -P --upgrade-package"
)
_BESIDES = words("--with --with-editable --with-requirements")
"""What uv puts beside a program, for which it makes the environment of one that is there anew."""
_EVERY_TOOL = words("upgrade-all reinstall-all uninstall-all")
_INTO_PLACE = words("install pip.install pip.sync tool.install tool.upgrade upgrade reinstall inject")


def _own_package(call: PackageCall, opts: Options, low: Lowering) -> None:
    """Our own package is replaced or taken away. A first install of it is neither."""
    if (call.verb in _EVERY_TOOL or (call.verb.startswith("tool.") and opts.has("--all"))) and not opts.has("--help"):
        low.emit("guard.tamper", call.verb, certainty="possible", rule="guard-package",
                 reason="Replaces or removes every program of this user, perhaps the guard itself")  # fmt: skip
    for word in (*opts.operands, *opts.values("--reinstall-package", "-P", "--upgrade-package")):
        name, version = _requirement(word.text)
        if name != "interpose":
            continue
        replaces = bool(version) or opts.has(*_REPLACING) or call.verb.endswith(("upgrade", "reinstall", "inject"))
        replaces = replaces or (call.verb == "tool.install" and opts.has(*_BESIDES))
        if call.meaning == "remove" or (call.verb in _INTO_PLACE and replaces and not opts.has("-t", "--target")):
            low.emit("guard.tamper", word.text, at=word, ours=True, rule="guard-package",
                     reason="Replaces or removes the installed program of the guard itself")  # fmt: skip


def _requirement(text: str) -> tuple[str, str]:
    """Name and version of `Interpose[mcp]==0.1`, `interpose@0.1`, `dir/interpose-0.1-py3-none-any.whl`."""
    file = text.rpartition("/")[2].lower()
    if file.endswith((".whl", ".tar.gz", ".zip")):
        name, _, version = file.partition("-")
        return name, version
    found = _NAME.match(text.lower().replace("_", "-"))
    return (
        (found[0], text[found.end() :].partition("]")[2] or text[found.end() :].partition("[")[0])
        if found
        else ("", "")
    )


_NAME = late(r"[a-z0-9][a-z0-9.-]*")


def _pip_call(name: str, call: PackageCall, low: Lowering) -> None:
    opts = parse(call.rest, values=PIP.values, long=_REPLACING)
    if opts.has("--help", "-h", "--dry-run"):
        return
    _own_package(call, opts, low)
    for file in opts.values("-r", "--requirement", "-c", "--constraint"):
        if "://" in file.text:
            low.emit("package.install", file.text, at=file, foreign=foreign(file.text))
        else:
            low.read(file)
    for source in opts.values("-e", "--editable"):
        low.emit("package.install", source.text, at=source, foreign=foreign(source.text))
    for target in opts.values("-t", "--target", "--prefix", "--root"):
        low.write(target, directory=True)
    if call.meaning == "install" and not opts.operands and opts.has("-r", "-e", "--requirement", "--editable"):
        index = next((word for word in opts.values("-i", "--index-url") if foreign(word.text)), None)
        low.emit("package.install", "requirements", foreign=index is not None)
        return
    state(name, call, PIP, low)


def _configures(key: Word, value: Word, low: Lowering) -> None:
    if key.text.rpartition(".")[2] in ("index-url", "extra-index-url", "find-links") and foreign(value.text):
        low.emit(
            "persistence", key.text, at=value, rule="pip-index", reason="From now on packages come from this address."
        )


_UV_VALUES = f"""
    {_PIP_VALUES} -p --with --with-requirements --with-editable --group --only-group --no-group --extra --project
    --directory --env-file --index --default-index --package --from --name --publish-url --token --username --password
    --build-backend --output-file -o --color --config-file -w --module -m
"""
UV = tool(
    values=_UV_VALUES,
    install="add sync pip.install pip.sync tool.install tool.upgrade python.install self.update lock",
    remove="remove pip.uninstall tool.uninstall python.uninstall",
    publish="publish",
    run="run",
    fetch="tool.run",
    login="auth.token",
)


@command("uv")
def uv(inv: Invocation, low: Lowering) -> None:
    call = locate(inv.args, UV)
    if call is None:
        return
    if call.meaning == "run":
        _uv_run(call.rest, inv, low)
    elif call.meaning == "fetch":
        _fetches("uv", call, low)
    elif call.verb in ("pip.install", "pip.sync", "pip.uninstall"):
        _pip_call("uv", call, low)
    else:
        if call.verb.startswith("tool."):
            _own_package(call, parse(call.rest, values=UV.values, long=_REPLACING), low)
        state("uv", call, UV, low)


def _uv_run(rest: tuple[Word, ...], inv: Invocation, low: Lowering) -> None:
    python = Word("python")
    inner: tuple[Word, ...] = ()
    index = 0
    while index < len(rest) and not inner:
        text = rest[index].text
        if text in ("-m", "--module"):
            inner = (python, Word("-m"), *rest[index + 1 :])
        elif text in ("-s", "--script", "--gui-script"):
            inner = (python, *rest[index + 1 :])
        elif text == "--":
            inner = rest[index + 1 :]
            break
        elif len(text) < 2 or text[0] != "-":
            inner = rest[index:]
        index += 2 if text in UV.values else 1
    if inner and (inner[0].text.endswith((".py", ".pyw")) or inner[0].text == "-"):
        inner = (python, *inner)
    if inner:
        low.run(inner, via="uv run", stdin=inv.stdin)


def _fetches(name: str, call: PackageCall, low: Lowering) -> None:
    """`uvx`, `pipx run`: `--from` may name another package than the program."""
    for source in parse(call.rest, values=UV.values, stop=True).values("--from", "--spec", "--with"):
        low.emit("package.install", source.text, at=source, foreign=foreign(source.text))
    inner = command_words(call.rest, UV.values)
    if inner and inner[0].text.startswith(("http://", "https://")):
        low.emit("package.install", inner[0].text, at=inner[0], foreign=True)
        return
    runs(name, call, UV.values, low)


@command("uvx")
def uvx(inv: Invocation, low: Lowering) -> None:
    _fetches("uvx", PackageCall("", "fetch", inv.args), low)


PIPX = tool(
    values=f"{_PIP_VALUES} --spec --with --suffix --pip-args --fetch-missing-python",
    install="install inject upgrade upgrade-all reinstall reinstall-all install-all",
    remove="uninstall uninstall-all uninject",
    fetch="run",
    run="runpip",
)


@command("pipx")
def pipx(inv: Invocation, low: Lowering) -> None:
    call = locate(inv.args, PIPX)
    if call is None:
        return
    if call.meaning == "run":  # `pipx runpip interpose uninstall x`: pip, in the environment of a program
        low.run((Word("pip"), *call.rest[1:]), via="pipx runpip")
        if call.rest[:1] and call.rest[0].text == "interpose":
            low.emit("guard.tamper", "interpose", at=call.rest[0], ours=True, rule="guard-package",
                     reason="Changes what the guard's own program runs with")  # fmt: skip
        return
    if call.meaning == "fetch":
        _fetches("pipx", call, low)
    else:
        _own_package(call, parse(call.rest, values=PIPX.values, long=_REPLACING), low)
        state("pipx", call, PIPX, low)


_PROJECT = "-C --directory -P --project --group -G --with --without --only --source --repository -r -u -p -e --env"
_ADD = "add install update sync"
_CONDA = tool(
    values="-n --name -p --prefix -c --channel -f --file --cwd --solver",
    install="install create update upgrade env.create env.update",
    remove="remove uninstall env.remove",
    run="run",
)

TOOLS: dict[str, PackageTool] = {
    "poetry": tool(
        values=_PROJECT,
        install=f"{_ADD} self.add self.update",
        remove="remove self.remove",
        publish="publish",
        run="run",
    ),
    "pdm": tool(values=_PROJECT, install=_ADD, remove="remove", publish="publish", run="run"),
    "rye": tool(values=_PROJECT, install=_ADD, remove="remove uninstall", publish="publish", run="run"),
    "hatch": tool(values=_PROJECT, publish="publish", run="run env.run"),
    "flit": tool(values=_PROJECT, install="install", publish="publish"),
    "pixi": tool(
        values=_PROJECT,
        install="add install global.install",
        remove="remove global.uninstall",
        publish="upload",
        run="run",
        fetch="exec",
    ),
    "twine": tool(values="-r --repository --repository-url -u -p -c --config-file --cert", publish="upload"),
    "maturin": tool(publish="publish upload"),
    "anaconda": tool(publish="upload", withdraw="remove"),
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
}

for _name, _tool in TOOLS.items():
    register(_name, known=_tool, family=__name__)
