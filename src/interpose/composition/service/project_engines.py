"""Which engine decides where: one for everywhere, and one for each set of project rules that tighten it.

A project's rules hold in its directory and below. They also hold for the rest of a session that was seen there: an
agent chooses its working directory, and must not get rid of rules by leaving it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from interpose.composition.service.session_rules import Files, SessionRules
from interpose.core.errors import PolicyError, StoreError, text_of
from interpose.core.types import Context
from interpose.engine.engine import Engine
from interpose.rules.policy.rules import PolicyProblem

PROJECTS = 32
"""Sets of project rules that are kept compiled. The one that was longest out of use makes room."""
DIRECTORIES = 10_000
_LOOK_AGAIN = 1.0
_SELDOM = 20


class Ruled(Protocol):
    """An engine and the rules that it follows."""

    @property
    def engine(self) -> Engine:
        """Who decides."""

    def stop(self) -> None:
        """Stop following the files."""


R = TypeVar("R", bound=Ruled)


class ProjectEngines(Generic[R]):
    """Engines by the project files that hold. `open_engine` makes one; it raises PolicyError for rules that are broken,
    and then `refusing` makes the one that decides instead."""

    def __init__(
        self,
        shared: R,
        open_engine: Callable[[Files], R],
        refusing: Callable[[PolicyError], Engine],
        find: Callable[[str], Files],
        sessions: SessionRules | None = None,
        everywhere: Callable[[], Files] = tuple,
    ) -> None:
        """`everywhere` are files that hold wherever an agent works, and only while they are there."""
        self.shared = shared
        self._open, self._refusing, self._find, self._everywhere = open_engine, refusing, find, everywhere
        self._standing: tuple[float, Files] = (0.0, ())
        self._lock = threading.Lock()
        self._projects: OrderedDict[Files, R] = OrderedDict()
        self._broken: dict[Files, tuple[float, Engine]] = {}
        self._looked: dict[str, tuple[float, Files]] = {}
        self._sessions = sessions or SessionRules()

    def engine(self, context: Context) -> Engine:
        """The engine whose rules hold for this session in this directory."""
        try:
            files = self._files(context)
        except StoreError as error:
            # INVARIANT: a session whose rules can't be told is held until they can.
            why = f"which project's rules hold for this session can't be told: {text_of(error)}"
            return self._refusing(PolicyError((PolicyProblem("the store", 0, "", why),)))
        return self.shared.engine if not files else self._project(files)

    def anywhere(self) -> Engine:
        """The engine of calls that come from nowhere: no project's file is opened for them."""
        files = self._files_everywhere()
        return self.shared.engine if not files else self._project(files)

    def all(self) -> tuple[R, ...]:
        """Every engine that is open, the shared one first."""
        with self._lock:
            return (self.shared, *self._projects.values())

    def remember(self, before: ProjectEngines[R]) -> None:
        """Take over which projects sessions were seen in: no change of the configuration lets them out."""
        self._sessions = before._sessions

    def stop(self) -> None:
        """Stop following files."""
        for ruled in self.all():
            ruled.stop()

    def _files(self, context: Context) -> Files:
        found = self._files_in(context.cwd) if context.cwd.startswith("/") else ()
        held = self._sessions.seen(context.session_id, found) if context.session_id else found
        return held + self._files_everywhere()

    def _files_everywhere(self) -> Files:
        now = monotonic()
        looked, files = self._standing
        if not looked or now - looked > _LOOK_AGAIN:
            files = self._everywhere()
            self._standing = (now, files)
        return files

    def _files_in(self, cwd: str) -> Files:
        now = monotonic()
        looked, files = self._looked.get(cwd, (0.0, ()))
        if not looked or now - looked > _LOOK_AGAIN:
            files = self._find(cwd)
            if len(self._looked) > DIRECTORIES:
                self._looked.clear()  # agents choose directories: the memory must not grow with them
            self._looked[cwd] = (now, files)
        return files

    def _project(self, files: Files) -> Engine:
        with self._lock:
            if (known := self._projects.get(files)) is not None:
                self._projects.move_to_end(files)
                return known.engine
        now = monotonic()
        with self._lock:
            if files in self._projects:
                return self._projects[files].engine
            again, refusing = self._broken.get(files, (0.0, None))
            if refusing is not None and now < again:
                return refusing
            try:
                ruled = self._open(files)
            except PolicyError as error:
                # INVARIANT: rules that can't be read hold everything. An agent may break a project's file, not lift it.
                if len(self._broken) > PROJECTS:
                    self._broken.clear()
                # What takes long to read is read seldom: an agent that writes it must not keep others waiting.
                again = monotonic() + max(_LOOK_AGAIN, _SELDOM * (monotonic() - now))
                self._broken[files] = (again, engine := self._refusing(error))
                return engine
            self._broken.pop(files, None)
            self._projects[files] = ruled
            if len(self._projects) > PROJECTS:
                self._projects.popitem(last=False)[1].stop()
            return ruled.engine
