"""`${VARIABLES}` of servers, interceptor programs and channels: filled in when one is started, by who starts it alone.

INVARIANT: no other process needs them, or has them: a hook without a server's token still has its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from interpose.core.config.checked_values import substituted
from interpose.core.config.gateway_servers import GatewayServer
from interpose.core.config.notifications import NotificationChannel
from interpose.core.config.remote_interceptors import RemoteInterceptorProgram

Started = TypeVar("Started", GatewayServer, RemoteInterceptorProgram, NotificationChannel)


def filled(server: Started, environ: Mapping[str, str]) -> Started:
    """The server as it is started. Raises ValueError, which says what is missing, and nothing of a value."""
    given = substituted(msgspec.to_builtins(server), environ)
    try:
        return msgspec.convert(given, type(server))
    except msgspec.ValidationError as error:
        raise ValueError(f"with its variables filled in it is none: {error}") from None
