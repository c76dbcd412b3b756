"""`interpose approvals operator`: how the person who answers proves to be no agent, stronger than by their terminal."""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

from interpose.core.config.load import load
from interpose.core.config.places import ORGANISATION
from interpose.core.config.settings import Config
from interpose.core.errors import ConfigError, ServerError
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.approving import operator_hand_over
from interpose.doors.cli.explaining.verdict_text import visible, visible_lines
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.hooks.install.situation import listening
from interpose.people.presence.proof import kind_of

_EPILOG = """--passphrase asks for a passphrase and keeps its hash. --user NAME (as root) lets NAME alone answer for
--for USER, over a socket that only NAME and the server reach. Each prints the lines for the configuration; with --write
those for --user are written where no user can change them.

handover HOST lets that agent ask ordinary questions at its own prompt where `hooks.ask: host` is set.

exit codes: 0 done, 64 wrong usage, 70 it can't be done, 78 a configuration that can't be loaded"""

SHARED = Path("/var/lib/interpose")
"""Where sockets for operators are: each in a directory of its own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `operator` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    show = acts.add_parser("show", help="how an answer is proven here, and by whom")
    show.add_argument("--json", action="store_true", help="print the answer as JSON")
    init = acts.add_parser("init", help="set it up")
    kind = init.add_mutually_exclusive_group(required=True)
    kind.add_argument("--passphrase", action="store_true", help="ask for a passphrase, twice and unseen")
    kind.add_argument("--user", metavar="NAME", help="the system user who answers; needs root")
    init.add_argument("--for", dest="guarded", metavar="USER", help="whose server it is (default: who called sudo)")
    init.add_argument("--create", action="store_true", help="create the user NAME if there is none")
    init.add_argument("--write", action="store_true", help=f"with --user: write {ORGANISATION}, if it is not there yet")
    for act in (show, init):
        act.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    operator_hand_over.add_arguments(acts.add_parser("handover", help=operator_hand_over.ABOUT))


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals operator`."""
    if args.act == "handover":
        return operator_hand_over.run(args)
    try:
        if args.act == "show":
            return _show(args)
        return _passphrase(args) if args.passphrase else _user(args)
    except ConfigError as error:
        code, problem = EXIT_CONFIG, f"a configuration that can't be loaded\n{error}"
    except (ServerError, OSError, subprocess.CalledProcessError) as error:
        code, problem = EXIT_INTERNAL, str(error)
    except (KeyError, ValueError) as error:
        code, problem = EXIT_USAGE, str(error.args[0])
    print(f"interpose approvals operator {args.act}: {visible_lines(problem)}", file=sys.stderr)
    return code


def _show(args: argparse.Namespace) -> int:
    settings = load(args.config).config.approvals
    has_passphrase = Path(settings.passphrase_file).is_file()
    if args.json:
        shown = {"proof": settings.proof, "passphrase_set": has_passphrase}
        print_json({**shown, "operator": settings.operator, "socket": settings.socket})
        return 0
    print(f"proof       {settings.proof}")
    print(f"passphrase  {'set' if has_passphrase else 'none'}")
    if settings.operator:
        print(f"operator    {visible(settings.operator)}, over {visible(settings.socket)}")
    return 0


def _passphrase(args: argparse.Namespace) -> int:
    from getpass import getpass

    from interpose.people.presence.passphrase import set_passphrase

    config = load(args.config).config
    file = Path(config.approvals.passphrase_file)
    if not sys.stdin.isatty():
        raise ValueError("--passphrase needs a terminal: type it yourself, where no agent sees it")
    said = getpass("New passphrase: ")
    if said != getpass("The same again: "):
        raise ValueError("the two are not the same; nothing was changed")
    set_passphrase(file, said)
    print(f"The hash is in {visible(str(file))}.")
    if kind_of(config.approvals.proof) != "passphrase":
        print(
            "It is asked for where your terminal proves nothing. To be asked each time, set this in interpose.yaml:\n"
        )
        print("  approvals:\n    proof: passphrase\n")
    print(_taken_over(config))
    return 0


def _taken_over(config: Config) -> str:
    """When a server counts what was set: a server reads it once, so that no agent can put another in its place."""
    found = (listening(at).pid for at in (config.server.socket, config.hooks.socket) if at)
    pids = " ".join(str(pid) for pid in dict.fromkeys(found) if pid)
    if not pids:
        return "No server runs; the next one reads it."
    return (
        f"The server that runs does not know it: end it with `kill {pids}`. An agent's next call and your next "
        "approval start another, unless you run `interpose serve` yourself."
    )


def _user(args: argparse.Namespace) -> int:
    if os.geteuid() != 0:
        raise ValueError("--user needs root: sudo interpose approvals operator init --user NAME")
    guarded = _known(args.guarded or os.environ.get("SUDO_USER", ""), "--for")
    operator = _operator(args.user, create=args.create)
    if operator.pw_uid in (guarded.pw_uid, 0):
        raise ValueError(f"the operator must be another user than {guarded.pw_name} and root")
    place = SHARED / guarded.pw_name
    place.mkdir(mode=0o755, parents=True, exist_ok=True)
    # The server makes its socket here; the group alone comes in, and what is made here is of that group.
    os.chown(place, guarded.pw_uid, operator.pw_gid)
    place.chmod(0o2750)
    lines = f"approvals:\n  proof: user\n  operator: {operator.pw_name}\n  socket: {place / 'answers.sock'}"
    if args.write and _written(f"lock: [approvals]\n{lines}\n"):
        print(f"{operator.pw_name} answers for {guarded.pw_name}, and nobody else: {ORGANISATION} says so.")
        print(f"Start the server of {guarded.pw_name} again.")
        return 0
    _tell(f"{operator.pw_name} answers for {guarded.pw_name}, and nobody else", lines)
    print("Put them into /etc/interpose/interpose.yaml, which both users read, with `lock: [approvals]`.")
    return 0


def _written(text: str) -> bool:
    """Make the organisation's file, which no user can change. False if there is one: what it says stays."""
    ORGANISATION.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        handle = os.open(ORGANISATION, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        print(f"{ORGANISATION} is there already, and was not changed.")
        return False
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return True


def _known(name: str, option: str) -> pwd.struct_passwd:
    if not name:
        raise ValueError(f"{option}: say whose server it is")
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise ValueError(f"{option}: there is no user {name!r}") from None


def _operator(name: str, *, create: bool) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        if not create:
            raise ValueError(f"--user: there is no user {name!r}; --create makes it") from None
    program = shutil.which("useradd")
    if program is None:
        raise ValueError(f"--create: this system has no useradd; create {name!r} yourself")
    words = [program, "--create-home", "--user-group", "--", name]
    subprocess.run(words, check=True)  # noqa: S603 - the name is an argument, and root chose it
    return pwd.getpwnam(name)


def _tell(done: str, lines: str) -> None:
    print(f"{visible(done)}\nSet this in interpose.yaml, and start the server again:\n")
    print("\n".join(f"  {line}" for line in lines.split("\n")))
