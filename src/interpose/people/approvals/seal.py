"""The seal of the server: an Ed25519 signature under questions, answers and grants.

The private key is a file that only the server's user may read. Beside it lies the public key (`.pub`), with which
everybody else can tell whether a row of the store is ours. Several servers over one store share one key.

INVARIANT: what a signature covers is a list of texts and numbers whose first is its kind, so that what was signed for
one use is worth nothing for another.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw, Struct
from msgspec import json as fast

from interpose.core.errors import ServerError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PUBLIC = ".pub"
_LARGEST = 16 << 10


class Sealed(Struct, frozen=True):
    """Something with its signature. The bytes of the content are kept as they were signed."""

    content: Raw
    signature: bytes = b""


class Verifier:
    """Tells what the server signed. Without a key, it accepts nothing. `doubt` is why it did not accept something."""

    def __init__(self, public: Ed25519PublicKey | None = None, doubt: str = "it was not signed by the server") -> None:
        self._public, self.doubt = public, doubt

    def accepts(self, kind: str, sealed: Sealed, *bound: str | int) -> bool:
        """Whether the signature is ours, and was made for this content and what it is bound to."""
        if self._public is None or not sealed.signature:
            return False
        from cryptography.exceptions import InvalidSignature

        try:
            self._public.verify(sealed.signature, _text(kind, bytes(sealed.content), bound))
        except InvalidSignature:
            return False
        return True


class Seal(Verifier):
    """Signs, as the server alone can."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        super().__init__(private.public_key())
        self._private = private

    def sealed(self, kind: str, content: bytes, *bound: str | int) -> Sealed:
        """The content with its signature."""
        return Sealed(Raw(content), self._private.sign(_text(kind, content, bound)))


def _text(kind: str, content: bytes, bound: tuple[str | int, ...]) -> bytes:
    return fast.encode(["interpose", kind, 1, *bound, content])


def new_seal() -> Seal:
    """A seal of this process alone: what it signs counts nowhere else."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Seal(Ed25519PrivateKey.generate())


def open_seal(path: Path) -> Seal:
    """The server's seal; its key is made on first use. ServerError says what is wrong with the files."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    if not os.path.lexists(path):
        _make(path)
    text = _read(path)
    try:
        private = load_pem_private_key(text, None)
    except (ValueError, TypeError):
        raise _unusable(path, "it holds no private key in PEM without a passphrase") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise _unusable(path, "it is no Ed25519 key")
    seal = Seal(private)
    _publish(path, private)
    return seal


def open_verifier(path: Path) -> Verifier:
    """What tells whether rows of the store are the server's. One that accepts nothing if there is no public key."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError:  # pragma: no cover - an installation without the server
        return Verifier(doubt="it can't be verified here: pip install 'interpose[server]'")
    try:
        public = load_pem_public_key(_beside(path).read_bytes()[:_LARGEST])
    except (OSError, ValueError):
        return Verifier(doubt=f"it can't be verified here: there is no public key of the server at {_beside(path)}")
    return Verifier(public) if isinstance(public, Ed25519PublicKey) else Verifier()


def _beside(path: Path) -> Path:
    return path.with_name(path.name + PUBLIC)


def _read(path: Path) -> bytes:
    _check_directory(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(path, f"can't be read: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _unusable(path, "it is no regular file")
        if found.st_uid not in {os.geteuid(), 0}:
            raise _unusable(path, f"it belongs to another user (uid {found.st_uid})")
        if found.st_mode & 0o077:
            mode = stat.S_IMODE(found.st_mode)
            raise _unusable(path, f"others can reach it (mode {mode:04o}); run: chmod 600 {path}")
        return os.read(handle, _LARGEST)
    finally:
        os.close(handle)


def _check_directory(path: Path) -> None:
    """INVARIANT: nobody else can put another key in the place of ours."""
    found = path.parent.stat()
    if found.st_uid not in {os.geteuid(), 0}:
        raise _unusable(path, f"its directory belongs to another user (uid {found.st_uid})")
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        mode = stat.S_IMODE(found.st_mode)
        raise _unusable(path, f"others can write into its directory (mode {mode:04o}); run: chmod go-w {path.parent}")


def _make(path: Path) -> None:
    """INVARIANT: the file appears whole or not at all, and never replaces one that another process just made."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(draft, text, 0o600)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        raise _unusable(path, f"can't be made: {error.strerror}") from None


def _publish(path: Path, private: Ed25519PrivateKey) -> None:
    """Put the public key beside the private one, for those who only verify. It is no secret."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    text = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    place = _beside(path)
    try:
        if place.is_file() and place.read_bytes() == text:
            return
        draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
        _write(draft, text, 0o644)
        draft.replace(place)
    except OSError:
        pass  # the server needs it not; who lists grants without it is told that they can't be verified


def _write(path: Path, text: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.write(handle, text)
        os.fsync(handle)
    finally:
        os.close(handle)


def _unusable(path: Path, why: str) -> ServerError:
    return ServerError(f"{path}: the key of approvals (approvals.key) can't be used: {why}")
