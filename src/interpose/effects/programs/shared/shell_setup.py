"""Commands that print shell code to be evaluated: `eval "$(mise activate bash)"`, `source <(gh completion)`."""

from __future__ import annotations

from interpose.effects.invocation import Invocation

ALWAYS = frozenset({"ssh-agent", "gpg-agent", "keychain", "dircolors", "gdircolors", "register-python-argcomplete",
                    "thefuck", "tset", "lesspipe", "lesspipe.sh"})  # fmt: skip
"""Programs whose output is made to be evaluated."""

WORDS = frozenset({"completion", "completions", "shellenv", "activate", "init", "hook", "env", "docker-env",
                   "shell-init", "docker-daemon-env", "shell.bash", "shell.zsh", "--completion", "--completions",
                   "--bash", "--zsh", "--fish", "shell-hook", "generate-shell-completion",
                   "--generate-completion"})  # fmt: skip
"""Words with which a program prints what it wants the shell to know about it."""

_PRINTS_OTHER_THINGS = frozenset({"cat", "echo", "printf", "curl", "wget", "git", "docker", "npm", "cargo", "go",
                                  "terraform", "ssh", "python", "python3", "node", "base64", "aws"})  # fmt: skip


def prints_setup(inv: Invocation) -> bool:
    """Whether what this command prints is its own setup code: evaluating it trusts the program no further."""
    if inv.name in ALWAYS:
        return True
    if not inv.args or inv.name in _PRINTS_OTHER_THINGS:
        return False
    return any(word.text in WORDS for word in inv.args[:2])
