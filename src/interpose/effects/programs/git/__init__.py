"""git: its own options, and one module for each part of its subcommands."""
