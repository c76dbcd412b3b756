"""Ed25519: a pair of keys, what one signs, and whether the other agrees. Keys and signatures are raw bytes."""

from __future__ import annotations

from typing import Any

KEY_BYTES = 32
SIGNATURE_BYTES = 64


class SignaturesMissingError(RuntimeError):
    """The package that signs and verifies is not installed."""


def new_key() -> tuple[bytes, bytes]:
    """A new private key and the public key that belongs to it."""
    private = _ed25519().Ed25519PrivateKey.generate()
    return private.private_bytes_raw(), private.public_key().public_bytes_raw()


def sign(private: bytes, data: bytes) -> bytes:
    """The signature of data."""
    return bytes(_ed25519().Ed25519PrivateKey.from_private_bytes(private).sign(data))


def verified(public: bytes, data: bytes, signature: bytes) -> bool:
    """Whether the owner of a key signed exactly this."""
    from cryptography.exceptions import InvalidSignature

    try:
        _ed25519().Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise SignaturesMissingError("cryptography is missing: pip install 'interpose[signatures]'") from error
    return ed25519
