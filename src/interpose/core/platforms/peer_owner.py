"""Which user is at the other end of a Unix socket.

The text of this module is the first part of the Python client that is installed. So it imports nothing but modules that
are part of the interpreter.
"""

import _socket
import sys

NOT_TOLD = -1
if sys.platform == "darwin":
    _ASKED = (0, 1, 76)  # SOL_LOCAL, LOCAL_PEERCRED and the size of an xucred
else:
    _ASKED = (_socket.SOL_SOCKET, getattr(_socket, "SO_PEERCRED", -1), 12)


def peer_owner(connection: _socket.socket) -> int:
    """The user of the process at the other end; NOT_TOLD where the system does not say it. Raises OSError."""
    level, option, size = _ASKED
    if option < 0:
        return NOT_TOLD
    return int.from_bytes(connection.getsockopt(level, option, size)[4:8], "little")  # the second number in both
