"""Interpose: the layer between AI agents and their tools.

Every tool call, message and parameter choice passes one pipeline of interceptors that can allow it, rewrite it, ask a
person, or refuse it.
"""

from __future__ import annotations

from interpose.core.late import late_names

TYPE_CHECKING = False  # as in `typing`, without importing it

if TYPE_CHECKING:
    from interpose.composition.build import (
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
    from interpose.composition.governance import get_allowed_tools, get_required_first_tools
    from interpose.composition.guarded_functions import guarded
    from interpose.composition.plugins import load_plugins
    from interpose.core.answers import Approved, Edited, Pending
    from interpose.core.errors import (
        BlockedError,
        ConfigError,
        DuplicateIdError,
        ExecutionFailedError,
        FrameworkLimitError,
        InterceptError,
        InterposeError,
        InvalidCallError,
        InvalidModificationError,
        LedgerError,
        MatcherError,
        NoRoleError,
        PluginError,
        PolicyError,
        RefusedError,
        RegistrationError,
        StoreError,
        ToolError,
        ToolSetError,
        UnknownHookPointError,
    )
    from interpose.core.interceptor import Interceptor, Registration
    from interpose.core.registry import InterceptorRegistry, create_interceptor_registry
    from interpose.core.tools import (
        KNOWN_TOOL_NAMES,
        TOOL_ALIASES,
        TOOL_GROUPS,
        command_of,
        mcp_name,
        normalize_tool_name,
        paths_of,
        urls_of,
    )
    from interpose.core.toolsets import ToolSet
    from interpose.core.types import (
        Allow,
        Command,
        Confirm,
        Context,
        Decision,
        Deny,
        Effect,
        Finding,
        HookPoint,
        Message,
        Params,
        PermissionRequest,
        Report,
        ToolCall,
        ToolOutcome,
        Transform,
        Verdict,
    )
    from interpose.engine.chain import InterceptorChain
    from interpose.engine.engine import Engine, Recorder, Run, ToolRun
    from interpose.engine.flow.status_lines import InterceptorEvent, format_event, logging_sink, terminal_sink
    from interpose.people.approvals import (
        AutoApprove,
        AutoDeny,
        BatchAnswer,
        CallbackConfirmation,
        ConfirmationHandler,
        InteractiveConfirmation,
        StandingAnswer,
    )

__version__ = "0.2.0"

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
    "Command",
    "ConfigError",
    "Confirm",
    "ConfirmationHandler",
    "Context",
    "Decision",
    "Deny",
    "DuplicateIdError",
    "Edited",
    "Effect",
    "Engine",
    "ExecutionFailedError",
    "Finding",
    "FrameworkLimitError",
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
    "NoRoleError",
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
    "get_allowed_tools",
    "get_global_interceptor_registry",
    "get_required_first_tools",
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

_HOMES = {
    "core.answers": ("Approved", "Edited", "Pending"),
    "people.approvals": (
        "AutoApprove", "AutoDeny", "BatchAnswer", "CallbackConfirmation", "ConfirmationHandler",
        "InteractiveConfirmation", "StandingAnswer",
    ),
    "composition.build": (
        "add_builtin_interceptors", "add_policy", "get_global_interceptor_registry", "initialize_global_interceptors",
        "load_config", "open_engine", "open_ledger", "open_service", "reset_global_interceptors",
    ),
    "composition.governance": ("get_allowed_tools", "get_required_first_tools"),
    "engine.chain": ("InterceptorChain",),
    "engine.engine": ("Engine", "Recorder", "Run", "ToolRun"),
    "core.errors": (
        "BlockedError", "ConfigError", "DuplicateIdError", "ExecutionFailedError", "FrameworkLimitError",
        "InterceptError", "InterposeError", "InvalidCallError", "InvalidModificationError", "LedgerError",
        "MatcherError", "NoRoleError", "PluginError", "PolicyError", "RefusedError", "RegistrationError", "StoreError",
        "ToolError", "ToolSetError", "UnknownHookPointError",
    ),
    "engine.flow.status_lines": ("InterceptorEvent", "format_event", "logging_sink", "terminal_sink"),
    "composition.guarded_functions": ("guarded",),
    "core.interceptor": ("Interceptor", "Registration"),
    "composition.plugins": ("load_plugins",),
    "core.registry": ("InterceptorRegistry", "create_interceptor_registry"),
    "core.tools": (
        "KNOWN_TOOL_NAMES", "TOOL_ALIASES", "TOOL_GROUPS", "command_of", "mcp_name", "normalize_tool_name",
        "paths_of", "urls_of",
    ),
    "core.toolsets": ("ToolSet",),
    "core.types": (
        "Allow", "Command", "Confirm", "Context", "Decision", "Deny", "Effect", "Finding", "HookPoint", "Message",
        "Params", "PermissionRequest", "Report", "ToolCall", "ToolOutcome", "Transform", "Verdict",
    ),
}  # fmt: skip
"""Where each name is at home. A module is imported when one of its names is asked for: a hook needs few of them."""

if not TYPE_CHECKING:  # or a misspelt name would have a type
    __getattr__ = late_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
