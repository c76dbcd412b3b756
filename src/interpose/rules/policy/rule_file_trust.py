"""Which rule files are believed: whose they are, where they really lie, and who signed them.

Rules of the organisation and the user must be theirs alone, as ssh wants its files. A project's rules can only tighten,
but anybody may name a directory: its file is never followed out of the project, and where everybody can put a file,
that of a stranger does not count.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode
from binascii import Error as NoBase64Error
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from interpose.core.errors import PolicyError
from interpose.core.formats.own_files import cannot_be_written, why_not_ours
from interpose.effects.paths.opening import open_resolved
from interpose.rules.policy.rules import PolicyProblem

SIGNATURE_SUFFIX = ".sig"
_SIGNED = b"interpose policy 1\n"
"""Stands before the text that is signed: a signature for something else is none for rules."""
_LARGEST_SIGNATURE = 1000


class Standing(Struct, frozen=True):
    """What files must show whose rules hold everywhere: the keys of those who may sign, and whether they have to."""

    keys: tuple[bytes, ...] = ()
    required: bool = False


def standing_of(keys: Iterable[str], *, required: bool) -> Standing:
    """The same of a configuration."""
    return Standing(tuple(b64decode(key) for key in keys), required)


def signed_text(data: bytes) -> bytes:
    """What a signature of a rule file is made over."""
    return _SIGNED + data


def require_ours(path: Path) -> None:
    """Raises PolicyError for a file or directory that others could have changed."""
    _check(path, path.stat())


def read_standing(file: Path, standing: Standing, most: int) -> bytes:
    """The bytes of a rule file that is ours and signed as it must be. Raises PolicyError and OSError."""
    with file.open("rb") as opened:
        _check(file, os.fstat(opened.fileno()))
        data = opened.read(most)
    _check(file.parent, file.parent.stat())
    _verify(file, data, standing)
    return data


def _check(path: Path, found: os.stat_result) -> None:
    if (why := why_not_ours(path, found)) and not cannot_be_written(path):
        raise _refused(path, why)


def _verify(file: Path, data: bytes, standing: Standing) -> None:
    """INVARIANT: what is verified is what is compiled: the very bytes, and never the file once more."""
    beside = file.with_name(file.name + SIGNATURE_SUFFIX)
    try:
        with beside.open("rb") as opened:
            said = opened.read(_LARGEST_SIGNATURE)
    except FileNotFoundError:
        if standing.required:
            raise _refused(file, f"it is not signed; run: interpose policy sign {file} --key KEY") from None
        return
    if not standing.keys:
        raise _refused(file, f"there is {beside.name}, and no key to check it with: set policy.public_keys") from None
    from interpose.core.formats.signatures import SignaturesMissingError, verified

    try:
        signature = b64decode(said.strip(), validate=True)
        good = any(verified(key, signed_text(data), signature) for key in standing.keys)
    except NoBase64Error:
        good = False
    except SignaturesMissingError as error:
        raise _refused(file, str(error)) from None
    if not good:
        raise _refused(file, f"{beside.name} is no signature of it by a key of policy.public_keys")


def _refused(path: Path, why: str) -> PolicyError:
    return PolicyError((PolicyProblem(str(path), 1, "", why),))


def read_in_project(file: Path, most: int) -> bytes:
    """The bytes of a project's rule file. Raises OSError.

    INVARIANT: what an agent puts in its place (a pipe, an endless device) makes nobody wait or swell, and a link out of
    the project is not followed: nobody learns of a file, by an error or a verdict, that lies elsewhere.
    """
    project = os.path.realpath(file.parent.parent)
    real = os.path.realpath(file)
    if os.path.commonpath((project, real)) != project:
        raise OSError("it leads out of the project")
    # Each part is opened from the one before, and none may be a link: one that was put there since makes this fail.
    with open(real, "rb", opener=lambda path, _mode: open_resolved(path, os.O_RDONLY | os.O_NONBLOCK)) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError("expected a regular file")
        return opened.read(most)


def strangers_file(directory: str, file: str) -> bool:
    """Whether a project's file was put by somebody else into a directory where everybody may write, such as /tmp.

    It would bind everybody who works below. What is ours, root's or the directory's owner's counts.
    """
    try:
        place, inside, found = os.stat(directory), os.lstat(os.path.dirname(file)), os.lstat(file)  # noqa: PTH116, PTH120
    except OSError:
        return False
    known = (os.geteuid(), 0, place.st_uid)
    if place.st_mode & stat.S_IWOTH and inside.st_uid not in known:
        return True
    return bool(inside.st_mode & stat.S_IWOTH) and stat.S_ISDIR(inside.st_mode) and found.st_uid not in known
