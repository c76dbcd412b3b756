"""Interpose: the layer between AI agents and their tools.

Every tool call, message and parameter choice passes one pipeline of interceptors that can allow it, rewrite it, ask a
person, or refuse it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers understand it, without `typing`, which takes longer than all the rest here
if TYPE_CHECKING:
    from interpose.approvals import (
        AutoApprove,
        AutoDeny,
        BatchAnswer,
        CallbackConfirmation,
        ConfirmationHandler,
        InteractiveConfirmation,
        StandingAnswer,
    )
    from interpose.build import (
        add_builtin_interceptors,
        add_policy,
        get_global_interceptor_registry,
        initialize_global_interceptors,
        load_config,
        open_engine,
        open_ledger,
        open_service,
        reset_global_interceptors,
    )
    from interpose.chain import InterceptorChain
    from interpose.engine import Engine, Recorder, Run, ToolRun
    from interpose.errors import (
        BlockedError,
        ConfigError,
        DuplicateIdError,
        ExecutionFailedError,
        InterceptError,
        InterposeError,
        InvalidCallError,
        InvalidModificationError,
        LedgerError,
        MatcherError,
        PluginError,
        PolicyError,
        RefusedError,
        RegistrationError,
        StoreError,
        ToolError,
        ToolSetError,
        UnknownHookPointError,
    )
    from interpose.flow.status_lines import InterceptorEvent, format_event, logging_sink, terminal_sink
    from interpose.guarded_functions import guarded
    from interpose.interceptor import Interceptor, Registration
    from interpose.registry import InterceptorRegistry, create_interceptor_registry
    from interpose.tools import (
        KNOWN_TOOL_NAMES,
        TOOL_ALIASES,
        TOOL_GROUPS,
        command_of,
        mcp_name,
        normalize_tool_name,
        paths_of,
        urls_of,
    )
    from interpose.toolsets import ToolSet
    from interpose.types import (
        Allow,
        Approved,
        Confirm,
        Context,
        Decision,
        Deny,
        Effect,
        Finding,
        HookPoint,
        Message,
        Params,
        Pending,
        PermissionRequest,
        Report,
        ToolCall,
        ToolOutcome,
        Transform,
        Verdict,
    )

__version__ = "0.1.0"

__all__ = [
    "KNOWN_TOOL_NAMES",
    "TOOL_ALIASES",
    "TOOL_GROUPS",
    "Allow",
    "Approved",
    "AutoApprove",
    "AutoDeny",
    "BatchAnswer",
    "BlockedError",
    "CallbackConfirmation",
    "ConfigError",
    "Confirm",
    "ConfirmationHandler",
    "Context",
    "Decision",
    "Deny",
    "DuplicateIdError",
    "Effect",
    "Engine",
    "ExecutionFailedError",
    "Finding",
    "HookPoint",
    "InteractiveConfirmation",
    "InterceptError",
    "Interceptor",
    "InterceptorChain",
    "InterceptorEvent",
    "InterceptorRegistry",
    "InterposeError",
    "InvalidCallError",
    "InvalidModificationError",
    "LedgerError",
    "MatcherError",
    "Message",
    "Params",
    "Pending",
    "PermissionRequest",
    "PluginError",
    "PolicyError",
    "Recorder",
    "RefusedError",
    "Registration",
    "RegistrationError",
    "Report",
    "Run",
    "StandingAnswer",
    "StoreError",
    "ToolCall",
    "ToolError",
    "ToolOutcome",
    "ToolRun",
    "ToolSet",
    "ToolSetError",
    "Transform",
    "UnknownHookPointError",
    "Verdict",
    "add_builtin_interceptors",
    "add_policy",
    "command_of",
    "create_interceptor_registry",
    "format_event",
    "get_global_interceptor_registry",
    "guarded",
    "initialize_global_interceptors",
    "load_config",
    "load_plugins",
    "logging_sink",
    "mcp_name",
    "normalize_tool_name",
    "open_engine",
    "open_ledger",
    "open_service",
    "paths_of",
    "reset_global_interceptors",
    "terminal_sink",
    "urls_of",
]


# Where each public name lives. A name is imported when somebody asks for it: `interpose --version`, and whoever
# needs one corner of this package, pays for no other.
_HOMES = {
    "approvals": (
        "AutoApprove AutoDeny BatchAnswer CallbackConfirmation ConfirmationHandler InteractiveConfirmation "
        "StandingAnswer"
    ),
    "build": (
        "add_builtin_interceptors add_policy get_global_interceptor_registry initialize_global_interceptors "
        "load_config open_engine open_ledger open_service reset_global_interceptors"
    ),
    "chain": "InterceptorChain",
    "engine": "Engine Recorder Run ToolRun",
    "errors": (
        "BlockedError ConfigError DuplicateIdError ExecutionFailedError InterceptError InterposeError "
        "InvalidCallError InvalidModificationError LedgerError MatcherError PluginError PolicyError "
        "RefusedError RegistrationError StoreError ToolError ToolSetError UnknownHookPointError"
    ),
    "flow.status_lines": "InterceptorEvent format_event logging_sink terminal_sink",
    "guarded_functions": "guarded",
    "interceptor": "Interceptor Registration",
    "registry": "InterceptorRegistry create_interceptor_registry",
    "tools": "KNOWN_TOOL_NAMES TOOL_ALIASES TOOL_GROUPS command_of mcp_name normalize_tool_name paths_of urls_of",
    "toolsets": "ToolSet",
    "types": (
        "Allow Approved Confirm Context Decision Deny Effect Finding HookPoint Message Params Pending "
        "PermissionRequest Report ToolCall ToolOutcome Transform Verdict"
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker knows the names, and would take any other for one

    def __getattr__(name: str) -> object:
        """A public name, or a module of ours that holds some, at its first use."""
        from importlib import import_module

        if name in _HOME_OF:
            found = globals()[name] = getattr(import_module(f"interpose.{_HOME_OF[name]}"), name)
            return found
        if name in {home.partition(".")[0] for home in _HOMES}:
            return import_module(f"interpose.{name}")
        raise AttributeError(f"module 'interpose' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_plugins(registry: InterceptorRegistry, names: list[str]) -> None:
    """Switch on the interceptors of other packages by name. Imported on use: metadata is slow to read."""
    from interpose.plugins import load_plugins as load

    load(registry, names)
