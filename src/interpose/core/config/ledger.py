"""What can be set about a ledger."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Level = Literal["written", "durable", "best_effort"]
"""`written`: handed to the operating system, survives the end of the process. `durable`: synced, survives a power loss.
`best_effort`: nobody waits."""

_LONGEST_DEADLINE = 3600
_LONGEST_PAUSE = 7 * 86400
_LONGEST_AGE = 100 * 366
_MIB = 1 << 20


def _within(name: str, value: float, most: int, unit: str) -> None:
    if not 0 < value <= most:  # so that NaN is refused too
        raise ValueError(f"ledger.{name} must be more than 0 and at most {most} {unit}, not {value}")


class LogSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The human-readable log beside the ledger: none without a `path`.

    It is rotated at `max_bytes`, and so many `archives` are kept. With `on_failure: deny` a call whose line can't be
    written is refused; the ledger is the record, so the default is to go on and say so in the ledger's status.
    """

    path: Annotated[str, Meta(description="the log file; empty is none", extra={"path": True})] = ""
    max_bytes: Annotated[int, Meta(ge=1, description="size at which it is rotated")] = 100 * _MIB
    archives: Annotated[int, Meta(ge=0, description="how many rotated files are kept")] = 5
    on_failure: Annotated[
        Literal["deny", "allow"], Meta(description="what a line that can't be written means for its call")
    ] = "allow"

    def __post_init__(self) -> None:
        if "\0" in self.path:
            raise ValueError("ledger.log.path must not contain NUL")
        if self.max_bytes < 1:
            raise ValueError(f"ledger.log.max_bytes must be at least 1, not {self.max_bytes}")
        if self.archives < 0:
            raise ValueError(f"ledger.log.archives must be at least 0, not {self.archives}")


class AnchorSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the newest heads are kept besides the ledger. `audit verify` compares them."""

    file: Annotated[str, Meta(description="a file, best on another disk", extra={"path": True})] = ""
    git: Annotated[str, Meta(description="a git repository, which gets a commit", extra={"path": True})] = ""
    git_ref: Annotated[str, Meta(description="the ref that the commits go to")] = "refs/interpose/heads"
    git_remote: Annotated[str, Meta(description="a remote that the ref is pushed to")] = ""
    url: Annotated[str, Meta(description="an address that takes heads by POST and gives them back by GET")] = ""
    token: Annotated[str, Meta(description="a bearer token for it")] = ""
    every: Annotated[float, Meta(gt=0, le=_LONGEST_PAUSE, description="seconds between looks for new heads")] = 60.0

    def __post_init__(self) -> None:
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"ledger.anchor.url must begin with http:// or https://, not {self.url!r}")
        if not self.git_ref.startswith("refs/"):
            raise ValueError(f"ledger.anchor.git_ref must begin with refs/, not {self.git_ref!r}")
        if self.git_remote.startswith("-"):
            raise ValueError(f"ledger.anchor.git_remote must not begin with a dash: {self.git_remote!r}")
        _within("anchor.every", self.every, _LONGEST_PAUSE, "seconds")


class LedgerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`deadline` is how long an answer waits for its record, in seconds. `checkpoint_every` counts entries.

    What is older than `max_age_days` or more than `max_bytes` is removed at the start and every `retain_every` seconds.
    """

    level: Annotated[
        Level,
        Meta(description="`written` survives a crash, `durable` a power loss, `best_effort` waits for nobody"),
    ] = "written"
    on_failure: Annotated[
        Literal["deny", "allow"], Meta(description="what a record that can't be written means for its call")
    ] = "deny"
    deadline: Annotated[float, Meta(gt=0, le=_LONGEST_DEADLINE, description="seconds that an answer waits for it")] = (
        2.0
    )
    include_argument_values: Annotated[bool, Meta(description="false keeps only digests of arguments and results")] = (
        True
    )
    checkpoint_every: Annotated[int, Meta(ge=1, description="entries between signed checkpoints")] = 1000
    max_age_days: Annotated[
        Annotated[float, Meta(gt=0, le=_LONGEST_AGE)] | None, Meta(description="records older than this are removed")
    ] = None
    max_bytes: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="the oldest records are removed above this size")
    ] = None
    retain_every: Annotated[float, Meta(gt=0, le=_LONGEST_PAUSE, description="seconds between removals")] = 3600.0
    log: LogSettings = LogSettings()
    anchor: AnchorSettings = AnchorSettings()

    def __post_init__(self) -> None:
        _within("deadline", self.deadline, _LONGEST_DEADLINE, "seconds")
        _within("retain_every", self.retain_every, _LONGEST_PAUSE, "seconds")
        if self.max_age_days is not None:
            _within("max_age_days", self.max_age_days, _LONGEST_AGE, "days")
        if self.checkpoint_every < 1:
            raise ValueError(f"ledger.checkpoint_every must be at least 1, not {self.checkpoint_every}")
        if self.max_bytes is not None and self.max_bytes < 1:
            raise ValueError(f"ledger.max_bytes must be at least 1, not {self.max_bytes}")

    @property
    def retains(self) -> bool:
        """Whether anything is ever removed."""
        return self.max_age_days is not None or self.max_bytes is not None
