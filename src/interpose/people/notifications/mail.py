"""Mail, as plain text. To another machine only over TLS."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from ipaddress import ip_address
from urllib.parse import urlsplit

from interpose.core.errors import NotificationError, text_of
from interpose.people.notifications.notices import Notice, text_of_notice
from interpose.people.notifications.posting import TIMEOUT, bounded

_PORTS = {"smtp": 587, "smtps": 465}


def send(notice: Notice, *, url: str, secret: str, user: str, sender: str, to: Sequence[str]) -> None:
    """Send it. Raises NotificationError."""
    try:
        address = urlsplit(url)
        host, port = address.hostname or "", address.port or _PORTS[address.scheme]
        with _connected(address.scheme, host, port) as server, bounded(lambda: server.sock):
            if user:
                server.login(user, secret)
            refused = server.send_message(mail(notice, sender, to), sender, list(to))
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise NotificationError(f"it answered {error.smtp_code}: {said}", again=error.smtp_code < 500) from None
    except smtplib.SMTPRecipientsRefused as error:
        raise NotificationError(f"it takes no mail for {', '.join(error.recipients)}") from None
    except (OSError, smtplib.SMTPException, KeyError, ValueError) as error:
        raise NotificationError(f"it can't be reached: {text_of(error)}", again=True) from None
    if refused:
        raise NotificationError(f"it takes no mail for {', '.join(refused)}")


def mail(notice: Notice, sender: str, to: Sequence[str]) -> EmailMessage:
    """The mail itself."""
    made = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    made["Subject"], made["From"], made["To"] = notice.title, sender, ", ".join(to)
    made["Date"], made["Message-ID"] = formatdate(), make_msgid(domain="interpose.invalid")
    made["Auto-Submitted"] = "auto-generated"
    # Quoted-printable keeps a long link whole for those who read it, whatever the width of lines.
    made.set_content(f"{text_of_notice(notice)}\n", cte="quoted-printable")
    return made


def _connected(scheme: str, host: str, port: int) -> smtplib.SMTP:
    if scheme == "smtps":
        return smtplib.SMTP_SSL(host, port, timeout=TIMEOUT, context=ssl.create_default_context())
    server = smtplib.SMTP(host, port, timeout=TIMEOUT)
    try:
        server.ehlo()
        if server.has_extn("starttls"):
            server.starttls(context=ssl.create_default_context())
        elif not _is_loopback(host):
            # INVARIANT: neither a link nor a password goes to another machine for all to read on the way.
            raise NotificationError("it has no STARTTLS: mail goes to another machine only over TLS")
    except BaseException:
        server.close()
        raise
    return server


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
