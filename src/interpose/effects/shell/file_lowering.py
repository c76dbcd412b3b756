"""How handlers speak of files: paths become effects, and what follows from a path alone is stated here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpose.effects.frozen_values import EMPTY, FrozenDict, words
from interpose.effects.invocation import (
    EMPTY_STREAM,
    NOTHING,
    OUR_NAMES,
    SETTINGS_NAMES,
    UNKNOWN,
    Invocation,
    Stream,
    Word,
)
from interpose.effects.paths import (
    Mark,
    Order,
    agent_directory_of,
    could_be_ours,
    could_find_ours,
    could_find_settings,
    could_list_ours,
    could_plant_ours,
    device_of,
    filled_directory_of,
    holds_environment,
    holds_ours,
    is_above_ours,
    is_certain,
    is_terminal,
    is_wild,
    lists_settings,
    order_in,
    order_of,
    ours_of,
    persistence_of,
    planted_in,
    resolve,
    secret_of,
    tamper_of,
)
from interpose.effects.programs.shared.disk_space import ENDLESS, passes_endless
from interpose.effects.programs.shared.revealing import SHOW_NOTHING
from interpose.effects.shell import second_looks
from interpose.effects.shell.edited_files import EDITED
from interpose.effects.syntax.budget import EFFECT, WILD_PATH, steps_of_path
from interpose.effects.values import Certainty, Effect, EffectKind

if TYPE_CHECKING:
    from interpose.effects.shell.walk import Walker

HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin", "/dev/zero", "/dev/full"})
_ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"})
_TAKE_ALL = frozenset({"grep", "sort", "tac", "tail"})
"""What keeps all that it reads in memory before it prints anything."""
MAX_LINKS = 64
"""How many symbolic links of one text are remembered, and followed one after the other."""
SAY_WHAT_LANDS = words(
    """
    cp gcp mv gmv ln gln link symlink install ginstall rename prename file-rename mmv ditto rsync scp pscp git tar gtar
    bsdtar unzip 7z 7za 7zr 7zz p7zip rar unrar cpio pax mkdir gmkdir touch gtouch mktemp rmdir
    """
)
"""Commands that `plant` what they put into a directory, or make it: a write to one says nothing more."""
_FOUND = frozenset({"output", "tree"})
"""Taints of what a search found, and of a tree with all that is in it."""


class FileLowering:
    """The part of one command's `Lowering` that is about effects in general and files: what paths mean, ours or not."""

    __slots__ = ("inv", "nested", "printed", "switches", "taints", "via", "walker")

    def __init__(self, walker: Walker, inv: Invocation, via: tuple[str, ...]) -> None:
        self.walker = walker
        self.inv = inv
        self.via = via
        self.switches: bool | None = None
        """Whether a word of the command names a switch that turns an agent's hooks off; None before anybody asked."""
        self.printed: Stream | None = None
        self.nested: Stream | None = None
        self.taints: frozenset[str] = NOTHING if inv.stdin is None else inv.stdin.taints

    @property
    def cwd(self) -> str:
        return self.walker.expander.cwd()

    @property
    def home(self) -> str:
        return self.walker.home

    @property
    def result(self) -> Stream:
        """What the command prints, after its handler has run."""
        if self.printed is not None:
            return self.printed
        if self.nested is not None:
            return self.nested
        return Stream(None, self.taints)

    def emit(
        self,
        kind: EffectKind,
        resource: str = "",
        *,
        certainty: Certainty = "proven",
        at: Word | None = None,
        **details: Any,
    ) -> None:
        # INVARIANT: doubt whether a branch runs makes no question of what is ours. Who can doubt can also be made to.
        if certainty == "proven" and self.walker.doubt and not details.get("ours"):
            certainty = "possible"
        span = self.inv.span if at is None or at.span == (0, 0) else at.span
        kept = FrozenDict({name: value for name, value in details.items() if value}) if details else EMPTY
        self.walker.effects.append(Effect(kind, resource, certainty, span, kept, self.via))
        self.walker.budget.spend(EFFECT + steps_of_path(resource))

    def spend(self, steps: int) -> None:
        self.walker.budget.spend(steps)

    def path(self, word: Word | str) -> str:
        text = word if isinstance(word, str) else word.text
        self.walker.budget.spend(1 + steps_of_path(text) + (WILD_PATH if UNKNOWN in text else 0))
        where = resolve(text, self.cwd, self.walker.home)
        return self._beyond_links(where, follow=False) if self.walker.links else where

    def place(self, path: Word | str) -> str:
        """Where a file lies that is opened by this name: a link at its end is followed too."""
        where = self.path(path)
        return self._beyond_links(where, follow=True) if self.walker.links else where

    def _beyond_links(self, where: str, *, follow: bool) -> str:
        """The path behind symbolic links that this text made. `follow`: the last part may be one, too."""
        for _ in range(MAX_LINKS):
            end = len(where) if follow else where.rfind("/")
            link = next((at for at in self.walker.links if where[:end] == at or where[:end].startswith(f"{at}/")), None)
            if link is None:
                break
            where = resolve(self.walker.links[link] + where[len(link) :], self.cwd, self.walker.home)
        return where

    def read(self, path: Word | str, **details: Any) -> Stream:
        where = self.place(path)
        special = self._descriptor(where)
        if special is not None:
            self.taints |= special.taints
            return special
        if where in _ENDLESS:
            if self.inv.name in _TAKE_ALL:
                self.emit("system", where, certainty="possible", rule="memory-fill",
                          reason="Reads without an end, until the memory is full")  # fmt: skip
            if not self.inv.name or passes_endless(self.inv):
                return Stream(taints=frozenset({ENDLESS}))
        if where in HARMLESS:
            return EMPTY_STREAM if where == "/dev/null" else Stream()
        self._state("fs.read", where, path, details)
        if is_terminal(where):
            self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      rule="terminal-input", reason="Reads what a person types, or sees, at a terminal")  # fmt: skip
        stream = second_looks.content_of(self.walker, where) or Stream()
        if EDITED in stream.taints:
            stream = Stream(None, stream.taints - {EDITED})
        secret = secret_of(where, self.walker.home)
        if secret:
            more = {"reason": secret.reason, "strength": secret.strength, "kept": self.inv.name in SHOW_NOTHING}
            self._state("secret.read", where, path, details | more)
            stream = Stream(stream.text, stream.taints | {"secret"})
        own = ours_of(where)
        if own is not None and own.private:
            self._tamper(own, where, path, details)
            stream = Stream(stream.text, stream.taints | {"secret"})
        elif self._could_read_ours(where, path, bool(details.get("recursive"))):
            self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      rule="guard-keys",
                      reason="Reads a directory in which keys and tokens of the guard itself lie")  # fmt: skip
        self.taints |= stream.taints
        return stream

    def _could_read_ours(self, where: str, path: Word | str, recursive: bool) -> bool:
        """Whether our keys could be among what is read: in a tree, by a pattern, by what was found or listed."""
        home = self.walker.home
        taints = path.taints if isinstance(path, Word) else NOTHING
        whole = recursive or "tree" in taints
        place = where.removesuffix("/*") if "tree" in taints else where
        return (
            (whole and (holds_ours(where, home, reading=True) or is_above_ours(place, home)))
            or could_be_ours(where, home, whole=whole)
            or ("output" in taints and could_find_ours(where, home))
            or (OUR_NAMES in taints and UNKNOWN in where)
        )

    def list_names(self, path: Word, *, below: bool = False) -> frozenset[str]:
        where = self.place(path)
        home = self.walker.home
        if (
            OUR_NAMES in path.taints
            or could_list_ours(where, home)
            or (below and holds_ours(where, home, reading=True))
            or ("output" in path.taints and could_find_ours(where, home))
        ):
            self.taints |= {OUR_NAMES}  # who takes what is printed for names opens ours
        if SETTINGS_NAMES in path.taints or lists_settings(where, home, below=below):
            self.taints |= {SETTINGS_NAMES}
        return self.taints

    def _tamper(self, mark: Mark, where: str, path: Word | str, details: dict[str, Any], **worse: Any) -> None:
        """State that what watches over agents is touched. What is ours for sure is ours whatever else is unknown."""
        if mark.ours and is_certain(where):
            details = details | {"certainty": "proven"}
        self._state("guard.tamper", where, path, details | {"reason": mark.reason, "ours": mark.ours} | worse)

    def _descriptor(self, where: str) -> Stream | None:
        """What is read from a path that stands for an open descriptor or a process substitution."""
        if not where.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/")):
            return None
        found = self.walker.state.files.get(where)
        if found is not None:
            return found
        if where in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            return self.inv.stdin or Stream()
        channel = self.walker.state.fds.get(int(number)) if (number := where.rpartition("/")[2]).isdecimal() else None
        return channel.stream if channel is not None else Stream()

    def fill(self, path: Word | str, *, name: str = "", everything: bool = False) -> None:
        where = self.place(path)
        home = self.walker.home
        mark = filled_directory_of(where, home, everything=everything)
        if mark is None or (name and tamper_of(f"{where.rstrip('/')}/{name}", home) is None):
            return
        self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                  reason=f"What is put there is not known, and it {mark.reason}")  # fmt: skip

    def plant(self, directory: Word | str, name: str | None = None) -> None:
        where = self.place(directory)
        home = self.walker.home
        mark = planted_in(where, home)
        # `cp -r x/state ~/.local/` is stated with its name already: what is in it lands there.
        if name is not None and name != where.rpartition("/")[2] and not is_wild(name):
            inside = f"{where.rstrip('/')}/{name}"
            own = ours_of(inside) if mark is not None or name.lower() == "interpose" else None
            mark = own or planted_in(inside, home)
        if mark is not None:
            self._planted(mark, where, directory)

    def _plant_into(self, where: str, path: Word | str) -> None:
        """A directory cannot be written like a file: who names one of those that ours lie in puts something there."""
        mark = planted_in(where, self.walker.home)
        if mark is not None and mark.ours and UNKNOWN not in where and "*" not in where:
            self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      reason=f"Nobody knows the names of what is put there, and it {mark.reason}")  # fmt: skip

    def _plant_found(self, where: str, path: Word) -> None:
        """State that something takes the place of files that a search finds, if ours could be among them."""
        home = self.walker.home
        mark = planted_in(where, home) if "tree" in path.taints else could_plant_ours(where, home)
        if mark is not None:
            self._planted(mark, where, path)

    def _planted(self, mark: Mark, where: str, path: Word | str) -> None:
        self.emit("guard.tamper", where, certainty="proven" if mark.ours else "possible",
                  at=path if isinstance(path, Word) else None, ours=mark.ours,
                  reason=f"Nobody knows the names of what is put there, and it {mark.reason}")  # fmt: skip

    def _remember_link(self, where: str, target: str) -> None:
        links = self.walker.links
        if where in links or len(links) < MAX_LINKS:
            links[where] = target
        else:
            self.walker.give_up("too-large", "More symbolic links are made than are followed", self.inv.span)

    def delete(self, path: Word | str, **details: Any) -> None:
        where = self.path(path)
        if where in HARMLESS:
            return
        self._state("fs.delete", where, path, details)
        for origin in second_looks.origins_of(self.walker, where) if "moved" not in details else ():
            self._state("fs.delete", origin, path, details)
        self._meaning(where, path, details, gone=True)
        if details.get("recursive") or details.get("moved"):
            # In a project of others, who deletes some files of it means those.
            self._takes_ours(where, path, whole=not (details.get("narrow") or details.get("partial")))
        self.walker.links.pop(where, None)
        self.walker.state.files.pop(where, None)

    def permission(self, path: Word | str, **details: Any) -> None:
        where = self.path(path)
        self._state("fs.permission", where, path, details)
        tamper = tamper_of(where, self.walker.home) or agent_directory_of(where, self.walker.home, gone=False)
        if tamper:
            self._tamper(tamper, where, path, details)
        else:
            self._changes_found(where, path)
        if not tamper and details.get("recursive"):
            self._takes_ours(where, path, whole=False)

    def _takes_ours(self, where: str, path: Word | str, *, whole: bool) -> None:
        """State that a directory in which ours lies is taken away, or closed. `whole`: with all that is in it."""
        if holds_ours(where, self.walker.home):
            self.emit("guard.tamper", where, at=path if isinstance(path, Word) else None, ours=True,
                      reason="Takes away a directory in which our own files lie")  # fmt: skip
        elif (mark := holds_environment(where, self.walker.home)) is not None and (whole or mark.ours):
            self.emit("guard.tamper", where, certainty="proven" if mark.ours else "possible", ours=mark.ours,
                      at=path if isinstance(path, Word) else None,
                      reason=f"Takes away a directory that {mark.reason}")  # fmt: skip
        elif could_be_ours(where, self.walker.home, whole=True):
            self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      rule="guard-keys", reason="Could take away the directory in which our own files lie")  # fmt: skip

    def _changes_found(self, where: str, path: Word | str) -> None:
        """State that files are changed which were listed or found where settings of agents lie."""
        if not isinstance(path, Word) or not path.taints & {SETTINGS_NAMES, *_FOUND}:
            return
        if (SETTINGS_NAMES in path.taints and UNKNOWN in where) or (
            not path.taints.isdisjoint(_FOUND) and could_find_settings(where, self.walker.home)
        ):
            self.emit("guard.tamper", where, certainty="possible", at=path, rule="guarded-place",
                      reason="Changes files that were found where agents keep their settings")  # fmt: skip

    def _meaning(
        self, where: str, path: Word | str, details: dict[str, Any], content: Stream | None = None, *, gone: bool
    ) -> None:
        """State what follows from changing this path, or from its being `gone`."""
        home = self.walker.home
        persistence = persistence_of(where, home)
        if persistence:
            more = details | {"reason": persistence.reason, "strength": persistence.strength}
            self._state("persistence", where, path, more)
        tamper = tamper_of(where, home) or agent_directory_of(where, home, gone=gone)
        if tamper:
            self._tamper(tamper, where, path, details, **self._switch(where, content))
        else:
            self._changes_found(where, path)
        if is_terminal(where):
            self.emit("guard.tamper", where, certainty="possible", at=path if isinstance(path, Word) else None,
                      rule="terminal-input", reason="Writes to a terminal at which a person may sit")  # fmt: skip
        device = device_of(where)
        if device:
            self._state(
                "system", where, path, details | {"rule": "raw-device", "wide": True, "reason": f"Writes to {device}"}
            )

    def _switch(self, where: str, content: Stream | None) -> dict[str, Any]:
        """What is worse than a change of an agent's settings: one that switches its hooks off."""
        from interpose.effects.agents import switch_reader

        text = content.text if content is not None else None
        if text is not None:
            found = switch_reader.switched_off_by(where, text)
            reason = f"{found.key} switches the hooks of this agent off" if found else ""
        else:
            if self.switches is None:
                self.switches = any(switch_reader.names_switch(word.text) for word in self.inv.args)
            reason = "This names a switch that turns the hooks of an agent off" if self.switches else ""
        return {"wide": True, "rule": "guard-off", "reason": reason} if reason else {}

    def _state(self, kind: EffectKind, where: str, path: Word | str, details: dict[str, Any]) -> None:
        at = path if isinstance(path, Word) else None
        certainty: Certainty = "possible" if UNKNOWN in where else "proven"
        self.emit(kind, where, certainty=details.get("certainty", certainty), at=at,
                  **{name: value for name, value in details.items() if name != "certainty"})  # fmt: skip

    # Our own server

    def reach(self, url: str, *, at: Word | None = None, socket: str = "") -> None:
        self._order(order_of(url, self.path(socket) if socket else ""), url or socket, at)

    def reach_raw(self, host: str, port: str, sent: Stream | None, *, at: Word | None = None, socket: str = "") -> None:
        if sent is not None:
            text = UNKNOWN if sent.text is None else sent.text
            self._order(order_in(text, host, port, self.path(socket) if socket else ""), socket or host, at)

    def _order(self, order: Order | None, resource: str, at: Word | None) -> None:
        if order is not None:
            self.emit("guard.tamper", resource, certainty="proven" if order.certain else "possible", at=at, ours=True,
                      rule="guard-orders", reason=order.reason)  # fmt: skip
