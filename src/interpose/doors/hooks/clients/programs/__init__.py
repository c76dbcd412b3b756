"""The programs that hosts start, as they are before they are told which host and where."""
