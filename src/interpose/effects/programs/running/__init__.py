"""Commands that run other commands or code: shells, interpreters, wrappers, builtins, agents."""
