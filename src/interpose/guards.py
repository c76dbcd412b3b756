"""The built-in interceptors that need settings of their own. See `interpose help guards`."""

from interpose.rules.guards import (
    AuditLog,
    ConditionalPermission,
    FileSecurity,
    InputLimits,
    InputSanitizer,
    Metrics,
    PathSandbox,
)

__all__ = [
    "AuditLog",
    "ConditionalPermission",
    "FileSecurity",
    "InputLimits",
    "InputSanitizer",
    "Metrics",
    "PathSandbox",
]
