"""`interpose serve token`: who may ask the server, one token for each. Made, listed and taken back."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from pathlib import Path
from typing import get_args

from interpose.core.config.load import load
from interpose.core.errors import ConfigError, ServerError, text_of
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible, visible_lines
from interpose.doors.cli.shared.closed_values import one_of
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.server_client import connection_to, reachable
from interpose.doors.http_server.messages import Role
from interpose.doors.http_server.tokens import Token, Tokens, open_tokens, read_tokens, require_name

EXIT_NOT_DONE = 1
TIMEOUT = 5.0

_EPILOG = """A new token is printed once; of those that are made here the tokens file keeps the SHA-256 only. To rotate
one, make another, give it out, and revoke the old one. A running server takes the change over at once.

exit codes: 0 done, 1 there is no such token, 64 wrong usage, 70 a file that can't be used, 78 a configuration that
can't be loaded"""

_LIFE = re.compile(r"([1-9][0-9]{0,4})([dh])")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `token` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    new = acts.add_parser("new", help="make a token and print it")
    new.add_argument("name", help="who shows it: the principal of their calls")
    roles = get_args(Role)
    new.add_argument(
        "--role", type=one_of("role", roles), choices=roles, default="agent", help="what it may (default: agent)"
    )
    new.add_argument("--for", dest="life", default="", metavar="TIME", help="90d or 12h (default: it never ends)")
    listing = acts.add_parser("list", help="the tokens, without their secrets")
    revoke = acts.add_parser("revoke", help="take a token back")
    revoke.add_argument("name")
    for act in (new, listing, revoke):
        act.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
        act.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose serve token`."""
    try:
        config = load(args.config).config
        server = config.server
        if not server.tokens_file:
            raise UsageError("server.tokens_file is empty: there are no tokens")
        file, sockets = Path(server.tokens_file), (server.socket, config.hooks.socket)
        match args.act:
            case "new":
                return _new(args, file, sockets)
            case "revoke":
                return _revoke(args, file, sockets)
            case _:
                return _list(args, file)
    except UsageError as error:
        code, problem = EXIT_USAGE, str(error)
    except ConfigError as error:
        code, problem = EXIT_CONFIG, f"a configuration that can't be loaded\n{error}"
    except (ServerError, OSError) as error:
        code, problem = EXIT_INTERNAL, text_of(error)
    print(f"interpose serve token {args.act}: {visible_lines(problem)}", file=sys.stderr)
    return code


def _new(args: argparse.Namespace, file: Path, sockets: tuple[str, ...]) -> int:
    known = open_tokens(file)
    try:
        require_name(args.name)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if any(token.name == args.name for token in known.entries):
        raise UsageError(f"there is a token of {args.name} already: choose another name, or revoke it first")
    secret, until = secrets.token_urlsafe(32), _until(args.life)
    line = f"{args.name} {args.role} sha256:{_digest(secret)}{f' until={until}' if until else ''}\n"
    text = file.read_text(encoding="ascii")
    _write(file, text + ("" if text.endswith("\n") else "\n") + line)
    taken = _reload(sockets, known.secret_of("operator"))
    if args.json:
        print_json({"name": args.name, "role": args.role, "token": secret, "until": until, "server": taken})
        return 0
    print(secret)
    print(f"{args.name} may now show it as {args.role}{f', until {until}' if until else ''}. {taken}", file=sys.stderr)
    return 0


def _until(life: str) -> str:
    if not life:
        return ""
    found = _LIFE.fullmatch(life)
    if found is None:
        raise UsageError("--for takes days or hours: 90d, 12h")
    span = timedelta(days=int(found[1])) if found[2] == "d" else timedelta(hours=int(found[1]))
    return (datetime.now(UTC) + span).strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(secret: str) -> str:
    from interpose.doors.http_server.tokens import digest_of

    return digest_of(secret).hex()


def _kept(file: Path) -> Tokens:
    """The tokens of a file. Only a new token, or a server, makes one."""
    return read_tokens(file) if os.path.lexists(file) else Tokens()


def _list(args: argparse.Namespace, file: Path) -> int:
    entries = _kept(file).entries
    if args.json:
        print_json([{"name": one.name, "role": one.role, "until": _shown(one), "ended": one.ended} for one in entries])
        return 0
    if not entries:
        print("there are no tokens yet: `interpose serve token new NAME` makes one", file=sys.stderr)
        return 0
    width = max(len(one.name) for one in entries)
    for one in entries:
        ends = f"  ended {_shown(one)}" if one.ended else f"  until {_shown(one)}" if one.until else ""
        print(f"{one.name:{width}}  {one.role}{ends}")
    if not entries:
        print("there are no tokens yet: `interpose serve token new NAME` makes one", file=sys.stderr)
    return 0


def _shown(token: Token) -> str:
    return "" if token.until is None else token.until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _revoke(args: argparse.Namespace, file: Path, sockets: tuple[str, ...]) -> int:
    known = _kept(file)
    if all(token.name != args.name for token in known.entries):
        print(f"interpose serve token revoke: there is no token of {visible(args.name)}", file=sys.stderr)
        return EXIT_NOT_DONE
    if len(known.entries) == 1:
        raise UsageError("it is the only token; make another one first")
    lines = file.read_text(encoding="ascii").splitlines(keepends=True)
    _write(file, "".join(line for line in lines if line.split()[:1] != [args.name]))
    taken = _reload(sockets, known.secret_of("operator"))
    if args.json:
        print_json({"name": args.name, "revoked": True, "server": taken})
    else:
        print(f"the token of {args.name} counts no more. {taken}")
    return 0


def _write(file: Path, text: str) -> None:
    """INVARIANT: whoever reads the file sees the old tokens or the new ones, and nobody else can read it."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _reload(sockets: tuple[str, ...], token: str) -> str:
    """Let a server that runs take the tokens over, and say whether it did. One that a hook started has its socket."""
    socket = next((each for each in sockets if each and reachable(each)), "")
    if not socket:
        return "No server runs here; the next one reads the file."
    try:
        if not token:
            raise OSError("no way to a server")
        connection = connection_to(socket, TIMEOUT)
        try:
            connection.request("POST", "/api/v1/reload", headers={"Authorization": f"Bearer {token}"})
            done = connection.getresponse().status == 200
        finally:
            connection.close()
    except (OSError, HTTPException):
        done = False
    return "The server knows." if done else "Let the server read the file: send it SIGHUP, or start it anew."
