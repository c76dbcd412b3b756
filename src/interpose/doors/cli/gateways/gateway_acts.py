"""The acts of `interpose mcp gateway` beside running it: what they understand. Who runs the gateway loads no more."""

from __future__ import annotations

import argparse

from interpose.doors.cli.shared.closed_values import directory
from interpose.doors.hooks.install.mcp_files import MCP_HOSTS

_IMPORT = "copy the MCP servers of your agents, or of a file, into gateway.servers of interpose.yaml"
_INSTALL = "make the gateway an agent's only MCP server; its servers move into interpose.yaml. Undone to the byte"
_UNINSTALL = "give an agent its own MCP servers back, to the byte"


def add_acts(parser: argparse.ArgumentParser) -> None:
    """Import, install and uninstall."""
    acts = parser.add_subparsers(dest="act", metavar="act")
    known = ", ".join(MCP_HOSTS)
    taken = acts.add_parser("import", help=_IMPORT)
    taken.add_argument(
        "source", nargs="?", default="", metavar="FILE|HOST", help=f"a file, or an agent: {known} (default: all here)"
    )
    for name, text in (("install", _INSTALL), ("uninstall", _UNINSTALL)):
        act = acts.add_parser(name, help=text)
        act.add_argument("host", metavar="HOST", help=f"the agent: {known}")
        act.add_argument("--local", action="store_true", help="Claude Code's servers of yours for this directory alone")
    for act in acts.choices.values():
        act.add_argument("--project", action="store_true", help="the file of the project in this directory, not yours")
        act.add_argument(
            "--cwd", type=directory, default="", metavar="DIR", help="the project's directory (default: here)"
        )
        act.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        act.add_argument("-y", "--yes", action="store_true", help="don't ask at the terminal")
        act.add_argument("--json", action="store_true", help="print the answer as JSON, and don't ask")


def run_act(args: argparse.Namespace) -> int:
    """Run one of them."""
    if args.act == "import":
        from interpose.doors.cli.gateways.gateway_import import run_import

        return run_import(args)
    from interpose.doors.cli.gateways.gateway_install import run_install, run_uninstall

    return run_install(args) if args.act == "install" else run_uninstall(args)
