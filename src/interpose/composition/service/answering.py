"""What only a server has: the seal, the known uses of grants, the known halts, the latest time, and the proof of those
who answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpose.composition.service.held_halts import HeldHalts
from interpose.core.config.settings import ApprovalSettings
from interpose.core.errors import ServerError
from interpose.people.approvals.alarms import GrantAlarms
from interpose.people.approvals.latest_time import LatestTime, keep_time, kept_time
from interpose.people.approvals.seal import Seal, open_seal
from interpose.people.approvals.uses import Uses
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.proof import Proof
from interpose.record.store.protocols import Store

USES = "uses"
TIME = "time"
AGENTS = "agents"


class Answering:
    """Held from the start of a server to its end."""

    def __init__(
        self,
        *,
        seal: Seal,
        uses: Uses,
        halts: HeldHalts,
        alarms: GrantAlarms,
        clock: LatestTime,
        proof: Proof,
        time_file: Path,
    ) -> None:
        self.seal, self.uses, self.halts, self.alarms, self.clock, self.proof = seal, uses, halts, alarms, clock, proof
        self._time_file = time_file

    @property
    def agents(self) -> SeenAgents:
        """The agents that asked here."""
        return self.proof.agents

    def of_desk(self) -> dict[str, Any]:
        """What a desk needs of it."""
        return {"seal": self.seal, "uses": self.uses, "alarms": self.alarms, "clock": self.clock}

    def keep_time(self) -> None:
        """Keep how late it is, for a server that is started with a clock that was set back. Raises OSError."""
        keep_time(self._time_file, self.clock())


def open_answering(settings: ApprovalSettings, store: Store) -> Answering:
    """All of it. Raises ServerError or StoreError if the key or the files can't be used."""
    for name, text in (("key", settings.key), ("directory", settings.directory)):
        if not text.startswith("/"):  # of a configuration that nobody loaded: a key must not lie wherever we are
            raise ServerError(f"approvals.{name}: {text!r} is no absolute path")
    directory = Path(settings.directory)
    alarms, clock, time_file = GrantAlarms(), LatestTime(), directory / TIME
    uses = Uses(directory / USES, store, alarm=alarms)
    for known in (kept_time(time_file), store.latest_ns()):
        clock.learn(known)
    uses.open(clock())
    clock.learn(uses.latest_ns)
    proof = Proof(settings, SeenAgents(directory / AGENTS))
    seal = open_seal(Path(settings.key))
    halts = HeldHalts(seal)
    halts.learn(store)
    return Answering(seal=seal, uses=uses, halts=halts, alarms=alarms, clock=clock, proof=proof, time_file=time_file)
