"""What a call would do, for guards."""

from interpose.analysis import DEFAULT_CWD, effects_of, effects_of_call, home_directory, start_of

__all__ = ["DEFAULT_CWD", "effects_of", "effects_of_call", "home_directory", "start_of"]
