"""What a person should know of the environment that Interpose runs in: whose it is, whether it is as it was installed.

An environment of its own is protected as a whole. In any other, what is installed later can change what the guard runs
with, and nobody is asked: so one of its own is proposed.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator

from interpose.core.formats.counted import plural
from interpose.doors.hooks.install.places import spoken_path
from interpose.doors.hooks.install.remedies import HostCheck
from interpose.effects.environment.facts import Environment, installer_at, running
from interpose.effects.environment.unrecorded import unrecorded_modules
from interpose.effects.environment.verified import Flaw, VerifiedFiles, interpreter_flaw, startup_files, verify

_MOST = 5
"""Files that are named one by one."""
_SAID = {
    "changed": "is not as it was installed",
    "missing": "was installed and is gone",
    "added": "was not installed, and Python would import it",
    "compiled": "is compiled from something else than its source",
}
PLACE = "~/.local/share/interpose/env"
"""Where an environment of its own is proposed: agents may not touch it even before it is used."""


def environment_checks(environment: Environment | None = None) -> list[HostCheck]:
    """What `doctor` says. Nothing is raised: what can't be looked at is a finding."""
    environment = environment or running()
    return [
        _whose(environment),
        *_interpreter(environment),
        *_startup(environment),
        *_files(environment, verify(environment)),
        *_modules(environment),
    ]


def unprotected(environment: Environment | None = None) -> str:
    """What is not protected because the environment is not Interpose's own; empty if it is."""
    environment = environment or running()
    if environment.owner == "own":
        return ""
    whose = "a project's environment" if environment.owner == "project" else "the system's Python"
    return (
        f"Interpose runs in {whose}, {spoken_path(environment.root)}: an agent is asked before it changes files that "
        "Interpose runs with, but not before it installs packages there, which can change the same files"
    )


def proposal(host: str = "HOST") -> str:
    """The commands that give Interpose an environment of its own, with the installer that is there."""
    wanted = shlex.quote(f"interpose=={_version()}")
    if shutil.which("pipx"):
        made, program = f"pipx install {wanted}", "~/.local/bin/interpose"
    elif shutil.which("uv"):
        made, program = f"uv tool install {wanted}", "~/.local/bin/interpose"
    else:
        made, program = f"python3 -m venv {PLACE} && {PLACE}/bin/pip install {wanted}", f"{PLACE}/bin/interpose"
    return f"`{made}`, then `{program} install {host}`"


def _version() -> str:
    from interpose import __version__

    return __version__


def _whose(environment: Environment) -> HostCheck:
    open_ = unprotected(environment)
    if open_:
        todo = f"an environment of its own is protected as a whole: {proposal()}"
        return HostCheck("environment", "note", open_, file=environment.root, todo=todo)
    place = spoken_path(environment.root)
    return HostCheck("environment", "ok", f"Interpose's own, protected as a whole: {place}")


def _interpreter(environment: Environment) -> Iterator[HostCheck]:
    try:
        flaw = interpreter_flaw(environment)
    except OSError as error:
        flaw = f"{environment.interpreter}: {error.strerror}"
    if flaw:
        yield HostCheck("interpreter", "open", flaw, file=environment.interpreter)
    else:
        yield HostCheck("interpreter", "ok", spoken_path(os.path.realpath(environment.interpreter)))


def _startup(environment: Environment) -> Iterator[HostCheck]:
    for file in startup_files(environment):
        place = spoken_path(file.path)
        if not file.runs:
            yield HostCheck("start files", "note", f"{place}: no record knows it; it adds directories to import from")
        elif file.usual:
            yield HostCheck("start files", "note", f"{place}: no record knows it; virtualenv and uv write such a file")
        else:
            said = f"{place} runs at every start of Python, and no record knows it"
            yield HostCheck("start files", "open", said, file=file.path)


def _files(environment: Environment, found: VerifiedFiles) -> Iterator[HostCheck]:
    if not environment.distributions:
        yield HostCheck("program files", "note", "nothing says what was installed, so it can't be verified")
    for title in found.editable:
        yield HostCheck("program files", "note", f"{title} is run from a checkout, which is not verified")
    for title in found.unrecorded:
        yield HostCheck("program files", "note", f"{title} has no record of its files, so they can't be verified")
    for flaw in found.flaws[:_MOST]:
        said = f"{flaw.title}: {spoken_path(flaw.path)} {_SAID[flaw.kind]}"
        yield HostCheck("program files", "open", said, file=flaw.path, todo=_mended(environment, flaw))
    if len(found.flaws) > _MOST:
        rest = found.flaws[_MOST:]
        said = f"{plural(len(rest), 'further file')} of {_titles(rest)}"
        yield HostCheck("program files", "open", said, file=rest[0].path, todo=_mended(environment, rest[0]))
    if not found.flaws and found.files:
        packages = plural(len(environment.distributions) - len(found.unrecorded), "package")
        yield HostCheck("program files", "ok", f"{plural(found.files, 'file')} of {packages} as they were installed")


def _modules(environment: Environment) -> Iterator[HostCheck]:
    found = unrecorded_modules(environment)
    for module in (each for each in found if each.usual):
        place = spoken_path(module.path)
        yield HostCheck("program files", "note", f"{place}: no record knows it; virtualenv and uv write such a file")
    unknown = [each for each in found if not each.usual]
    for module in unknown[:_MOST]:
        used = ", and Interpose imports this name" if module.imported else ""
        said = f"{spoken_path(module.path)} belongs to no installed package{used}"
        todo = f"find out who put it there, and run `rm -r {shlex.quote(spoken_path(module.path))}`"
        yield HostCheck("program files", "open", said, file=module.path, todo=todo)
    if len(unknown) > _MOST:
        said = f"{plural(len(unknown) - _MOST, 'further module')} beside it of no installed package"
        yield HostCheck("program files", "open", said, file=unknown[_MOST].path)


def _titles(flaws: Iterable[Flaw]) -> str:
    return ", ".join(dict.fromkeys(flaw.title for flaw in flaws))


def _mended(environment: Environment, flaw: Flaw) -> str:
    """How a file comes to be what it was. INVARIANT: a person does it; no agent may."""
    if flaw.kind in ("added", "compiled"):
        return f"find out who put it there, and run `rm {shlex.quote(spoken_path(flaw.path))}`"
    pip = f"{spoken_path(environment.interpreter)} -m pip install"
    again = {
        "pipx": "pipx reinstall interpose",
        "uv": "uv tool install --reinstall interpose",
        "pip": f"{pip} --force-reinstall --no-deps {_pinned(flaw.title)}",
    }[installer_at(environment.root)]
    return f"find out who changed it, and run `{again}`"


def _pinned(title: str) -> str:
    return title.replace(" ", "==")
