"""Interceptors of other programs that are steps of our pipeline (the interceptor protocol of MCP, SEP-2624).

Annotations are no texts here, as in settings.py.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.types import EMPTY, FrozenDict, Mode, freeze

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
EventName = Annotated[str, Meta(min_length=1, max_length=256)]
Priority = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Limit = Annotated[float, Meta(gt=0, le=600)]


class HookNarrowing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events in one phase."""

    events: Annotated[tuple[EventName, ...], Meta(min_length=1, max_length=64)]
    phase: Literal["request", "response"]


class InterceptorOverride(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one interceptor of a program counts, whatever it says of itself. What is not set is as it says."""

    mode: Annotated[Mode | None, Meta(description="`watch` says what it would have done and never blocks")] = None
    fail_open: Annotated[bool | None, Meta(description="whether a call goes on when it fails")] = None
    timeout: Annotated[Limit | None, Meta(description="seconds that it may take")] = None
    priority: Annotated[
        Priority | dict[Literal["request", "response"], Priority] | None,
        Meta(description="order of its mutations: lower first; one number, or one for each phase"),
    ] = None
    hooks: Annotated[
        tuple[HookNarrowing, ...] | None, Meta(description="the events that it is asked about: fewer, never more")
    ] = None

    def __post_init__(self) -> None:
        if isinstance(self.priority, dict):
            force_setattr(self, "priority", FrozenDict({str(phase): number for phase, number in self.priority.items()}))


class RemoteInterceptorProgram(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program with interceptors: one that is started (`command`), or an address (`url`)."""

    command: Annotated[str, Meta(description="program that is started, without a shell")] = ""
    args: Annotated[tuple[str, ...], Meta(description="its arguments")] = ()
    env: Annotated[dict[str, str], Meta(description="its variables, beside PATH, HOME and the like")] = EMPTY
    cwd: Annotated[str, Meta(description="the directory that it is started in, as an absolute path")] = ""
    url: Annotated[str, Meta(pattern=r"^(https?://[^\s]+)?$(?!\n)", description="address of a server over HTTP")] = ""
    headers: Annotated[dict[str, str], Meta(description="headers that are sent to the address")] = EMPTY
    events: Annotated[
        tuple[EventName, ...], Meta(description="events that it is asked about at most, such as `tools/call`")
    ] = ()
    mode: Annotated[Mode, Meta(description="`watch` says what it would have done and never blocks")] = "enforce"
    fail_open: Annotated[
        bool | None,
        Meta(description="true: calls go on when it fails or is not there. Not set: as each interceptor says; no call "
             "goes on while the program is not there"),
    ] = None  # fmt: skip
    timeout: Annotated[Limit, Meta(description="seconds that each of its interceptors may take")] = 5.0
    priority: Annotated[
        int, Meta(ge=0, le=1_000_000, description="its place in the pipeline: higher is asked first")
    ] = 50
    config: Annotated[
        dict[str, dict[str, Any]], Meta(description="what each of its interceptors gets as `config`, by name")
    ] = EMPTY
    overrides: Annotated[dict[str, InterceptorOverride], Meta(description="how its interceptors count, by name")] = (
        EMPTY
    )

    def __post_init__(self) -> None:
        for name in ("env", "headers", "overrides"):
            force_setattr(self, name, FrozenDict(getattr(self, name)))
        force_setattr(self, "config", freeze(self.config))
        if bool(self.command) == bool(self.url):
            raise ValueError("it needs either a command or a url")
        if self.command and self.headers:
            raise ValueError("headers are for a url")
        if self.url and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd are for a command")
        if self.cwd and not self.cwd.startswith("/"):
            raise ValueError("cwd must be an absolute path")
        for name, override in self.overrides.items():
            for hook in override.hooks or ():
                for event in hook.events:
                    if self.events and not any(covers(wide, event) for wide in self.events):
                        raise ValueError(
                            f"overrides.{name[:64]}: {event!r} is none of its events; an override can only narrow"
                        )


def covers(wide: str, narrow: str) -> bool:
    """Whether an event, or a pattern such as `tools/*`, covers nothing that another does not."""
    return wide in ("*", narrow) or (narrow != "*" and wide.endswith("/*") and narrow.startswith(wide[:-1]))


def wrong_names(programs: Mapping[str, RemoteInterceptorProgram]) -> str:
    """What is wrong with the names of programs; empty if nothing is."""
    for name in programs:
        if not _NAME.fullmatch(name):
            return f"{name[:80]!r}: a name has letters, digits, `-`, `.` and `_`, and 64 of them at most"
    return ""
