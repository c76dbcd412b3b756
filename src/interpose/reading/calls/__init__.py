"""What a call would do, read once for all that ask: guards, policies, ledger."""

from interpose.reading.calls.call_reading import DEFAULT_CWD, Reading, home_directory, reading_of, start_of, starts_of
from interpose.reading.calls.sandboxes import sandbox_left_by

__all__ = ["DEFAULT_CWD", "Reading", "home_directory", "reading_of", "sandbox_left_by", "start_of", "starts_of"]
