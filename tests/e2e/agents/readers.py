"""What each agent reads besides plain JSON: a file that it can't read it passes over, and our hooks with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.apply import apply
from interpose.doors.hooks.install.places import InstallTarget
from interpose.doors.hooks.install.plan import plan_install
from interpose.effects.agents.agent import Looseness
from tests.e2e.agents.behaviours import DENIED
from tests.e2e.agents.home import Home
from tests.e2e.agents.known import Agent

_ALL: tuple[Looseness, ...] = ("comment", "trailing comma", "byte order mark")


def _commented(text: str) -> str:
    at = text.index("{") + 1
    return f"{text[:at]} // mine\n /* too */{text[at:]}"


def _with_a_comma(text: str) -> str:
    at = text.rindex("}")
    return f"{text[:at].rstrip()},\n{text[at:]}"


MANNERS: Mapping[Looseness, Callable[[str], str]] = {
    "comment": _commented,
    "trailing comma": _with_a_comma,
    "byte order mark": lambda text: f"\ufeff{text}",
}
OWN = {"copilot": '{\n  "version": 1,\n  "hooks": {"Stop": []}\n}\n'}
"""What a file has that the agent does not come with."""


class Read(Struct, frozen=True):
    """What became of a call that must be refused, when the agent's file was written in this manner."""

    host: str
    what: Looseness
    ran: bool
    told: bool
    takes: bool
    """Whether we say that it is read."""

    @property
    def good(self) -> bool:
        """Whether we put hooks there, and they hold; or we don't."""
        return self.takes == (self.told and not self.ran)

    @property
    def word(self) -> str:
        """What was seen."""
        return "RUNS" if self.ran else "refused" if self.told else "the agent does not start"


def run_readers(
    agents: Sequence[Agent], parts: Mapping[str, Path], place: Path, say: Callable[[str], None]
) -> list[Read]:
    """Each agent with its file in each manner."""
    found: list[Read] = []
    for agent in agents:
        setup = HOSTS[agent.host].facts.setup
        for what, manner in MANNERS.items() if setup.layout in ("groups", "flat") else ():
            with Home(place / agent.host / what.replace(" ", "-"), agent, parts) as home:
                _install(home, manner)
                run = home.run([agent.run(DENIED)])
                ran = (home.project / "denied.marker").exists()
                told = "nobody has read" in "".join(run.results)
            found.append(Read(agent.host, what, ran, told, what in setup.takes))
            say(f"· {agent.host} {agent.version}, a {what}: {found[-1].word}")
    return found


def _install(home: Home, manner: Callable[[str], str]) -> None:
    """Our hooks in a file that we would not write to."""
    file = home.hooks_file
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text() if file.exists() else OWN.get(home.agent.host, '{\n  "hooks": {"Stop": []}\n}\n')
    file.write_text(manner(text))
    facts = HOSTS[home.agent.host].facts
    target = InstallTarget(replace(facts, setup=replace(facts.setup, takes=_ALL)), "user", file, home.home)
    loaded = load(environ=home.environment)
    apply(plan_install(target, loaded), loaded.places)


def table(found: Sequence[Read]) -> str:
    """For people: a row for each agent."""
    rows = [f"| agent | {' | '.join(f'a {what}' for what in MANNERS)} |", f"|---|{'---|' * len(MANNERS)}"]
    for host in dict.fromkeys(one.host for one in found):
        cells = [one.word if one.good else f"**{one.word}**" for one in found if one.host == host]
        rows.append(f"| {host} | {' | '.join(cells)} |")
    return "\n".join(rows)
