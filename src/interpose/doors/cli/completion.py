"""`interpose completion`: what a shell needs to complete our command lines, and the manual page."""

from __future__ import annotations

import argparse

_EPILOG = """Everything is made from the verbs themselves. Pressing TAB starts no program of ours.

  bash  interpose completion bash > ~/.local/share/bash-completion/completions/interpose
  zsh   interpose completion zsh > ~/.zfunc/_interpose     (and `fpath=(~/.zfunc $fpath)` before compinit)
  fish  interpose completion fish > ~/.config/fish/completions/interpose.fish
  man   interpose completion man > ~/.local/share/man/man1/interpose.1

pip and pipx bring the manual page along, uv does not. Do it again after an update.

exit codes: 0 done, 64 wrong usage, 70 internal error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `completion` understands."""
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "man"), help="which one; man is the manual page")


def run(args: argparse.Namespace) -> int:
    """Run `interpose completion`."""
    from interpose.doors.cli.helping.command_tree import command_tree

    tree = command_tree()
    match args.shell:
        case "bash":
            from interpose.doors.cli.helping.completion_bash import bash_script as made
        case "zsh":
            from interpose.doors.cli.helping.completion_zsh import zsh_script as made
        case "fish":
            from interpose.doors.cli.helping.completion_fish import fish_script as made
        case _:
            from interpose.doors.cli.helping.manual_page import manual_page as made
    print(made(tree), end="")
    return 0
