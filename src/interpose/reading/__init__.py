"""What a call would do, read once for all that ask: guards, policies, ledger."""

from interpose.reading.call_reading import DEFAULT_CWD, Reading, home_directory, reading_of, start_of, starts_of

__all__ = ["DEFAULT_CWD", "Reading", "home_directory", "reading_of", "start_of", "starts_of"]
