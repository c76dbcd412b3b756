"""Interceptors of your own for other programs. See `interpose help interceptor-protocol`."""

from interpose.core.types import thaw
from interpose.rules.interceptor_protocol.invocations import ValidationSaid, denied
from interpose.rules.interceptor_protocol.offering import OfferedInterceptor, validator

__all__ = ["OfferedInterceptor", "ValidationSaid", "denied", "thaw", "validator"]
