"""`interpose uninstall`: an agent's file as it was before, but for what others changed in it; or all of Interpose."""

from __future__ import annotations

import argparse
import sys

from interpose.core.config.load import Loaded
from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.installing.install_shared import add_place, carried_out, done, target_in
from interpose.doors.hooks.install.places import InstallTarget
from interpose.doors.hooks.install.plan import plan_uninstall


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `uninstall` understands."""
    add_place(parser)
    parser.add_argument("--all", action="store_true", help="every agent, wherever Interpose was installed for it")
    parser.add_argument(
        "--purge",
        action="store_true",
        help="with --all: everything else of Interpose, too: settings, rules, keys, the ledger, the local server",
    )


def run(args: argparse.Namespace) -> int:
    """Run `interpose uninstall`."""
    if wrong := _wrong(args):
        print(f"interpose uninstall: {wrong}", file=sys.stderr)
        return EXIT_USAGE
    if args.all:
        from interpose.doors.cli.installing.uninstall_all import uninstall_all

        return uninstall_all(args)
    return carried_out("uninstall", args, lambda loaded: _uninstall(args, loaded))


def _wrong(args: argparse.Namespace) -> str:
    if args.purge and not args.all:
        return "--purge removes what every agent needs: say `interpose uninstall --all --purge`"
    if args.all and (args.host or args.scope):
        given = args.host or f"--{args.scope}"
        return f"--all is every agent at every place: leave out {given}, or --all"
    return ""


def _uninstall(args: argparse.Namespace, loaded: Loaded) -> int:
    target = target_in(args, "uninstall")
    if isinstance(target, int):
        return target
    code = done(plan_uninstall(target, loaded), loaded, args, (), "uninstall")
    return code or _give_servers_back(target, loaded, args)


def _give_servers_back(target: InstallTarget, loaded: Loaded, args: argparse.Namespace) -> int:
    """An agent that is pointed at the gateway gets its own MCP servers back, too."""
    from interpose.doors.cli.gateways.gateway_import import done as gateway_done
    from interpose.doors.hooks.install.gateway_plan import carry_out_gateway, installed_in, plan_gateway_uninstall

    for record in installed_in(target.facts.name, target.scope, target.root, loaded):
        plan = plan_gateway_uninstall(record)
        if not args.json:
            if code := gateway_done(plan, loaded, args, ()):
                return code
        elif not args.dry_run:
            carry_out_gateway(plan, loaded)
    return 0
