"""`interpose policy keygen` and `sign`: signatures beside rule files, for `policy.require_signature`."""

from __future__ import annotations

import argparse
import os
import sys
from base64 import b64decode, b64encode
from binascii import Error as NoBase64Error
from pathlib import Path

from interpose.core.formats.own_files import why_not_ours
from interpose.core.formats.signatures import KEY_BYTES, SignaturesMissingError, new_key, sign
from interpose.doors.cli import EXIT_CONFIG
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.shared.json_output import print_json
from interpose.rules.policy.rule_file_trust import SIGNATURE_SUFFIX, signed_text


def add_acts(acts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What both understand."""
    making = acts.add_parser("keygen", help="make a pair of keys for signing rule files")
    making.add_argument("file", metavar="FILE", help="where the private key is written (mode 0600)")
    signing = acts.add_parser("sign", help="write a signature beside each rule file")
    signing.add_argument("files", nargs="+", metavar="FILE")
    signing.add_argument("--key", required=True, metavar="FILE", help="the private key")
    for act in (making, signing):
        act.add_argument("--json", action="store_true", help="print the answer as JSON")


def keygen(args: argparse.Namespace) -> int:
    """Make a pair of keys. A file that is there stays."""
    try:
        private, public = new_key()
    except SignaturesMissingError as error:
        return _missing(error)
    try:
        handle = os.open(args.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{args.file} is there already, and a key is never replaced") from None
    with os.fdopen(handle, "wb") as out:
        out.write(b64encode(private) + b"\n")
    shown = b64encode(public).decode()
    if args.json:
        print_json({"private": args.file, "public": shown})
    else:
        print(f"policy:\n  public_keys: ['{shown}']\n  require_signature: true")
        print(f"{args.file} signs; keep it where no agent can read it", file=sys.stderr)
    return 0


def sign_files(args: argparse.Namespace) -> int:
    """Sign each file."""
    private = _private(Path(args.key))
    written = []
    for name in args.files:
        file = Path(name)
        try:
            signature = sign(private, signed_text(file.read_bytes()))
        except SignaturesMissingError as error:
            return _missing(error)
        beside = file.with_name(file.name + SIGNATURE_SUFFIX)
        draft = file.with_name(f".{beside.name}.{os.getpid()}")
        draft.write_bytes(b64encode(signature) + b"\n")
        draft.replace(beside)
        written.append(str(beside))
    if args.json:
        print_json({"signatures": written})
    else:
        print("\n".join(written))
    return 0


def _private(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            if why := why_not_ours(file, os.fstat(opened.fileno()), private=True):
                raise UsageError(f"{file}: the key can't be used: {why}")
            said = opened.read(1000)
    except OSError as error:
        raise UsageError(
            f"{file}: the key can't be read: {error.strerror}; `interpose policy keygen` makes one"
        ) from None
    try:
        found = b64decode(said.strip(), validate=True)
    except NoBase64Error:
        found = b""
    if len(found) != KEY_BYTES:
        raise UsageError(f"{file}: expected a private key as `interpose policy keygen` makes it")
    return found


def _missing(error: SignaturesMissingError) -> int:
    print(f"interpose policy: {error}", file=sys.stderr)
    return EXIT_CONFIG
