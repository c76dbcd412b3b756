"""`${VARIABLES}` of the gateway's servers: filled in when a server is started, and by who starts it alone.

INVARIANT: no other process needs them, or has them: a hook without a server's token still has its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interpose.config.checked_values import substituted
from interpose.config.gateway_servers import GatewayServer


def filled(server: GatewayServer, environ: Mapping[str, str]) -> GatewayServer:
    """The server as it is started. Raises ValueError, which says what is missing, and nothing of a value."""
    given = substituted(msgspec.to_builtins(server), environ)
    try:
        return msgspec.convert(given, GatewayServer)
    except msgspec.ValidationError as error:
        raise ValueError(f"with its variables filled in it is none: {error}") from None
