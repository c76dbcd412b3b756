"""`interpose explain`: what every guard and rule says to one call, who decides, and what would be allowed instead."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

import msgspec

from interpose.build import load_config, open_rules
from interpose.cli import EXIT_CONFIG, EXIT_USAGE
from interpose.cli.call_arguments import UsageError, given_arguments
from interpose.cli.check import EXIT_CODES
from interpose.cli.explain_call import Explanation, explanation, without_judge
from interpose.cli.explain_text import explanation_text
from interpose.cli.json_output import encoded
from interpose.cli.jsonl_rows import BadRow, strict_json
from interpose.cli.terminal import colours_wanted
from interpose.cli.verdict_text import Ink, visible, visible_lines
from interpose.errors import InvalidCallError, UnloadableError
from interpose.policy.file_format import CallForm
from interpose.policy.load import RulePlace
from interpose.policy.reload import Rules
from interpose.policy_trials.rule_accounts import Account
from interpose.types import Context, ToolCall

HELP = "show what every guard and rule says to a call, who decides, and what would be allowed instead"


_EPILOG = """exit codes: 0 allow, 1 ask, 2 deny, 64 wrong usage, 70 internal error, 78 the policy can't be loaded

Without a command, --arg or a terminal, a call is read from stdin: {"tool": "exec", "args": {"command": "ls"}}, with
"cwd", "agent", "role", "principal" and "session" if they matter. Nothing is executed, and no judge is asked."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `explain` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("command", nargs="?", help="the command to explain, as one shell text")
    parser.add_argument("--tool", default="exec", help="the tool that would be called (default: exec)")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument of the call; may be repeated"
    )
    parser.add_argument("--cwd", help="where the call would run (default: here)")
    for who in ("agent", "role", "principal", "session"):
        parser.add_argument(f"--{who}", default="", help=f"the {who} of the call")
    parser.add_argument(
        "--policy", action="append", default=[], metavar="PATH", help="rules to use instead of those that hold here"
    )
    parser.add_argument(
        "--pack", action="append", default=[], metavar="NAME", help="a pack to use, with --policy or alone"
    )
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose explain`."""
    try:
        call = _call(args)
        ruled = open_rules(load_config(), call.context.cwd, _rules(args))
        told = explanation(call, ruled.engine, ruled.policy.policy)
        if args.json:
            sys.stdout.buffer.write(msgspec.json.format(encoded(as_data(told)), indent=2) + b"\n")
        else:
            print(explanation_text(told, Ink(colours_wanted())))
    except (UsageError, BadRow, InvalidCallError) as error:
        print(f"interpose explain: {visible(str(error))}", file=sys.stderr)
        return EXIT_USAGE
    except UnloadableError as error:
        print(f"interpose explain: the policy can't be loaded\n{visible_lines(str(error))}", file=sys.stderr)
        return EXIT_CONFIG
    return EXIT_CODES.get(told.outcome, 0)


def _call(args: argparse.Namespace) -> ToolCall:
    arguments = given_arguments(args.command, args.arg)
    here = args.cwd or os.getcwd()  # noqa: PTH109 - a plain text, as the shell would say it
    if arguments:
        form = CallForm(args.tool, arguments)
    elif sys.stdin.isatty():
        raise UsageError("nothing to explain: give a command, --tool with --arg, or a call as JSON on stdin")
    else:
        form = _read()
    context = Context(
        cwd=form.cwd or here,
        agent_id=form.agent or args.agent,
        role=form.role or args.role,
        principal=form.principal or args.principal,
        session_id=form.session or args.session,
        source="explain",
    )
    return ToolCall(form.tool, form.args, "explain", context)


def _read() -> CallForm:
    given = sys.stdin.buffer.read()
    if not given.strip():
        raise UsageError("nothing to explain: give a command, --tool with --arg, or a call as JSON on stdin")
    try:
        return msgspec.convert(strict_json(given), CallForm, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"the call on stdin is not understood: {error}") from None


def _rules(args: argparse.Namespace) -> Rules:
    if args.policy or args.pack:
        return Rules(tuple(RulePlace(path) for path in args.policy), tuple(args.pack), without_judge)
    return Rules(register=without_judge)


def as_data(told: Explanation) -> dict[str, Any]:
    """An explanation for programs."""
    return {
        "decision": told.outcome,
        "interceptor": told.interceptor,
        "rule": told.rule,
        "severity": told.severity,
        "reason": told.reason,
        "approver": told.approver,
        "policy": told.revision,
        "guards": told.guards,
        "rules": [_rule_data(account, told.skipped) for account in told.rules],
        "advice": told.advice,
        "changes": told.changes,
        "refused": told.refused,
        **({} if told.arguments is None else {"arguments": told.arguments}),
    }


def _rule_data(account: Account, skipped: str) -> dict[str, Any]:
    rule = account.rule
    return {
        "rule": rule.id,
        "file": rule.source.file,
        "line": rule.source.line,
        "level": rule.source.level,
        "mode": rule.mode,
        "severity": rule.severity,
        "said": account.said,
        "reason": rule.text if account.said in ("deny", "ask", "rewrite", "note") else account.why,
        "saw": dict(account.saw),
        "because": [{"variable": name, "value": value} for name, value in account.causes],
        "skipped_by": skipped,
    }
