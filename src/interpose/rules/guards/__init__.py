"""Built-in interceptors, one file each.

The six that need a configuration of their own are exported here, and imported when they are asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interpose.rules.guards.audit_log import AuditLog
    from interpose.rules.guards.conditional_permission import ConditionalPermission
    from interpose.rules.guards.file_security import FileSecurity
    from interpose.rules.guards.input_limits import InputLimits, InputSanitizer
    from interpose.rules.guards.metrics import Metrics
    from interpose.rules.guards.path_sandbox import PathSandbox

__all__ = [
    "AuditLog", "ConditionalPermission", "FileSecurity", "InputLimits", "InputSanitizer", "Metrics", "PathSandbox",
]  # fmt: skip

_MODULES = {
    "AuditLog": "audit_log",
    "ConditionalPermission": "conditional_permission",
    "FileSecurity": "file_security",
    "InputLimits": "input_limits",
    "InputSanitizer": "input_limits",
    "Metrics": "metrics",
    "PathSandbox": "path_sandbox",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
