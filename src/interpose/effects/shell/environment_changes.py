"""Commands that change the environment which the guard runs in: that install, remove, or make another in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.effects.frozen_values import words
from interpose.effects.paths import Mark, found_in_environment, holds_environment, installs_into_ours
from interpose.effects.shell.own_files import is_stated, named_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from interpose.effects.invocation import Invocation
    from interpose.effects.shell.lowering import CommandLowering

_MAKERS = words("venv virtualenv")
"""Modules that make an environment."""
_CHANGERS = words("ensurepip easy_install")
"""Modules that install into the environment whose interpreter runs them."""
_SETUP_VERBS = words("install develop")
_SAY_WHERE = ("PIP_", "UV_", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE", "PYTHONHOME")
"""Beginnings of the names of variables that say which environment an installer works on."""
_WITH_VALUES = words(
    """
    -p --python --prompt --app-data --seeder --creator --pip --setuptools --wheel --discovery --activators --cache-dir
    --config-file --index --default-index -i --index-url --extra-index-url -f --find-links --link-mode --project
    --directory
    """
)
"""Options of what makes environments whose values are not where it is made."""
_SAME_SEARCH = words(
    """
    bash sh zsh dash ksh fish env time nice nohup timeout command exec eval xargs stdbuf ionice setsid builtin watch
    python python3 node perl ruby
    """
)
"""What runs a program as it is found on the PATH. `uv run` has its own, `python -m` a module, `ssh` a machine."""


def state_changed_environment(inv: Invocation, low: CommandLowering, first: int) -> None:
    """State it if a command changes the environment of the guard."""
    if (made := _made(inv)) is not None:
        clears = any(word.text == "--clear" for word in inv.args)
        for text in made:
            where = low.path(text)
            mark = installs_into_ours(where, low.cwd) or (holds_environment(where, low.home) if clears else None)
            if _state(mark, where, "Makes another environment there", low, first):
                return
    elif _installs(inv, low, first):
        for text in _told(inv, low):
            if _state(installs_into_ours(low.path(text), low.cwd), text, "Changes the packages there", low, first):
                return


def _state(mark: Mark | None, where: str, what: str, low: CommandLowering, first: int) -> bool:
    if mark is None or is_stated(low, first):
        return False
    low.emit("guard.tamper", where, certainty="proven" if mark.ours else "possible", ours=mark.ours,
             rule="guard-package", reason=f"{what}, and it {mark.reason}")  # fmt: skip
    return True


def _installs(inv: Invocation, low: CommandLowering, first: int) -> bool:
    effects = low.walker.effects[first:]
    if any(
        (effect.kind == "package.install" and "fetched" not in effect.details)
        or effect.details.get("rule") == "package-remove"
        for effect in effects
    ):
        return True
    if not inv.name.startswith(("python", "pypy")):
        return False
    texts = [word.text for word in inv.args]
    script = next((at for at, text in enumerate(texts) if text.rpartition("/")[2] == "setup.py"), None)
    return _module(texts) in _CHANGERS or (script is not None and not _SETUP_VERBS.isdisjoint(texts[script + 1 :]))


def _made(inv: Invocation) -> list[str] | None:
    """The directories that become environments; None if the command makes none."""
    texts = [word.text for word in inv.args]
    if inv.name == "uv":
        if "venv" not in texts[:6] or not {"run", "pip", "tool"}.isdisjoint(texts[: texts.index("venv")]):
            return None
        return _operands(texts[texts.index("venv") + 1 :]) or [".venv"]
    if inv.name in _MAKERS:
        return _operands(texts)
    module = _module(texts) if inv.name.startswith(("python", "pypy")) else ""
    return _operands(texts[texts.index("-m") + 2 :]) if module in _MAKERS else None


def _module(texts: list[str]) -> str:
    return texts[texts.index("-m") + 1] if "-m" in texts[:-1] else ""


def _operands(texts: list[str]) -> list[str]:
    return [
        text
        for before, text in zip(["", *texts], texts, strict=False)
        if text[:1] != "-" and before not in _WITH_VALUES
    ]


def _told(inv: Invocation, low: CommandLowering) -> Iterator[str]:
    """Everything that says which environment an installer works on: its program, variables, and its words."""
    variables, given = low.walker.state.variables, dict(inv.env)
    path = given.get("PATH") or variables.get("PATH")
    if "/" in inv.argv0.text:
        yield inv.argv0.text
    elif _SAME_SEARCH.issuperset(low.via) and (
        found := found_in_environment(inv.argv0.text, path.text if path else low.walker.search_path)
    ):
        yield found
    if path is not None and path.text:
        yield path.text.partition(":")[0]  # what is first there is what is found
    for name in {**variables, **given}:
        value = given.get(name) or variables.get(name)
        if name.startswith(_SAY_WHERE) and value is not None and value.text:
            yield value.text
    for word in inv.args:
        yield from (piece for piece in named_in(word.text) if "/" in piece)
