"""`interpose hook`: one event of an agent, from its standard input to its answer.

INVARIANT: however this ends, it ends with an answer that an interceptor gave, with a refusal, or (if the operator chose
`--fail-open`) with a call let through and a record of that. Any other exit code lets calls run in most agents.
"""

from __future__ import annotations

import gc
import os
import select
import sys
from collections.abc import Sequence
from time import monotonic, time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from interpose.core.config.load import Loaded
    from interpose.core.config.settings import Config
    from interpose.doors.hooks.clients.child_process import Send
    from interpose.doors.hooks.clients.programs.socket_client import PersonWait
    from interpose.doors.hooks.hosts.events import Host, Reply

EXIT_REFUSED = 2
_LARGEST = 64 << 20
_MUCH_GARBAGE = 500_000
"""Objects. A hostile event still can't fill the memory with them."""
_ENOUGH = 600.0
"""Seconds for whoever runs us without a host behind us."""

_EPILOG = """A server is asked if one runs (`interpose serve`); if not, the event is decided here, with the same answer,
and a server is started for the next one. It ends by itself when no hooks come any more.

Whatever goes wrong, the call is refused in the way that HOST understands; where a host knows no such way, the exit
code is 2 and one line on standard error says why.

exit codes: those of HOST's own contract (0, or 2 for a refusal)"""


class _HookCommandLine:
    """The command line."""

    def __init__(self) -> None:
        self.host = self.event = ""
        self.fail_open = self.in_process = self.managed = False
        self.within = self.wait = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `hook` understands. Only for its help: see `main`."""
    from argparse import SUPPRESS, RawDescriptionHelpFormatter

    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("host", metavar="HOST", help="the agent, such as claude-code")
    parser.add_argument("event", metavar="EVENT", nargs="?", help="the event, for hosts that don't say it themselves")
    parser.add_argument("--fail-open", action="store_true", help="let calls run that can't be decided, and record that")
    parser.add_argument("--in-process", action="store_true", help="decide here, whether a server runs or not")
    parser.add_argument("--within", metavar="SECONDS", help=SUPPRESS)
    parser.add_argument("--wait", metavar="SECONDS", help=SUPPRESS)
    parser.add_argument("--managed", action="store_true", help=SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Run `interpose hook` from a parsed command line."""
    flags = [f"--{name.replace('_', '-')}" for name in ("fail_open", "in_process") if getattr(args, name)]
    return main([args.host, *([args.event] if args.event else []), *flags])


def main(words: Sequence[str]) -> int:
    """Run `interpose hook`. Wrong usage is a refusal: a hook that was installed wrongly must not let calls run."""
    host: Host | None = None
    try:
        _be_brief()
        from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named

        asked = _parsed(words)
        host = host_named(asked.host)
        if host is None:
            raise ValueError(f"no such host: {asked.host!r}; known are {', '.join(HOSTS)}")
        if asked.managed:
            _take_own_places()
        return _say(*_answered(asked, host))
    except BaseException as error:  # noqa: BLE001 - an interrupt would let the call run as any other error would
        return _refuse(host, error)


class _Platform:
    """As much of `platform` as `uuid` asks for, which msgspec wants. The module itself compiles nine patterns."""

    @staticmethod
    def system() -> str:
        return os.uname().sysname


def _be_brief() -> None:
    """Spare what only pays in a process that lives on: looking for garbage, and libraries that msgspec asks for first
    and does as well without."""
    gc.set_threshold(_MUCH_GARBAGE)
    instead = {"typing_extensions": None, "platform": _Platform}  # None is how Python says: not to be imported
    given = [name for name in instead if name not in sys.modules]
    for name in given:
        sys.modules[name] = instead[name]  # type: ignore[assignment]  # a class does for a module here
    try:
        import msgspec  # noqa: F401 - it is loaded now, without the others
    finally:
        for name in given:
            del sys.modules[name]


def _parsed(words: Sequence[str]) -> _HookCommandLine:
    asked, rest = _HookCommandLine(), iter(words)
    named: list[str] = []
    for word in rest:
        if word == "--fail-open":
            asked.fail_open = True
        elif word == "--in-process":
            asked.in_process = True
        elif word == "--managed":
            asked.managed = True
        elif word == "--within":
            asked.within = float(next(rest, ""))
        elif word == "--wait":
            asked.wait = float(next(rest, ""))
        elif word.startswith("-") or len(named) == 2:
            raise ValueError(f"what is {word!r}? Usage: interpose hook HOST [EVENT] [--fail-open] [--in-process]")
        else:
            named.append(word)
    asked.host, asked.event = (*named, "", "")[:2]
    return asked


def _take_own_places() -> None:
    """Find configuration and state where the system says that this user lives.

    INVARIANT: what a project puts into its agent's environment moves none of them.
    """
    from pwd import getpwuid

    from interpose.core.platforms.system import user_runtime_directory

    user = os.getuid()
    runtime = user_runtime_directory(user)
    for name in [name for name in os.environ if name.startswith(("XDG_", "INTERPOSE_"))]:
        if (name, os.environ[name]) != ("XDG_RUNTIME_DIR", runtime):
            del os.environ[name]
    os.environ["HOME"] = getpwuid(user).pw_dir


def _answered(asked: _HookCommandLine, host: Host) -> tuple[Reply, str]:
    """The reply, and where a server should listen that is to be started after it."""
    from interpose.core.config.load import load
    from interpose.doors.hooks.clients.child_process import ChildError

    body = _read(monotonic() + (asked.within or _ENOUGH))
    started = monotonic()
    loaded = load()
    config = loaded.config
    seconds = asked.within or _seconds(host, config)
    start = ""
    if config.hooks.socket and not asked.in_process:
        answer, start, given = _asked_at_server(config, host, asked, body, seconds / 2)
        if answer is not None:
            return answer, ""
        started += given
    try:
        reply = _in_process(loaded, host, asked.event, body, started + seconds)
        if reply.nobody_to_ask and start and asked.wait >= 1:
            return _asked_at_new_server(start, host, asked, body, started + seconds) or reply, ""
        return reply, start
    except ChildError as error:
        if asked.fail_open or config.hooks.fail_open:
            return _let_through(config, host, asked.event, body, str(error)), start
        return host.broken(f"Interpose could not decide: {error}"), start


def _asked_at_server(
    config: Config, host: Host, asked: _HookCommandLine, body: bytes, seconds: float
) -> tuple[Reply | None, str, float]:
    """The reply of the server that listens, or where one should be started, and the seconds that a person was given."""
    from interpose.doors.hooks.clients.programs.socket_client import BrokenError, NobodyError, ask
    from interpose.doors.hooks.hosts.events import Reply

    person = _person(asked.wait)
    try:
        said = ask(config.hooks.socket, host.facts.name, asked.event, body, seconds, person)
    except NobodyError:
        return None, config.hooks.socket, 0.0
    except BrokenError:
        return None, "", person.given  # it may have hung, and must not be asked again
    return Reply(said.stdout, said.stderr.decode("utf-8", "replace"), said.code), "", 0.0


def _person(seconds: float) -> PersonWait:
    from interpose.doors.hooks.clients.programs.socket_client import PersonWait

    class AtTheHost(PersonWait):
        """The host's person is told where to answer."""

        def show(self, text: bytes) -> None:
            _write(2, text + b"\n")

    return AtTheHost(seconds)


def _asked_at_new_server(
    socket: str, host: Host, asked: _HookCommandLine, body: bytes, deadline: float
) -> Reply | None:
    """A person has to agree, and only a server can ask one: start it, and put the event to it.

    None if it gives no answer: what was decided here stands, and it is a refusal.
    """
    from interpose.doors.hooks.clients.on_demand import start_server
    from interpose.doors.hooks.clients.programs.socket_client import BrokenError, NobodyError, ask
    from interpose.doors.hooks.hosts.events import Reply

    try:
        start_server(socket)
        while (left := deadline - monotonic()) > 0:
            try:
                said = ask(socket, host.facts.name, asked.event, body, left, _person(asked.wait))
                return Reply(said.stdout, said.stderr.decode("utf-8", "replace"), said.code)
            except NobodyError:
                select.select((), (), (), 0.05)  # it does not listen yet
    except (BrokenError, OSError):
        pass
    return None


def _seconds(host: Host, config: Config) -> float:
    return host.facts.setup.seconds_for(config.hooks.deadline)


def _read(deadline: float) -> bytes:
    data = bytearray()
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    while poll.poll(max(0.0, deadline - monotonic()) * 1000):
        part = os.read(0, 1 << 20)
        if not part:
            return bytes(data)
        data += part
        if len(data) > _LARGEST:
            raise ValueError(f"the event has more than {_LARGEST} bytes")
    raise ValueError("the event did not come to its end in time")


def _in_process(loaded: Loaded, host: Host, event: str, body: bytes, deadline: float) -> Reply:
    import msgspec

    from interpose.doors.hooks.clients.child_process import start_in_child
    from interpose.doors.hooks.hosts.events import Reply

    config, cache = loaded.config, loaded.places.state / "cache" / "rules"

    def decide(send: Send) -> None:
        from interpose.composition.build import open_service
        from interpose.core.driving import drive
        from interpose.doors.cli import version
        from interpose.doors.hooks.hosts.event_answer import answer
        from interpose.effects import programs as commands
        from interpose.rules.policy.startup_memory import Memory

        memory = Memory(cache, version=version())
        mark = commands.fingerprint()
        if known := memory.families(mark):
            commands.defer(known)
        with open_service(config, follow=False, memory=memory) as service:
            path = os.environ.get("PATH", "")
            flow = answer(service, host, body, event=event, search_path=lambda: path)
            send(msgspec.msgpack.encode(drive(flow)))
            if not known:
                memory.keep_families(mark, commands.families())
            memory.save()

    return msgspec.msgpack.decode(start_in_child(decide, deadline)(), type=Reply)


def _let_through(config: Config, named: Host, hint: str, body: bytes, why: str) -> Reply:
    """What the operator chose for a call that nobody could decide about: it runs, and that is written down.

    In the ledger if it can be reached, and where people are told of it. What can't even be read does not run.
    """
    from interpose.composition.build import record_undecided
    from interpose.core.formats.strict_json import decode
    from interpose.doors.hooks.clients.child_process import ChildError, start_in_child
    from interpose.doors.hooks.clients.fail_open_log import LetThrough, note, spool_of
    from interpose.doors.hooks.hosts.all_hosts import speaking
    from interpose.doors.hooks.hosts.events import Reply, one_line

    raw = decode(body)
    host = speaking(raw, named)
    event = host.read(raw, hint)
    call = event.call
    recorded = False
    if call is not None:
        try:

            def record(send: Send) -> None:
                record_undecided(config, call, why)
                send(b"recorded")

            start_in_child(record, monotonic() + config.ledger.deadline)()
            recorded = True
        except ChildError:
            pass
    try:
        tool = call.original_name if call else ""
        note(spool_of(config), LetThrough(int(time()), host.facts.name, why, event.context.session_id, tool))
    except OSError:
        if not recorded:
            raise
    return Reply(host.allow(event).stdout, one_line(f"let through undecided (--fail-open): {why}"), 0)


def _say(reply: Reply, start: str) -> int:
    _write(1, reply.stdout)
    if reply.stderr:
        _write(2, f"{reply.stderr}\n".encode())
    if start:
        from interpose.doors.hooks.clients.on_demand import start_server

        try:
            start_server(start)
        except OSError:
            pass  # the answer is given; the next event is decided without a server, too
    return reply.exit_code


def _refuse(host: Host | None, error: BaseException) -> int:
    from interpose.core.errors import text_of

    said = " ".join(f"Interpose could not decide: {text_of(error)}".split())
    try:
        if host is not None:
            return _say(host.broken(said), "")
        _write(2, f"interpose: {said}\n".encode("utf-8", "replace"))
    except BaseException:  # noqa: BLE001, S110 - nobody reads us any more; the code has to say it all
        pass
    return EXIT_REFUSED


def _write(stream: int, data: bytes) -> None:
    sys.stdout.flush()
    while data:
        data = data[os.write(stream, data) :]
