"""The first hour of a new user: installed from a wheel, an agent guarded, a call refused, and everything out again.

`scripts/first-hour` starts this: a home with nothing in it, no repository on the path, only Python and pip. The agent
is the real Claude Code, with a scripted model and without a network. The exit code is 1 if one step failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from msgspec import Struct

from tests.e2e.agents.behaviours import ALLOWED, DENIED
from tests.e2e.agents.fake_model import FakeModel
from tests.e2e.agents.fetch import FetchError, cache, fetched, name_of
from tests.e2e.agents.known import AGENTS, Around, Started
from tests.package.built import build
from tests.package.remains import processes_of, remains
from tests.support.timing.patience import PATIENCE

AGENT = next(agent for agent in AGENTS if agent.host == "claude-code")
SETTINGS = ".claude/settings.json"
_KEPT = ("LANG", "TERM")
_LONGEST = 240.0


class Beginning(Struct, frozen=True):
    """What the agent's settings are before Interpose comes."""

    name: str
    settings: str | None


BEGINNINGS = (
    Beginning("no settings yet", None),
    Beginning(
        "settings of one's own",
        '{\r\n\t"model": "sonnet",\r\n\t"env": {"A": "1"},\r\n\t"hooks": {"Stop": [{"hooks": '
        '[{"type": "command", "command": "true"}]}]}\r\n}',
    ),
    Beginning("a byte order mark, no hooks yet", '\ufeff{\n  "env": {"A": "1"},\n  "hooks": {}\n}\n'),
)
COMMENTED = Beginning("comments", '{\n  // mine, and it stays\n  "env": {"A": "1"}\n}\n')
"""Claude Code passes over a file with comments: hooks in it would hold nobody."""


class FailedError(Exception):
    """A step that did not do what it should; the text says what was seen."""


class Steps:
    """Says each step as it ends, with its time."""

    def __init__(self) -> None:
        self.failed = False

    def take(self, name: str, act: Callable[[], str]) -> bool:
        """Do one step. False if it failed."""
        begun = monotonic()
        try:
            mark, said = "ok", act()
        except (FailedError, AssertionError, OSError, subprocess.SubprocessError) as error:
            mark, said, self.failed = "FAIL", str(error), True
        say(f"  {mark:5} {name:34} {monotonic() - begun:6.1f} s   {said}")
        return mark == "ok"


class NewUser:
    """A home with an agent in it, and the programs of an environment on its path."""

    def __init__(self, place: Path, programs: Path, parts: Mapping[str, Path], beginning: Beginning) -> None:
        self.home, self.project, self.temporary = place / "home", place / "project", place / "tmp"
        for directory in (self.home, self.project, self.temporary, place / "bin"):
            directory.mkdir(parents=True)
        self.programs, self.parts, self.beginning = programs, parts, beginning
        (place / "bin" / "claude").symlink_to(parts[name_of(AGENT.packages[0])] / "claude")
        self.environment = clean_environment(self.home, f"{programs}:{place / 'bin'}", self.temporary)
        if beginning.settings is not None:
            (self.home / ".claude").mkdir()
            self.settings.write_bytes(beginning.settings.encode())

    @property
    def settings(self) -> Path:
        """The agent's file, into which our hooks go."""
        return self.home / SETTINGS

    def interpose(self, *words: str) -> str:
        """Our command line. Raises FailedError if it ends with anything but 0."""
        done = subprocess.run(
            ["interpose", *words], check=False, cwd=self.project, env=self.environment, capture_output=True, text=True,
            timeout=PATIENCE, stdin=subprocess.DEVNULL, executable=self.programs / "interpose",
        )  # fmt: skip
        if done.returncode:
            raise FailedError(f"interpose {' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self) -> str:
        """Guard the agent."""
        self.interpose("install", AGENT.host, "--yes")
        return f"~/{SETTINGS}, {self.beginning.name}"

    def refused(self) -> str:
        """Hooks are not put where the agent would not read them."""
        words = [str(self.programs / "interpose"), "install", AGENT.host, "--yes"]
        done = subprocess.run(
            words, check=False, env=self.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        if done.returncode != 1 or "line 2, column 3: a comment" not in done.stderr:
            raise FailedError(f"it ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return "not installed: line 2, column 3: a comment"

    def doctor(self) -> str:
        """Everything must hold."""
        lines = [line for line in self.interpose("doctor").splitlines() if line.startswith("  ")]
        return f"{sum(line.startswith('  ok') for line in lines)} lines are ok, none is open"

    def agent(self) -> str:
        """The real agent wants two things: one runs, one is refused and told why."""
        with FakeModel((AGENT.run(ALLOWED), AGENT.run(DENIED))) as model:
            started = AGENT.start(self.parts, Around(model.url, ("true",), str(self.project)))
            self.welcome(started)
            done = subprocess.run(
                started.command, check=False, cwd=self.project, env={**self.environment, **started.environment},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LONGEST,
            )  # fmt: skip
            results = list(model.results)
        if len(results) < 2 or "said-42" not in results[0] or not (self.project / "allowed.marker").exists():
            raise FailedError(f"what is allowed did not run: {results}\n{done.stdout.decode(errors='replace')[-1500:]}")
        if (self.project / "denied.marker").exists() or "nobody has read" not in results[1]:
            raise FailedError(f"what must be refused ran, or nobody said why: {results[1]}")
        return f"Claude Code {AGENT.version}: one call ran, one was refused: {' '.join(results[1].split())[:60]}..."

    def welcome(self, started: Started) -> None:
        """The agent's own files, but for the settings: those are this user's."""
        for path, content in started.files.items():
            if path != SETTINGS:
                (self.home / path).write_text(json.dumps({**content, "mcpServers": {}}))

    def purge(self) -> str:
        """Everything out again."""
        return self.interpose("uninstall", "--all", "--purge", "--yes").splitlines()[-1]

    def clean(self) -> str:
        """Nothing of ours is left, and the agent's settings are what they were."""
        before, after = self.beginning.settings, self.settings.read_bytes() if self.settings.exists() else None
        if after != (None if before is None else before.encode()):
            raise FailedError(f"{SETTINGS} is not what it was: {after!r}")
        found = [*remains(self.home), *remains(self.temporary), *processes_of(self.home)]
        if found:
            raise FailedError(f"left: {', '.join(found[:10])}")
        return "no file, no directory, no process; settings are the same bytes"


def clean_environment(home: Path, programs: str, temporary: Path) -> dict[str, str]:
    """What a login would give, and no more."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(temporary)}


def main(argv: Sequence[str] | None = None) -> int:
    """Install with a network, then go on without one."""
    parser = argparse.ArgumentParser(prog="scripts/first-hour", description=__doc__)
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="this wheel (default: one that is built here)")
    parser.add_argument("--keep", action="store_true", help="leave the homes, for a look at what happened")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.inside:
        return _without_a_network(args.inside)
    place = Path(tempfile.mkdtemp(prefix="first-hour-"))
    steps = Steps()
    begun = monotonic()
    try:
        if install_wheel(steps, place, args.wheel) and steps.take("the agent, from npm or kept", _agent):
            steps.failed = bool(run_offline("tests.package.first_hour", place)) or steps.failed
    finally:
        if args.keep:
            say(f"everything is left in {place}")
        else:
            shutil.rmtree(place, ignore_errors=True)
    say(f"{'FAILED' if steps.failed else 'All of it holds'}, in {monotonic() - begun:.0f} s")
    return int(steps.failed)


def install_wheel(steps: Steps, place: Path, wheel: Path | None) -> bool:
    """The wheel, in an environment that has nothing else, by pip and from the network."""
    programs = place / "env" / "bin"
    environ = clean_environment(place, str(programs), place)
    # Where packages come from, and through what, is this machine's business.
    for name, text in os.environ.items():
        if name.startswith(("PIP_", "SSL_")) or name.lower().endswith("_proxy"):
            environ[name] = text

    def built() -> str:
        return str((wheel or build(place / "dist").wheel).name)

    def install() -> str:
        chosen = wheel.absolute() if wheel else next((place / "dist").glob("*.whl"))
        words = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--no-cache-dir", str(chosen)]
        done = subprocess.run(words, check=False, cwd=place, env=environ, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise FailedError(done.stderr[-1500:])
        brought = list(next((place / "env" / "lib").glob("python*")).glob("site-packages/*.dist-info"))
        return f"{len(brought)} packages, pip among them"

    def version() -> str:
        words = [str(programs / "interpose"), "--version"]
        done = subprocess.run(words, check=True, cwd=place, env=environ, capture_output=True, text=True)
        return done.stdout.strip()

    return (
        steps.take("the wheel", built)
        and steps.take("an environment: Python and pip", lambda: _environment(place / "env"))
        and steps.take("pip install", install)
        and steps.take("interpose --version", version)
    )


def _environment(place: Path) -> str:
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, capture_output=True, timeout=120)
    return sys.version.split()[0]


def _agent() -> str:
    fetch_parts(AGENT.packages)
    return AGENT.packages[0]


def fetch_parts(packages: Sequence[str]) -> dict[str, Path]:
    """The folders of an agent's packages, by their names. Raises FailedError."""
    try:
        return {name_of(package): fetched(package, cache()) for package in packages}
    except FetchError as error:
        raise FailedError(str(error)) from error


def run_offline(module: str, place: Path, *words: str) -> int:
    """A program of ours where there is no network but loopback, and no process of it outlives the run."""
    cut = ["unshare", "-rnpfm", "--mount-proc", "--kill-child"]
    here = [sys.executable, "-m", module, "--inside", str(place), *words]
    if shutil.which("unshare") and subprocess.run([*cut, "true"], check=False, capture_output=True).returncode == 0:
        # The shell stays: as the first process there it buries those whose parents are gone.
        here = [*cut, "sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh", *here]
    else:
        say("  note  no network namespace can be made here: the agent could reach the network")
    return subprocess.run(here, check=False).returncode


def _without_a_network(place: Path) -> int:
    steps = Steps()
    for number, beginning in enumerate(BEGINNINGS):
        user = NewUser(place / str(number), place / "env" / "bin", fetch_parts(AGENT.packages), beginning)
        with ended(user.home):
            _ = (
                steps.take("interpose install claude-code", user.install)
                and steps.take("interpose doctor", user.doctor)
                and steps.take("a call is refused", user.agent)
                and steps.take("interpose uninstall --all --purge", user.purge)
                and steps.take("nothing is left", user.clean)
            )
    commented = NewUser(place / "commented", place / "env" / "bin", fetch_parts(AGENT.packages), COMMENTED)
    steps.take("settings that no agent reads", commented.refused)
    steps.take("nothing is left", commented.clean)
    steps.take("pip uninstall", lambda: remove_wheel(place / "env"))
    return int(steps.failed)


def remove_wheel(env: Path) -> str:
    """Nothing of it stays in its environment."""
    words = [str(env / "bin" / "python"), "-m", "pip", "uninstall", "--quiet", "--yes", "interpose"]
    subprocess.run(words, check=True, capture_output=True, timeout=120, cwd=env)
    left = [str(path.relative_to(env)) for path in env.rglob("*interpose*")]
    if left:
        raise FailedError(f"left: {', '.join(left[:10])}")
    return "the environment has nothing of it any more"


@contextmanager
def ended(home: Path) -> Iterator[None]:
    """Whatever happens, no process with this home stays."""
    try:
        yield
    finally:
        for one in processes_of(home):
            try:
                os.kill(int(one.split()[1]), 9)
            except OSError:
                pass  # it has ended


def say(text: str) -> None:
    """A line for who runs this."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
