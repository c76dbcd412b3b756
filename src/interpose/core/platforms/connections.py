"""Which socket and which process is at the other end of a TCP connection on this machine, as the kernel knows it."""

from __future__ import annotations

import sys

if sys.platform == "darwin":
    from interpose.core.platforms.macos import connection_table as table
else:
    from interpose.core.platforms.linux import connection_table as table

sees_connections = table.sees_connections
sees_every_user = table.sees_every_user
has_tables = table.has_tables
socket_at = table.socket_at
connected = table.connected
holder_of = table.holder_of
holds = table.holds
