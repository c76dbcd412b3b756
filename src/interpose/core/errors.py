"""Every error that Interpose raises.

InterposeError
├── RegistrationError         an interceptor that cannot be registered; the text names it
│   ├── DuplicateIdError      its id is taken
│   ├── UnknownHookPointError its hook point does not exist
│   └── MatcherError          its matcher is no regular expression, or can match nothing
├── InvalidCallError          a call whose name, arguments or nesting are not those of a call
├── ToolError                 a tool that nobody registered, or that failed with a text that had to be changed
├── ToolSetError              a tool set that was used before it was resolved against its parent
├── UnloadableError           files or settings that cannot be loaded; `problems` has all that is wrong with them
│   ├── PolicyError           rule files: each problem names file, line, rule and what was expected
│   ├── ConfigError           configuration: each problem names file and line, or variable, and what was expected
│   ├── PluginError           an interceptor of another package; the problem names the key that asks for it
│   └── GovernanceError       governance.yaml: each problem names file, line and what was expected
├── NoRoleError               a role that no governance file here has
├── LedgerError               a ledger whose files or settings can't be used
├── ServerError               a server that can't listen, or whose tokens or certificates can't be used
├── SetupError                hooks that can't be put into a file or taken out of it; the text says why
├── AuditUnavailableError     a decision that could not be recorded
├── StoreError                a store that can't be reached or that refuses
│   ├── DamagedStoreError     what it keeps can't be read any more
│   ├── OutdatedStoreError    it was made by an older version, and is open for reading only
│   ├── SequenceTakenError    another entry has this number in its writer's sequence
│   └── TamperedError         a file of the ledger was cut, changed, replaced or removed while it was in use
├── ApprovalError             a question that can't be asked or answered so
│   ├── UnboundError          it is about something that has no exact form
│   ├── NoQuestionError       there is no question of this id
│   ├── AnsweredError         somebody has answered it
│   ├── TooLateError          it timed out
│   ├── ScopeError            a yes can't count for so much, or says nothing
│   ├── EditError             a call can't be edited so, or what it was edited to would be refused
│   ├── VoteError             whoever answers is none of those who must, or has answered
│   ├── UnlikeError           questions that can't be answered together, as they are of different kinds
│   ├── CrowdedError          more of these than anybody could look through
│   └── NotProvenError        whoever answers did not prove to be no agent
├── NotificationError         nobody could be told of a question by this way; `again` says whether to try again
├── DelegationError           an agent that is to be started when there is no room for another any more
├── PinError                  pins of an MCP server that can't be read, kept or believed
│   └── NoPinError            there is nothing of this name, or it changed since somebody looked
├── SessionError              a session that can't be halted or let go on so
│   ├── NoSessionError        there is none of this id, or more than one
│   └── NotHaltedError        it is not halted
├── FrameworkLimitError       an agent framework can't do what is asked of it
├── RefusedError              an input that a chain refused to deliver
├── BlockedError              a blocked call, for callers who asked for an exception instead of a result
└── InterceptError            what an interceptor raises to say that it failed
    ├── ExecutionFailedError      its own logic failed
    └── InvalidModificationError  it could not build the changed input

Nothing that an interceptor raises leaves the pipeline: it becomes a finding, and `on_error` says what it means.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple


class InterposeError(Exception):
    """The root of the tree."""


class RegistrationError(InterposeError, ValueError):
    """An interceptor cannot be registered."""


class DuplicateIdError(RegistrationError):
    """The id is taken."""


class UnknownHookPointError(RegistrationError):
    """No such hook point."""


class MatcherError(RegistrationError):
    """The matcher is broken or can match nothing."""


class InvalidCallError(InterposeError, ValueError):
    """This is not a call."""


class ToolError(InterposeError, LookupError):
    """There is no such tool, or it failed with a text that had to be changed."""


class ToolSetError(InterposeError, ValueError):
    """The tool set was never resolved."""


class UnloadableError(InterposeError, ValueError):
    """What was written for us cannot be loaded. `problems` has everything that is wrong with it."""

    def __init__(self, problems: tuple[Any, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.problems,))


class PolicyError(UnloadableError):
    """Rule files cannot be loaded."""


class ConfigError(UnloadableError):
    """The configuration cannot be loaded."""


class GovernanceProblem(NamedTuple):
    """What is wrong in a governance.yaml, and where."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class GovernanceError(UnloadableError):
    """A governance.yaml cannot be loaded."""

    @staticmethod
    def of(file: str, line: int, message: str) -> GovernanceError:
        """The error of one problem."""
        return GovernanceError((GovernanceProblem(file, line, message),))


class NoRoleError(InterposeError, LookupError):
    """No governance file here has this role."""


class LedgerError(InterposeError):
    """The ledger can't be opened."""


class ServerError(InterposeError):
    """The server can't start, or can't take over what was reloaded."""


class SetupError(InterposeError):
    """Hooks can't be put into a file or taken out of it, and nothing was changed."""


class AuditUnavailableError(InterposeError):
    """A decision could not be recorded."""


class PluginProblem(NamedTuple):
    """Which key of the configuration asks for a plugin, and why it cannot be loaded."""

    key: str
    message: str

    def __str__(self) -> str:
        return self.message


class PluginError(UnloadableError):
    """An interceptor of another package cannot be loaded. `key` is the key of the configuration that names it."""

    def __init__(self, message: str, key: str = "plugins") -> None:
        super().__init__((PluginProblem(key, message),))
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.key))


class StoreError(InterposeError):
    """A store can't be reached, or refuses."""


class DamagedStoreError(StoreError):
    """What the store keeps can't be read any more."""


class OutdatedStoreError(StoreError):
    """The store was made by an older version: it must be opened for writing once."""


class SequenceTakenError(StoreError):
    """Another entry has this number in its writer's sequence."""


class TamperedError(StoreError):
    """A file of the ledger was cut, changed, replaced or removed while it was in use."""


class ApprovalError(InterposeError):
    """A question can't be asked or answered so."""


class UnboundError(ApprovalError):
    """What is asked about has no exact form."""


class NoQuestionError(ApprovalError):
    """There is no such question."""


class AnsweredError(ApprovalError):
    """Somebody has answered already."""


class TooLateError(ApprovalError):
    """The question timed out."""


class ScopeError(ApprovalError, ValueError):
    """A yes can't count for that."""


class EditError(ApprovalError):
    """The call can't be edited so."""


class VoteError(ApprovalError):
    """This answer is not one of those that are needed."""


class UnlikeError(ApprovalError):
    """These questions are not alike."""


class CrowdedError(ApprovalError):
    """There are too many of these already."""


class NotProvenError(ApprovalError):
    """Whoever answers did not prove to be no agent. `code` says what is missing."""

    def __init__(self, message: str, code: str = "not_proven") -> None:
        super().__init__(message)
        self.code = code


class NotificationError(InterposeError):
    """Nobody could be told by this way. `again`: the same may be taken later."""

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


class DelegationError(InterposeError):
    """There is no room for another agent any more."""


class PinError(InterposeError):
    """Pins of an MCP server can't be read, kept or believed."""


class NoPinError(PinError, LookupError):
    """There is nothing of this name, or it is not what somebody looked at."""


class SessionError(InterposeError):
    """A session can't be halted or let go on so."""


class NoSessionError(SessionError, LookupError):
    """There is no such session, or more than one."""


class NotHaltedError(SessionError):
    """It is not halted."""


class FrameworkLimitError(InterposeError):
    """An agent framework can't do what is asked of it. Nothing is allowed in its place."""


class BlockedError(InterposeError):
    """The call was blocked, or its result withheld. `response` is what the agent would have been given.

    `verdict` says who decided, and why.
    """

    def __init__(self, response: dict[str, Any], verdict: Any = None) -> None:
        super().__init__(f"{response['tool']} was {response['status']}: {response['reason']}")
        self.response = response
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.response, self.verdict))


class RefusedError(InterposeError):
    """A chain refused an input. `verdict` says why."""

    def __init__(self, verdict: Any) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.verdict,))


class InterceptError(InterposeError):
    """An interceptor failed."""

    prefix: ClassVar[str] = "Interceptor error"

    def __str__(self) -> str:
        return f"{self.prefix}: {super().__str__()}"


class ExecutionFailedError(InterceptError):
    """The interceptor's own logic failed."""

    prefix = "Interceptor execution failed"


class InvalidModificationError(InterceptError):
    """The interceptor could not build the changed input."""

    prefix = "Invalid input modification"


def text_of(value: object) -> str:
    """The text of any exception or value, also of one whose `__str__` is broken. Never empty."""
    try:
        return str.__str__(str(value)) or name_of(value)
    except BaseException:  # noqa: BLE001 - a hostile __str__ must not escape into the pipeline
        return name_of(value)


def logged(error: BaseException, who: str) -> BaseException:
    """The error, which is in the log at debug level with its traceback: who looks for a mistake finds it there."""
    import logging

    log = logging.getLogger("interpose")
    if log.isEnabledFor(logging.DEBUG):
        try:
            log.debug("%s failed: %s", who, text_of(error), exc_info=(type(error), error, error.__traceback__))
        except Exception:  # noqa: BLE001, S110 - an error that can't be written is still an error
            pass
    return error


def name_of(value: object) -> str:
    """The name of a value's type, read past a metaclass that lies or raises. Never empty."""
    return str.__str__(_TYPE_NAME.__get__(type(value))) or "nameless"


_TYPE_NAME = type.__dict__["__name__"]
