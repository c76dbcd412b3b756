"""Certificates of the server and of its clients."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from interpose.core.config.settings import TlsSettings
from interpose.core.errors import ServerError
from interpose.core.formats.own_files import cannot_be_written, why_not_ours


def tls_context(tls: TlsSettings) -> ssl.SSLContext | None:
    """A context with the certificates as the files have them now; None if none are configured.

    Each reload makes a new context: one that is in use can be given more authorities, but none can be taken from it.
    """
    if not tls.cert_file:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _require_own_key(tls.key_file)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except (OSError, ValueError) as error:
        raise ServerError(f"server.tls: {tls.cert_file} with {tls.key_file} can't be used: {_why(error)}") from None
    if tls.client_ca_file:
        try:
            context.load_verify_locations(tls.client_ca_file)
        except (OSError, ValueError) as error:
            raise ServerError(f"server.tls: {tls.client_ca_file} can't be used: {_why(error)}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def subject_of(certificate: dict[str, Any] | None) -> str:
    """The common name of a verified client certificate, else its first alternative name; empty without one."""
    if not certificate:
        return ""
    names = [value for entry in certificate.get("subject", ()) for key, value in entry if key == "commonName"]
    names += [value for _, value in certificate.get("subjectAltName", ())]
    return next(filter(None, names), "unnamed")


def _require_own_key(file: str) -> None:
    """A key that a group may read is usual where a group hands out certificates; one that everybody can is no key."""
    try:
        found = Path(file).stat()
    except OSError:
        return  # loading it says why
    why = why_not_ours(file, found)
    if not why and found.st_mode & 0o007:
        why = f"everybody can reach it; run: chmod o-rwx {file}"
    if why and not cannot_be_written(file):
        raise ServerError(f"server.tls: {file} can't be used: {why}")


def _no_password() -> str:
    raise ValueError("the key is locked by a password")


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
