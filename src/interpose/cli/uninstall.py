"""`interpose uninstall`: an agent's file as it was before, but for what others changed in it."""

from __future__ import annotations

import argparse

from interpose.cli.install_shared import add_place, carried_out, done, target_in
from interpose.config.load import Loaded
from interpose.install.plan import plan_uninstall

HELP = "take Interpose out of an agent's hooks; nothing else in the file changes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `uninstall` understands."""
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose uninstall`."""
    return carried_out("uninstall", args, lambda loaded: _uninstall(args, loaded))


def _uninstall(args: argparse.Namespace, loaded: Loaded) -> int:
    target = target_in(args, "uninstall")
    if isinstance(target, int):
        return target
    return done(plan_uninstall(target, loaded), loaded, args, (), "uninstall")
